//! What can go wrong in the object store, told apart by kind.

use note::ObjectHash;
use txlog::{AppendError, LogError, Lsn};

/// Errors of the object store.
///
/// `Full`, `Log`, `Append` and `Io` are trouble (the world is in the way, try again later);
/// `Damage`, `Missing`, `CatalogLost`, `CatalogStale`, `CatalogDamaged` and `LogReplaced` are
/// damage (stored bytes are wrong or gone).
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// The log takes no more ordinary records; the content was not stored.
    #[error("the transaction log is full")]
    Full,
    /// The log refused a record for another reason.
    #[error("the transaction log refused a record")]
    Append(#[source] AppendError),
    /// The log could not be read or made durable.
    #[error("the transaction log is in trouble")]
    Log(#[from] LogError),
    /// The content of one block is not what was stored, or cannot be read.
    #[error("object {hash}: block {block} at {lsn} is damaged: {reason}")]
    Damage {
        /// The object the block belongs to.
        hash: ObjectHash,
        /// Index of the block in the object, from 0.
        block: u32,
        /// Where the block stands.
        lsn: Lsn,
        /// What was found.
        reason: String,
    },
    /// No object with this hash is known.
    #[error("object {hash} is not in the store")]
    Missing {
        /// The hash that was asked for.
        hash: ObjectHash,
    },
    /// The range does not lie within the object, or the ticket states another length.
    #[error("object {hash} has {length} bytes, asked for {start}..{end}")]
    Range {
        /// The object that was asked for.
        hash: ObjectHash,
        /// Its length in bytes.
        length: u64,
        /// First byte asked for.
        start: u64,
        /// Byte behind the last one asked for.
        end: u64,
    },
    /// The content has more blocks than an end record can name.
    #[error("content of {length} bytes is too long for one object")]
    TooLong {
        /// Length of the content in bytes.
        length: u64,
    },
    /// A record payload or a catalog row is not well formed.
    #[error("malformed {what} at {lsn}")]
    Malformed {
        /// What was being decoded.
        what: &'static str,
        /// Where it stands; `Lsn::ZERO` when it is a catalog row.
        lsn: Lsn,
    },
    /// Adopted segments are there, but the catalog that knows their objects is not.
    #[error("catalog.db is missing beside {segments} adopted segments")]
    CatalogLost {
        /// Adopted segment files found in the directory.
        segments: usize,
    },
    /// The log no longer reaches back to where the catalog stands: an old copy of it was put back,
    /// or another one was begun. What came between would be taken for unknown, and removed.
    #[error("catalog.db stands at {checkpointed}, but the log begins at {oldest}")]
    CatalogStale {
        /// Everything before it is in the catalog.
        checkpointed: Lsn,
        /// Where the log begins.
        oldest: Lsn,
    },
    /// The log ends before where the catalog stands: another log was begun, and its segments would
    /// take the names of those that were adopted.
    #[error("catalog.db stands at {checkpointed}, but the log is only at {end}")]
    LogReplaced {
        /// Everything before it is in the catalog.
        checkpointed: Lsn,
        /// Where the log goes on.
        end: Lsn,
    },
    /// The catalog was written by a newer program.
    #[error("catalog.db has format {found}, this program knows up to {known}")]
    CatalogFormat {
        /// Format number in the file.
        found: i64,
        /// Highest format this program reads.
        known: i64,
    },
    /// The catalog is not a sound SQLite file, or lacks what it must have. The next start makes it
    /// anew from the segments.
    #[error("catalog.db is damaged: {reason}")]
    CatalogDamaged {
        /// What SQLite said.
        reason: String,
    },
    /// SQLite could not do what was asked of the catalog.
    #[error("the object catalog is in trouble")]
    Catalog(#[source] rusqlite::Error),
    /// A file operation failed.
    #[error("file operation failed")]
    Io(#[from] std::io::Error),
}

impl From<rusqlite::Error> for ObjectsError {
    fn from(error: rusqlite::Error) -> Self {
        if says_damaged(&error) {
            ObjectsError::CatalogDamaged { reason: error.to_string() }
        } else {
            ObjectsError::Catalog(error)
        }
    }
}

/// Does SQLite say that the bytes of the file are wrong?
fn says_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, DatabaseCorrupt | NotADatabase)
        }
        rusqlite::Error::QueryReturnedNoRows
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) => true,
        _ => false,
    }
}

impl From<AppendError> for ObjectsError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Full { .. } => ObjectsError::Full,
            other => ObjectsError::Append(other),
        }
    }
}

impl ObjectsError {
    /// True when the same call may succeed later without repair: no space, a busy or stopped log.
    pub fn is_temporary(&self) -> bool {
        match self {
            ObjectsError::Full | ObjectsError::Log(_) | ObjectsError::Io(_) => true,
            ObjectsError::Append(error) => !matches!(error, AppendError::TooLong { .. }),
            ObjectsError::Catalog(_) => true,
            _ => false,
        }
    }
}
