//! Tests of [`Wire`] over a stream within the process.

use super::*;

const WAIT: Duration = Duration::from_secs(5);

async fn lines_of(sent: &[u8], max: usize) -> Vec<Result<(String, bool), &'static str>> {
    let (near, mut far) = tokio::io::duplex(7);
    let bytes = sent.to_vec();
    let writer = tokio::spawn(async move {
        let _ = far.write_all(&bytes).await;
    });
    let (mut wire, mut line, mut seen) = (Wire::memory(near), Vec::new(), Vec::new());
    loop {
        match wire.read_line(&mut line, max, WAIT).await {
            Ok(crlf) => seen.push(Ok((String::from_utf8_lossy(&line).into_owned(), crlf))),
            Err(WireError::TooLong { .. }) => seen.push(Err("too long")),
            Err(WireError::Closed) => break,
            Err(other) => panic!("unexpected: {other}"),
        }
    }
    writer.await.unwrap();
    seen
}

#[tokio::test]
async fn lines_are_cut_at_lf_and_long_ones_skipped() {
    let long = "x".repeat(300);
    let sent = format!("one\r\ntwo\n\r\n{long}\r\n1234567890\r\nlast\r\nunfinished");
    let seen = lines_of(sent.as_bytes(), 10).await;
    let line = |text: &str, crlf| Ok((text.to_owned(), crlf));
    assert_eq!(
        seen,
        [
            line("one", true),
            line("two", false),
            line("", true),
            Err("too long"),
            line("1234567890", true),
            line("last", true)
        ]
    );
}

#[tokio::test]
async fn exact_reads_join_pieces_and_keep_what_follows() {
    let (near, mut far) = tokio::io::duplex(5);
    let writer = tokio::spawn(async move { far.write_all(b"a\r\n0123456789b\r\n").await });
    let (mut wire, mut line, mut body) = (Wire::memory(near), Vec::new(), Vec::new());
    wire.read_line(&mut line, 10, WAIT).await.unwrap();
    wire.read_exact(10, &mut body, WAIT).await.unwrap();
    wire.read_line(&mut line, 10, WAIT).await.unwrap();
    assert_eq!((body.as_slice(), line.as_slice()), (&b"0123456789"[..], &b"b"[..]));
    assert!(matches!(wire.read_exact(1, &mut body, WAIT).await, Err(WireError::Closed)));
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn who_sends_much_is_read_by_large_pieces() {
    let sent: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
    let (near, mut far) = tokio::io::duplex(sent.len());
    far.write_all(&sent).await.unwrap();
    let mut wire = Wire::memory(near);
    let mut counts = Vec::new();
    for _ in 0..3 {
        counts.push(wire.fill(WAIT).await.unwrap());
    }
    assert_eq!(counts, [QUIET_BYTES, BUSY_BYTES, BUSY_BYTES]);
    wire.consume(100);
    // What is buffered, then straight from the stream, and the last of it by way of the buffer.
    let mut body = b"before".to_vec();
    wire.read_exact(199_000, &mut body, WAIT).await.unwrap();
    assert_eq!(body[6..], sent[100..199_100]);
    assert_eq!(wire.buffered(), &sent[199_100..]);
    far.write_all(b"x").await.unwrap();
    wire.fill(WAIT).await.unwrap();
    assert_eq!(wire.sessions.received.load(Ordering::Relaxed), 200_001);
    assert_eq!(wire.room(), QUIET_BYTES);
}

#[tokio::test]
async fn nothing_behind_a_literal_is_lost_however_it_comes() {
    let sent: Vec<u8> = (0..30_000u32).map(|at| (at % 249) as u8).collect();
    for (piece, literal) in [(1, 2_500), (700, 9_000), (2_048, 20_000), (8_192, 29_999)] {
        let (near, mut far) = tokio::io::duplex(piece);
        let bytes = sent.clone();
        let writer = tokio::spawn(async move { far.write_all(&bytes).await });
        let (mut wire, mut body) = (Wire::memory(near), Vec::new());
        wire.read_exact(literal, &mut body, WAIT).await.unwrap();
        wire.read_exact(sent.len() - literal, &mut body, WAIT).await.unwrap();
        assert!(body == sent, "by {piece}");
        assert!(matches!(wire.read_exact(3_000, &mut body, WAIT).await, Err(WireError::Closed)));
        writer.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_holds_no_buffer() {
    let (near, mut far) = tokio::io::duplex(64);
    let (mut wire, mut line) = (Wire::memory(near), Vec::new());
    for text in ["one\r\n", "two\r\n"] {
        let mut read = Box::pin(wire.read_line(&mut line, 10, WAIT));
        assert!(tokio::time::timeout(Duration::ZERO, &mut read).await.is_err());
        drop(read);
        assert_eq!(wire.buffer.capacity(), 0);
        far.write_all(text.as_bytes()).await.unwrap();
        wire.read_line(&mut line, 10, WAIT).await.unwrap();
        assert_eq!(line, text.trim_end().as_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn silence_and_slow_readers_end_in_a_timeout() {
    let (near, far) = tokio::io::duplex(5);
    let (mut wire, mut line) = (Wire::memory(near), Vec::new());
    let quiet = wire.read_line(&mut line, 10, WAIT).await;
    assert!(matches!(quiet, Err(WireError::Timeout)));
    let unread = wire.write_all(&[0; 100], WAIT).await;
    assert!(matches!(unread, Err(WireError::Timeout)));
    drop(far);
}

#[tokio::test]
async fn a_line_that_drips_for_ever_is_given_up() {
    let (mut client, server) = tokio::io::duplex(16);
    let mut wire = Wire::memory(server);
    let dripping = tokio::spawn(async move { while client.write_all(b"x").await.is_ok() {} });
    let mut line = Vec::new();
    for max in [8, usize::MAX - 1] {
        let read = wire.read_line(&mut line, max, Duration::from_millis(20)).await;
        assert!(matches!(read, Err(WireError::Timeout | WireError::Closed)), "{read:?}");
    }
    drop(wire);
    dripping.await.unwrap();
}
