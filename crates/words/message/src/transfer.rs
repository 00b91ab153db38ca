//! Content-Transfer-Encoding removed, as far as the bytes allow (RFC 2045 §6).

use std::borrow::Cow;

use memchr::memchr;

use crate::charset::decode_charset;

/// A body without its transfer encoding, named in any case. Never fails: foreign characters in
/// base64 are passed over, broken escapes stand as they are; unknown encodings change nothing.
pub fn decode_transfer<'a>(body: &'a [u8], encoding: &str) -> Cow<'a, [u8]> {
    if encoding.eq_ignore_ascii_case("base64") {
        Cow::Owned(decode_base64(body))
    } else if encoding.eq_ignore_ascii_case("quoted-printable") {
        Cow::Owned(decode_quoted_printable(body))
    } else {
        Cow::Borrowed(body)
    }
}

/// The text of a body: transfer encoding removed, charset decoded.
pub fn decode_text(body: &[u8], encoding: &str, charset: &str) -> String {
    decode_charset(&decode_transfer(body, encoding), charset)
}

const FOREIGN: u8 = 64;
const PAD: u8 = 65;

const SIX_BITS: [u8; 256] = six_bits();

const fn six_bits() -> [u8; 256] {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut table = [FOREIGN; 256];
    let mut i = 0;
    while i < alphabet.len() {
        table[alphabet[i] as usize] = i as u8;
        i += 1;
    }
    table[b'=' as usize] = PAD;
    table
}

/// Lenient base64: foreign characters are passed over, each padding ends a run, a run that ends
/// early gives the whole bytes it has.
pub(crate) fn decode_base64(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for &byte in text {
        match SIX_BITS[byte as usize] {
            FOREIGN => {}
            PAD => {
                flush_base64(&mut out, bits, held);
                held = 0;
            }
            six => {
                bits = bits << 6 | u32::from(six);
                held += 1;
                if held == 4 {
                    out.extend_from_slice(&bits.to_be_bytes()[1..]);
                    held = 0;
                }
            }
        }
    }
    flush_base64(&mut out, bits, held);
    out
}

fn flush_base64(out: &mut Vec<u8>, bits: u32, held: u32) {
    match held {
        2 => out.push((bits >> 4) as u8),
        3 => out.extend_from_slice(&[(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => {}
    }
}

fn decode_quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).map_or(rest.len(), |i| i + 1);
        let (line, after) = rest.split_at(end);
        decode_quoted_line(line, &mut out);
        rest = after;
    }
    out
}

fn decode_quoted_line(line: &[u8], out: &mut Vec<u8>) {
    let text = line.trim_ascii_end();
    let eol = crate::fields::without_eol(line).len();
    let (text, soft) = match text.strip_suffix(b"=") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let mut rest = text;
    while let Some(i) = memchr(b'=', rest) {
        out.extend_from_slice(&rest[..i]);
        match rest.get(i + 1..i + 3).and_then(hex_pair) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[i + 3..];
            }
            None => {
                out.push(b'=');
                rest = &rest[i + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
    if !soft {
        out.extend_from_slice(&line[eol..]);
    }
}

/// The byte that two hexadecimal digits mean.
pub(crate) fn hex_pair(digits: &[u8]) -> Option<u8> {
    let high = char::from(*digits.first()?).to_digit(16)?;
    let low = char::from(*digits.get(1)?).to_digit(16)?;
    Some((high << 4 | low) as u8)
}

#[cfg(test)]
mod tests;
