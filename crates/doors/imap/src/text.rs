//! Values as they stand in replies (RFC 3501 §9): quoted strings, literals, NIL, numbers.

/// Longest string that is sent between quotes; longer ones go as literals.
const QUOTED_BYTES_MAX: usize = 1_000;

/// Appends a decimal number.
pub(crate) fn number(value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `text` between quotes. It must be free of CR, LF, NUL and 8-bit bytes; those are
/// replaced by `?`, so that the answer always parses.
pub(crate) fn quoted(text: &[u8], out: &mut Vec<u8>) {
    quote(text, care(text), out);
}

/// Appends `text` between quotes, which needs this much care.
fn quote(text: &[u8], care: u8, out: &mut Vec<u8>) {
    out.push(b'"');
    if care == 0 {
        out.extend_from_slice(text);
    } else {
        for byte in text {
            match CARE[usize::from(*byte)] {
                0 => out.push(*byte),
                ESCAPED => out.extend_from_slice(&[b'\\', *byte]),
                _ => out.push(b'?'),
            }
        }
    }
    out.push(b'"');
}

/// A byte that stands between quotes behind a backslash.
const ESCAPED: u8 = 1;
/// A byte that cannot stand there.
const BARRED: u8 = 2;

/// The care that each byte needs between quotes.
static CARE: [u8; 256] = cares();

const fn cares() -> [u8; 256] {
    let mut cares = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if byte == 0 || byte == 13 || byte == 10 || byte >= 0x80 {
            cares[byte] = BARRED;
        }
        byte += 1;
    }
    cares[b'"' as usize] = ESCAPED;
    cares[b'\\' as usize] = ESCAPED;
    cares
}

/// The care that a text needs between quotes: nearly none needs any. Most are so short that
/// looking at several bytes together does not pay.
fn care(text: &[u8]) -> u8 {
    text.iter().fold(0, |seen, byte| seen | CARE[usize::from(*byte)])
}

/// Appends `string`: quoted when that can carry the bytes, else a literal. NUL becomes `?`, since
/// neither form may carry it.
pub(crate) fn string(text: &[u8], out: &mut Vec<u8>) {
    if text.len() <= QUOTED_BYTES_MAX {
        let care = care(text);
        if care & BARRED == 0 {
            return quote(text, care, out);
        }
    }
    literal_head(text.len() as u64, out);
    out.extend(text.iter().map(|byte| if *byte == 0 { b'?' } else { *byte }));
}

/// Puts another byte in place of each NUL, since no literal may hold one (RFC 3501 §9 `CHAR8`).
/// Lengths and offsets stay right.
pub(crate) fn without_nul(content: &mut [u8]) {
    const IN_PLACE_OF_NUL: u8 = 0x80;
    let mut at = 0;
    while let Some(next) = memchr::memchr(0, &content[at..]) {
        content[at + next] = IN_PLACE_OF_NUL;
        at += next + 1;
    }
}

/// Appends `nstring`.
pub(crate) fn nstring(text: Option<&[u8]>, out: &mut Vec<u8>) {
    match text {
        Some(text) => string(text, out),
        None => out.extend_from_slice(b"NIL"),
    }
}

/// Appends what precedes the bytes of a literal.
pub(crate) fn literal_head(length: u64, out: &mut Vec<u8>) {
    out.push(b'{');
    number(length, out);
    out.extend_from_slice(b"}\r\n");
}

/// Appends numbers as `sequence-set`: `1:3,7`. They must be ascending.
pub(crate) fn set(numbers: &[u32], out: &mut Vec<u8>) {
    let mut rest = numbers;
    while let Some(first) = rest.first().copied() {
        let follows =
            |(at, number): &(usize, &u32)| u64::from(first) + *at as u64 == u64::from(**number);
        let run = rest.iter().enumerate().take_while(follows).count();
        if rest.len() != numbers.len() {
            out.push(b',');
        }
        number(first.into(), out);
        if run > 1 {
            out.push(b':');
            number(rest[run - 1].into(), out);
        }
        rest = &rest[run..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        print(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_choose_their_form() {
        assert_eq!(printed(|out| string(b"a \"b\" \\", out)), r#""a \"b\" \\""#);
        assert_eq!(printed(|out| string(b"", out)), "\"\"");
        assert_eq!(printed(|out| string(b"a\r\nb", out)), "{4}\r\na\r\nb");
        assert_eq!(printed(|out| string("\u{e9}\0".as_bytes(), out)), "{3}\r\n\u{e9}?");
        assert_eq!(printed(|out| quoted("\u{e9}\n".as_bytes(), out)), "\"???\"");
        assert_eq!(printed(|out| nstring(None, out)), "NIL");
    }

    #[test]
    fn numbers_and_sets() {
        assert_eq!(printed(|out| number(0, out)), "0");
        assert_eq!(printed(|out| number(u64::MAX, out)), "18446744073709551615");
        assert_eq!(printed(|out| set(&[], out)), "");
        assert_eq!(printed(|out| set(&[1, 2, 3, 7, 9, 10], out)), "1:3,7,9:10");
        assert_eq!(printed(|out| set(&[u32::MAX - 1, u32::MAX], out)), "4294967294:4294967295");
    }
}
