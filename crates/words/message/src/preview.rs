//! The first words of a message's text (RFC 8970).

use std::ops::Range;

use crate::{Kind, Part, decode_text};

/// Longest preview in characters.
pub const PREVIEW_CHARS_MAX: usize = 200;

/// Bytes of a plain body that are looked at.
const PLAIN_BYTES_MAX: u64 = 4_096;
/// Bytes of an HTML body that are looked at; style sheets often stand in front.
const HTML_BYTES_MAX: u64 = 32_768;
/// Parts that are looked at to find a text.
const PARTS_MAX: usize = 64;
/// Bytes of a character reference (`&amp;`) with its frame.
const REFERENCE_BYTES_MAX: usize = 12;

/// The first words of the first plain text that is no attachment, else of the first HTML text.
pub(crate) fn preview(message: &[u8], parts: &[Part]) -> String {
    let texts = || {
        let near = parts.iter().take(PARTS_MAX);
        near.filter(|part| part.kind == Kind::Leaf && !part.is_attachment() && !empty(&part.body))
    };
    if let Some(part) = texts().find(|part| part.is("text", "plain")) {
        return squeeze(text_of(message, part, PLAIN_BYTES_MAX).chars());
    }
    match texts().find(|part| part.is("text", "html")) {
        Some(part) => squeeze_html(&text_of(message, part, HTML_BYTES_MAX)),
        None => String::new(),
    }
}

fn empty(range: &Range<u64>) -> bool {
    range.start >= range.end
}

fn text_of(message: &[u8], part: &Part, bytes_max: u64) -> String {
    let end = part.body.end.min(part.body.start + bytes_max);
    let body = &message[part.body.start as usize..end as usize];
    let mut text = decode_text(body, &part.encoding, part.charset());
    if end < part.body.end {
        // The cut may have gone through a character.
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    text
}

/// White space and invisible characters become single spaces.
fn squeeze(chars: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    let mut left = PREVIEW_CHARS_MAX;
    let mut gap = false;
    for c in chars {
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            gap = !out.is_empty();
            continue;
        }
        let wanted = 1 + usize::from(gap);
        if left < wanted {
            break;
        }
        left -= wanted;
        if std::mem::take(&mut gap) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fffe}'
    )
}

fn squeeze_html(html: &str) -> String {
    squeeze(HtmlText { rest: html, without_end: [false; HIDDEN.len()] })
}

/// Elements whose content is not shown.
const HIDDEN: [&str; 4] = ["style", "script", "title", "head"];

/// The visible characters of HTML; each tag counts as a space.
struct HtmlText<'a> {
    rest: &'a str,
    /// For each of [`HIDDEN`]: no end tag follows, so none is looked for again.
    without_end: [bool; HIDDEN.len()],
}

impl Iterator for HtmlText<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        match first {
            '<' => {
                self.skip_markup();
                Some(' ')
            }
            '&' => Some(self.reference()),
            c => {
                self.rest = &self.rest[c.len_utf8()..];
                Some(c)
            }
        }
    }
}

impl HtmlText<'_> {
    fn skip_markup(&mut self) {
        let rest = self.rest;
        let end = if rest.starts_with("<!--") {
            behind(rest, "-->")
        } else {
            self.behind_hidden().unwrap_or_else(|| behind(rest, ">"))
        };
        self.rest = &rest[end..];
    }

    /// Behind the end tag of the hidden element that begins here, if one does.
    fn behind_hidden(&mut self) -> Option<usize> {
        let rest = self.rest;
        let which = HIDDEN.iter().position(|name| begins_tag(rest, name))?;
        if self.without_end[which] {
            return None;
        }
        let name = HIDDEN[which];
        let mut at = 1;
        while let Some(i) = rest[at..].find("</") {
            at += i + 2;
            if starts_with_name(&rest.as_bytes()[at..], name) {
                return Some(at + behind(&rest[at..], ">"));
            }
        }
        self.without_end[which] = true;
        None
    }

    fn reference(&mut self) -> char {
        let rest = self.rest;
        self.rest = &rest[1..];
        let window = &rest.as_bytes()[..rest.len().min(REFERENCE_BYTES_MAX)];
        let Some(end) = memchr::memchr(b';', window) else { return '&' };
        let Some(c) = rest.get(1..end).and_then(referred) else { return '&' };
        self.rest = &rest[end + 1..];
        c
    }
}

fn begins_tag(rest: &str, name: &str) -> bool {
    let bytes = &rest.as_bytes()[1..];
    starts_with_name(bytes, name)
        && bytes.get(name.len()).is_none_or(|b| !b.is_ascii_alphanumeric())
}

fn starts_with_name(bytes: &[u8], name: &str) -> bool {
    bytes.get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
}

fn behind(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |i| i + mark.len())
}

fn referred(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
        return char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?);
    }
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" | "zwnj" | "zwj" | "shy" => Some(' '),
        "auml" => Some('ä'),
        "ouml" => Some('ö'),
        "uuml" => Some('ü'),
        "szlig" => Some('ß'),
        "ndash" => Some('–'),
        "mdash" => Some('—'),
        "hellip" => Some('…'),
        "euro" => Some('€'),
        "copy" => Some('©'),
        "rsquo" => Some('’'),
        "ldquo" => Some('“'),
        "rdquo" => Some('”'),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
