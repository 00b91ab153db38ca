//! Commands and responses: the tag, untagged data at any time, continuations, literals.

use super::Imap;
use super::scan::{Scan, literal_size};
use crate::wire::tail::Tail;
use crate::wire::{Error, LITERAL_OCTETS_MAX, MESSAGE_OCTETS_MAX};

/// An untagged response, or the tagged one that ends a command (so that its code is seen, too).
#[derive(Debug, Clone, Copy)]
pub(super) struct Untagged<'a> {
    /// The number in front, or 0.
    pub number: u32,
    word: &'a [u8],
    /// What follows the word.
    pub rest: &'a [u8],
    tagged: bool,
}

impl<'a> Untagged<'a> {
    pub(super) fn is(&self, word: &[u8]) -> bool {
        !self.tagged && self.word.eq_ignore_ascii_case(word)
    }

    fn is_ok(&self) -> bool {
        self.word.eq_ignore_ascii_case(b"OK")
    }

    /// What stands in brackets after OK.
    pub(super) fn code(&self) -> Option<Scan<'a>> {
        let inner = self.rest.strip_prefix(b"[").filter(|_| self.is_ok())?;
        let end = inner.iter().position(|byte| *byte == b']')?;
        Some(Scan::new(&inner[..end]))
    }
}

/// How a response begins.
enum Begin {
    Untagged,
    Continue,
    Tagged,
}

/// What a message streams into while a response is read.
pub(super) type Body<'a> = Option<&'a mut Tail>;

impl Imap {
    /// Sends a command and hears all until its end.
    pub(super) async fn run(
        &mut self,
        command: &str,
        mut each: impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tag = self.send_command(command).await?;
        self.await_end(tag, None, &mut each).await
    }

    /// Sends a command; its tag.
    pub(super) async fn send_command(&mut self, command: &str) -> Result<u32, Error> {
        let tag = self.next_tag();
        self.channel.write(format!("{tag} {command}\r\n").as_bytes()).await?;
        Ok(tag)
    }

    /// The tag of a command that is about to be sent. Tags are numbers.
    pub(super) fn next_tag(&mut self) -> u32 {
        self.tag = self.tag.wrapping_add(1);
        self.channel.count_requests(1);
        self.tag
    }

