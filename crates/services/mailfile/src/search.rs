//! Searching a folder: keys, decided from the cheapest facts that suffice.

mod content;

use store::{Entry, EntryFlags, FolderId, Read, StoreError};

use crate::messages::{Loaded, entries_of};
use crate::{MailError, MailFile};

/// What messages are searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// Every message.
    All,
    /// All of these.
    And(Vec<Key>),
    /// One of these.
    Or(Vec<Key>),
    /// Not this.
    Not(Box<Key>),
    /// The uid lies in one of these ranges (ascending, both ends included).
    Uids(Vec<(u32, u32)>),
    /// All of these flags are set.
    Flags(EntryFlags),
    /// The keyword is set.
    Keyword(String),
    /// The internal date lies before this moment, in microseconds since 1970.
    Before(i64),
    /// The internal date lies at or after this moment, in microseconds since 1970.
    Since(i64),
    /// The date in the message, as it is written, lies before this day (days since 1970).
    SentBefore(i64),
    /// The date in the message, as it is written, is this day or a later one (days since 1970).
    SentSince(i64),
    /// The entry changed at this modseq or later (RFC 7162 §3.1.5).
    ModSeq(u64),
    /// A field of the envelope holds this text, its addresses as `Name <local@domain>`.
    Field(Field, Needle),
    /// More bytes than this.
    Larger(u64),
    /// Fewer bytes than this.
    Smaller(u64),
    /// A header field of this name holds this text; with an empty text, the field is there.
    Header(String, Needle),
    /// The body holds this text.
    Body(Needle),
    /// Header or body hold this text.
    Text(Needle),
}

/// A field of the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `Bcc`.
    Bcc,
    /// `Cc`.
    Cc,
    /// `From`.
    From,
    /// `Subject`.
    Subject,
    /// `To`.
    To,
}

/// A text to look for, without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle(String);

impl Needle {
    /// A text to look for.
    pub fn new(text: &str) -> Needle {
        Needle(text.to_lowercase())
    }

    /// Whether `text` holds it.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_empty() || text.to_lowercase().contains(&self.0)
    }

    /// Whether it is empty, and so in every text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// All uids there can be.
const EVERYTHING: [(u32, u32); 1] = [(1, u32::MAX)];

/// Entries looked at in one step.
const ENTRIES_MAX: usize = 500;
/// Bytes of notes loaded in one step.
const NOTE_BYTES_MAX: usize = 512 * 1024;

/// Bytes of messages looked at in one step, beyond which the next one begins.
const CONTENT_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// One step of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Uids that were found, ascending.
    pub found: Vec<u32>,
    /// How many of the given uids were gone through.
    pub done: usize,
}

impl MailFile {
    /// Searches among `uids` (ascending) for one slice of time: call again with those not gone
    /// through. Uids that are gone are not found.
    ///
    /// # Errors
    /// The database is in trouble. A single message that cannot be read is not found.
    pub fn search(
        &self,
        folder: FolderId,
        uids: &[u32],
        key: &Key,
    ) -> Result<Read<Step>, MailError> {
        let uids = &uids[..uids.len().min(ENTRIES_MAX)];
        let mut step = Step { found: Vec::new(), done: uids.len() };
        let read = self.read(|rows| {
            let mut open: Vec<Loaded> = Vec::new();
            let mut bytes = 0;
            for entry in entries_of(rows, folder, uids)? {
                if bytes > NOTE_BYTES_MAX {
                    step.done = uids.partition_point(|uid| *uid < entry.uid);
                    break;
                }
                match key.decide(&entry) {
                    Some(true) => step.found.push(entry.uid),
                    Some(false) => {}
                    None => {
                        let note = match rows.note_bytes(entry.note) {
                            // It is told below that this message cannot be searched.
                            Err(StoreError::Damage { .. }) => Vec::new(),
                            note => note?.unwrap_or_default(),
                        };
                        bytes += note.len();
                        open.push(Loaded { entry, note, summary: None });
                    }
                }
            }
            Ok(open)
        })?;
        let mut content_bytes = 0;
        for loaded in &read.value {
            if content_bytes > CONTENT_BYTES_MAX {
                // The rest is for the next step, also what its entries decided.
                let next = loaded.entry.uid;
                step.done = uids.partition_point(|uid| *uid < next);
                step.found.retain(|uid| *uid < next);
                break;
            }
            let (holds, bytes) = self.holds(loaded, key);
            content_bytes += bytes;
            if holds {
                step.found.push(loaded.entry.uid);
            }
        }
        step.found.sort_unstable();
        Ok(Read { value: step, lsn: read.lsn })
    }

