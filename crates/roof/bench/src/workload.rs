//! What people do: steps, counts, pauses, sizes. A workload is a TOML file; the published ones are
//! built in, and [`parse`] reads one's own.
//!
//! ```toml
//! name = "Small"                     # by which it is asked for
//! title = "reads and answers"        # one line
//! door = "imap"                      # what it was defined over: notes-rpc, http, imap or pop3
//! period_s = 900                     # an iteration lasts so long; its last pause fills it up
//! messages = 100                     # in each INBOX at the start (`populate`)
//! profile = "help"                   # sizes of messages: r5, help, n85, or a number of octets
//! replicas = 0.2                     # share of the people with a local replica; default 0
//! read_attachments = 0.25            # share of reads that fetch the attachments too; default 0
//! spread = { people = 0.2, mail = 0.8 }   # 20 % of the people get 80 % of the mail
//! origin = ["where the numbers come from"]
//!
//! [[folder]]                         # beside INBOX; Sent and Calendar are made when needed
//! name = "NotesBench"
//! messages = 20
//!
//! [[step]]                           # in the order of an iteration
//! act = "read"                       # see Act
//! name = "read a message"            # in reports; default: the act and its numbers
//! times = 5                          # in a row; default 1
//! every = 2                          # each second iteration; default 1
//! # per_24 = 12                      # or: so many of 24 iterations
//! pause_s = [10, 20]                 # after each time; default none
//! ```
//!
//! Further keys of a step: `recipients` (of what is sent), `count` (messages shown, marked,
//! deleted, moved at once), `folder` (of switch, move, add), `profile` (of what is sent or added),
//! and `http` with `method`, `path`, `body` and `type` for runs over HTTP, in which `{user}`,
//! `{number}`, `{iteration}` and `{recipients}` are put in.

mod reading;
#[cfg(test)]
mod tests;

use std::fmt;

pub use reading::{Error, parse};

/// Steps that a workload may have.
pub const STEPS_MAX: usize = 100;
/// The longest pause, period and iteration, in seconds.
pub const SECONDS_MAX: u32 = 86_400;
/// The index of the sign-in among [`Workload::actions`].
pub const SIGN_IN: usize = 0;

const FILES: [(&str, &str); 10] = [
    ("R5Mail", include_str!("../workloads/r5mail.toml")),
    ("R5IMAP", include_str!("../workloads/r5imap.toml")),
    ("Webmail", include_str!("../workloads/webmail.toml")),
    ("SMTP-POP3", include_str!("../workloads/smtp-pop3.toml")),
    ("R6Mail", include_str!("../workloads/r6mail.toml")),
    ("R6iNotes", include_str!("../workloads/r6inotes.toml")),
    ("R6IMAP", include_str!("../workloads/r6imap.toml")),
    ("N8Mail", include_str!("../workloads/n8mail.toml")),
    ("N8Entmail", include_str!("../workloads/n8entmail.toml")),
    ("N85Entmail", include_str!("../workloads/n85entmail.toml")),
];

/// The names of the workloads that are built in.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FILES.iter().map(|(name, _)| *name).collect()
}

/// A workload that is built in; upper and lower case are the same.
///
/// # Errors
/// There is none of this name.
pub fn named(name: &str) -> Result<Workload, Error> {
    let file = FILES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    match file {
        Some((_, text)) => parse(text),
        None => Err(Error::Unknown { name: name.to_owned(), known: names().join(", ") }),
    }
}

/// The text of a workload that is built in, as a beginning for one's own.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| *text)
}

/// Over which door the steps are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// IMAP for reading and changing, SMTP for sending, LDAP for names.
    #[default]
    Imap,
    /// HTTP, by the templates of the workload file.
    Http,
}