    /// Hears until the command `tag` has ended.
    pub(super) async fn await_end(
        &mut self,
        tag: u32,
        mut body: Body<'_>,
        each: &mut impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            self.read_into(&mut body).await?;
            match self.begin_of(tag)? {
                Begin::Untagged => self.hear_response(each)?,
                Begin::Tagged => return self.finish(each),
                Begin::Continue => {
                    return Err(Error::protocol("a continuation nobody waits for", &self.response));
                }
            }
        }
    }

    /// Hears until the server asks to go on with command `tag`.
    pub(super) async fn await_continuation(&mut self, tag: u32) -> Result<(), Error> {
        loop {
            self.read_response().await?;
            match self.begin_of(tag)? {
                Begin::Continue => return Ok(()),
                Begin::Untagged => self.hear_response(&mut |imap, said| imap.hear(said))?,
                Begin::Tagged => {
                    self.finish(&mut |imap, said| imap.hear(said))?;
                    return Err(Error::protocol("the command ended early", &self.response));
                }
            }
        }
    }

    fn begin_of(&self, tag: u32) -> Result<Begin, Error> {
        let mut scan = Scan::new(&self.response);
        match scan.word() {
            b"*" => Ok(Begin::Untagged),
            b"+" => Ok(Begin::Continue),
            word if word == tag.to_string().as_bytes() => Ok(Begin::Tagged),
            _ => Err(Error::protocol("a tag that nobody used", &self.response)),
        }
    }

    /// The command ended: OK, or a refusal.
    fn finish(
        &mut self,
        each: &mut impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let response = std::mem::take(&mut self.response);
        let said = Self::split(&response, true)?;
        let result = if said.is_ok() {
            each(self, &said)
        } else if said.word.eq_ignore_ascii_case(b"NO") || said.word.eq_ignore_ascii_case(b"BAD") {
            let code = String::from_utf8_lossy(said.word);
            Err(Error::refused(&code, String::from_utf8_lossy(said.rest).trim()))
        } else {
            Err(Error::protocol("neither OK nor NO nor BAD", &response))
        };
        self.response = response;
        result
    }

    /// Shows an untagged response to `each`.
    pub(super) fn hear_response(
        &mut self,
        each: &mut impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let response = std::mem::take(&mut self.response);
        if response.first() != Some(&b'*') {
            return Err(Error::protocol("not an untagged response", &response));
        }
        let result = Self::split(&response, false).and_then(|said| each(self, &said));
        self.response = response;
        result
    }

    fn split(response: &[u8], tagged: bool) -> Result<Untagged<'_>, Error> {
        let mut scan = Scan::new(response);
        scan.word();
        scan.skip_spaces();
        let mut number = 0;
        if scan.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            number = scan.number32()?;
            scan.skip_spaces();
        }
        let word = scan.word();
        if word.is_empty() {
            return Err(scan.wrong("an empty response"));
        }
        scan.skip_spaces();
        Ok(Untagged { number, word, rest: scan.rest(), tagged })
    }

    /// What every command does with what it did not ask for.
    pub(super) fn hear(&mut self, said: &Untagged<'_>) -> Result<(), Error> {
        if let Some(mut code) = said.code() {
            if code.word().eq_ignore_ascii_case(b"CAPABILITY") {
                self.learn(code.rest());
            }
        } else if said.is(b"CAPABILITY") {
            self.learn(said.rest);
        } else if said.is(b"EXISTS") {
            self.picture.grow(said.number)?;
        } else if said.is(b"EXPUNGE") {
            self.picture.remove(said.number)?;
        } else if said.is(b"FETCH") {
            self.picture.touch(said.number)?;
        } else if said.is(b"RECENT") {
            self.picture.recent = said.number;
        } else if said.is(b"BYE") {
            return Err(Error::Closed);
        }
        Ok(())
    }

    fn learn(&mut self, words: &[u8]) {
        let words = String::from_utf8_lossy(words);
        self.capabilities = words.split_ascii_whitespace().map(str::to_owned).collect();
    }

    /// Reads a response with its literals.
    pub(super) async fn read_response(&mut self) -> Result<(), Error> {
        self.read_into(&mut None).await
    }

    /// The same; the literal of a message goes to `body` and leaves an empty string behind.
    async fn read_into(&mut self, body: &mut Body<'_>) -> Result<(), Error> {
        self.response.clear();
        loop {
            self.channel.line(&mut self.response, self.limit).await?;
            let Some((begin, octets)) = literal_size(&self.response) else { return Ok(()) };
            match body {
                Some(tail) if announces_body(&self.response[..begin]) => {
                    check(octets, MESSAGE_OCTETS_MAX, "a message")?;
                    self.response.truncate(begin);
                    self.response.extend_from_slice(b"\"\"");
                    self.channel.pass(octets, |piece| tail.update(piece)).await?;
                }
                _ => {
                    check(octets, LITERAL_OCTETS_MAX as u64, "a literal")?;
                    check(self.response.len() as u64 + octets, self.limit as u64, "a response")?;
                    let response = &mut self.response;
                    self.channel.pass(octets, |piece| response.extend_from_slice(piece)).await?;
                }
            }
        }
    }
}

fn check(octets: u64, limit: u64, what: &'static str) -> Result<(), Error> {
    if octets > limit { Err(Error::Limit { what, limit }) } else { Ok(()) }
}

/// Whether the literal that follows is that of `BODY[…]` or `RFC822`.
fn announces_body(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.ends_with(b"]") || before.ends_with(b">")
}
