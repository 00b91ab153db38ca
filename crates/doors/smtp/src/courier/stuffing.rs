//! Message data as it goes over the wire: CRLF at every line's end, dots doubled, the end marked
//! (RFC 5321 §2.3.8, §4.5.2).

use ::session::{PLAIN_BYTES, is_plain};

/// Writes message data in pieces of any size.
#[derive(Debug)]
pub struct Stuffing {
    line_start: bool,
    /// A CR was seen whose LF may come in the next piece.
    cr: bool,
}

impl Stuffing {
    pub fn new() -> Stuffing {
        Stuffing { line_start: true, cr: false }
    }

    /// Appends a piece. A CR or LF that stands alone becomes CRLF.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for block in piece.chunks(PLAIN_BYTES) {
            let before = match (self.cr, self.line_start) {
                (true, _) => b'\r',
                (false, true) => b'\n',
                (false, false) => 0,
            };
            match is_plain(before, block) {
                true => self.copy(block, out),
                false => self.mend(block, out),
            }
        }
    }

    /// Copies a plain block, but keeps a CR at its end.
    fn copy(&mut self, block: &[u8], out: &mut Vec<u8>) {
        if self.cr {
            out.push(b'\r');
        }
        let whole = block.strip_suffix(b"\r").unwrap_or(block);
        out.extend_from_slice(whole);
        self.cr = whole.len() < block.len();
        self.line_start = block.last() == Some(&b'\n');
    }

    /// Copies a block line by line.
    fn mend(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut rest = block;
        while let Some(&first) = rest.first() {
            if self.cr {
                self.end_line(out);
                if first == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            if self.line_start && first == b'.' {
                out.push(b'.');
            }
            let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
            out.extend_from_slice(&rest[..end]);
            self.line_start &= end == 0;
            match rest.get(end) {
                Some(b'\r') => self.cr = true,
                Some(_) => self.end_line(out),
                None => {}
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
        (self.line_start, self.cr) = (true, false);
    }

    /// Appends the end of the data.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if self.cr || !self.line_start {
            self.end_line(out);
        }
        out.extend_from_slice(b".\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_dots_are_the_wires_at_every_cut() {
        let cases: [(&[u8], &[u8]); 9] = [
            (b"", b".\r\n"),
            (b"a", b"a\r\n.\r\n"),
            (b"a\r\n", b"a\r\n.\r\n"),
            (b".\r\n..\r\n", b"..\r\n...\r\n.\r\n"),
            (b"a\nb\rc", b"a\r\nb\r\nc\r\n.\r\n"),
            (b"a\r\r\n.b", b"a\r\n\r\n..b\r\n.\r\n"),
            (b"\n.\n", b"\r\n..\r\n.\r\n"),
            (b"x\r", b"x\r\n.\r\n"),
            (b"a.b\r\n.", b"a.b\r\n..\r\n.\r\n"),
        ];
        for (input, wanted) in cases {
            for cut in 0..=input.len() {
                let (mut stuffing, mut out) = (Stuffing::new(), Vec::new());
                stuffing.push(&input[..cut], &mut out);
                stuffing.push(&input[cut..], &mut out);
                stuffing.finish(&mut out);
                assert_eq!(out, wanted, "{input:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn blocks_are_written_as_their_lines_are() {
        let odd: [&[u8]; 6] = [b"\n", b"\r", b"\r\n.", b"\n.", b"\r\r\n", b"."];
        for (length, odd) in (1..=3 * PLAIN_BYTES).zip(odd.iter().cycle()) {
            let line = [b"some words\r\n".repeat(length / 12 + 1).as_slice(), odd].concat();
            let input = [&line[line.len() - length.min(line.len())..], b"x\r\n.y\r"].concat();
            let (mut slow, mut wanted) = (Stuffing::new(), Vec::new());
            slow.mend(&input, &mut wanted);
            slow.finish(&mut wanted);
            let (mut stuffing, mut out) = (Stuffing::new(), Vec::new());
            stuffing.push(&input, &mut out);
            stuffing.finish(&mut out);
            assert!(out == wanted, "{length} {odd:?}");
        }
    }
}
