//! Search keys (RFC 3501 §6.4.4, §9 `search-key`).

use mailfile::UidList;
use mailfile::search::{Key, Needle};
use store::EntryFlags;

use super::cursor::DEPTH_MAX;
use super::{Bad, Cursor, Day, Parse, SequenceSet};
use crate::selected::Ranges;

/// Keys of one command at most.
const KEYS_MAX: usize = 5_000;

/// A search key before its numbers are known.
#[derive(Clone, Debug)]
pub(crate) enum SearchKey {
    /// Needs nothing of the session.
    Plain(Key),
    /// Sequence numbers.
    Numbers(SequenceSet),
    /// Uids.
    Uids(SequenceSet),
    /// `\Recent`.
    Recent,
    /// All of these.
    And(Vec<SearchKey>),
    /// One of the two.
    Or(Box<(SearchKey, SearchKey)>),
    /// Not this.
    Not(Box<SearchKey>),
}

struct Parser<'c, 'a> {
    args: &'c mut Cursor<'a>,
    keys: usize,
}

impl SearchKey {
    /// Parses all keys up to the end of the command.
    pub(crate) fn parse_all(args: &mut Cursor<'_>) -> Parse<SearchKey> {
        let mut parser = Parser { args, keys: 0 };
        let mut keys = vec![parser.key(0)?];
        while parser.args.peek() == Some(b' ') {
            parser.args.space()?;
            if parser.args.is_at_end() {
                break;
            }
            keys.push(parser.key(0)?);
        }
        Ok(SearchKey::And(keys))
    }

    /// The key for a session that sees `view`.
    pub(crate) fn resolve(&self, view: &UidList, recent: &Ranges) -> Key {
        let uids = |ranges: Vec<(u32, u32)>| Key::Uids(ranges);
        match self {
            SearchKey::Plain(key) => key.clone(),
            SearchKey::Numbers(set) => uids(set.by_sequence(view).uid_ranges(view)),
            SearchKey::Uids(set) => uids(set.by_uid(view).uid_ranges(view)),
            SearchKey::Recent => uids(recent.0.clone()),
            SearchKey::And(keys) => {
                Key::And(keys.iter().map(|key| key.resolve(view, recent)).collect())
            }
            SearchKey::Or(pair) => {
                Key::Or(Box::new((pair.0.resolve(view, recent), pair.1.resolve(view, recent))))
            }
            SearchKey::Not(key) => Key::Not(Box::new(key.resolve(view, recent))),
        }
    }
}

fn flag(flag: EntryFlags) -> SearchKey {
    SearchKey::Plain(Key::Flags(flag))
}

fn not(key: SearchKey) -> SearchKey {
    SearchKey::Not(Box::new(key))
}

impl Parser<'_, '_> {
    fn key(&mut self, depth: u32) -> Parse<SearchKey> {
        self.keys += 1;
        if self.keys > KEYS_MAX || depth > DEPTH_MAX {
            return Err(Bad("the search is too complex"));
        }
        if self.args.eat(b'(') {
            let mut keys = vec![self.key(depth + 1)?];
            while !self.args.eat(b')') {
                self.args.space()?;
                keys.push(self.key(depth + 1)?);
            }
            return Ok(SearchKey::And(keys));
        }
        if self.args.peek().is_some_and(SequenceSet::may_begin) {
            return SequenceSet::parse(self.args).map(SearchKey::Numbers);
        }
        let word = self.args.atom()?.to_ascii_uppercase();
        match simple(&word) {
            Some(key) => Ok(key),
            None => self.with_argument(&word, depth),
        }
    }

    fn with_argument(&mut self, word: &str, depth: u32) -> Parse<SearchKey> {
        const ALONE: &str = "an unknown search key, or one whose argument is missing";
        self.args.space().map_err(|_| Bad(ALONE))?;
        let plain = |key: Key| Ok(SearchKey::Plain(key));
        match word {
            "NOT" => Ok(not(self.key(depth + 1)?)),
            "OR" => {
                let first = self.key(depth + 1)?;
                self.args.space()?;
                Ok(SearchKey::Or(Box::new((first, self.key(depth + 1)?))))
            }
            "UID" => SequenceSet::parse(self.args).map(SearchKey::Uids),
            "KEYWORD" => plain(Key::Keyword(self.args.atom()?.to_owned())),
            "UNKEYWORD" => Ok(not(SearchKey::Plain(Key::Keyword(self.args.atom()?.to_owned())))),
            "LARGER" => plain(Key::Larger(self.args.number64()?)),
            "SMALLER" => plain(Key::Smaller(self.args.number64()?)),
            "BCC" | "CC" | "FROM" | "SUBJECT" | "TO" => {
                plain(Key::Header(word.to_owned(), self.needle()?))
            }
            "HEADER" => {
                let name = String::from_utf8_lossy(&self.args.astring()?).into_owned();
                self.args.space()?;
                plain(Key::Header(name, self.needle()?))
            }
            "BODY" => plain(Key::Body(self.needle()?)),
            "TEXT" => plain(Key::Text(self.needle()?)),
            _ => self.dated(word),
        }
    }

