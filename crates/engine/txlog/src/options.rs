//! Options, facts and figures of a log.

use std::ops::Range;
use std::path::PathBuf;

use note::Dbiid;

use crate::{LogError, Lsn};

/// What becomes of the log's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bounded by `bytes_max`; released segments are used again.
    Circular,
    /// Not bounded; grows until segments are released.
    Linear,
    /// As circular, but a segment is copied to `archive_dir` before it leaves.
    Archive,
}

/// Which space a record may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// All but the two reserve segments.
    Ordinary,
    /// Also the reserve: deletes, expunges, prune, checkpoints.
    Reserved,
}

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The directory of the log; nothing else lives in it.
    pub dir: PathBuf,
    /// Length of a segment: a multiple of 4,096 from 16 KiB to 2 GiB. Default 64 MiB.
    pub segment_bytes: u32,
    /// Most bytes of all segments of a circular log, the reserve included. Default 4 GiB;
    /// at least four segments are always allowed.
    pub bytes_max: u64,
    /// Circular, linear or archive.
    pub style: Style,
    /// Where the archive style copies segments to, in a subdirectory named by the log's id; may be
    /// on another file system, and is made when it is missing. Needed by that style alone.
    pub archive_dir: Option<PathBuf>,
    /// A group that has reached this length is closed, even while a sync runs. Default 1 MiB.
    pub group_bytes_max: u32,
    /// Records nobody waits for are written and synced after this time. Default 100 ms.
    pub lazy_flush_ms: u64,
    /// How long at most those who wait for a sync are kept for others to share it, when lately
    /// others came: with one alone, or when as many wait as lately did, there is no delay. 0 turns
    /// it off. Default 10 ms.
    pub gather_ms: u64,
    /// How many syncs a second may be wanted without anybody being kept for others. Above that
    /// they are kept as long as makes about so many syncs, within `gather_ms`; with 0 always as
    /// long as that. Default 50.
    pub gather_above_per_s: u64,
    /// Bytes that may wait for the disk before `append` does. Default 16 MiB.
    pub pending_bytes_max: u64,
}

impl LogOptions {
    /// The default options for a log in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> LogOptions {
        LogOptions {
            dir: dir.into(),
            segment_bytes: 64 << 20,
            bytes_max: 4 << 30,
            style: Style::Circular,
            archive_dir: None,
            group_bytes_max: 1 << 20,
            lazy_flush_ms: 100,
            gather_ms: 10,
            gather_above_per_s: 50,
            pending_bytes_max: 16 << 20,
        }
    }

    pub(crate) fn check(&self) -> Result<(), LogError> {
        let length_is_good = self.segment_bytes.is_multiple_of(4096)
            && (16 << 10..=2 << 30).contains(&self.segment_bytes);
        if !length_is_good {
            return Err(LogError::Options { reason: "segment_bytes" });
        }
        if self.style == Style::Archive && self.archive_dir.is_none() {
            return Err(LogError::Options { reason: "the archive style needs a directory" });
        }
        Ok(())
    }
}

/// A stretch of the log that was durable once and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The stretch.
    pub range: Range<Lsn>,
    /// The databases named by all changes in the stretch (0: a change of several, whose payload
    /// names them); `None` when not all could be named.
    pub dbiids: Option<Vec<Dbiid>>,
}

/// What opening a log found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Where the log begins: nothing before this position can be scanned.
    pub oldest: Lsn,
    /// Behind the last record that survived.
    pub end: Lsn,
    /// Durable stretches that cannot be read.
    pub damage: Vec<Damage>,
    /// Bytes of groups behind the end, that were written but never durable.
    pub discarded_bytes: u64,
}

/// What one call of [`crate::Log::archive`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Segments copied.
    pub segments: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Segments that wait to be copied.
    pub waiting: u64,
}

/// How far the archive of a log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Segments copied since the log was opened.
    pub archived: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Segments that wait to be copied; they do not leave the log.
    pub waiting: u64,
    /// Segments that were damaged in the log, and are in the archive as they were.
    pub damaged: u64,
    /// Why the last copy failed. The log is held while this is said, and fills up.
    pub trouble: Option<String>,
}

/// Figures of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStatus {
    /// Circular, linear or archive.
    pub style: Style,
    /// Segments in the log.
    pub segments: u64,
    /// Bytes of the segments in the log.
    pub bytes: u64,
    /// Bytes of segments kept ready for use, the reserve among them.
    pub spare_bytes: u64,
    /// Everything before this position is durable.
    pub durable_lsn: Lsn,
    /// Behind the last appended record.
    pub appended_lsn: Lsn,
    /// The position last given to `release`.
    pub oldest_needed_lsn: Lsn,
    /// Groups written since the log was opened.
    pub groups: u64,
    /// Syncs of segments since the log was opened.
    pub syncs: u64,
    /// Bytes of groups written since the log was opened, padding included.
    pub bytes_written: u64,
    /// Records appended since the log was opened.
    pub records: u64,
    /// Who waits for records to become durable.
    pub waiters: u64,
    /// Ordinary records are refused for want of space.
    pub full: bool,
    /// How far the archive is; `None` in the other styles.
    pub archive: Option<ArchiveStatus>,
    /// Why the log has stopped, if it has.
    pub stopped: Option<String>,
}
