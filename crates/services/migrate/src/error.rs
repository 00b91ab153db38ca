//! Why mail could not be brought in or taken out.

use std::io;
use std::path::Path;

use mailfile::MailError;
use mailfile::intake::IntakeError;
use store::StoreError;
use thiserror::Error;

/// Why mail could not be brought in or taken out. What was done until then stays done.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The mail file is in trouble.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A file or directory cannot be read or written.
    #[error("{place}")]
    File {
        /// Its path.
        place: String,
        /// What the system says.
        source: io::Error,
    },
    /// The source is not what it was said to be, or the target cannot be used.
    #[error("{0}")]
    Unfit(String),
    /// The server on the other side is in trouble.
    #[error("the IMAP server {host}: {what}")]
    Server {
        /// Its name.
        host: String,
        /// What happened.
        what: String,
    },
    /// Whoever watches asked to stop.
    #[error("the work was stopped")]
    Stopped,
}

impl MigrateError {
    /// An error of a file.
    pub(crate) fn file(place: &Path, source: io::Error) -> MigrateError {
        MigrateError::File { place: place.display().to_string(), source }
    }
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> MigrateError {
        MigrateError::Mail(error.into())
    }
}

impl From<IntakeError> for MigrateError {
    fn from(error: IntakeError) -> MigrateError {
        MigrateError::Mail(error.into())
    }
}

impl From<txlog::LogError> for MigrateError {
    fn from(error: txlog::LogError) -> MigrateError {
        MigrateError::from(StoreError::from(error))
    }
}
