//! What a client knows of the selected mailbox, kept true by what the server says at any time.

use std::ops::RangeInclusive;

use crate::wire::Error;

/// Messages whose uid is remembered, the latest rows that were read.
const KNOWN_MAX: usize = 256;
/// Removals that are told one by one; the count of messages is right beyond that, too.
const GONE_MAX: usize = 65_536;

/// A message that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// Its number at that moment.
    pub seq: u32,
    /// Its uid, when its row had been read.
    pub uid: Option<u32>,
}

/// What happened to the mailbox since the last news.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Messages there are now.
    pub exists: u32,
    /// Messages that were removed, in order.
    pub expunged: Vec<Gone>,
    /// Whether anything was said of the mailbox at all: more messages, fewer, other flags.
    pub changed: bool,
}

/// The selected mailbox as the server has described it.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub exists: u32,
    pub recent: u32,
    changed: bool,
    gone: Vec<Gone>,
    /// Numbers and uids of rows, numbers ascending.
    known: Vec<(u32, u32)>,
}

impl Picture {
    /// EXISTS: never fewer than before, as removals are told by EXPUNGE (RFC 9051 section 7.4.1).
    pub(super) fn grow(&mut self, exists: u32) -> Result<(), Error> {
        if exists < self.exists {
            return Err(Error::protocol("EXISTS became less", exists.to_string().as_bytes()));
        }
        self.changed |= exists != self.exists;
        self.exists = exists;
        Ok(())
    }

    /// EXPUNGE: the messages behind it move up at once (RFC 9051 section 7.5.1).
    pub(super) fn remove(&mut self, seq: u32) -> Result<(), Error> {
        self.check(seq)?;
        self.exists -= 1;
        self.changed = true;
        let at = self.known.partition_point(|(known, _)| *known < seq);
        let uid = match self.known.get(at) {
            Some((known, _)) if *known == seq => Some(self.known.remove(at).1),
            _ => None,
        };
        self.known[at..].iter_mut().for_each(|(known, _)| *known -= 1);
        if self.gone.len() < GONE_MAX {
            self.gone.push(Gone { seq, uid });
        }
        Ok(())
    }

    /// FETCH of a message that nobody asked for: other flags.
    pub(super) fn touch(&mut self, seq: u32) -> Result<(), Error> {
        self.check(seq)?;
        self.changed = true;
        Ok(())
    }

    /// That there is such a message.
    pub(super) fn check(&self, seq: u32) -> Result<(), Error> {
        if seq == 0 || seq > self.exists {
            return Err(Error::protocol("no such message", seq.to_string().as_bytes()));
        }
        Ok(())
    }

    /// Remembers rows, in place of all others.
    pub(super) fn know(&mut self, rows: impl Iterator<Item = (u32, u32)>) {
        self.known.clear();
        self.known.extend(rows.take(KNOWN_MAX));
        self.known.sort_unstable();
    }

    /// The numbers of the last `count` messages.
    pub(super) fn last(&self, count: u32) -> RangeInclusive<u32> {
        self.exists.saturating_sub(count) + 1..=self.exists
    }

    pub(super) fn has_news(&self) -> bool {
        self.changed
    }

    pub(super) fn take_news(&mut self) -> News {
        let changed = std::mem::take(&mut self.changed);
        News { exists: self.exists, expunged: std::mem::take(&mut self.gone), changed }
    }
}