    /// Whether the key holds, and how many bytes of the message were looked at.
    fn holds(&self, loaded: &Loaded, key: &Key) -> (bool, u64) {
        let mut bytes = 0;
        let answer = content::Content::open(self, loaded).and_then(|mut content| {
            let answer = key.decide_with(&loaded.entry, &mut content);
            bytes = content.bytes_read();
            answer
        });
        let holds = answer.unwrap_or_else(|error| {
            let (db, uid) = (self.db.path(), loaded.entry.uid);
            tracing::warn!(%db, uid, %error, "a message cannot be searched");
            false
        });
        (holds, bytes)
    }
}

impl Key {
    /// Ranges of uids outside of which nothing can be found; everything when none are known.
    pub fn uid_bounds(&self) -> Vec<(u32, u32)> {
        match self {
            Key::Uids(ranges) => ranges.clone(),
            Key::And(keys) => {
                let bounded = keys.iter().map(Key::uid_bounds).find(|bounds| *bounds != EVERYTHING);
                bounded.unwrap_or_else(|| EVERYTHING.to_vec())
            }
            _ => EVERYTHING.to_vec(),
        }
    }

    /// Whether the bounds tell everything: what lies within them is found.
    pub fn is_only_uids(&self) -> bool {
        match self {
            Key::All | Key::Uids(_) => true,
            Key::And(keys) => keys.len() == 1 && keys[0].is_only_uids(),
            _ => false,
        }
    }

    /// Whether a modseq is asked for anywhere, so that the answer has to tell the highest one.
    pub fn asks_modseq(&self) -> bool {
        match self {
            Key::ModSeq(_) => true,
            Key::And(keys) | Key::Or(keys) => keys.iter().any(Key::asks_modseq),
            Key::Not(key) => key.asks_modseq(),
            _ => false,
        }
    }

    /// The answer, when the entry alone gives it.
    pub fn decide(&self, entry: &Entry) -> Option<bool> {
        match self {
            Key::All => Some(true),
            Key::And(keys) => all(keys.iter().map(|key| key.decide(entry))),
            Key::Or(keys) => {
                all(keys.iter().map(|key| key.decide(entry).map(|yes| !yes))).map(|no| !no)
            }
            Key::Not(key) => key.decide(entry).map(|yes| !yes),
            Key::Uids(ranges) => {
                let at = ranges.partition_point(|(_, last)| *last < entry.uid);
                Some(ranges.get(at).is_some_and(|(first, _)| *first <= entry.uid))
            }
            Key::Flags(flags) => Some(entry.flags.contains(*flags)),
            Key::Keyword(word) => {
                Some(entry.keywords.iter().any(|known| known.eq_ignore_ascii_case(word)))
            }
            Key::ModSeq(modseq) => Some(entry.modseq >= *modseq),
            Key::Before(moment) => Some(entry.date.0 < *moment),
            Key::Since(moment) => Some(entry.date.0 >= *moment),
            Key::Larger(bytes) => Some(entry.size > *bytes),
            Key::Smaller(bytes) => Some(entry.size < *bytes),
            Key::SentBefore(_) | Key::SentSince(_) => None,
            Key::Field(..) | Key::Header(..) | Key::Body(_) | Key::Text(_) => None,
        }
    }

    /// The answer, with the content at hand. Keys that the entry decides are asked first.
    fn decide_with(
        &self,
        entry: &Entry,
        content: &mut content::Content<'_>,
    ) -> Result<bool, MailError> {
        if let Some(answer) = self.decide(entry) {
            return Ok(answer);
        }
        match self {
            Key::And(keys) => {
                for key in keys {
                    if !key.decide_with(entry, content)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Key::Or(keys) => {
                for key in keys {
                    if key.decide_with(entry, content)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Key::Not(key) => Ok(!key.decide_with(entry, content)?),
            Key::SentBefore(day) => Ok(content.sent_day()?.is_some_and(|sent| sent < *day)),
            Key::SentSince(day) => Ok(content.sent_day()?.is_some_and(|sent| sent >= *day)),
            Key::Field(field, text) => content.field_holds(*field, text),
            Key::Header(name, text) => content.header_holds(name, text),
            Key::Body(text) => content.body_holds(text),
            Key::Text(text) => Ok(content.any_header_holds(text)? || content.body_holds(text)?),
            _ => Ok(false),
        }
    }
}

/// Three-valued "all of": one `no` decides, one unknown leaves it open.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    for answer in answers {
        match answer {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

#[cfg(test)]
mod tests;
