//! Why something could not be done with a mail file.

use note::Unid;
use store::StoreError;
use thiserror::Error;

use crate::intake::{ContentError, IntakeError};
use crate::quota::Usage;

/// Why something could not be done with a mail file.
#[derive(Debug, Error)]
pub enum MailError {
    /// There is no folder of this name (any more).
    #[error("there is no folder {name}")]
    NoFolder {
        /// As asked.
        name: String,
    },
    /// The name is taken.
    #[error("there is a folder {name} already")]
    FolderExists {
        /// The folder.
        name: String,
    },
    /// The name cannot be a folder's.
    #[error("the folder name is not possible: {why}")]
    BadName {
        /// What is wrong with it.
        why: &'static str,
    },
    /// INBOX cannot be deleted or replaced.
    #[error("INBOX must stay")]
    InboxStays,
    /// A folder cannot be moved below itself.
    #[error("a folder cannot be moved below itself")]
    BelowItself,
    /// The name only exists because folders lie below it.
    #[error("there are folders below {name}")]
    HasChildren {
        /// The name.
        name: String,
    },
    /// The mail file has as many folders as it may have.
    #[error("the mail file has {max} folders, and may not have more")]
    TooManyFolders {
        /// The limit.
        max: usize,
    },
    /// The mail file is full.
    #[error("the mail file is full: {used} of {limit} bytes are in use",
        used = .0.used_bytes, limit = .0.quota.limit_bytes)]
    OverQuota(Usage),
    /// Rules or blocked senders cannot be as given.
    #[error("the rules are not possible: {}", faults.join("; "))]
    BadRules {
        /// Everything that is wrong.
        faults: Vec<String>,
    },
    /// There is no deleted message of this id.
    #[error("there is no deleted message {unid}")]
    NotDeleted {
        /// As asked.
        unid: Unid,
    },
    /// The database is in trouble.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A message's bytes cannot be given.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A message cannot be taken in.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The stored structure of a message is damaged.
    #[error("the stored structure of a message is damaged")]
    Summary(#[from] message::SummaryError),
}
