//! Text that is the same in a message and on its way: most of it is, and can be copied at once.

/// Pieces of this many bytes are best looked at together.
pub const PLAIN_BYTES: usize = 512;

/// Whether all lines in a piece of text end with CRLF and begin without a dot. `before` is the byte
/// before the piece: LF at the very beginning, and behind a lone LF what that is to count as. A CR
/// at the end is left to the next piece.
pub fn is_plain(before: u8, piece: &[u8]) -> bool {
    let [first, rest @ ..] = piece else { return true };
    // Without a branch, so that many bytes are looked at in one step.
    let pairs = piece.iter().zip(rest);
    !pairs.fold(is_odd(before, *first), |odd, (a, b)| odd | is_odd(*a, *b))
}

/// Whether two neighbours are half of a line end, or a dot that begins a line.
fn is_odd(a: u8, b: u8) -> bool {
    ((a == b'\r') != (b == b'\n')) | ((a == b'\n') & (b == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_plain_or_not() {
        let cases: [(u8, &[u8], bool); 16] = [
            (b'\n', b"", true),
            (b'\n', b"a\r\nb.c\r\n\r\n", true),
            (b'\n', b"a", true),
            (b'\n', b"a\r", true),
            (b'\r', b"\na", true),
            (b'\r', b"\n", true),
            (0, b".a", true),
            (b'\n', b".a", false),
            (b'\r', b"a", false),
            (b'\r', b".", false),
            (b'\r', b"\n.", false),
            (0, b"\n", false),
            (0, b"a\nb", false),
            (0, b"a\rb", false),
            (0, b"a\r\r\n", false),
            (0, b"a\r\n.", false),
        ];
        for (before, piece, wanted) in cases {
            assert_eq!(is_plain(before, piece), wanted, "{before} {piece:?}");
            // Wherever it stands in a long piece.
            let long = [b"x".repeat(100).as_slice(), b"\r\n", piece].concat();
            if before == b'\n' {
                assert_eq!(is_plain(b'\n', &long), wanted, "{piece:?} behind a line");
            }
        }
    }
}
