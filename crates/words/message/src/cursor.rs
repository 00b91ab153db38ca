//! A position in a header value, and the lexical elements of RFC 5322 §3.2.

/// Reads a raw header value from left to right; folding counts as white space.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// No quotation mark closes behind the place where this was found out.
    quotes_open: bool,
}

/// Bytes of a MIME token (RFC 2045 §5.1).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, quotes_open: false }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        &self.bytes[from..to]
    }

    pub(crate) fn skip_one(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
    }

    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(crate) fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| !wanted(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    pub(crate) fn skip_space(&mut self) {
        self.take_while(is_space);
    }

    /// Passes white space and comments; a comment that is not closed reaches to the end.
    pub(crate) fn skip_cfws(&mut self) {
        loop {
            self.skip_space();
            if self.peek() != Some(b'(') {
                return;
            }
            self.comment();
        }
    }

    /// Passes the comment that begins here and gives what is between its outer parentheses.
    pub(crate) fn comment(&mut self) -> &'a [u8] {
        let start = self.at + 1;
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.skip_one(),
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return &self.bytes[start..self.at - 1];
            }
        }
        &self.bytes[start.min(self.at)..self.at]
    }

    /// The content of the quoted string that begins here, without quotes, escapes and folding.
    /// `None` when none begins here. A string that is not closed reaches to the end.
    pub(crate) fn quoted_string(&mut self) -> Option<Vec<u8>> {
        if !self.eat(b'"') {
            return None;
        }
        let mut value = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => break,
                b'\r' | b'\n' => {}
                b'\\' => {
                    value.extend(self.peek());
                    self.skip_one();
                }
                _ => value.push(byte),
            }
        }
        Some(value)
    }

    /// Passes the quoted string that begins here, if it is closed; a lone quotation mark counts
    /// as an ordinary character. Tells whether it moved.
    pub(crate) fn skip_closed_quotes(&mut self) -> bool {
        if self.quotes_open {
            return false;
        }
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return true,
                b'\\' => self.skip_one(),
                _ => {}
            }
        }
        self.at = start;
        self.quotes_open = true;
        false
    }
}
