//! The grammar of what an IMAP server says (RFC 9051 section 9): words, numbers, strings, lists.

use std::borrow::Cow;

use crate::wire::Error;

/// Depth of nested lists at the most.
const DEPTH_MAX: usize = 64;

/// Reads a response from left to right. Literals stand in it as they came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0 }
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().iter().all(|byte| matches!(byte, b'\r' | b'\n' | b' '))
    }

    pub(super) fn wrong(&self, what: &'static str) -> Error {
        Error::protocol(what, self.octets)
    }

    /// Reads this octet when it is next.
    pub(super) fn take(&mut self, octet: u8) -> bool {
        let next = self.peek() == Some(octet);
        self.at += usize::from(next);
        next
    }

    pub(super) fn expect(&mut self, octet: u8) -> Result<(), Error> {
        if self.take(octet) { Ok(()) } else { Err(self.wrong("not what the grammar asks for")) }
    }

    pub(super) fn skip_spaces(&mut self) {
        while self.take(b' ') {}
    }

    /// Octets up to the first that ends a word.
    pub(super) fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let ends = |byte: &u8| matches!(byte, b' ' | b'(' | b')' | b'\r' | b'\n');
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The name of a FETCH item, with what stands in its brackets.
    pub(super) fn item_name(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let mut inside = false;
        let ends = |byte: &u8| {
            inside = (inside || *byte == b'[') && *byte != b']';
            matches!(byte, b'\r' | b'\n') || !inside && matches!(byte, b' ' | b'(' | b')')
        };
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(super) fn number(&mut self) -> Result<u64, Error> {
        let rest = self.rest();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let text = std::str::from_utf8(&rest[..end]).unwrap_or_default();
        let number = text.parse().map_err(|_| self.wrong("no number"))?;
        self.at += end;
        Ok(number)
    }

    pub(super) fn number32(&mut self) -> Result<u32, Error> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.wrong("a number beyond 32 bits"))
    }

    /// A string in any of its forms, or a word; `NIL` is `None`.
    pub(super) fn string(&mut self) -> Result<Option<Cow<'a, [u8]>>, Error> {
        match self.peek() {
            Some(b'"') => self.quoted().map(Some),
            Some(b'{' | b'~') => self.literal().map(|octets| Some(Cow::Borrowed(octets))),
            _ => {
                let word = self.word();
                if word.is_empty() {
                    return Err(self.wrong("a string is missing"));
                }
                Ok((!word.eq_ignore_ascii_case(b"NIL")).then_some(Cow::Borrowed(word)))
            }
        }
    }

    /// As text; `NIL` is empty.
    pub(super) fn text(&mut self) -> Result<String, Error> {
        let octets = self.string()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    fn quoted(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        let inner = &self.rest()[1..];
        let Some(end) = inner.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n')) else {
            return Err(self.wrong("a string without end"));
        };
        if inner[end] == b'"' {
            self.at += end + 2;
            return Ok(Cow::Borrowed(&inner[..end]));
        }
        let mut text = Vec::new();
        let mut octets = inner.iter().enumerate();
        while let Some((at, octet)) = octets.next() {
            match octet {
                b'"' => {
                    self.at += at + 2;
                    return Ok(Cow::Owned(text));
                }
                b'\\' => text.extend(octets.next().map(|(_, octet)| *octet)),
                b'\r' | b'\n' => break,
                _ => text.push(*octet),
            }
        }
        Err(self.wrong("a string without end"))
    }

    fn literal(&mut self) -> Result<&'a [u8], Error> {
        self.take(b'~');
        self.expect(b'{')?;
        let octets = self.number()?;
        self.take(b'+');
        self.expect(b'}')?;
        self.take(b'\r');
        self.expect(b'\n')?;
        let end = usize::try_from(octets).ok().and_then(|octets| self.at.checked_add(octets));
        let literal = end.and_then(|end| self.octets.get(self.at..end));
        let literal = literal.ok_or_else(|| self.wrong("a literal without end"))?;
        self.at += literal.len();
        Ok(literal)
    }

    /// Passes over a value: a word, a string, or a list with all that is in it.
    pub(super) fn skip_value(&mut self) -> Result<(), Error> {
        let mut depth = 0;
        loop {
            self.skip_spaces();
            match self.peek() {
                Some(b'(') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b')') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => {
                    self.string()?;
                }
            }
            if depth == 0 {
                return Ok(());
            }
            if depth > DEPTH_MAX {
                return Err(Error::Limit { what: "nesting", limit: DEPTH_MAX as u64 });
            }
        }
    }

    /// A list of words in parentheses.
    pub(super) fn words(&mut self) -> Result<Vec<String>, Error> {
        self.expect(b'(')?;
        let mut words = Vec::new();
        loop {
            self.skip_spaces();
            if self.take(b')') {
                return Ok(words);
            }
            let word = self.word();
            if word.is_empty() {
                return Err(self.wrong("a list without end"));
            }
            words.push(String::from_utf8_lossy(word).into_owned());
        }
    }
}

/// The numbers of a set (`2,4:7`), ascending or as they stand, at most `limit`.
pub(super) fn expand_set(set: &[u8], limit: usize) -> Result<Vec<u32>, Error> {
    let mut numbers = Vec::new();
    for range in set.split(|byte| *byte == b',') {
        let mut scan = Scan::new(range);
        let first = scan.number32()?;
        let last = if scan.take(b':') { scan.number32()? } else { first };
        let (first, last) = (first.min(last), first.max(last));
        if (last - first) as usize >= limit.saturating_sub(numbers.len()) {
            return Err(Error::Limit { what: "a set of messages", limit: limit as u64 });
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

/// Numbers as a set, runs drawn together.
pub(super) fn print_set(numbers: &[u32]) -> String {
    use std::fmt::Write as _;
    let mut set = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let follows = |n: &usize| {
            rest.get(*n).is_some_and(|next| first.checked_add(*n as u32) == Some(*next))
        };
        let run = (1..).take_while(follows).count();
        let comma = if set.is_empty() { "" } else { "," };
        let _ = match run {
            0 => write!(set, "{comma}{first}"),
            _ => write!(set, "{comma}{first}:{}", rest[run]),
        };
        rest = &rest[run + 1..];
    }
    set
}

/// The size of the literal that a line announces at its end.
pub(super) fn literal_size(line: &[u8]) -> Option<(usize, u64)> {
    let line = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"))?;
    let inner = line.strip_suffix(b"}")?;
    let inner = inner.strip_suffix(b"+").unwrap_or(inner);
    let begin = inner.iter().rposition(|byte| !byte.is_ascii_digit())?;
    if inner[begin] != b'{' || begin + 1 == inner.len() || is_status(line) {
        return None;
    }
    let size = std::str::from_utf8(&inner[begin + 1..]).ok()?.parse().unwrap_or(u64::MAX);
    let tilde = begin > 0 && inner[begin - 1] == b'~';
    Some((begin - usize::from(tilde), size))
}

/// Whether a response is a status with free text, in which braces mean nothing.
fn is_status(line: &[u8]) -> bool {
    let mut scan = Scan::new(line);
    scan.word();
    scan.skip_spaces();
    let word = scan.word();
    ["OK", "NO", "BAD", "BYE", "PREAUTH"].iter().any(|s| word.eq_ignore_ascii_case(s.as_bytes()))
}