impl Via {
    /// Reads `imap`, `http`, `rpc`.
    ///
    /// # Errors
    /// It is none of them, or one that cannot be spoken.
    pub fn parse(word: &str) -> Result<Self, Error> {
        match word.to_ascii_lowercase().as_str() {
            "imap" => Ok(Self::Imap),
            "http" => Ok(Self::Http),
            "rpc" => Err(Error::NoRpc),
            _ => Err(Error::Via { word: word.to_owned() }),
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Imap => "imap",
            Self::Http => "http",
        }
    }
}

macro_rules! acts {
    ($($variant:ident $word:literal $doc:literal,)*) => {
        /// What a step does, and how over IMAP and SMTP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Act {
            $(#[doc = $doc] $variant,)*
        }

        impl Act {
            /// All of them.
            pub const ALL: &[Act] = &[$(Act::$variant,)*];

            /// The word in a workload file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Act::$variant => $word,)* }
            }

            /// How it is done over IMAP and SMTP, in one line.
            #[must_use]
            pub fn how(self) -> &'static str {
                match self { $(Act::$variant => $doc,)* }
            }
        }
    };
}

acts! {
    Open "open" "SELECT INBOX",
    Refresh "refresh" "NOOP, then the rows of the last messages",
    Scroll "scroll" "the rows of as many messages, anywhere in the folder",
    Switch "switch" "SELECT of the folder, then the rows of its last messages",
    Read "read" "FETCH of the text, or of the whole message with its attachments",
    Reply "reply" "SMTP to sender and recipients, then APPEND of the copy to Sent",
    Send "send" "SMTP, then APPEND of the copy to Sent",
    Appointment "appointment" "APPEND to Calendar",
    Invite "invite" "SMTP of an iTIP REQUEST, then APPEND to Calendar",
    Rsvp "rsvp" "SMTP of an iTIP REPLY",
    Poll "poll" "NOOP",
    Delete "delete" "STORE \\Deleted, then EXPUNGE",
    Stamp "stamp" "STORE of a keyword",
    Add "add" "APPEND",
    Move "move" "MOVE, or COPY, STORE and EXPUNGE",
    Lookup "lookup" "LDAP search for an address",
    List "list" "LIST",
    Retrieve "retrieve" "POP3: sign in, RETR and DELE of all messages, QUIT",
    SignOut "sign-out" "LOGOUT; the next step signs in again",
}

impl Act {
    /// Whether it sends mail.
    #[must_use]
    pub fn sends(self) -> bool {
        matches!(self, Self::Reply | Self::Send | Self::Invite | Self::Rsvp)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// In how many iterations a step is done: in `part` of each `of`, evenly spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Iterations with it.
    pub part: u32,
    /// Of so many.
    pub of: u32,
}

impl Rate {
    /// Whether it is done in iteration `number` (from 0).
    #[must_use]
    pub fn hits(self, number: u64) -> bool {
        number.wrapping_mul(u64::from(self.part)) % u64::from(self.of) < u64::from(self.part)
    }

    /// The share of iterations with it.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.part) / f64::from(self.of)
    }
}

/// A request of a run over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The body, if any.
    pub body: Option<String>,
    /// Its media type.
    pub media_type: String,
}

/// A step of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What is done.
    pub act: Act,
    /// The index of its name among [`Workload::actions`].
    pub action: usize,
    /// How often in a row.
    pub times: u32,
    /// In which iterations.
    pub rate: Rate,
    /// The pause after each time: least and most, in seconds.
    pub pause_s: [f64; 2],
    /// Recipients of what is sent.
    pub recipients: u32,
    /// Messages at once.
    pub count: u32,
    /// Another folder than INBOX.
    pub folder: String,
    /// Sizes of what is sent or added.
    pub profile: String,
    /// How it is done over HTTP.
    pub http: Option<Template>,
}

/// A folder beside INBOX and what it holds at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name.
    pub name: String,
    /// Messages at the start.
    pub messages: u32,
}

/// That a part of the people gets most of the mail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Share of the people, from 0 to 1.
    pub people: f64,
    /// Share of the mail that they get, from 0 to 1.
    pub mail: f64,
}

