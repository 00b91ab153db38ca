//! Header sections: where they end, and their fields one after the other, raw.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

/// The fields of a header section (RFC 5322 §2.2): name without trailing white space, raw value
/// with its folding but without the last line end, and the range of the whole field with its
/// line end. Stops at the blank line; lines that are no field are passed over.
pub fn headers(bytes: &[u8]) -> Fields<'_> {
    let at = if starts_with_field(bytes) { 0 } else { bytes.len() };
    Fields { bytes, at }
}

/// Iterator made by [`headers`].
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8], Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.at;
            let line = self.bytes.get(start..)?;
            if line.is_empty() || blank_line(line).is_some() {
                self.at = self.bytes.len();
                return None;
            }
            let colon = field_name(line);
            let end = self.field_end(start);
            self.at = end;
            if let Some((name_bytes, colon)) = colon {
                let value = without_eol(&self.bytes[start + colon + 1..end]);
                return Some((&line[..name_bytes], value, start..end));
            }
        }
    }
}

impl Fields<'_> {
    /// Behind the line end of the field that begins at `start`, folded lines included.
    fn field_end(&self, start: usize) -> usize {
        let mut at = start;
        loop {
            at = line_end(self.bytes, at);
            match self.bytes.get(at) {
                Some(b' ' | b'\t') => {}
                _ => return at,
            }
        }
    }
}

/// The header section that a message begins with, its blank line included.
pub fn header_bytes(message: &[u8]) -> &[u8] {
    if !starts_with_field(message) {
        return &message[..blank_line(message).unwrap_or(0)];
    }
    let mut at = 0;
    while at < message.len() {
        if let Some(length) = blank_line(&message[at..]) {
            return &message[..at + length];
        }
        at = line_end(message, at);
    }
    message
}

/// Position behind the line end of the line that `at` lies in, or the end of the bytes.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |i| at + i + 1)
}

/// Length of the blank line that the bytes begin with, if they do.
pub(crate) fn blank_line(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// Whether a header section may begin here: with a field, or with the `From ` line of a mailbox
/// file. Otherwise the entity has no header at all and its body begins at once.
pub(crate) fn starts_with_field(bytes: &[u8]) -> bool {
    field_name(bytes).is_some() || bytes.starts_with(b"From ") || bytes.starts_with(b">From ")
}

/// Length of the field name that the line begins with, and the place of its colon.
fn field_name(line: &[u8]) -> Option<(usize, usize)> {
    let name = line.iter().position(|&b| !(33..=126).contains(&b) || b == b':')?;
    let blanks = line[name..].iter().position(|&b| b != b' ' && b != b'\t')?;
    (name > 0 && line[name + blanks] == b':').then_some((name, name + blanks))
}

pub(crate) fn without_eol(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A raw field value without its folding (RFC 5322 §2.2.3) and outer white space.
pub fn unfold(raw: &[u8]) -> Cow<'_, [u8]> {
    let raw = raw.trim_ascii();
    if memchr::memchr2(b'\r', b'\n', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(raw.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n')).collect())
}

#[cfg(test)]
mod tests;
