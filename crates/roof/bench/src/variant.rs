//! The switches of an enterprise server: journaling, blocked senders, a trash that empties itself,
//! virus scanning, deduplication, compression, several mail.box, local replicas.
//!
//! Each is a change of the server's settings through its console, made before a run and put back
//! after it. What a server cannot do, or only after a restart, is said in the result; it never
//! passes for done.

mod apply;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use apply::{Applied, Record, State, apply};

/// Senders that may be blocked for each person.
pub const BLOCKED_MAX: u32 = 1000;
/// mail.box databases of a server.
pub const MAILBOXES_MAX: u32 = 10;

/// The way to the server's console.
pub trait Console: Send + Sync {
    /// One line, as an administrator types it. An error is what the server said, or why it could
    /// not be reached.
    ///
    /// # Errors
    /// The line was refused, or there is no server.
    fn command(&self, line: &str) -> Result<String, String>;

    /// Adds senders whose mail a person does not want to the person's list, or takes them off it.
    ///
    /// # Errors
    /// The server has no such lists, or it refused.
    fn block(&self, person: &str, senders: &[String], way: Blocking) -> Result<(), String> {
        let _ = (person, senders, way);
        Err("this console has no lists of blocked senders".to_owned())
    }
}

/// What happens to blocked senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// They are put on the list.
    Add,
    /// They are taken off it.
    Remove,
}

/// One switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Every message is also put into the journal.
    Journaling,
    /// Everybody blocks so many senders, none of whom takes part.
    BlockRules(u32),
    /// So many messages leave everybody's trash in each of these periods.
    Trash {
        /// Messages.
        messages: u32,
        /// The period, in s.
        every_s: u64,
    },
    /// Mail is looked through for viruses.
    Scan,
    /// Equal attachments are kept once.
    Dedupe(bool),
    /// Contents are compressed.
    Compression(bool),
    /// Number of mail.box databases.
    Mailboxes(u32),
    /// Share of the people who work on a replica of their own, in %.
    Replicas(u8),
}

/// All switches of a run, in the order in which they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The switches, each at most once.
    pub switches: Vec<Switch>,
}

/// A `--variant` that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// There is no such switch.
    #[error(
        "{0}: no such variant; there are journaling, block-rules=N, trash=N/TIME, scan, \
         dedupe=on|off, compression=on|off, mailboxes=N, replicas=N%"
    )]
    Unknown(String),
    /// Its value is wrong.
    #[error("{switch}: {value:?} is not {wanted}")]
    Value {
        /// The switch.
        switch: String,
        /// What was given.
        value: String,
        /// What it takes.
        wanted: &'static str,
    },
    /// It is named twice.
    #[error("{0} is named twice")]
    Twice(String),
}

impl Variant {
    /// Reads `journaling,block-rules=10,trash=2/15min,…`; an empty text is no switch at all.
    ///
    /// # Errors
    /// An unknown switch, a wrong value, or a switch named twice.
    pub fn parse(text: &str) -> Result<Self, Misuse> {
        let mut variant = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let switch = parse_switch(word)?;
            if variant.switches.iter().any(|other| other.name() == switch.name()) {
                return Err(Misuse::Twice(switch.name().to_owned()));
            }
            variant.switches.push(switch);
        }
        Ok(variant)
    }

    /// The share of people with a replica of their own, in %, when it is named: it is the driver
    /// that plays them.
    #[must_use]
    pub fn replicas_percent(&self) -> Option<u8> {
        self.switches.iter().find_map(|switch| match switch {
            Switch::Replicas(percent) => Some(*percent),
            _ => None,
        })
    }
}

impl Switch {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Journaling => "journaling",
            Self::BlockRules(_) => "block-rules",
            Self::Trash { .. } => "trash",
            Self::Scan => "scan",
            Self::Dedupe(_) => "dedupe",
            Self::Compression(_) => "compression",
            Self::Mailboxes(_) => "mailboxes",
            Self::Replicas(_) => "replicas",
        }
    }
}

impl std::fmt::Display for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let on_off = |on: bool| if on { "on" } else { "off" };
        f.write_str(self.name())?;
        match *self {
            Self::Journaling | Self::Scan => Ok(()),
            Self::BlockRules(number) | Self::Mailboxes(number) => write!(f, "={number}"),
            Self::Trash { messages, every_s } => write!(f, "={messages}/{every_s}s"),
            Self::Dedupe(on) | Self::Compression(on) => write!(f, "={}", on_off(on)),
            Self::Replicas(percent) => write!(f, "={percent}%"),
        }
    }
}

fn parse_switch(word: &str) -> Result<Switch, Misuse> {
    let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
    let wrong = |wanted: &'static str| Misuse::Value {
        switch: name.to_owned(),
        value: value.unwrap_or_default().to_owned(),
        wanted,
    };
    match name {
        "journaling" | "scan" if value.is_some_and(|v| v != "on") => Err(wrong("on")),
        "journaling" => Ok(Switch::Journaling),
        "scan" => Ok(Switch::Scan),
        "block-rules" => number(value, (1, BLOCKED_MAX))
            .map(Switch::BlockRules)
            .ok_or_else(|| wrong("a number of senders from 1 to 1000")),
        "mailboxes" => number(value, (1, MAILBOXES_MAX))
            .map(Switch::Mailboxes)
            .ok_or_else(|| wrong("a number of databases from 1 to 10")),
        "dedupe" => on_off(value).map(Switch::Dedupe).ok_or_else(|| wrong("on or off")),
        "compression" => on_off(value).map(Switch::Compression).ok_or_else(|| wrong("on or off")),
        "replicas" => number(value.map(|v| v.trim_end_matches('%')), (0, 100))
            .map(|percent| Switch::Replicas(percent as u8))
            .ok_or_else(|| wrong("a share from 0% to 100%")),
        "trash" => trash(value).ok_or_else(|| wrong("messages in a time, such as 2/15min")),
        _ => Err(Misuse::Unknown(name.to_owned())),
    }
}

fn number(value: Option<&str>, (least, most): (u32, u32)) -> Option<u32> {
    let number = value?.parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}

fn on_off(value: Option<&str>) -> Option<bool> {
    match value? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn trash(value: Option<&str>) -> Option<Switch> {
    let (messages, time) = value?.split_once('/')?;
    let messages = number(Some(messages), (1, 10_000))?;
    let digits = time.len() - time.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, unit) = time.split_at(digits);
    let unit_s = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    let count = u64::from(number(Some(count), (1, 1_000_000))?);
    let every = Duration::from_secs(count * unit_s);
    Some(Switch::Trash { messages, every_s: every.as_secs() })
}

#[cfg(test)]
mod tests;
