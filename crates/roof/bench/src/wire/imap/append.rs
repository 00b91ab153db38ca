//! APPEND: one, many in one command (RFC 3502), many ahead of their answers.

use std::collections::VecDeque;

use super::dialogue::Untagged;
use super::scan::expand_set;
use super::{Imap, quote, within};
use crate::letters::Letter;
use crate::wire::Error;

/// Letters that one command carries, or that are sent ahead of their answers, at the most.
const AT_ONCE_MAX: usize = 32;
/// Octets of the same, unless one letter has more.
const OCTETS_AT_ONCE_MAX: u64 = 4 << 20;

impl Imap {
    /// Adds a letter to a folder; its uid, when the server tells it.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn append(
        &mut self,
        folder: &str,
        flags: &[&str],
        letter: &Letter,
    ) -> Result<Option<u32>, Error> {
        let head = append_head(folder, flags)?;
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result =
            within(limit, "APPEND", self.append_group(&head, std::slice::from_ref(letter)));
        let result = result.await;
        Ok(self.end(result)?.pop())
    }

    /// Adds letters in this order, in few commands; their uids, when the server tells them (else
    /// the list is empty). Each group of some megabytes has the time of one call.
    ///
    /// # Errors
    ///
    /// [`Error`]; after any, a part of the letters may have been added.
    pub async fn append_many(
        &mut self,
        folder: &str,
        flags: &[&str],
        letters: &[Letter],
    ) -> Result<Vec<u32>, Error> {
        let head = append_head(folder, flags)?;
        let mut uids = Vec::new();
        let mut rest = letters;
        while !rest.is_empty() {
            let (group, after) = rest.split_at(group_of(rest));
            rest = after;
            self.channel.begin()?;
            let limit = self.channel.timeouts.bulk;
            let result = match self.has("MULTIAPPEND") {
                true => within(limit, "APPEND", self.append_group(&head, group)).await,
                false => within(limit, "APPEND", self.append_ahead(&head, group)).await,
            };
            uids.append(&mut self.end(result)?);
        }
        if uids.len() != letters.len() {
            uids.clear();
        }
        Ok(uids)
    }

    /// All of a group in one command.
    async fn append_group(&mut self, head: &Head, group: &[Letter]) -> Result<Vec<u32>, Error> {
        let tag = self.next_tag();
        let mut begin = format!("{tag} {}", head.command);
        for letter in group {
            self.send_letter(&begin, head, letter, tag).await?;
            begin.clear();
        }
        self.channel.write(b"\r\n").await?;
        self.await_uids(tag).await
    }

    /// One command for each, the next sent before the first is answered.
    async fn append_ahead(&mut self, head: &Head, group: &[Letter]) -> Result<Vec<u32>, Error> {
        let mut tags = VecDeque::new();
        let mut uids = Vec::new();
        for letter in group {
            let tag = self.next_tag();
            let begin = format!("{tag} {}", head.command);
            self.send_letter(&begin, head, letter, tag).await?;
            self.channel.write(b"\r\n").await?;
            tags.push_back(tag);
            if !self.has("LITERAL+") {
                // The server's go-ahead for the next literal must not come among these answers.
                uids.append(&mut self.await_all(&mut tags).await?);
            }
        }
        uids.append(&mut self.await_all(&mut tags).await?);
        Ok(uids)
    }

    /// Hears the answers to these commands. All are heard even when one is a refusal.
    async fn await_all(&mut self, tags: &mut VecDeque<u32>) -> Result<Vec<u32>, Error> {
        let (mut uids, mut refusal) = (Vec::new(), None);
        while let Some(tag) = tags.pop_front() {
            match self.await_uids(tag).await {
                Ok(mut told) => uids.append(&mut told),
                Err(error) if error.is_refusal() => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        refusal.map_or(Ok(uids), Err)
    }

    /// Sends `begin`, flags and a letter, without the end of the command.
    async fn send_letter(
        &mut self,
        begin: &str,
        head: &Head,
        letter: &Letter,
        tag: u32,
    ) -> Result<(), Error> {
        let (flags, octets) = (&head.flags, letter.octets);
        if self.has("LITERAL+") {
            let line = format!("{begin} {flags}{{{octets}+}}\r\n");
            return self.channel.write_pieces(line.as_bytes(), letter.pieces(), b"").await;
        }
        let line = format!("{begin} {flags}{{{octets}}}\r\n");
        self.channel.write(line.as_bytes()).await?;
        self.await_continuation(tag).await?;
        self.channel.write_pieces(b"", letter.pieces(), b"").await
    }

    /// The end of an APPEND and its APPENDUID (RFC 4315 section 3).
    async fn await_uids(&mut self, tag: u32) -> Result<Vec<u32>, Error> {
        let mut uids = Vec::new();
        self.await_end(tag, None, &mut |imap: &mut Self, said: &Untagged<'_>| {
            let Some(mut code) = said.code() else { return imap.hear(said) };
            if !code.word().eq_ignore_ascii_case(b"APPENDUID") {
                return imap.hear(said);
            }
            code.skip_spaces();
            code.number32()?;
            code.skip_spaces();
            uids = expand_set(code.word(), AT_ONCE_MAX)?;
            Ok(())
        })
        .await?;
        Ok(uids)
    }
}

/// How each APPEND begins.
struct Head {
    command: String,
    flags: String,
}

fn append_head(folder: &str, flags: &[&str]) -> Result<Head, Error> {
    let command = format!("APPEND {}", quote(folder)?);
    let flags = match flags {
        [] => String::new(),
        some => format!("({}) ", some.join(" ")),
    };
    Ok(Head { command, flags })
}

/// How many of these letters go together: at least one.
fn group_of(letters: &[Letter]) -> usize {
    let mut octets = 0;
    let fits = letters.iter().take(AT_ONCE_MAX).take_while(|letter| {
        octets += letter.octets;
        octets <= OCTETS_AT_ONCE_MAX
    });
    fits.count().max(1)
}
