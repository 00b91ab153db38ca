//! What is answered: `+OK`, `-ERR` with the response codes of RFC 2449 §8 and RFC 3206, and how
//! errors map to them.

use std::borrow::Cow;

use directory::DirectoryError;
use mailfile::MailError;
use session::{Broken, WireError};
use store::StoreError;
use txlog::LogError;

/// Why the connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing can or may be said any more (RFC 1939 §3 for a client that is silent).
    Silent,
    /// With a last -ERR.
    Error(&'static str),
    /// QUIT: everything was said.
    Quit,
}

/// Why a command did not end well.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// -ERR to a command that is not understood; too many of them end the connection.
    Bad(&'static str),
    /// -ERR with a response code (may be empty).
    No(&'static str, Cow<'static, str>),
    /// The connection ends.
    End(End),
}

/// Temporary trouble of the server (RFC 3206).
pub(crate) const TEMPORARY: &str = "SYS/TEMP";
/// Lasting trouble of the server (RFC 3206).
pub(crate) const LASTING: &str = "SYS/PERM";

impl Fault {
    /// -ERR with a response code (may be empty).
    pub(crate) fn no(code: &'static str, text: impl Into<Cow<'static, str>>) -> Fault {
        Fault::No(code, text.into())
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Fault {
        tracing::error!(error = %broken, "a session ends");
        Fault::End(End::Error("[SYS/TEMP] Internal error, please connect again"))
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Fault {
        match error {
            WireError::TooLong { .. } => Fault::Bad("The line is too long"),
            WireError::Closed | WireError::Timeout => Fault::End(End::Silent),
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
            return Fault::no(TEMPORARY, "The mail file cannot be used now, please try later");
        }
        if let StoreError::NotFound { path } = &error {
            let advice = "bring it back, or make it with nelumbo db create PATH --mail";
            tracing::warn!(path, advice, "a mail file is missing");
            return Fault::no(LASTING, "There is no mail file");
        }
        tracing::error!(error = &error as &dyn std::error::Error, "a command failed");
        Fault::no(LASTING, "The mail file cannot be used")
    }
}

impl From<MailError> for Fault {
    fn from(error: MailError) -> Fault {
        match error {
            MailError::Store(error) => error.into(),
            error @ (MailError::Content(_) | MailError::Summary(_)) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a message is damaged");
                Fault::no(LASTING, "The message cannot be read")
            }
            error => {
                tracing::error!(error = &error as &dyn std::error::Error, "a command failed");
                Fault::no(LASTING, "The mail file cannot be used")
            }
        }
    }
}

impl From<DirectoryError> for Fault {
    fn from(error: DirectoryError) -> Fault {
        tracing::warn!(error = &error as &dyn std::error::Error, "the directory is in trouble");
        Fault::no(TEMPORARY, "Sign-in is not possible now, please try later")
    }
}

/// Appends `-ERR [code] text`.
pub(crate) fn error(code: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"-ERR ");
    if !code.is_empty() {
        out.push(b'[');
        out.extend_from_slice(code.as_bytes());
        out.extend_from_slice(b"] ");
    }
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}
