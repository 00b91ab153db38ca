//! Bytes in a named charset become text.

use mail_parser::decoders::charsets::map::charset_decoder;

/// Text of bytes in a charset. Never fails: what the charset does not have becomes U+FFFD; bytes
/// in an unknown charset are read as UTF-8, or as windows-1252 when they are not UTF-8.
pub fn decode_charset(bytes: &[u8], charset: &str) -> String {
    let name = charset.trim_matches(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'');
    if is_utf8(name) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    if name.is_empty() || is_ascii(name) {
        return decode_unlabelled(bytes);
    }
    match charset_decoder(name.as_bytes()) {
        Some(decode) => decode(bytes),
        None => decode_unlabelled(bytes),
    }
}

/// Whether [`decode_charset`] knows the charset.
pub fn knows_charset(charset: &str) -> bool {
    let known = || charset_decoder(charset.as_bytes()).is_some();
    is_utf8(charset) || is_ascii(charset) || (!charset.is_empty() && known())
}

/// Text of bytes whose charset nobody told.
pub(crate) fn decode_unlabelled(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    match charset_decoder(b"windows-1252") {
        Some(decode) => decode(bytes),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

fn is_ascii(name: &str) -> bool {
    name.eq_ignore_ascii_case("us-ascii") || name.eq_ignore_ascii_case("ascii")
}
