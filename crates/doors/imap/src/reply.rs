//! What is answered: tagged replies, and how errors map to response codes (RFC 3501 §7.1, RFC
//! 5530).

use std::borrow::Cow;

use directory::DirectoryError;
use mailfile::MailError;
use session::{Broken, WireError};
use store::StoreError;
use txlog::LogError;

use crate::grammar::Bad;

/// How a command ended well.
#[derive(Debug)]
pub(crate) struct Done {
    /// The tagged reply was sent already.
    pub said: bool,
    /// Response code without its brackets; empty = none.
    pub code: String,
    /// Text for people.
    pub text: &'static str,
    /// The code is the highest modseq that the client was told of, once all news are told.
    pub with_modseq: bool,
}

/// A command that was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct No {
    /// Response code without its brackets; empty = none.
    pub code: &'static str,
    /// Text for people.
    pub text: Cow<'static, str>,
}

/// Why the connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing can be said any more: the peer left, or a reply may not be shown.
    Silent,
    /// With an untagged BYE.
    Bye(&'static str),
    /// LOGOUT: everything was said.
    Logout,
}

/// Why a command did not end well.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Tagged BAD.
    Bad(&'static str),
    /// Tagged NO.
    No(No),
    /// The connection ends.
    End(End),
}

impl Done {
    /// An OK without a code.
    pub(crate) fn plain(text: &'static str) -> Done {
        Done { said: false, code: String::new(), text, with_modseq: false }
    }

    /// An OK with a code.
    pub(crate) fn coded(code: String, text: &'static str) -> Done {
        Done { said: false, code, text, with_modseq: false }
    }

    /// The tagged reply was sent already.
    pub(crate) fn silent() -> Done {
        Done { said: true, code: String::new(), text: "", with_modseq: false }
    }
}

impl Fault {
    /// Tagged NO with a code (may be empty).
    pub(crate) fn no(code: &'static str, text: impl Into<Cow<'static, str>>) -> Fault {
        Fault::No(No { code, text: text.into() })
    }
}

impl From<Bad> for Fault {
    fn from(bad: Bad) -> Fault {
        Fault::Bad(bad.0)
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Fault {
        tracing::error!(error = %broken, "a session ends");
        Fault::End(End::Bye("Internal error, please connect again"))
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Fault {
        match error {
            WireError::Timeout => Fault::End(End::Bye("Too long without a sign of life")),
            WireError::TooLong { .. } => Fault::Bad("the line is too long"),
            WireError::Closed => Fault::End(End::Silent),
            WireError::Io(error) => {
                tracing::debug!(%error, "a connection broke");
                Fault::End(End::Silent)
            }
        }
    }
}

impl From<LogError> for Fault {
    fn from(error: LogError) -> Fault {
        tracing::error!(%error, "a reply is held back, since what it says is not durable");
        Fault::End(End::Silent)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        if error.is_temporary() {
            tracing::warn!(error = &error as &dyn std::error::Error, "a mail file is in trouble");
            return Fault::no("UNAVAILABLE", "The mail file cannot be used now, please try later");
        }
        match error {
            StoreError::NoFolder(_) | StoreError::NotFound { .. } => {
                Fault::no("NONEXISTENT", "There is no such mailbox")
            }
            StoreError::FolderExists { .. } => {
                Fault::no("ALREADYEXISTS", "There is such a mailbox already")
            }
            StoreError::UidsExhausted(_) => Fault::no("LIMIT", "The mailbox can take no more"),
            error => {
                tracing::error!(error = &error as &dyn std::error::Error, "a command failed");
                Fault::no("SERVERBUG", "Internal error")
            }
        }
    }
}

impl From<MailError> for Fault {
    fn from(error: MailError) -> Fault {
        match error {
            MailError::NoFolder { .. } => Fault::no("NONEXISTENT", "There is no such mailbox"),
            MailError::FolderExists { .. } => {
                Fault::no("ALREADYEXISTS", "There is such a mailbox already")
            }
            MailError::BadName { why } => {
                Fault::no("CANNOT", format!("The mailbox name is not possible: {why}"))
            }
            MailError::InboxStays => Fault::no("CANNOT", "INBOX must stay"),
            MailError::BelowItself => Fault::no("CANNOT", "A mailbox cannot be moved below itself"),
            MailError::HasChildren { .. } => {
                Fault::no("HASCHILDREN", "There are mailboxes below this name")
            }
            MailError::TooManyFolders { .. } => Fault::no("LIMIT", "There are too many mailboxes"),
            MailError::OverQuota(_) => Fault::no("OVERQUOTA", "The mail file is full"),
            MailError::NotDeleted { .. } | MailError::BadRules { .. } => {
                Fault::no("CANNOT", error.to_string())
            }
            MailError::Store(error) => error.into(),
            error @ (MailError::Content(_) | MailError::Summary(_)) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a message is damaged");
                Fault::no("CORRUPTION", "A message cannot be read")
            }
            error @ MailError::Intake(_) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a message is not taken");
                Fault::no("UNAVAILABLE", "The message cannot be stored now, please try later")
            }
        }
    }
}

impl From<DirectoryError> for Fault {
    fn from(error: DirectoryError) -> Fault {
        tracing::warn!(error = &error as &dyn std::error::Error, "the directory is in trouble");
        Fault::no("UNAVAILABLE", "Sign-in is not possible now, please try later")
    }
}

/// A missing target of COPY, MOVE or APPEND invites the client to create it (RFC 3501 §6.3.11).
pub(crate) fn try_create(error: MailError) -> Fault {
    match error {
        MailError::NoFolder { .. } => Fault::no("TRYCREATE", "There is no such mailbox"),
        other => other.into(),
    }
}

/// Appends a tagged reply.
pub(crate) fn tagged(tag: &str, state: &str, (code, text): (&str, &str), out: &mut Vec<u8>) {
    out.extend_from_slice(tag.as_bytes());
    out.push(b' ');
    out.extend_from_slice(state.as_bytes());
    out.push(b' ');
    if !code.is_empty() {
        out.push(b'[');
        out.extend_from_slice(code.as_bytes());
        out.extend_from_slice(b"] ");
    }
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte);
    let plain = |letter: char| u8::try_from(letter).ok().filter(|byte| is_plain(*byte));
    out.extend(text.chars().map(|letter| plain(letter).unwrap_or(b'?')));
    out.extend_from_slice(b"\r\n");
}