/// What people do.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// By which it is asked for.
    pub name: String,
    /// One line.
    pub title: String,
    /// What it was defined over: `notes-rpc`, `http`, `imap` or `pop3`.
    pub door: String,
    /// Where its numbers come from.
    pub origin: Vec<String>,
    /// The length of an iteration, in seconds.
    pub period_s: u32,
    /// Messages in each INBOX at the start.
    pub messages: u32,
    /// Sizes of messages.
    pub profile: String,
    /// Share of the people with a local replica, from 0 to 1.
    pub replicas: f64,
    /// Share of the reads that fetch attachments too, from 0 to 1.
    pub read_attachments: f64,
    /// Who gets the mail.
    pub spread: Option<Spread>,
    /// Folders beside INBOX.
    pub folders: Vec<Folder>,
    /// An iteration.
    pub steps: Vec<Step>,
    actions: Vec<String>,
}

/// A line of the table of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// The action.
    pub name: String,
    /// How often in an iteration, on the average.
    pub per_iteration: f64,
    /// How often in an hour.
    pub per_hour: f64,
    /// How it is done.
    pub how: String,
}

impl Workload {
    /// The names of the timed actions, by their index.
    #[must_use]
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The index of the synchronisation of a local replica.
    #[must_use]
    pub fn replicate(&self) -> usize {
        self.actions.len() - 1
    }

    /// Whether anything is done over IMAP in a run `via` IMAP.
    #[must_use]
    pub fn reads_mailboxes(&self) -> bool {
        let elsewhere = |act: Act| matches!(act, Act::Retrieve | Act::Lookup);
        self.steps.iter().any(|step| !elsewhere(step.act) && !self.sends_only(step.act))
    }

    /// The protocols that a run `via` this door speaks, in words.
    #[must_use]
    pub fn spoken(&self, via: Via) -> &'static str {
        match (via, self.door.as_str()) {
            (Via::Http, _) => "HTTP",
            (Via::Imap, "pop3") => "SMTP and POP3",
            (Via::Imap, _) => "IMAP and SMTP",
        }
    }

    /// Whether copies of what is sent are kept: not where there are no mailboxes but maildrops.
    #[must_use]
    pub fn keeps_copies(&self) -> bool {
        self.door != "pop3"
    }

    fn sends_only(&self, act: Act) -> bool {
        act.sends() && !self.keeps_copies()
    }

    /// All folders beside INBOX that the steps need, with what they hold at the start.
    #[must_use]
    pub fn folders_needed(&self) -> Vec<Folder> {
        let mut folders = self.folders.clone();
        let mut need = |name: &str| {
            if !name.eq_ignore_ascii_case("INBOX") && folders.iter().all(|f| f.name != name) {
                folders.push(Folder { name: name.to_owned(), messages: 0 });
            }
        };
        for step in &self.steps {
            match step.act {
                Act::Send | Act::Reply if self.keeps_copies() => need("Sent"),
                Act::Appointment | Act::Invite if self.keeps_copies() => need("Calendar"),
                Act::Switch | Act::Move | Act::Add => need(&step.folder),
                _ => {}
            }
        }
        folders
    }

    /// The table of what is done.
    #[must_use]
    pub fn mix(&self) -> Vec<Mix> {
        let mut rows: Vec<Mix> = Vec::new();
        for step in &self.steps {
            let name = &self.actions[step.action];
            let per_iteration = f64::from(step.times) * step.rate.share();
            let per_hour = per_iteration * 3600.0 / f64::from(self.period_s);
            match rows.iter_mut().find(|row| row.name == *name) {
                Some(row) => {
                    row.per_iteration += per_iteration;
                    row.per_hour += per_hour;
                }
                None => {
                    let how = step.act.how().to_owned();
                    rows.push(Mix { name: name.clone(), per_iteration, per_hour, how });
                }
            }
        }
        rows
    }
}
