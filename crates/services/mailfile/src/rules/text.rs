//! Conditions and actions as people write them, and back.
//!
//! `sender contains @example.org`, `header List-Id is <team.example.org>`, `size over 1000000`,
//! `importance is high`; `move Projects/Lotus`, `forward ada@example.org`, `stop`.

use std::fmt;

use thiserror::Error;

use super::{Action, Condition, Field, Importance, Test};

/// Why a text is no condition or action.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RuleTextError {
    /// It does not begin with a word that is known here.
    #[error("{0:?} begins with none of: {1}")]
    Unknown(String, &'static str),
    /// What has to follow is missing or malformed.
    #[error("{0:?}: {1}")]
    Malformed(String, &'static str),
}

const FIELDS: &str = "sender, subject, to, cc, to-or-cc, header, size, importance";
const ACTIONS: &str = "move, copy, delete, forward, mark-read, flag, stop";
const TESTS: [(&str, Test); 5] = [
    ("contains", Test::Contains),
    ("contains-not", Test::ContainsNot),
    ("is", Test::Is),
    ("is-not", Test::IsNot),
    ("begins", Test::Begins),
];
const LEVELS: [(&str, Importance); 3] =
    [("high", Importance::High), ("normal", Importance::Normal), ("low", Importance::Low)];

/// The first word and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
}

fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|row| row.1 == *value).map_or("", |row| row.0)
}

impl Condition {
    /// Reads `FIELD TEST TEXT` with the fields sender, subject, to, cc, to-or-cc and `header NAME`
    /// and the tests contains, contains-not, is, is-not, begins; `size over|under BYTES` (with K,
    /// M or G behind for powers of 1,024); `importance is high|normal|low`.
    ///
    /// # Errors
    /// It is none of these.
    pub fn parse(text: &str) -> Result<Condition, RuleTextError> {
        let malformed = |why| RuleTextError::Malformed(text.to_owned(), why);
        let (first, rest) = word(text);
        let (field, rest) = match first.to_ascii_lowercase().as_str() {
            "sender" => (Field::Sender, rest),
            "subject" => (Field::Subject, rest),
            "to" => (Field::To, rest),
            "cc" => (Field::Cc, rest),
            "to-or-cc" => (Field::ToOrCc, rest),
            "header" => {
                let (name, rest) = word(rest);
                (Field::Header(name.trim_end_matches(':').to_owned()), rest)
            }
            "size" => return size(rest).ok_or(malformed("over or under and a number of bytes")),
            "importance" => {
                let (is, level) = word(rest);
                let level = named(&LEVELS, level).filter(|_| is.eq_ignore_ascii_case("is"));
                let level = level.ok_or(malformed("is and one of high, normal, low"))?;
                return Ok(Condition::Importance(level));
            }
            _ => return Err(RuleTextError::Unknown(text.to_owned(), FIELDS)),
        };
        let (test, value) = word(rest);
        let test = named(&TESTS, test)
            .ok_or(malformed("one of contains, contains-not, is, is-not, begins must follow"))?;
        if value.is_empty() {
            return Err(malformed("the text to compare with is missing"));
        }
        Ok(Condition::Text { field, test, value: value.to_owned() })
    }
}

fn size(rest: &str) -> Option<Condition> {
    let (than, bytes) = word(rest);
    let digits = bytes.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match bytes[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return None,
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    match than.to_ascii_lowercase().as_str() {
        "over" => Some(Condition::SizeOver(bytes)),
        "under" => Some(Condition::SizeUnder(bytes)),
        _ => None,
    }
}

impl Action {
    /// Reads `move FOLDER`, `copy FOLDER`, `delete`, `forward ADDRESS`, `mark-read`, `flag`,
    /// `stop`.
    ///
    /// # Errors
    /// It is none of these.
    pub fn parse(text: &str) -> Result<Action, RuleTextError> {
        let (first, rest) = word(text);
        let first = first.to_ascii_lowercase();
        let takes = matches!(first.as_str(), "move" | "copy" | "forward");
        let known = takes || matches!(first.as_str(), "delete" | "mark-read" | "flag" | "stop");
        let malformed = |why| Err(RuleTextError::Malformed(text.to_owned(), why));
        if known && takes == rest.is_empty() {
            return malformed(match takes {
                true => "the folder or address is missing",
                false => "nothing may follow",
            });
        }
        Ok(match first.as_str() {
            "move" => Action::Move(rest.to_owned()),
            "copy" => Action::Copy(rest.to_owned()),
            "forward" => Action::Forward(rest.to_owned()),
            "delete" => Action::Delete,
            "mark-read" => Action::MarkRead,
            "flag" => Action::Flag,
            "stop" => Action::Stop,
            _ => return Err(RuleTextError::Unknown(text.to_owned(), ACTIONS)),
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Text { field, test, value } => {
                match field {
                    Field::Sender => f.write_str("sender")?,
                    Field::Subject => f.write_str("subject")?,
                    Field::To => f.write_str("to")?,
                    Field::Cc => f.write_str("cc")?,
                    Field::ToOrCc => f.write_str("to-or-cc")?,
                    Field::Header(name) => write!(f, "header {name}")?,
                }
                write!(f, " {} {value}", name_of(&TESTS, test))
            }
            Condition::SizeOver(bytes) => write!(f, "size over {bytes}"),
            Condition::SizeUnder(bytes) => write!(f, "size under {bytes}"),
            Condition::Importance(level) => write!(f, "importance is {}", name_of(&LEVELS, level)),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Move(folder) => write!(f, "move {folder}"),
            Action::Copy(folder) => write!(f, "copy {folder}"),
            Action::Forward(address) => write!(f, "forward {address}"),
            Action::Delete => f.write_str("delete"),
            Action::MarkRead => f.write_str("mark-read"),
            Action::Flag => f.write_str("flag"),
            Action::Stop => f.write_str("stop"),
        }
    }
}
