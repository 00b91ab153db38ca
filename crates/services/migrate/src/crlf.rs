//! Line ends: mail travels with CRLF, files often have LF.

use memchr::{memchr, memchr_iter};

/// Whether every LF follows a CR.
fn is_crlf(bytes: &[u8]) -> bool {
    memchr_iter(b'\n', bytes).all(|at| at > 0 && bytes[at - 1] == b'\r')
}

/// The bytes with a CR before every LF.
pub(crate) fn to_crlf(bytes: Vec<u8>) -> Vec<u8> {
    if is_crlf(&bytes) {
        return bytes;
    }
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 24 + 16);
    let mut rest = bytes.as_slice();
    while let Some(at) = memchr(b'\n', rest) {
        let line = &rest[..at];
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.extend_from_slice(b"\r\n");
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out
}

/// Writes pieces of a message with LF for CRLF.
#[derive(Debug, Default)]
pub(crate) struct ToLf {
    /// The last piece ended with this CR, which is not written yet.
    held: bool,
}

impl ToLf {
    /// Appends the next piece.
    pub(crate) fn put(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Some(first) = piece.first() else { return };
        if std::mem::take(&mut self.held) && *first != b'\n' {
            out.push(b'\r');
        }
        let mut rest = piece;
        while let Some(at) = memchr(b'\r', rest) {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            match rest.first() {
                Some(b'\n') => {}
                Some(_) => out.push(b'\r'),
                None => self.held = true,
            }
        }
        out.extend_from_slice(rest);
    }

    /// Appends what is held back.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.held) {
            out.push(b'\r');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_go_both_ways() {
        let cases: &[(&[u8], &[u8], &[u8])] = &[
            (b"", b"", b""),
            (b"a\nb", b"a\r\nb", b"a\nb"),
            (b"a\r\nb\r\n", b"a\r\nb\r\n", b"a\nb\n"),
            (b"a\r\n\nb\n", b"a\r\n\r\nb\r\n", b"a\n\nb\n"),
            (b"a\rb\r\r\n", b"a\rb\r\r\n", b"a\rb\r\n"),
            (b"\n\r", b"\r\n\r", b"\n\r"),
        ];
        for (bytes, crlf, lf) in cases {
            assert_eq!(to_crlf(bytes.to_vec()), *crlf);
            for step in 1..=crlf.len().max(1) {
                let (mut out, mut to_lf) = (Vec::new(), ToLf::default());
                crlf.chunks(step).for_each(|piece| to_lf.put(piece, &mut out));
                to_lf.finish(&mut out);
                assert_eq!(out, *lf, "{bytes:?} {step}");
            }
        }
    }
}
