//! Clients for load: SMTP, IMAP, POP3, HTTP, LDAP.
//!
//! They are written for thousands of connections in one process: an idle one keeps no buffer, what
//! comes in is read through one buffer of the thread, and a message that is read goes through a sum
//! and is not kept. Every call ends within its timeout, every line, literal and list has a limit.
//! What a server sends is checked; what cannot be understood is an error.

mod channel;
mod http;
mod imap;
mod ldap;
mod pop3;
#[cfg(test)]
mod script;
mod smtp;
mod tail;
mod tls;

use std::io;
use std::ops::AddAssign;
use std::time::Duration;

pub use http::{Http, Request, Response};
pub use imap::{Change, Folder, Gone, Imap, Mark, News, Part, Row, Selected, Status};
pub use ldap::{Found, Ldap};
pub use pop3::Pop3;
pub use smtp::{Accepted, Smtp};
pub use tail::Read;

/// Octets of a line of a server at the most, without literals.
pub const LINE_OCTETS_MAX: usize = 256 << 10;
/// Octets of a literal that is kept (not of a message, which is not).
pub const LITERAL_OCTETS_MAX: usize = 256 << 10;
/// Octets of a message at the most.
pub const MESSAGE_OCTETS_MAX: u64 = 1 << 30;
/// Octets of a search result or of the lines of a list at the most.
pub const LIST_OCTETS_MAX: usize = 32 << 20;
/// Entries of a list at the most.
pub const LIST_ENTRIES_MAX: usize = 2_000_000;
/// Characters of a server's line that an error shows.
const SHOWN_MAX: usize = 200;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection could not be made, or broke.
    #[error("the connection failed")]
    Io(#[from] io::Error),
    /// The server closed the connection, or an earlier error ended the use of this client.
    #[error("the connection is closed")]
    Closed,
    /// No answer in time.
    #[error("no answer to {what} within {} s", after.as_secs_f64())]
    Timeout {
        /// What was asked.
        what: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// The server refused; it took nothing. All other errors leave open what it took.
    #[error("refused: {code} {text}")]
    Refused {
        /// The status or reply code.
        code: String,
        /// The server's words.
        text: String,
    },
    /// The server's answer cannot be understood.
    #[error("{what}: {line:?}")]
    Protocol {
        /// What is wrong with it.
        what: &'static str,
        /// The answer's beginning.
        line: String,
    },
    /// The server's answer is beyond a limit.
    #[error("{what} is longer than {limit}")]
    Limit {
        /// What is too long.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl Error {
    /// Whether the server refused and took nothing. After any other error the client cannot be used
    /// any more.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    fn protocol(what: &'static str, line: &[u8]) -> Self {
        let line = &line[..line.len().min(SHOWN_MAX)];
        Self::Protocol { what, line: String::from_utf8_lossy(line).trim_end().to_owned() }
    }

    fn refused(code: &str, text: &str) -> Self {
        let text = text.chars().filter(|letter| !letter.is_control()).take(SHOWN_MAX).collect();
        Self::Refused { code: code.to_owned(), text }
    }
}

/// How long calls may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Connection, TLS and greeting.
    pub connect: Duration,
    /// A call that carries no message.
    pub call: Duration,
    /// A call that carries messages or long lists.
    pub bulk: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { connect: minute, call: minute, bulk: 5 * minute }
    }
}

/// What went over the wire, without the costs of TLS, IP and below.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Commands sent.
    pub requests: u64,
    /// Octets that came from the server.
    pub octets_in: u64,
    /// Octets that went to the server.
    pub octets_out: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.octets_in += other.octets_in;
        self.octets_out += other.octets_out;
    }
}
