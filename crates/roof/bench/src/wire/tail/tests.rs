use super::{Read, TRACE_OCTETS_MAX, Tail};

fn read_in(pieces: &[&[u8]]) -> Read {
    let mut tail = Tail::default();
    pieces.iter().for_each(|piece| tail.update(piece));
    tail.finish()
}

#[test]
fn the_tail_begins_with_the_message_id() {
    let cases: [(&str, &str, &str); 6] = [
        ("", "Message-ID: <a@b>\r\nTo: x\r\n\r\nbody\r\n", "<a@b>"),
        ("Received: x\r\n by y\r\n", "message-id:<a@b>\r\n\r\n", "<a@b>"),
        ("X: 1\r\n", "Message-ID:\r\n <folded@b>\r\nTo: x\r\n\r\n", "<folded@b>"),
        ("X-Message-ID: <no@b>\r\n", "Message-ID: <yes@b>\r\n\r\nMessage-ID: <2@b>\r\n", "<yes@b>"),
        ("To: x\r\n\r\nMessage-ID: <body@b>\r\n", "", ""),
        ("", "Message-ID: <a@b>", ""),
    ];
    for (before, tail, message_id) in cases {
        let message = format!("{before}{tail}");
        let whole = read_in(&[message.as_bytes()]);
        assert_eq!(whole.octets, message.len() as u64);
        assert_eq!(whole.message_id, message_id, "{message:?}");
        assert_eq!(whole.tail_octets, tail.len() as u64, "{message:?}");
        assert_eq!(whole.tail_sum, crc32fast::hash(tail.as_bytes()), "{message:?}");
        // However it comes in pieces, it is the same.
        for at in 0..message.len() {
            let (first, second) = message.as_bytes().split_at(at);
            assert_eq!(read_in(&[first, second]), whole, "{message:?} at {at}");
        }
        let single: Vec<&[u8]> = message.as_bytes().chunks(1).collect();
        assert_eq!(read_in(&single), whole, "{message:?}");
    }
}

#[test]
fn fields_without_end_are_given_up() {
    let mut tail = Tail::default();
    for _ in 0..=TRACE_OCTETS_MAX / 8 + 1 {
        tail.update(b"Noise: x");
    }
    tail.update(b"\r\nMessage-ID: <late@b>\r\n");
    let read = tail.finish();
    assert_eq!((read.message_id.as_str(), read.tail_octets), ("", 0));
}
