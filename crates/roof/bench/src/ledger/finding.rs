//! What was found wrong, counted by kind, with the first of each in words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Findings of one kind that are kept in words; the rest are counted.
pub const TEXTS_MAX: usize = 20;

/// What is wrong with a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message that the server had accepted, or that was there before, is not there.
    Missing,
    /// A message is there more often than it was handed in.
    Doubled,
    /// A message is where nobody sent or put it.
    Unexpected,
    /// A message that was deleted or moved away is there again, or still.
    Returned,
    /// A message has other bytes or another size than were handed in.
    Damaged,
    /// A uid names another message than before, is below uids given earlier, or `UIDVALIDITY`
    /// changed (RFC 3501 section 2.3.1.1).
    Reordered,
    /// A message arrived longer after its acceptance than is allowed.
    Late,
    /// EXISTS, STATUS or STAT disagree with the messages that are there.
    WrongCount,
    /// A flag that was set is not there, or one that was taken off is.
    LostFlag,
    /// A mailbox could not be read for the check.
    Unreadable,
}

impl Kind {
    /// The word for it in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Doubled => "doubled",
            Self::Unexpected => "unexpected",
            Self::Returned => "returned",
            Self::Damaged => "damaged",
            Self::Reordered => "reordered",
            Self::Late => "late",
            Self::WrongCount => "wrong count",
            Self::LostFlag => "lost flag",
            Self::Unreadable => "unreadable",
        }
    }
}

/// How often one kind was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// All of them.
    pub count: u64,
    /// The first [`TEXTS_MAX`] in words.
    pub first: Vec<String>,
}

/// What the check looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// People whose mailboxes were read.
    pub people: u64,
    /// Folders.
    pub folders: u64,
    /// Messages in them.
    pub messages: u64,
    /// Messages of this run that were expected there.
    pub expected: u64,
    /// Messages of this run that were read whole and compared, during the run or at its end.
    pub compared: u64,
    /// Messages whose handing in ended without an answer, and which are there.
    pub unsure_there: u64,
    /// Messages whose handing in ended without an answer, and which are not there.
    pub unsure_absent: u64,
    /// Time until the last accepted message had arrived, in ms.
    pub settled_ms: u64,
}

/// All that was found wrong in a run, and at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// By kind; a kind that was not found is not there.
    pub kinds: BTreeMap<Kind, Finding>,
    /// What the check looked at.
    pub looked: Looked,
}

impl Findings {
    /// Adds one.
    pub fn add(&mut self, kind: Kind, text: impl FnOnce() -> String) {
        let finding = self.kinds.entry(kind).or_default();
        finding.count += 1;
        if finding.first.len() < TEXTS_MAX {
            finding.first.push(text());
        }
    }

    /// How many of a kind.
    #[must_use]
    pub fn count(&self, kind: Kind) -> u64 {
        self.kinds.get(&kind).map_or(0, |finding| finding.count)
    }

    /// How many of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|finding| finding.count).sum()
    }

    /// Whether nothing was found wrong.
    #[must_use]
    pub fn clean(&self) -> bool {
        self.total() == 0
    }

    /// One line for each kind: how many, and the first.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let line = |(kind, finding): (&Kind, &Finding)| {
            let first = finding.first.first().map_or("", String::as_str);
            format!("{} {}, first: {first}", finding.count, kind.word())
        };
        self.kinds.iter().map(line).collect()
    }
}
