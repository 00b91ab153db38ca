//! Cases of the data reader; each is read whole, byte by byte and cut at every position.

use super::*;

fn read(pieces: &[&[u8]], normalize: bool) -> (Vec<u8>, bool, bool, usize) {
    let (mut reader, mut out, mut used) = (DataReader::new(normalize), Vec::new(), 0);
    for piece in pieces {
        let pushed = reader.push(piece, &mut out);
        used += pushed.consumed;
        if pushed.ended {
            return (out, true, reader.saw_bare(), used);
        }
    }
    (out, false, reader.saw_bare(), used)
}

fn every_cut(input: &[u8], normalize: bool) -> (Vec<u8>, bool, bool, usize) {
    let whole = read(&[input], normalize);
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read(&bytes, normalize), whole, "byte by byte: {input:?}");
    for cut in 0..input.len() {
        let (front, back) = input.split_at(cut);
        assert_eq!(read(&[front, back], normalize), whole, "cut at {cut}: {input:?}");
    }
    whole
}

#[test]
fn dots_are_taken_off_on_every_line() {
    let cases: [(&[u8], &[u8]); 6] = [
        (b".\r\n", b""),
        (b"..first\r\n.\r\n", b".first\r\n"),
        (b"..two\r\n...three\r\n..\r\nlast\r\n.\r\n", b".two\r\n..three\r\n.\r\nlast\r\n"),
        (b".x\r\n.\r\n", b"x\r\n"),
        (b"a\r\n\r\n.\r\n", b"a\r\n\r\n"),
        (b"a.\r\n.b\r\n.\r\n", b"a.\r\nb\r\n"),
    ];
    for (sent, stored) in cases {
        let (out, ended, bare, used) = every_cut(sent, false);
        assert_eq!((out.as_slice(), ended, bare, used), (stored, true, false, sent.len()));
    }
}

#[test]
fn nothing_else_ends_the_data() {
    let ends: [&[u8]; 7] =
        [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n", b"\r\r\n.\r\r\n", b"\r.\r\n", b"\r\n.\r"];
    for end in ends {
        let sent = [b"a", end, b"MAIL FROM:<x@y.test>\r\n"].concat();
        let (_, ended, bare, _) = every_cut(&sent, false);
        assert!(!ended && bare, "{end:?}");
        let (out, ended, _, _) = every_cut(&sent, true);
        assert!(!ended, "{end:?}");
        let text = String::from_utf8(out).unwrap().replace("\r\n", "");
        assert!(!text.contains(['\r', '\n']), "normalized: {text:?}");
    }
}

#[test]
fn what_follows_the_end_is_left() {
    let (out, ended, _, used) = every_cut(b"a\r\n.\r\nQUIT\r\n", false);
    assert_eq!((out.as_slice(), ended, used), (&b"a\r\n"[..], true, 6));
}

#[test]
fn blocks_are_read_as_their_bytes_are() {
    // Long lines with rare dots and bare line ends, from a fixed seed.
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for round in 0..300 {
        let mut sent = Vec::new();
        while sent.len() < 6 * PLAIN_BYTES {
            sent.resize(sent.len() + random(200) as usize, b'a');
            let odd: &[u8] = match random(40) {
                0 => b"\n",
                1 => b"\r",
                2 => b"\r\n.",
                3 => b"\n.",
                4 => b"\r\r\n",
                _ => b"\r\n",
            };
            sent.extend_from_slice(odd);
        }
        sent.extend_from_slice(b"\r\n.\r\nQUIT\r\n");
        let (mut slow, mut wanted) = (DataReader::new(round % 2 == 0), Vec::new());
        let pushed = slow.read(&sent, &mut wanted);
        assert!(pushed.ended);
        let sizes = [1, 2, 7, PLAIN_BYTES - 1, PLAIN_BYTES, PLAIN_BYTES + 1, sent.len()];
        for size in sizes {
            let pieces: Vec<&[u8]> = sent.chunks(size).collect();
            let seen = read(&pieces, round % 2 == 0);
            let wanted = (wanted.clone(), true, slow.saw_bare(), pushed.consumed);
            assert!(seen == wanted, "round {round}, by {size}");
        }
    }
}
