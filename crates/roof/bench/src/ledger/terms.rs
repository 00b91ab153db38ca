//! The words in which the ledger is told what happens.

use std::fmt;
use std::time::Duration;

use crate::letters::Letter;

/// By what a message is known again: its Message-ID, shortened to 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub u64);

impl Key {
    /// The key of no Message-ID at all.
    pub const NONE: Self = Self(0);

    /// The key of a Message-ID, with or without its brackets. Of an id `RUN.N@DOMAIN` the lower
    /// half is N.
    #[must_use]
    pub fn of(message_id: &str) -> Self {
        let id = message_id.trim().trim_start_matches('<').trim_end_matches('>');
        if id.is_empty() {
            return Self::NONE;
        }
        let local = id.split('@').next().unwrap_or(id);
        let numbered = local
            .rsplit_once('.')
            .and_then(|(run, number)| Some((run, number.parse::<u32>().ok()?)));
        match numbered {
            Some((run, number)) => Self(fold(run) << 32 | u64::from(number)),
            None => Self(hash(id) | 1),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "letter {} ({:08x})", self.0 as u32, self.0 >> 32)
    }
}

/// FNV-1a, which is the same on every machine and in every run.
fn hash(text: &str) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The same in 32 bits, never 0.
pub(super) fn fold(text: &str) -> u64 {
    let sum = hash(text);
    ((sum >> 32) ^ (sum & 0xffff_ffff)).max(1)
}

/// What a message must be when it is read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its Message-ID.
    pub key: Key,
    /// Octets as handed in; the server may put trace fields in front.
    pub octets: u64,
    /// crc32 over them.
    pub sum: u32,
}

impl Facts {
    /// The facts of a letter.
    #[must_use]
    pub fn of(letter: &Letter) -> Self {
        Self { key: Key::of(letter.message_id()), octets: letter.octets, sum: letter.sum }
    }
}

/// A folder of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The person, from 1.
    pub person: u32,
    /// The folder as the server names it; `INBOX` in any case.
    pub folder: &'a str,
}

impl<'a> Place<'a> {
    /// The folder `folder` of person `person`.
    #[must_use]
    pub fn new(person: u32, folder: &'a str) -> Self {
        Self { person, folder }
    }
}

/// A message as a client saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Its uid.
    pub uid: u32,
    /// Its Message-ID; [`Key::NONE`] when that was not read.
    pub key: Key,
}

/// A folder as a client saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View {
    /// UIDVALIDITY; 0 when it was not told.
    pub uid_validity: u32,
    /// UIDNEXT, when it was told at the same moment.
    pub uid_next: Option<u32>,
    /// Messages there, when that was told at the same moment.
    pub exists: Option<u32>,
}

/// Whether the clocks of driver and server are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// One machine: INTERNALDATE says whether a message came late.
    #[default]
    Shared,
    /// Two: only what was seen when says it.
    Apart,
}

/// What mail is that nobody of this run sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strangers {
    /// A finding: the server has no other mail.
    #[default]
    Refused,
    /// Mail from elsewhere comes in as well.
    Allowed,
}

/// What the model is told beforehand.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time after acceptance at which a message counts as late.
    pub late_after: Duration,
    /// The clocks.
    pub clock: Clock,
    /// Folders from which the server itself removes messages.
    pub vanishing: Vec<String>,
    /// Mail from elsewhere.
    pub strangers: Strangers,
}

impl Default for Options {
    fn default() -> Self {
        let late_after = Duration::from_secs(60);
        Self {
            late_after,
            clock: Clock::Shared,
            vanishing: Vec::new(),
            strangers: Strangers::Refused,
        }
    }
}

/// Whether flags are set or taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flagging {
    /// `+FLAGS`.
    Add,
    /// `-FLAGS`.
    Remove,
}