    fn dated(&mut self, word: &str) -> Parse<SearchKey> {
        type Make = fn(i64) -> Key;
        let (since, before): (Make, Make) = match word.strip_prefix("SENT") {
            Some(_) => (Key::SentSince, Key::SentBefore),
            None => (Key::Since, Key::Before),
        };
        let kind = word.strip_prefix("SENT").unwrap_or(word);
        if !matches!(kind, "BEFORE" | "ON" | "SINCE") {
            return Err(Bad("an unknown search key"));
        }
        let day = Day::parse(self.args)?;
        let (start, end) = (day.start_us(), Day(day.0 + 1).start_us());
        Ok(SearchKey::Plain(match kind {
            "BEFORE" => before(start),
            "SINCE" => since(start),
            _ => Key::And(vec![since(start), before(end)]),
        }))
    }

    fn needle(&mut self) -> Parse<Needle> {
        Ok(Needle::new(&String::from_utf8_lossy(&self.args.astring()?)))
    }
}

/// Keys without an argument.
fn simple(word: &str) -> Option<SearchKey> {
    Some(match word {
        "ALL" => SearchKey::Plain(Key::All),
        "ANSWERED" => flag(EntryFlags::ANSWERED),
        "DELETED" => flag(EntryFlags::DELETED),
        "DRAFT" => flag(EntryFlags::DRAFT),
        "FLAGGED" => flag(EntryFlags::FLAGGED),
        "SEEN" => flag(EntryFlags::SEEN),
        "UNANSWERED" => not(flag(EntryFlags::ANSWERED)),
        "UNDELETED" => not(flag(EntryFlags::DELETED)),
        "UNDRAFT" => not(flag(EntryFlags::DRAFT)),
        "UNFLAGGED" => not(flag(EntryFlags::FLAGGED)),
        "UNSEEN" => not(flag(EntryFlags::SEEN)),
        "RECENT" => SearchKey::Recent,
        "OLD" => not(SearchKey::Recent),
        "NEW" => SearchKey::And(vec![SearchKey::Recent, not(flag(EntryFlags::SEEN))]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parse<SearchKey> {
        let mut cursor = Cursor::new(text.as_bytes());
        let key = SearchKey::parse_all(&mut cursor)?;
        cursor.end()?;
        Ok(key)
    }

    #[test]
    fn every_key_of_the_standard_is_known() {
        for text in [
            "ALL",
            "ANSWERED",
            "BCC x",
            "BEFORE 1-Feb-2026",
            "BODY x",
            "CC x",
            "DELETED",
            "DRAFT",
            "FLAGGED",
            "FROM \"a b\"",
            "HEADER Message-ID \"<10@x.test>\"",
            "KEYWORD $Junk",
            "LARGER 10",
            "NEW",
            "NOT SEEN",
            "OLD",
            "ON 1-Feb-2026",
            "OR SEEN DELETED",
            "RECENT",
            "SEEN",
            "SENTBEFORE 1-Feb-2026",
            "SENTON \"1-Feb-2026\"",
            "SENTSINCE 1-Feb-2026",
            "SINCE 1-Feb-2026",
            "SMALLER 10",
            "SUBJECT {3}\r\nabc",
            "TEXT x",
            "TO x",
            "UID 1:*",
            "UNANSWERED",
            "UNDELETED",
            "UNDRAFT",
            "UNFLAGGED",
            "UNKEYWORD x",
            "UNSEEN",
            "1,3:*",
            "(SEEN (NOT DELETED)) 1:3",
            "or (seen deleted) not (from x)",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn broken_keys_are_refused() {
        for text in [
            "",
            "FOO",
            "NOT",
            "OR SEEN",
            "(SEEN",
            "SEEN)",
            "()",
            "FROM",
            "BEFORE x",
            "LARGER -1",
            "UID",
            "UID 0",
            "HEADER x",
            "ON 31-Feb-2026",
            "SENT 1-Feb-2026",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_searches_are_refused() {
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"NOT ".repeat(100_000)).is_err());
        assert!(parse(&"OR ALL ".repeat(50_000)).is_err());
        assert!(parse(&"ALL ".repeat(10_000)).is_err());
    }
}
