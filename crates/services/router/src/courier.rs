//! The seam to whoever carries messages to other hosts. The router decides what goes where and
//! keeps it until it is taken; it knows nothing of the dialogue.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::envelope::{Recipient, Ret};

/// Reads a range of a message's bytes and appends it.
pub type ReadBytes<'a> = dyn Fn(Range<u64>, &mut Vec<u8>) -> Result<(), String> + 'a;

/// Carries messages to other hosts. Used by several threads at once.
pub trait Courier: fmt::Debug + Send + Sync {
    /// The destination that mail for a domain (in lower case) goes to, a short text that people
    /// read; `None` when nobody takes it. Must not wait for anything.
    fn destination(&self, domain: &str) -> Option<Arc<str>>;

    /// Opens a line to a destination. Waits for the network.
    ///
    /// # Errors
    /// The destination cannot be reached or does not let this server in: nothing goes there now.
    fn open(&self, destination: &str) -> Result<Box<dyn Line>, Trouble>;

    /// Breaks every line that waits, and every one opened later: the server stops.
    fn stop(&self);
}

/// An open line to a destination.
pub trait Line: Send {
    /// The host at its other end, for reports.
    fn host(&self) -> &str;

    /// Hands one message over; one answer per recipient, in order. What is `Taken` the other host
    /// has promised to keep.
    ///
    /// # Errors
    /// The line broke, or the message could not be read: the line is not to be used any more, and
    /// nobody knows of any recipient whether the other host has the message.
    fn send(&mut self, parcel: &Parcel<'_>) -> Result<Vec<Answer>, Trouble>;

    /// Ends the line in an orderly way.
    fn close(self: Box<Self>);
}

/// A message for one destination.
pub struct Parcel<'a> {
    /// Envelope sender; `None`: the null sender.
    pub sender: Option<&'a str>,
    /// Envelope recipients, at least one.
    pub recipients: &'a [Recipient],
    /// ENVID, decoded.
    pub envelope_id: Option<&'a str>,
    /// RET.
    pub ret: Ret,
    /// Bytes of the message.
    pub size: u64,
    /// Gives the message's bytes.
    pub read: &'a ReadBytes<'a>,
}

/// What the other host said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Reply code; 0 when it is this server that says so.
    pub code: u16,
    /// Enhanced status code (RFC 3463), such as `5.1.1`.
    pub status: String,
    /// The text without codes.
    pub text: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            0 if self.status.is_empty() => f.write_str(&self.text),
            0 => write!(f, "{} {}", self.status, self.text),
            code => write!(f, "{code} {} {}", self.status, self.text),
        }
    }
}

/// What became of one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The other host has it.
    Taken {
        /// It also reports success when asked (RFC 3461).
        reports: bool,
    },
    /// Not now.
    NotNow(Said),
    /// Never.
    Refused(Said),
}

/// A line that could not be opened, or broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Trouble {
    /// What happened, for people.
    pub text: String,
    /// It is not about this message alone: the destination as a whole is left alone for a while.
    pub destination: bool,
}
