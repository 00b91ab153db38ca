//! Search keys (RFC 3501 §6.4.4, §9 `search-key`), with WITHIN (RFC 5032), MODSEQ (RFC 7162) and
//! `$` (RFC 5182).

use mailfile::UidList;
use mailfile::search::{Field, Key, Needle};
use store::EntryFlags;

use super::{Bad, Cursor, Day, Parse, SequenceSet};
use crate::selected::Ranges;

/// Keys of one command at most.
const KEYS_MAX: usize = 5_000;
/// Deepest nesting of keys that is left when chains of one kind were made flat.
const DEPTH_MAX: u32 = 50;

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
    /// Older (or else younger) than so many seconds.
    Aged { older: bool, seconds: u32 },
    /// All of these.
    And(Vec<SearchKey>),
    /// One of these.
    Or(Vec<SearchKey>),
    /// Not this.
    Not(Box<SearchKey>),
}

/// What a key may refer to.
pub(crate) struct Scope<'a> {
    /// The messages that the client knows.
    pub view: &'a UidList,
    /// Those that are recent.
    pub recent: &'a Ranges,
    /// What the last search saved.
    pub saved: &'a Ranges,
    /// Microseconds since 1970.
    pub now_us: i64,
}

impl SearchKey {
    /// Parses all keys up to the end of the command. `charset` is that of the strings.
    pub(crate) fn parse_all(args: &mut Cursor<'_>, charset: &str) -> Parse<SearchKey> {
        let mut parser = Parser { args, charset, keys: 0 };
        let mut open = vec![Open::All(Vec::new())];
        loop {
            let Some(leaf) = parser.begin(&mut open)? else { continue };
            if let Some(all) = parser.close(&mut open, leaf)? {
                return Ok(all);
            }
        }
    }

    /// The key for a session.
    pub(crate) fn resolve(&self, scope: &Scope<'_>) -> Key {
        let view = scope.view;
        let all = |keys: &[SearchKey]| keys.iter().map(|key| key.resolve(scope)).collect();
        match self {
            SearchKey::Plain(key) => key.clone(),
            SearchKey::Numbers(set) | SearchKey::Uids(set) if set.is_saved => {
                Key::Uids(scope.saved.0.clone())
            }
            SearchKey::Numbers(set) => Key::Uids(set.by_sequence(view).uid_ranges(view)),
            SearchKey::Uids(set) => Key::Uids(set.by_uid(view).uid_ranges(view)),
            SearchKey::Recent => Key::Uids(scope.recent.0.clone()),
            SearchKey::Aged { older, seconds } => {
                let moment = scope.now_us - i64::from(*seconds) * 1_000_000;
                if *older { Key::Before(moment + 1) } else { Key::Since(moment) }
            }
            SearchKey::And(keys) => Key::And(all(keys)),
            SearchKey::Or(keys) => Key::Or(all(keys)),
            SearchKey::Not(key) => Key::Not(Box::new(key.resolve(scope))),
        }
    }
}

/// A key with the depth of what is in it.
type Deep = (SearchKey, u32);

/// A key that is not complete yet.
enum Open {
    /// The whole command.
    All(Vec<Deep>),
    /// A list in parentheses.
    List(Vec<Deep>),
    /// OR, with its first key when that is there.
    Or(Option<Deep>),
    Not,
}

fn flag(flag: EntryFlags) -> SearchKey {
    SearchKey::Plain(Key::Flags(flag))
}

fn plain_not(key: SearchKey) -> SearchKey {
    SearchKey::Not(Box::new(key))
}

fn checked(key: SearchKey, depth: u32) -> Parse<Deep> {
    if depth > DEPTH_MAX { Err(Bad("the search is too complex")) } else { Ok((key, depth)) }
}

fn not((key, depth): Deep) -> Parse<Deep> {
    match key {
        SearchKey::Not(inner) => Ok((*inner, depth - 1)),
        key => checked(plain_not(key), depth + 1),
    }
}

fn or(first: Deep, second: Deep) -> Parse<Deep> {
    let (mut keys, mut depth) = (Vec::new(), 0);
    // The longer list comes first and takes the others, so that chains cost little.
    let mut both = [second, first];
    both.sort_by_key(|(key, _)| match key {
        SearchKey::Or(keys) => std::cmp::Reverse(keys.len()),
        _ => std::cmp::Reverse(0),
    });
    for (key, below) in both {
        match key {
            SearchKey::Or(more) if keys.is_empty() => (keys, depth) = (more, below),
            SearchKey::Or(more) => {
                keys.extend(more);
                depth = depth.max(below);
            }
            key => {
                keys.push(key);
                depth = depth.max(below + 1);
            }
        }
    }
    checked(SearchKey::Or(keys), depth)
}

fn and(keys: Vec<Deep>) -> Parse<Deep> {
    if keys.len() == 1 {
        return keys.into_iter().next().ok_or(Bad("a search key is missing"));
    }
    let (mut all, mut depth) = (Vec::with_capacity(keys.len()), 0);
    for (key, below) in keys {
        match key {
            SearchKey::And(more) => {
                all.extend(more);
                depth = depth.max(below);
            }
            key => {
                all.push(key);
                depth = depth.max(below + 1);
            }
        }
    }
    checked(SearchKey::And(all), depth)
}

struct Parser<'c, 'a> {
    args: &'c mut Cursor<'a>,
    charset: &'c str,
    keys: usize,
}

