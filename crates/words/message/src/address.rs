//! Address fields (RFC 5322 §3.4, §4.4), read tolerantly, told as IMAP does.

use crate::Address;
use crate::cursor::{Cursor, is_space};

/// The addresses of a raw address field. Groups become markers (see [`Address`]). What is no
/// address is kept as a mailbox without host.
pub fn parse_addresses(raw: &[u8]) -> Vec<Address> {
    let mut left = raw.len();
    read_addresses(raw, &mut left)
}

/// The same with a budget of addresses, which is lowered by what was found.
pub(crate) fn read_addresses(raw: &[u8], left: &mut usize) -> Vec<Address> {
    let mut reader = Reader { cursor: Cursor::new(raw), out: Vec::new(), in_group: false };
    while reader.out.len() < *left && reader.step() {}
    if reader.in_group {
        reader.out.push(Address::default());
    }
    *left = left.saturating_sub(reader.out.len());
    reader.out
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    out: Vec<Address>,
    in_group: bool,
}

/// What stands between two separators: raw bytes and the last comment in it.
struct Segment<'a> {
    raw: &'a [u8],
    comment: Option<&'a [u8]>,
}

impl<'a> Reader<'a> {
    /// Reads up to and with the next separator; false at the end.
    fn step(&mut self) -> bool {
        let segment = self.segment();
        match self.cursor.peek() {
            Some(b'<') => self.angle(&segment),
            Some(b':') => self.group(&segment),
            separator => {
                self.bare(&segment);
                if separator == Some(b';') && self.in_group {
                    self.in_group = false;
                    self.out.push(Address::default());
                }
                self.cursor.skip_one();
                return separator.is_some();
            }
        }
        true
    }

    /// Passes everything up to `,` `;` `<` `:` outside of quotes, comments and domain literals.
    fn segment(&mut self) -> Segment<'a> {
        let start = self.cursor.at();
        let mut comment = None;
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b',' | b';' | b'<' => break,
                b':' if !self.in_group => break,
                b'(' => comment = Some(self.cursor.comment()),
                b'"' if self.cursor.skip_closed_quotes() => {}
                b'[' => {
                    self.cursor.take_while(|b| !matches!(b, b']' | b',' | b';' | b'<' | b'>'));
                }
                b'\\' => {
                    self.cursor.skip_one();
                    self.cursor.skip_one();
                }
                _ => self.cursor.skip_one(),
            }
        }
        Segment { raw: self.cursor.slice(start, self.cursor.at()), comment }
    }

    fn group(&mut self, segment: &Segment<'_>) {
        self.cursor.skip_one();
        self.in_group = true;
        let name = phrase(segment.raw);
        self.out.push(Address { mailbox: Some(name), ..Address::default() });
    }

    fn bare(&mut self, segment: &Segment<'_>) {
        let spec = without_comments(segment.raw);
        if spec.iter().all(|&b| is_space(b)) {
            return;
        }
        let name = segment.comment.map(comment_text).filter(|name| !name.is_empty());
        let (mailbox, host) = addr_spec(&spec);
        self.out.push(Address { name, route: None, mailbox: Some(mailbox), host: Some(host) });
    }

    /// `phrase <route:local@domain> (comment)`.
    fn angle(&mut self, segment: &Segment<'_>) {
        while self.cursor.eat(b'<') {}
        let inner = self.inside_angle();
        let trailing = self.behind_angle();
        let name = Some(phrase(segment.raw)).filter(|name| !name.is_empty());
        let comment = || trailing.or(segment.comment).map(comment_text);
        let name = name.or_else(|| comment().filter(|name| !name.is_empty()));
        let (route, spec) = split_route(&without_comments(inner));
        let (mailbox, host) = addr_spec(&spec);
        self.out.push(Address { name, route, mailbox: Some(mailbox), host: Some(host) });
    }

    /// Up to `>`. When it is missing, the address ends at the next comma or angle.
    fn inside_angle(&mut self) -> &'a [u8] {
        let start = self.cursor.at();
        let mut comma = None;
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b'>' => {
                    let inner = self.cursor.slice(start, self.cursor.at());
                    self.cursor.skip_one();
                    return inner;
                }
                b'<' => break,
                b',' => {
                    comma = comma.or(Some(self.cursor.at()));
                    self.cursor.skip_one();
                }
                b'(' => {
                    self.cursor.comment();
                }
                b'"' if self.cursor.skip_closed_quotes() => {}
                _ => self.cursor.skip_one(),
            }
        }
        let end = comma.unwrap_or(self.cursor.at());
        self.cursor.back_to(end);
        self.cursor.slice(start, end)
    }

    /// Passes what follows a closed angle up to the separator, with it if it is a comma.
    fn behind_angle(&mut self) -> Option<&'a [u8]> {
        let mut comment = None;
        loop {
            self.cursor.take_while(|b| !matches!(b, b',' | b';' | b'<' | b'('));
            match self.cursor.peek() {
                Some(b'(') => comment = Some(self.cursor.comment()),
                Some(b',') => {
                    self.cursor.skip_one();
                    return comment;
                }
                _ => return comment,
            }
        }
    }
}

