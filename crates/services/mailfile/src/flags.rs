//! Flags and keywords of entries, and how they change.

use store::{Entry, EntryFlags};

/// Keywords of one entry at most.
const KEYWORDS_MAX: usize = 100;

/// Flags and keywords together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// System flags; SEEN is the owner's mark of the note, in whatever folder it is shown.
    pub flags: EntryFlags,
    /// Keywords, compared without regard to case.
    pub keywords: Vec<String>,
}

/// How flags change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagMode {
    /// Exactly the given ones are set.
    Replace,
    /// The given ones are set in addition.
    Add,
    /// The given ones are cleared.
    Remove,
}

/// A change of flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagChange {
    /// How.
    pub mode: FlagMode,
    /// Which.
    pub marks: Marks,
    /// Entries with a higher modseq are left as they are (RFC 7162 UNCHANGEDSINCE).
    pub unchanged_since: Option<u64>,
}

impl Marks {
    /// Whether the keyword is set.
    pub fn has_keyword(&self, keyword: &str) -> bool {
        self.keywords.iter().any(|known| known.eq_ignore_ascii_case(keyword))
    }

    /// The marks of an entry.
    pub fn of(entry: &Entry) -> Marks {
        Marks { flags: entry.flags, keywords: entry.keywords.clone() }
    }
}

impl FlagChange {
    /// A change of whatever is there.
    pub fn new(mode: FlagMode, marks: Marks) -> FlagChange {
        FlagChange { mode, marks, unchanged_since: None }
    }

    /// What `marks` become. Keywords keep their order, new ones come last; more than 100 are
    /// dropped.
    pub fn apply(&self, marks: &Marks) -> Marks {
        let (old, given) = (marks.flags.0, self.marks.flags.0);
        match self.mode {
            FlagMode::Replace => self.marks.clone(),
            FlagMode::Add => {
                let mut keywords = marks.keywords.clone();
                let new = self.marks.keywords.iter().filter(|word| !marks.has_keyword(word));
                keywords.extend(new.cloned());
                keywords.truncate(KEYWORDS_MAX);
                Marks { flags: EntryFlags(old | given), keywords }
            }
            FlagMode::Remove => {
                let kept = marks.keywords.iter().filter(|word| !self.marks.has_keyword(word));
                Marks { flags: EntryFlags(old & !given), keywords: kept.cloned().collect() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(flags: EntryFlags, keywords: &[&str]) -> Marks {
        Marks { flags, keywords: keywords.iter().map(|word| (*word).to_owned()).collect() }
    }

    #[test]
    fn changes_of_every_mode() {
        let both = EntryFlags(EntryFlags::SEEN.0 | EntryFlags::FLAGGED.0);
        let start = marks(EntryFlags::FLAGGED, &["Junk", "$Forwarded"]);
        let given = marks(EntryFlags::SEEN, &["JUNK", "Later"]);
        let change = |mode| FlagChange::new(mode, given.clone()).apply(&start);
        assert_eq!(change(FlagMode::Replace), given);
        assert_eq!(change(FlagMode::Add), marks(both, &["Junk", "$Forwarded", "Later"]));
        assert_eq!(change(FlagMode::Remove), marks(EntryFlags::FLAGGED, &["$Forwarded"]));
    }
}
