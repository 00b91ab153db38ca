//! Encoded words in headers (RFC 2047), read tolerantly and written strictly.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use crate::charset::{decode_charset, decode_unlabelled};
use crate::transfer::{decode_base64, hex_pair};

/// Bytes of text in one encoded word that we write: with its frame at most 75 characters.
const WORD_BYTES_MAX: usize = 45;
/// Longest charset name (with language) that is looked for.
const CHARSET_BYTES_MAX: usize = 64;

struct Word<'a> {
    charset: &'a [u8],
    octets: Vec<u8>,
    /// Length of the whole word in the header.
    length: usize,
}

/// Header text with its encoded words decoded and its folding removed. White space between encoded
/// words is dropped; neighbours of one charset are joined as octets before the charset is
/// applied, since many senders cut inside a character. Each word's transfer encoding is
/// removed on its own. Bytes outside of words are UTF-8, or windows-1252 when not valid as such.
pub fn decode_words(raw: &[u8]) -> String {
    let raw = crate::unfold(raw);
    let mut out = String::with_capacity(raw.len());
    let mut run = Run::default();
    let mut plain = 0;
    let mut at = 0;
    // Behind the last end mark no word can end, so nothing is searched twice.
    let words_end = memmem::rfind(&raw, b"?=").map_or(0, |i| i + 2);
    while let Some(i) = raw.get(at..words_end).and_then(|rest| memmem::find(rest, b"=?")) {
        let start = at + i;
        let Some(word) = read_word(&raw[start..words_end]) else {
            at = start + 2;
            continue;
        };
        let between = &raw[plain..start];
        if !between.iter().all(u8::is_ascii_whitespace) || !run.open {
            run.finish(&mut out);
            out.push_str(&decode_unlabelled(between));
        }
        run.add(&word, &mut out);
        at = start + word.length;
        plain = at;
    }
    run.finish(&mut out);
    out.push_str(&decode_unlabelled(&raw[plain..]));
    without_controls(out)
}

/// Line breaks and other controls, raw or smuggled in by an encoded word, become spaces.
fn without_controls(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Neighbouring words of one charset.
#[derive(Default)]
struct Run {
    open: bool,
    charset: Vec<u8>,
    octets: Vec<u8>,
}

impl Run {
    fn add(&mut self, word: &Word<'_>, out: &mut String) {
        let same = self.charset.eq_ignore_ascii_case(word.charset) && !is_stateful(word.charset);
        if self.open && !same {
            self.finish(out);
        }
        if !self.open {
            self.open = true;
            self.charset = word.charset.to_vec();
        }
        self.octets.extend_from_slice(&word.octets);
    }

    fn finish(&mut self, out: &mut String) {
        if self.open {
            let charset = String::from_utf8_lossy(&self.charset);
            out.push_str(&decode_charset(&self.octets, &charset));
            self.octets.clear();
            self.open = false;
        }
    }
}

/// Each word in these charsets returns to ASCII at its end and stands for itself.
fn is_stateful(charset: &[u8]) -> bool {
    let begins =
        |name: &[u8]| charset.get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name));
    begins(b"iso-2022") || begins(b"utf-7") || begins(b"hz-")
}

/// Reads `=?charset?encoding?text?=` at the start of the bytes.
fn read_word(bytes: &[u8]) -> Option<Word<'_>> {
    let head = &bytes[2..bytes.len().min(CHARSET_BYTES_MAX + 2)];
    let charset_bytes = head.iter().position(|&b| b == b'?' || b <= b' ')?;
    let charset = &head[..charset_bytes];
    let after = &bytes[2 + charset_bytes..];
    let [b'?', encoding, b'?', text @ ..] = after else { return None };
    if charset.is_empty() || !matches!(encoding, b'B' | b'b' | b'Q' | b'q') {
        return None;
    }
    let end = memmem::find(text, b"?=")?;
    let octets = match encoding {
        b'B' | b'b' => decode_base64(&text[..end]),
        _ => decode_q(&text[..end]),
    };
    let charset = charset.split(|&b| b == b'*').next().unwrap_or(charset);
    Some(Word { charset, octets, length: 2 + charset_bytes + 3 + end + 2 })
}

fn decode_q(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        let escaped = (text[i] == b'=').then(|| text.get(i + 1..i + 3).and_then(hex_pair));
        match (text[i], escaped.flatten()) {
            (b'=', Some(byte)) => {
                out.push(byte);
                i += 2;
            }
            (b'_', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        i += 1;
    }
    out
}

/// Header text in printable ASCII: borrowed when it already is, else as encoded words in UTF-8,
/// no character cut. Control characters become spaces.
pub fn encode_words(raw: &[u8]) -> Cow<'_, [u8]> {
    if raw.iter().all(|b| (b' '..=b'~').contains(b)) {
        return Cow::Borrowed(raw);
    }
    if raw.is_ascii() {
        return Cow::Owned(
            raw.iter().map(|&b| if b < b' ' || b == 127 { b' ' } else { b }).collect(),
        );
    }
    let text = decode_words(raw);
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(WORD_BYTES_MAX));
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(b"=?UTF-8?B?");
        out.extend_from_slice(STANDARD.encode(word).as_bytes());
        out.extend_from_slice(b"?=");
        rest = after;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
