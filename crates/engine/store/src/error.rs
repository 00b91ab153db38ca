//! What can go wrong in the store.

use note::{Dbiid, DecodeError};
use objects::ObjectsError;
use txlog::{AppendError, LogError};

use crate::{FolderId, NoteId};

/// An operation of the store that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No database has this path.
    #[error("there is no database {path}")]
    NotFound {
        /// Path below the data directory.
        path: String,
    },
    /// A database or file with this path exists already.
    #[error("{path} exists already")]
    Exists {
        /// Path below the data directory.
        path: String,
    },
    /// Not a path of a database below the data directory.
    #[error("{path:?} is not a path of a database: {reason}")]
    BadPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The database is not served until somebody mends it; the others are.
    #[error("database {path} is fenced: {reason}")]
    Fenced {
        /// Path below the data directory.
        path: String,
        /// What was found.
        reason: String,
    },
    /// A file refers to an object that is not here.
    #[error("{path} refers to object {hash}, which is not here")]
    NoObject {
        /// The file or database.
        path: String,
        /// Hash of the object.
        hash: String,
    },
    /// No such note, or it was deleted for good.
    #[error("there is no note {}", .0.0)]
    NoNote(NoteId),
    /// No such folder.
    #[error("there is no folder {}", .0.0)]
    NoFolder(FolderId),
    /// A folder of this name exists already.
    #[error("folder {name:?} exists already")]
    FolderExists {
        /// Name of the folder.
        name: String,
    },
    /// The folder has no entry with this uid.
    #[error("folder {} has no entry {uid}", folder.0)]
    NoEntry {
        /// Which folder.
        folder: FolderId,
        /// Which uid.
        uid: u32,
    },
    /// All uids (or uid validities) of a folder were given out.
    #[error("folder {} has no uid left", .0.0)]
    UidsExhausted(FolderId),
    /// More databases in one write than a record may name.
    #[error("a write over {count} databases; at most {max} are possible")]
    TooManyDatabases {
        /// Databases asked for.
        count: usize,
        /// Most that are possible.
        max: usize,
    },
    /// The write does not include this database.
    #[error("database {} takes no part in this write", .0)]
    NotInWrite(Dbiid),
    /// An earlier step of the write failed, so that it was rolled back; it may be tried again.
    #[error("the write was rolled back because a step of it failed")]
    Aborted,
    /// The work was stopped by whoever watched its progress; nothing has changed.
    #[error("stopped on request")]
    Stopped,
    /// The disk of the databases is full; writes wait until there is space, reads go on.
    #[error("the disk of the databases is full")]
    DiskFull,
    /// A write of the databases was not synced; nothing is checkpointed any more.
    #[error("the databases were not synced: {reason}")]
    NotSynced {
        /// What the file system said at the first failure.
        reason: String,
    },
    /// Stored bytes are not what was written.
    #[error("database {path} is damaged: {what}")]
    Damage {
        /// Path below the data directory.
        path: String,
        /// What was found where.
        what: String,
    },
    /// Stored bytes of a note do not decode.
    #[error("note does not decode")]
    Decode(#[from] DecodeError),
    /// The log did not take the record.
    #[error("transaction log refused the record")]
    Append(#[from] AppendError),
    /// The log failed.
    #[error("transaction log failed")]
    Log(#[from] LogError),
    /// The object store failed.
    #[error("object store failed")]
    Objects(#[from] ObjectsError),
    /// SQLite failed.
    #[error("database file failed")]
    Sqlite(#[from] rusqlite::Error),
    /// The file system failed.
    #[error("file system failed at {path}")]
    Io {
        /// File or directory.
        path: String,
        /// What it said.
        source: std::io::Error,
    },
}

impl StoreError {
    /// Whether the same request may succeed later without anybody asking differently.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            StoreError::Append(_)
                | StoreError::Log(_)
                | StoreError::Objects(_)
                | StoreError::Sqlite(_)
                | StoreError::Io { .. }
                | StoreError::Fenced { .. }
                | StoreError::Damage { .. }
                | StoreError::Aborted
                | StoreError::NotSynced { .. }
                | StoreError::DiskFull
        )
    }

    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> StoreError {
        StoreError::Io { path: path.display().to_string(), source }
    }
}
