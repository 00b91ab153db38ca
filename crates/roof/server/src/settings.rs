//! Configuration: `nelumbo.toml`, read against a table of settings.
//!
//! Every setting is a row of [`ROWS`]; the file, `show config` and the reference page are made
//! from the rows. All mistakes of a file are reported at once, each with file and line.

pub(crate) mod edit;
mod file;
mod ini;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use router::{DayWindow, JournalChoice};

use crate::agenda::Agenda;

pub use ini::{INI_ROWS, IniRow, Meaning};
pub use rows::{Effect, KEYS, Key, ROWS, Row};

/// Type and range of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One line of text.
    Text,
    /// A whole number.
    Number {
        /// Smallest value accepted.
        min: u64,
        /// Largest value accepted.
        max: u64,
        /// Unit of the value.
        unit: &'static str,
    },
    /// One of the given words.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Switch,
    /// What runs at which hour, see [`crate::agenda`].
    Agenda,
    /// A time of day, or nothing.
    DayWindow,
    /// Which messages are journaled.
    JournalChoice,
    /// One line of text that is never shown.
    Secret,
    /// Any number of `ADDRESS:PORT`; none closes the door.
    Addresses,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => write!(f, "text of one line, at most {TEXT_CHARS_MAX} characters"),
            Self::Number { min, max, unit } => write!(f, "{min} to {max} {unit}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Switch => write!(f, "true or false"),
            Self::Agenda => write!(f, "HOUR=TASK, TASK; HOUR=TASK with hours from 0 to 23"),
            Self::DayWindow => write!(f, "HH:MM-HH:MM, or empty"),
            Self::JournalChoice => {
                write!(f, "all, or ADDRESS, @DOMAIN, from ADDRESS, to ADDRESS with commas between")
            }
            Self::Secret => write!(f, "secret text, at most {TEXT_CHARS_MAX} characters"),
            Self::Addresses => write!(f, "ADDRESS:PORT, or a list of them"),
        }
    }
}

/// Longest text value.
const TEXT_CHARS_MAX: usize = 1000;
/// Most addresses of one door.
const ADDRESSES_MAX: usize = 16;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of a text or a choice.
    Text(String),
    /// Of a number.
    Number(u64),
    /// Of a switch.
    Switch(bool),
    /// Of a secret.
    Secret(String),
    /// Of addresses.
    Addresses(Vec<SocketAddr>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Secret(text) if text.is_empty() => Ok(()),
            Self::Secret(_) => f.write_str("(a secret)"),
            Self::Addresses(list) => {
                let texts: Vec<String> = list.iter().map(SocketAddr::to_string).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

/// A mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: PathBuf,
    /// Line in it, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong, with key, value and range.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.problem),
            line => write!(f, "{}:{line}: {}", self.file.display(), self.problem),
        }
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{}", lines(findings))]
    Wrong {
        /// All that was found.
        findings: Vec<Finding>,
    },
}

fn lines(findings: &[Finding]) -> String {
    let texts: Vec<String> = findings.iter().map(Finding::to_string).collect();
    texts.join("\n")
}

/// The values in force.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Vec<Value>,
    given: Vec<bool>,
}

/// What reading a file gave.
#[derive(Debug)]
pub struct Loaded {
    /// The values.
    pub settings: Settings,
    /// Remarks that are reported once and stop nothing (unknown or moot `[ini]` names).
    pub remarks: Vec<Finding>,
}

impl Default for Settings {
    fn default() -> Self {
        let values = ROWS.iter().map(|row| parse(row, row.default).unwrap_or_else(|_| zero(row)));
        Self { values: values.collect(), given: vec![false; ROWS.len()] }
    }
}

