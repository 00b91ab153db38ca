//! IMAP data in a line, read leniently: for comparing what a script expects with what was said.

use crate::talk::Line;

/// One value. Bytes stand as the characters with the same numbers (Latin-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// `NIL`.
    Nil,
    /// A word without quotes.
    Atom(String),
    /// A quoted string or a literal.
    Text(String),
    /// Values in parentheses.
    List(Vec<Value>),
}

impl Value {
    /// The word, if it is one.
    pub(super) fn atom(&self) -> Option<&str> {
        match self {
            Value::Atom(word) => Some(word),
            _ => None,
        }
    }

    /// The characters of a word or string.
    pub(super) fn string(&self) -> Option<&str> {
        match self {
            Value::Atom(text) | Value::Text(text) => Some(text),
            Value::Nil | Value::List(_) => None,
        }
    }
}

/// Bytes as characters with the same numbers.
pub(super) fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes that [`latin`] made `text` of.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// The values of a line. Where parentheses do not pair, as may be in free text, all is words.
pub(super) fn values(line: &Line) -> Vec<Value> {
    let mut reader = Reader { rest: &line.text, literals: line.literals.iter() };
    match reader.members(0) {
        Some(found) if reader.rest.is_empty() => found,
        _ => line.text.split_whitespace().map(|word| Value::Atom(word.to_owned())).collect(),
    }
}

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 60;

struct Reader<'a> {
    rest: &'a str,
    literals: std::slice::Iter<'a, Vec<u8>>,
}

impl Reader<'_> {
    /// Values up to the end, or, below the top, to the closing parenthesis.
    fn members(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut found = Vec::new();
        loop {
            self.rest = self.rest.trim_start_matches(' ');
            match self.rest.chars().next() {
                None => return (depth == 0).then_some(found),
                Some(')') => {
                    self.rest = &self.rest[1..];
                    return (depth > 0).then_some(found);
                }
                Some('(') if depth < DEPTH_MAX => {
                    self.rest = &self.rest[1..];
                    found.push(Value::List(self.members(depth + 1)?));
                }
                Some('(') => return None,
                Some('"') => found.push(self.quoted()?),
                Some(_) => found.push(self.word()),
            }
        }
    }

    fn quoted(&mut self) -> Option<Value> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        loop {
            match chars.next()? {
                (at, '"') => {
                    self.rest = &self.rest[at + 1..];
                    return Some(Value::Text(text));
                }
                (_, '\\') => text.push(chars.next()?.1),
                (_, c) => text.push(c),
            }
        }
    }

    fn word(&mut self) -> Value {
        if let Some(literal) = self.literal() {
            return literal;
        }
        let end = self.rest.find([' ', ')']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word.eq_ignore_ascii_case("NIL") {
            true => Value::Nil,
            false => Value::Atom(word.to_owned()),
        }
    }

    /// A literal, if the text announces one here and it is there.
    fn literal(&mut self) -> Option<Value> {
        let (marker, rest) = self.rest.split_once('}')?;
        let marker = marker.strip_prefix('~').unwrap_or(marker).strip_prefix('{')?;
        let length: usize = marker.parse().ok()?;
        let bytes = self.literals.clone().next().filter(|bytes| bytes.len() == length)?;
        self.literals.next();
        self.rest = rest;
        Some(Value::Text(latin(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Value, values};

    fn read(text: &str, literals: &[&[u8]]) -> Vec<Value> {
        let literals = literals.iter().map(|bytes| bytes.to_vec()).collect();
        values(&Line { text: text.to_owned(), literals })
    }

    fn atom(word: &str) -> Value {
        Value::Atom(word.to_owned())
    }

    #[test]
    fn reads_all_kinds() {
        let found = read("1 FETCH (A \"q\\\"\" {2} NIL)(b)", &[b"\xffz"]);
        let text = |text: &str| Value::Text(text.to_owned());
        let list = vec![atom("A"), text("q\""), text("\u{ff}z"), Value::Nil];
        let wanted = [atom("1"), atom("FETCH"), Value::List(list), Value::List(vec![atom("b")])];
        assert_eq!(found, wanted);
    }

    #[test]
    fn free_text_may_hold_anything() {
        assert_eq!(read("ok :) {3}", &[]), [atom("ok"), atom(":)"), atom("{3}")]);
        assert_eq!(read("ok it's \"so", &[]).len(), 3);
    }
}
