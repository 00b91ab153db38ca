//! The maildrop as a session sees it: the messages that INBOX held at sign-in, and what is to be
//! done with them at QUIT.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailfile::{FlagChange, FlagMode, INBOX, MailError, MailFile, Marks};
use store::{EntryFlags, FolderId};
use txlog::Lsn;

use crate::locks::Lock;
use crate::octets::{self, Known, Octets};

/// Messages read or changed under one hold of the mail file's lock.
const SLICE: usize = 1_000;
/// Bytes of notes read at once.
const NOTE_BYTES: usize = 1 << 20;
/// Messages looked at in one piece of work.
const LOOK_MESSAGES: usize = 500;

/// A message of the maildrop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Its uid in INBOX.
    pub uid: u32,
    /// Octets that RETR sends, without added dots.
    pub octets: u64,
}

/// The maildrop of a session. Messages have numbers from 1 on, which never change.
#[derive(Debug)]
pub(crate) struct Maildrop {
    /// Its messages at sign-in, by number minus one.
    pub messages: Vec<Message>,
    /// UIDVALIDITY of INBOX.
    pub uidvalidity: u32,
    /// INBOX.
    pub folder: FolderId,
    /// Numbers marked as deleted.
    deleted: BTreeSet<u32>,
    /// Numbers of the messages that were sent whole.
    retrieved: BTreeSet<u32>,
    /// Count and octets of the messages that are not marked.
    left: (usize, u64),
    _lock: Lock,
}

impl Maildrop {
    /// Reads INBOX: its oldest messages, if it holds more than `messages_max`.
    ///
    /// # Errors
    /// The mail file is in trouble, or has no INBOX.
    pub(crate) fn open(
        file: &MailFile,
        lock: Lock,
        messages_max: usize,
    ) -> Result<(Maildrop, Lsn), MailError> {
        let read = file.open_folder(INBOX)?;
        let (mut lsn, snapshot) = (read.lsn, read.value);
        let folder = snapshot.folder.id;
        let mut messages = Vec::with_capacity(messages_max.min(snapshot.uids.len() as usize));
        let uids: Vec<u32> = snapshot.uids.iter().take(messages_max).collect();
        for slice in uids.chunks(SLICE) {
            let read = file.entries(folder, slice)?;
            lsn = lsn.max(read.lsn);
            let rows = read.value.iter();
            messages.extend(rows.map(|entry| Message { uid: entry.uid, octets: entry.size }));
        }
        let maildrop = Maildrop {
            messages,
            uidvalidity: snapshot.folder.uidvalidity,
            folder,
            deleted: BTreeSet::new(),
            retrieved: BTreeSet::new(),
            left: (0, 0),
            _lock: lock,
        };
        Ok((maildrop, lsn))
    }

    /// Looks at some messages whose octets are not known yet; `true` when all are.
    ///
    /// # Errors
    /// The mail file is in trouble.
    pub(crate) fn look(&mut self, file: &MailFile, octets: &Octets) -> Result<bool, MailError> {
        let key = (file.database().dbiid(), self.uidvalidity);
        let mut known = octets.known(key);
        let from = self.messages.partition_point(|message| message.uid <= known.upto);
        let new = self.messages[from..].iter().map(|message| message.uid);
        let uids: Vec<u32> = new.take(LOOK_MESSAGES).collect();
        if !uids.is_empty() {
            look_at(file, self.folder, &uids, &mut known)?;
            octets.remember(key, known.clone());
        }
        let is_done = from + uids.len() == self.messages.len();
        if is_done {
            self.settle(&known);
        }
        Ok(is_done)
    }

    /// Takes over what is known of octets, and counts.
    fn settle(&mut self, known: &Known) {
        for message in &mut self.messages {
            message.octets += known.extra.get(&message.uid).copied().unwrap_or(0);
        }
        self.count();
    }

    fn count(&mut self) {
        let octets = self.messages.iter().map(|message| message.octets).sum();
        self.left = (self.messages.len(), octets);
    }

    /// How many messages are not marked as deleted, and their octets.
    pub(crate) fn left(&self) -> (usize, u64) {
        self.left
    }

    /// The message of this number, unless it is marked as deleted.
    pub(crate) fn get(&self, number: u32) -> Option<Message> {
        if self.deleted.contains(&number) {
            return None;
        }
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.messages.get(index).copied()
    }

    /// Marks a message as deleted; `false` when there is none of this number.
    pub(crate) fn delete(&mut self, number: u32) -> bool {
        let Some(message) = self.get(number) else { return false };
        self.left = (self.left.0 - 1, self.left.1 - message.octets);
        self.deleted.insert(number)
    }

    /// Takes all marks back.
    pub(crate) fn reset(&mut self) {
        self.deleted.clear();
        self.count();
    }

    /// Notes that a message was sent whole.
    pub(crate) fn note_retrieved(&mut self, number: u32) {
        self.retrieved.insert(number);
    }

    fn uids(&self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let uid = |number: u32| self.messages.get(number as usize - 1).map(|message| message.uid);
        numbers.filter_map(uid).collect()
    }

    /// What is to be done at QUIT.
    pub(crate) fn update(&self, mark_seen: bool) -> Update {
        let seen = self.retrieved.difference(&self.deleted).copied();
        Update {
            folder: self.folder,
            delete: self.uids(self.deleted.iter().copied()),
            seen: if mark_seen { self.uids(seen) } else { Vec::new() },
        }
    }
}

fn look_at(
    file: &MailFile,
    folder: FolderId,
    uids: &[u32],
    known: &mut Known,
) -> Result<(), MailError> {
    let mut rest = uids;
    let mut extra = Vec::new();
    while !rest.is_empty() {
        let (loaded, done) = file.load(folder, rest, NOTE_BYTES)?.value;
        for message in &loaded {
            // What cannot be read is told when it is asked for.
            match octets::extra(file, message).unwrap_or(0) {
                0 => {}
                more => extra.push((message.entry.uid, more)),
            }
        }
        rest = &rest[done..];
    }
    if !extra.is_empty() {
        Arc::make_mut(&mut known.extra).extend(extra);
    }
    known.upto = uids.last().copied().unwrap_or(known.upto);
    Ok(())
}

/// The UPDATE state (RFC 1939 §6).
#[derive(Debug)]
pub(crate) struct Update {
    folder: FolderId,
    /// Uids to be removed, ascending.
    pub delete: Vec<u32>,
    /// Uids to be marked as read, ascending.
    pub seen: Vec<u32>,
}

impl Update {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.delete.is_empty() && self.seen.is_empty()
    }

    /// Does it; messages that somebody else removed do not matter. Gives how many were removed, and
    /// where all of it is durable.
    ///
    /// # Errors
    /// The mail file is in trouble; what was removed until then stays removed.
    pub(crate) fn apply(&self, file: &MailFile) -> Result<(usize, Lsn), MailError> {
        let removed = file.remove_entries(self.folder, &self.delete)?;
        let mut lsn = removed.lsn;
        let marks = Marks { flags: EntryFlags::SEEN, keywords: Vec::new() };
        let change = FlagChange::new(FlagMode::Add, marks);
        for slice in self.seen.chunks(SLICE) {
            lsn = lsn.max(file.change_flags(self.folder, slice, &change)?.lsn);
        }
        Ok((removed.value.len(), lsn))
    }
}
