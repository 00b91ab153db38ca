use session::PLAIN_BYTES;

use super::Lines;
use crate::octets::Measure;

/// The reply, made of pieces of every length up to that of the message.
fn sent(lines: impl Fn() -> Lines, message: &[u8]) -> Vec<u8> {
    let mut replies = Vec::new();
    for step in 1..=message.len().max(1) {
        let (mut lines, mut out) = (lines(), Vec::new());
        for piece in message.chunks(step) {
            if !lines.put(piece, &mut out) {
                break;
            }
        }
        lines.finish(&mut out);
        replies.push(out);
    }
    replies.dedup();
    assert_eq!(replies.len(), 1, "{:?}", String::from_utf8_lossy(message));
    replies.remove(0)
}

/// Octets of the message in a reply: without added dots and the last line.
fn octets(reply: &[u8]) -> u64 {
    let text = String::from_utf8(reply.to_vec()).unwrap();
    let body = text.strip_suffix(".\r\n").unwrap();
    let dots = body.split("\r\n").filter(|line| line.starts_with('.')).count();
    (body.len() - dots) as u64
}

#[test]
fn lines_are_ended_and_dots_are_doubled() {
    let cases: &[(&str, &str)] = &[
        ("", ".\r\n"),
        ("a\r\n", "a\r\n.\r\n"),
        ("a", "a\r\n.\r\n"),
        ("a\r", "a\r\n.\r\n"),
        (".", "..\r\n.\r\n"),
        (".\r\n..\r\n.a\r\na.\r\n", "..\r\n...\r\n..a\r\na.\r\n.\r\n"),
        ("a\n.\nb", "a\r\n..\r\nb\r\n.\r\n"),
        ("a\r.\rb\r\n", "a\r.\rb\r\n.\r\n"),
        ("a\r\r\n.\r\r\n", "a\r\r\n..\r\r\n.\r\n"),
        ("\n\r\n\r\r", "\r\n\r\n\r\r\n.\r\n"),
    ];
    for (message, reply) in cases {
        let made = String::from_utf8(sent(Lines::whole, message.as_bytes())).unwrap();
        assert_eq!(made, *reply, "{message:?}");
        for at in 0..=message.len() {
            let mut measure = Measure::default();
            measure.take(&message.as_bytes()[..at]);
            measure.take(&message.as_bytes()[at..]);
            let told = message.len() as u64 + measure.extra();
            assert_eq!(told, octets(reply.as_bytes()), "{message:?}");
        }
    }
}

#[test]
fn the_top_of_a_message() {
    let message = "A: b\r\nC: d\r\n\r\n.one\r\n\r\nthree";
    let cases = [
        (0, "A: b\r\nC: d\r\n\r\n.\r\n"),
        (1, "A: b\r\nC: d\r\n\r\n..one\r\n.\r\n"),
        (2, "A: b\r\nC: d\r\n\r\n..one\r\n\r\n.\r\n"),
        (3, "A: b\r\nC: d\r\n\r\n..one\r\n\r\nthree\r\n.\r\n"),
        (u64::MAX, "A: b\r\nC: d\r\n\r\n..one\r\n\r\nthree\r\n.\r\n"),
    ];
    for (lines, reply) in cases {
        let made = sent(|| Lines::top(lines), message.as_bytes());
        assert_eq!(String::from_utf8(made).unwrap(), reply, "{lines}");
    }
    let bare = sent(|| Lines::top(1), b"A: b\n\nx\ny\n");
    assert_eq!(bare, b"A: b\r\n\r\nx\r\n.\r\n");
    let no_body = sent(|| Lines::top(0), b"A: b\r\nC: d");
    assert_eq!(no_body, b"A: b\r\nC: d\r\n.\r\n");
}

#[test]
fn blocks_are_sent_as_their_lines_are() {
    let odd: [&[u8]; 6] = [b"\n", b"\r", b"\r\n.", b"\n.", b"\r\r\n", b"."];
    for (length, odd) in (1..=3 * PLAIN_BYTES).zip(odd.iter().cycle()) {
        let line = [b"some words\r\n".repeat(length / 12 + 1).as_slice(), odd].concat();
        let message = [&line[line.len() - length.min(line.len())..], b"x\r\n.y\r"].concat();
        let (mut slow, mut wanted) = (Lines::whole(), Vec::new());
        assert!(slow.each(&message, &mut wanted));
        slow.finish(&mut wanted);
        let (mut lines, mut out) = (Lines::whole(), Vec::new());
        assert!(lines.put(&message, &mut out));
        lines.finish(&mut out);
        assert!(out == wanted, "{length} {odd:?}");
    }
}
