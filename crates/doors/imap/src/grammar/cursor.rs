//! A cursor over the bytes of one command: line text with its literals in place.

use std::borrow::Cow;

/// The command breaks the grammar; the text says where. Answered with `BAD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad(pub &'static str);

/// What parsing gives.
pub(crate) type Parse<T> = Result<T, Bad>;

/// A cursor over one command.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// `ATOM-CHAR`.
fn is_atom(byte: u8) -> bool {
    byte > 0x20 && byte < 0x7f && !b"(){%*\"\\]".contains(&byte)
}

/// `ASTRING-CHAR`.
fn is_astring(byte: u8) -> bool {
    is_atom(byte) || byte == b']'
}

/// `list-char`.
fn is_list(byte: u8) -> bool {
    is_astring(byte) || byte == b'%' || byte == b'*'
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Bytes that were not taken yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Takes `byte` when it is next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes `byte`, which must be next.
    pub(crate) fn expect(&mut self, byte: u8, missing: &'static str) -> Parse<()> {
        if self.eat(byte) { Ok(()) } else { Err(Bad(missing)) }
    }

    /// Takes the space between two arguments; several are tolerated.
    pub(crate) fn space(&mut self) -> Parse<()> {
        self.expect(b' ', "an argument is missing")?;
        while self.eat(b' ') {}
        Ok(())
    }

    /// Nothing but blanks may follow.
    pub(crate) fn end(&mut self) -> Parse<()> {
        while self.eat(b' ') {}
        if self.at == self.bytes.len() { Ok(()) } else { Err(Bad("too many arguments")) }
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn while_of(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let count = rest.iter().position(|byte| !is(*byte)).unwrap_or(rest.len());
        self.at += count;
        &rest[..count]
    }

    /// A tag: `ASTRING-CHAR` except `+`.
    pub(crate) fn tag(&mut self) -> Parse<&'a str> {
        let tag = self.while_of(|byte| is_astring(byte) && byte != b'+');
        ascii(tag).ok_or(Bad("a tag is missing"))
    }

    /// A keyword or other atom.
    pub(crate) fn atom(&mut self) -> Parse<&'a str> {
        ascii(self.while_of(is_atom)).ok_or(Bad("a word is missing"))
    }

    /// A word of letters, digits, `.` and `-`: the name of a fetch item or of an option.
    pub(crate) fn name(&mut self) -> Parse<&'a str> {
        let is = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        ascii(self.while_of(is)).ok_or(Bad("a word is missing"))
    }

    /// Takes `word` (any case) when it is next and ends there.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let Some(head) = rest.get(..word.len()) else { return false };
        let ends = rest.get(word.len()).is_none_or(|byte| !is_atom(*byte));
        let found = ends && head.eq_ignore_ascii_case(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    /// `astring`.
    pub(crate) fn astring(&mut self) -> Parse<Cow<'a, [u8]>> {
        self.string_or(is_astring)
    }

    /// `list-mailbox`: a pattern, not decoded.
    pub(crate) fn pattern(&mut self) -> Parse<Cow<'a, [u8]>> {
        self.string_or(is_list)
    }

    fn string_or(&mut self, is: impl Fn(u8) -> bool) -> Parse<Cow<'a, [u8]>> {
        match self.peek() {
            Some(b'"' | b'{') => self.string(),
            _ => {
                let word = self.while_of(is);
                if word.is_empty() { Err(Bad("a string is missing")) } else { Ok(word.into()) }
            }
        }
    }

    /// `string`: quoted or literal.
    pub(crate) fn string(&mut self) -> Parse<Cow<'a, [u8]>> {
        match self.peek() {
            Some(b'"') => self.quoted(),
            Some(b'{') => self.literal().map(Cow::Borrowed),
            _ => Err(Bad("a string is missing")),
        }
    }

    /// `nstring`.
    pub(crate) fn nstring(&mut self) -> Parse<Option<Cow<'a, [u8]>>> {
        if self.eat_word("NIL") { Ok(None) } else { self.string().map(Some) }
    }

    fn quoted(&mut self) -> Parse<Cow<'a, [u8]>> {
        const OPEN: Bad = Bad("a quoted string does not end");
        self.at += 1;
        let plain = self.while_of(|byte| !b"\"\\\r\n\0".contains(&byte));
        if self.eat(b'"') {
            return Ok(plain.into());
        }
        let mut text = plain.to_vec();
        loop {
            match self.peek().ok_or(OPEN)? {
                b'"' => {
                    self.at += 1;
                    return Ok(text.into());
                }
                b'\\' => {
                    let escaped = self.bytes.get(self.at + 1).copied().ok_or(OPEN)?;
                    if escaped != b'"' && escaped != b'\\' {
                        return Err(Bad("a backslash may only precede a quote or a backslash"));
                    }
                    text.push(escaped);
                    self.at += 2;
                }
                b'\r' | b'\n' | 0 => return Err(OPEN),
                other => {
                    text.push(other);
                    self.at += 1;
                }
            }
        }
    }

    /// `literal` (synchronizing or not, RFC 7888), whose bytes stand behind its line end. It may
    /// not hold NUL.
    pub(crate) fn literal(&mut self) -> Parse<&'a [u8]> {
        let bytes = self.message()?;
        match memchr::memchr(0, bytes) {
            None => Ok(bytes),
            Some(_) => Err(Bad("a literal holds a NUL byte")),
        }
    }

    /// A literal that is a message. Messages with NUL are out there, and are taken as they are.
    pub(crate) fn message(&mut self) -> Parse<&'a [u8]> {
        const BROKEN: Bad = Bad("a literal is broken");
        self.expect(b'{', "a literal is missing")?;
        let length = self.number64()?;
        self.eat(b'+');
        if !self.rest().starts_with(b"}\r\n") {
            return Err(BROKEN);
        }
        self.at += 3;
        let length = usize::try_from(length).map_err(|_| BROKEN)?;
        let bytes = self.rest().get(..length).ok_or(BROKEN)?;
        self.at += length;
        Ok(bytes)
    }

    /// `number64`.
    pub(crate) fn number64(&mut self) -> Parse<u64> {
        let digits = self.while_of(|byte| byte.is_ascii_digit());
        let number = ascii(digits).and_then(|text| text.parse().ok());
        number.ok_or(Bad("a number is missing or too large"))
    }

    /// `number`.
    pub(crate) fn number(&mut self) -> Parse<u32> {
        u32::try_from(self.number64()?).map_err(|_| Bad("a number is too large"))
    }

    /// `mod-sequence-valzer` (RFC 7162 §7): 63 bits.
    pub(crate) fn modseq(&mut self) -> Parse<u64> {
        let number = self.number64()?;
        if number <= i64::MAX as u64 { Ok(number) } else { Err(Bad("a modseq is too large")) }
    }

    /// `nz-number`.
    pub(crate) fn nz_number(&mut self) -> Parse<u32> {
        match self.number()? {
            0 => Err(Bad("a number must not be zero")),
            number => Ok(number),
        }
    }

    /// `mailbox`: decoded from modified UTF-7, INBOX in capitals.
    pub(crate) fn mailbox(&mut self) -> Parse<crate::names::Name> {
        self.astring().map(|raw| crate::names::Name::of_client(&raw))
    }
}

fn ascii(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