/// A phrase: quotes and escapes removed, comments dropped, white space and folding made one space.
fn phrase(raw: &[u8]) -> Vec<u8> {
    let mut cursor = Cursor::new(raw);
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut gap = false;
    while let Some(byte) = cursor.peek() {
        if is_space(byte) || byte == b'(' {
            cursor.skip_cfws();
            gap = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) {
            out.push(b' ');
        }
        let start = cursor.at();
        if byte == b'"' && cursor.skip_closed_quotes() {
            let quoted = Cursor::new(cursor.slice(start, cursor.at())).quoted_string();
            out.extend(quoted.unwrap_or_default());
        } else {
            cursor.skip_one();
            out.push(byte);
        }
    }
    out.trim_ascii().to_vec()
}

fn comment_text(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut escaped = false;
    for &byte in crate::unfold(raw).iter() {
        if byte == b'\\' && !escaped {
            escaped = true;
            continue;
        }
        escaped = false;
        out.push(byte);
    }
    out
}

fn without_comments(raw: &[u8]) -> Vec<u8> {
    if memchr::memchr(b'(', raw).is_none() {
        return raw.trim_ascii().to_vec();
    }
    let mut cursor = Cursor::new(raw);
    let mut out = Vec::with_capacity(raw.len());
    while let Some(byte) = cursor.peek() {
        let start = cursor.at();
        if byte == b'(' {
            cursor.comment();
            continue;
        }
        if byte != b'"' || !cursor.skip_closed_quotes() {
            cursor.skip_one();
        }
        out.extend_from_slice(cursor.slice(start, cursor.at()));
    }
    out.trim_ascii().to_vec()
}

/// `@a,@b:local@domain` into route and the rest.
fn split_route(spec: &[u8]) -> (Option<Vec<u8>>, Vec<u8>) {
    if spec.first() == Some(&b'@')
        && let Some(colon) = memchr::memchr(b':', spec)
    {
        return (Some(dense(&spec[..colon])), spec[colon + 1..].to_vec());
    }
    (None, spec.to_vec())
}

/// Local part without quotes, and domain; the domain is empty when there is none.
fn addr_spec(spec: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let at = match spec.last() {
        // The sign may stand in a domain literal or in quotes, but behind the last quotation mark
        // only the domain follows.
        Some(b']') => memchr::memrchr(b'[', spec).and_then(|i| memchr::memrchr(b'@', &spec[..i])),
        Some(b'"') => None,
        _ => memchr::memrchr(b'@', spec),
    };
    match at {
        Some(at) => (local_part(&spec[..at]), dense(&spec[at + 1..])),
        None => (local_part(spec), Vec::new()),
    }
}

/// A local part without quotes; white space around dots goes, inside of broken ones it stays.
fn local_part(raw: &[u8]) -> Vec<u8> {
    if memchr::memchr3(b'"', b' ', b'\n', raw).is_none() {
        return raw.trim_ascii().to_vec();
    }
    phrase(raw)
}

fn dense(raw: &[u8]) -> Vec<u8> {
    raw.iter().copied().filter(|&b| !is_space(b)).collect()
}

#[cfg(test)]
mod tests;
