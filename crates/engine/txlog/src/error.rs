//! What can go wrong in the log, one enum per operation.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use crate::Lsn;

/// Trouble at opening, reading, scanning, releasing or waiting.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk failed.
    #[error("{action} {path}")]
    Disk {
        /// What was tried, for example `open`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the disk said.
        #[source]
        source: io::Error,
    },
    /// A segment could not be read.
    #[error("cannot read the log at {lsn}")]
    Read {
        /// The position of the record.
        lsn: Lsn,
        /// What the disk said.
        #[source]
        source: io::Error,
    },
    /// There are segments but no control file: this is not taken for a new log.
    #[error("{dir} has log segments but no control file")]
    ControlMissing {
        /// The directory of the log.
        dir: PathBuf,
    },
    /// The control file cannot be understood.
    #[error("the control file {path} is damaged or of another format")]
    ControlDamaged {
        /// The control file.
        path: PathBuf,
    },
    /// The options contradict themselves.
    #[error("log options: {reason}")]
    Options {
        /// What is wrong.
        reason: &'static str,
    },
    /// The log does not hold this position (any more).
    #[error("{lsn} is not in the log")]
    NotInLog {
        /// The position asked for.
        lsn: Lsn,
    },
    /// Stored bytes are wrong: no valid record stands at this position.
    #[error("the log record at {lsn} is damaged")]
    Damaged {
        /// The position of the record.
        lsn: Lsn,
    },
    /// A scan met a stretch that is damaged and was not when the log was opened.
    #[error("the log is damaged from {} to {}", range.start, range.end)]
    DamagedRange {
        /// The stretch that cannot be read.
        range: Range<Lsn>,
    },
    /// A copy for the archive is not what was copied; the segment stays in the log.
    #[error("the copy {path} differs from its log segment")]
    ArchiveDiffers {
        /// The copy.
        path: PathBuf,
    },
    /// The log has stopped, in order or because its disk failed.
    #[error("the log has stopped: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
}

impl LogError {
    /// Turns an error of the disk into one that says what was tried.
    pub(crate) fn disk(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> LogError {
        let path = path.into();
        move |source| LogError::Disk { action, path, source }
    }
}

/// An error with its cause, in one line.
pub(crate) fn describe(error: &LogError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Does the error say that the disk or a quota is exhausted?
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Why a record was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// A circular log has reached its maximum; space returns with the next release.
    #[error("the transaction log is full ({bytes} bytes)")]
    Full {
        /// Bytes of all segments in the log.
        bytes: u64,
    },
    /// No segment could be made or written; tried again by later appends.
    #[error("no space for the transaction log")]
    Disk(#[source] io::Error),
    /// The log has stopped; nothing is appended any more.
    #[error("the log has stopped: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
    /// The record is longer than the log takes.
    #[error("a record of {length} bytes is longer than {length_max}")]
    TooLong {
        /// Length of the payload, in bytes.
        length: u64,
        /// The longest payload, in bytes.
        length_max: u64,
    },
}
