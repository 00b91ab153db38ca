//! Flags and keywords as clients write them (RFC 3501 §2.3.2).

use mailfile::Marks;
use store::EntryFlags;

use super::{Bad, Cursor, Parse};

/// Flags in one list at most.
const FLAGS_MAX: usize = 100;
/// Longest keyword in bytes.
const KEYWORD_BYTES_MAX: usize = 255;

/// A list of flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlagList(pub Marks);

impl FlagList {
    /// Parses `flag-list`: in parentheses, may be empty.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Parse<FlagList> {
        cursor.expect(b'(', "a list of flags is missing")?;
        let mut list = FlagList::default();
        if cursor.eat(b')') {
            return Ok(list);
        }
        list.fill(cursor)?;
        cursor.expect(b')', "a list of flags does not end")?;
        Ok(list)
    }

    /// Parses a list with or without parentheses, as STORE has it.
    pub(crate) fn parse_bare(cursor: &mut Cursor<'_>) -> Parse<FlagList> {
        if cursor.peek() == Some(b'(') {
            return FlagList::parse(cursor);
        }
        let mut list = FlagList::default();
        list.fill(cursor)?;
        Ok(list)
    }

    fn fill(&mut self, cursor: &mut Cursor<'_>) -> Parse<()> {
        for _ in 0..FLAGS_MAX {
            self.add(cursor)?;
            if !cursor.eat(b' ') {
                return Ok(());
            }
        }
        Err(Bad("too many flags"))
    }

    fn add(&mut self, cursor: &mut Cursor<'_>) -> Parse<()> {
        if cursor.eat(b'\\') {
            let name = cursor.atom()?;
            // \Recent cannot be set by a client; some send it back from what they fetched.
            if !name.eq_ignore_ascii_case("Recent") {
                let flag =
                    system_flag(name).ok_or(Bad("an unknown flag begins with a backslash"))?;
                self.0.flags = EntryFlags(self.0.flags.0 | flag.0);
            }
            return Ok(());
        }
        let keyword = cursor.atom()?;
        if keyword.len() > KEYWORD_BYTES_MAX {
            return Err(Bad("a keyword is too long"));
        }
        if !self.0.keywords.iter().any(|known| known.eq_ignore_ascii_case(keyword)) {
            self.0.keywords.push(keyword.to_owned());
        }
        Ok(())
    }
}

/// The system flag of this name, without its backslash.
fn system_flag(name: &str) -> Option<EntryFlags> {
    let is = |(known, _): &&(&str, EntryFlags)| known.eq_ignore_ascii_case(name);
    SYSTEM_FLAGS.iter().find(is).map(|(_, flag)| *flag)
}

/// The system flags that are kept, in the order in which they are shown.
pub(crate) const SYSTEM_FLAGS: [(&str, EntryFlags); 5] = [
    ("Answered", EntryFlags::ANSWERED),
    ("Flagged", EntryFlags::FLAGGED),
    ("Deleted", EntryFlags::DELETED),
    ("Seen", EntryFlags::SEEN),
    ("Draft", EntryFlags::DRAFT),
];