impl Parser<'_, '_> {
    /// Takes the beginning of a key: one that is whole is given, else it is open now.
    fn begin(&mut self, open: &mut Vec<Open>) -> Parse<Option<Deep>> {
        self.keys += 1;
        if self.keys > KEYS_MAX {
            return Err(Bad("the search has too many keys"));
        }
        if self.args.eat(b'(') {
            open.push(Open::List(Vec::new()));
            return Ok(None);
        }
        if self.args.peek().is_some_and(SequenceSet::may_begin) {
            let set = SequenceSet::parse(self.args)?;
            return Ok(Some((SearchKey::Numbers(set), 1)));
        }
        let word = self.args.atom()?.to_ascii_uppercase();
        if let Some(key) = simple(&word) {
            return Ok(Some((key, 1)));
        }
        const ALONE: Bad = Bad("an unknown search key, or one whose argument is missing");
        self.args.space().map_err(|_| ALONE)?;
        match word.as_str() {
            "NOT" => open.push(Open::Not),
            "OR" => open.push(Open::Or(None)),
            word => return self.with_argument(word).map(|key| Some((key, 1))),
        }
        Ok(None)
    }

    /// Puts a whole key where it belongs, and closes what it completes. Gives the search when
    /// that is complete.
    fn close(&mut self, open: &mut Vec<Open>, mut key: Deep) -> Parse<Option<SearchKey>> {
        loop {
            match open.pop() {
                Some(Open::Not) => key = not(key)?,
                Some(Open::Or(Some(first))) => key = or(first, key)?,
                Some(Open::Or(None)) => {
                    open.push(Open::Or(Some(key)));
                    return self.args.space().map(|()| None);
                }
                Some(Open::List(mut keys)) => {
                    keys.push(key);
                    if !self.args.eat(b')') {
                        open.push(Open::List(keys));
                        return self.args.space().map(|()| None);
                    }
                    key = and(keys)?;
                }
                Some(Open::All(mut keys)) => {
                    keys.push(key);
                    let goes_on = self.args.eat(b' ');
                    while self.args.eat(b' ') {}
                    if !goes_on || self.args.is_at_end() {
                        return and(keys).map(|(all, _)| Some(all));
                    }
                    open.push(Open::All(keys));
                    return Ok(None);
                }
                None => return Err(Bad("a parenthesis is not open")),
            }
        }
    }

    fn with_argument(&mut self, word: &str) -> Parse<SearchKey> {
        let plain = |key: Key| Ok(SearchKey::Plain(key));
        if let Some(field) = field(word) {
            return plain(Key::Field(field, self.needle()?));
        }
        match word {
            "UID" => SequenceSet::parse(self.args).map(SearchKey::Uids),
            "KEYWORD" => plain(Key::Keyword(self.args.atom()?.to_owned())),
            "UNKEYWORD" => {
                let keyword = Key::Keyword(self.args.atom()?.to_owned());
                Ok(plain_not(SearchKey::Plain(keyword)))
            }
            "LARGER" => plain(Key::Larger(self.args.number64()?)),
            "SMALLER" => plain(Key::Smaller(self.args.number64()?)),
            "OLDER" | "YOUNGER" => {
                let seconds = self.args.nz_number()?;
                Ok(SearchKey::Aged { older: word == "OLDER", seconds })
            }
            "MODSEQ" => plain(Key::ModSeq(self.modseq()?)),
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

    /// A modseq, perhaps behind the name and kind of a flag, which make no difference: all flags
    /// of a message share one modseq (RFC 7162 §3.1.5).
    fn modseq(&mut self) -> Parse<u64> {
        if self.args.peek() == Some(b'"') {
            self.args.string()?;
            self.args.space()?;
            if !["priv", "shared", "all"].iter().any(|kind| self.args.eat_word(kind)) {
                return Err(Bad("the kind of a flag is wrong"));
            }
            self.args.space()?;
        }
        self.args.modseq()
    }

    fn dated(&mut self, word: &str) -> Parse<SearchKey> {
        let kind = word.strip_prefix("SENT").unwrap_or(word);
        if !matches!(kind, "BEFORE" | "ON" | "SINCE") {
            return Err(Bad("an unknown search key"));
        }
        let day = Day::parse(self.args)?;
        let next = Day(day.0 + 1);
        let is_sent = kind.len() < word.len();
        let since = |day: Day| match is_sent {
            true => Key::SentSince(day.0),
            false => Key::Since(day.start_us()),
        };
        let before = |day: Day| match is_sent {
            true => Key::SentBefore(day.0),
            false => Key::Before(day.start_us()),
        };
        Ok(SearchKey::Plain(match kind {
            "BEFORE" => before(day),
            "SINCE" => since(day),
            _ => Key::And(vec![since(day), before(next)]),
        }))
    }

    fn needle(&mut self) -> Parse<Needle> {
        let bytes = self.args.astring()?;
        Ok(Needle::new(&message::decode_charset(&bytes, self.charset)))
    }
}

fn field(word: &str) -> Option<Field> {
    Some(match word {
        "BCC" => Field::Bcc,
        "CC" => Field::Cc,
        "FROM" => Field::From,
        "SUBJECT" => Field::Subject,
        "TO" => Field::To,
        _ => return None,
    })
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
        "UNANSWERED" => plain_not(flag(EntryFlags::ANSWERED)),
        "UNDELETED" => plain_not(flag(EntryFlags::DELETED)),
        "UNDRAFT" => plain_not(flag(EntryFlags::DRAFT)),
        "UNFLAGGED" => plain_not(flag(EntryFlags::FLAGGED)),
        "UNSEEN" => plain_not(flag(EntryFlags::SEEN)),
        "RECENT" => SearchKey::Recent,
        "OLD" => plain_not(SearchKey::Recent),
        "NEW" => SearchKey::And(vec![SearchKey::Recent, plain_not(flag(EntryFlags::SEEN))]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