impl Settings {
    /// Reads `file`.
    ///
    /// # Errors
    /// [`SettingsError::Unreadable`], or [`SettingsError::Wrong`] with all mistakes at once.
    pub fn load(file: &Path) -> Result<Loaded, SettingsError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| SettingsError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(file, &text)
    }

    /// Reads the text of a configuration file; `file` is only named in findings.
    ///
    /// # Errors
    /// [`SettingsError::Wrong`] with all mistakes at once.
    pub fn parse(file: &Path, text: &str) -> Result<Loaded, SettingsError> {
        file::read(file, text)
    }

    /// A number; 0 for a row that holds none.
    pub fn number(&self, key: Key) -> u64 {
        match self.value(key) {
            Value::Number(number) => *number,
            _ => 0,
        }
    }

    /// A number for use as a size in memory.
    pub fn size(&self, key: Key) -> usize {
        usize::try_from(self.number(key)).unwrap_or(usize::MAX)
    }

    /// A text; empty for a row that holds none.
    pub fn text(&self, key: Key) -> &str {
        match self.value(key) {
            Value::Text(text) | Value::Secret(text) => text,
            _ => "",
        }
    }

    /// Whether a switch is on; `false` for a row that holds none.
    pub fn is_on(&self, key: Key) -> bool {
        matches!(self.value(key), Value::Switch(true))
    }

    /// The addresses of a door; none when it is closed.
    pub fn addresses(&self, key: Key) -> &[SocketAddr] {
        match self.value(key) {
            Value::Addresses(list) => list,
            _ => &[],
        }
    }

    /// The value of a row.
    pub fn value(&self, key: Key) -> &Value {
        &self.values[key as usize]
    }

    /// Whether the file gave a value for the row.
    pub fn is_given(&self, key: Key) -> bool {
        self.given[key as usize]
    }

    /// Sets a row from text.
    ///
    /// # Errors
    /// What is wrong with the text, with the range.
    pub fn set(&mut self, key: Key, text: &str) -> Result<(), String> {
        let row = &ROWS[key as usize];
        self.values[key as usize] = parse(row, text)?;
        self.given[key as usize] = true;
        Ok(())
    }

    /// Takes a row over from other settings.
    pub(crate) fn copy_row(&mut self, from: &Settings, key: Key) {
        self.values[key as usize] = from.value(key).clone();
        self.given[key as usize] = from.is_given(key);
    }

    /// The settings that were given, as the text of a configuration file with the help of each
    /// row above it.
    pub fn print(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        for (row, value) in ROWS.iter().zip(&self.values).zip(&self.given).filter_map(given) {
            let (head, name) = row.name.split_once('.').unwrap_or(("", row.name));
            if head != section {
                out.push_str(&format!("\n[{head}]\n"));
                section = head;
            }
            out.push_str(&format!("# {}\n{name} = {}\n", row.help, in_toml(value)));
        }
        out.trim_start().to_owned()
    }
}

type Cell<'a> = ((&'static Row, &'a Value), &'a bool);

fn given<'a>((pair, given): Cell<'a>) -> Option<(&'static Row, &'a Value)> {
    given.then_some(pair)
}

fn in_toml(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) | Value::Secret(text) => toml::Value::from(text.as_str()).to_string(),
        Value::Switch(on) => on.to_string(),
        Value::Addresses(list) => {
            let texts: Vec<String> = list.iter().map(SocketAddr::to_string).collect();
            toml::Value::from(texts).to_string()
        }
    }
}

/// The value of a row whose default does not parse (the tests see to it that none is).
fn zero(row: &Row) -> Value {
    match row.kind {
        Kind::Number { min, .. } => Value::Number(min),
        Kind::Addresses => Value::Addresses(Vec::new()),
        Kind::Switch => Value::Switch(false),
        Kind::Secret => Value::Secret(String::new()),
        Kind::Text | Kind::Choice(_) | Kind::Agenda | Kind::DayWindow | Kind::JournalChoice => {
            Value::Text(String::new())
        }
    }
}

/// Reads text as the value of a row; the error tells the range.
fn parse(row: &Row, text: &str) -> Result<Value, String> {
    let refusal = || format!("must be {}", row.kind);
    match row.kind {
        Kind::Number { min, max, .. } => match text.trim().parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(Value::Number(number)),
            _ => Err(refusal()),
        },
        Kind::Choice(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(Value::Text((*word).to_owned())),
            None => Err(refusal()),
        },
        Kind::Switch => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Value::Switch(true)),
            "false" | "no" | "off" | "0" => Ok(Value::Switch(false)),
            _ => Err(refusal()),
        },
        Kind::Text | Kind::Secret | Kind::Agenda if text.chars().count() > TEXT_CHARS_MAX => {
            Err(refusal())
        }
        Kind::Text | Kind::Secret | Kind::Agenda if text.chars().any(char::is_control) => {
            Err(refusal())
        }
        Kind::Agenda if Agenda::parse(text).is_none() => Err(refusal()),
        Kind::DayWindow if !text.is_empty() && text.parse::<DayWindow>().is_err() => Err(refusal()),
        Kind::JournalChoice if text.parse::<JournalChoice>().is_err() => Err(refusal()),
        Kind::Text | Kind::Agenda | Kind::DayWindow | Kind::JournalChoice => {
            Ok(Value::Text(text.to_owned()))
        }
        Kind::Secret => Ok(Value::Secret(text.to_owned())),
        Kind::Addresses => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let list: Result<Vec<SocketAddr>, _> = parts.map(str::parse).collect();
            match list {
                Ok(list) if list.len() <= ADDRESSES_MAX => Ok(Value::Addresses(list)),
                _ => Err(refusal()),
            }
        }
    }
}
