//! Object store: content that is compressed, addressed by its hash and written once, as records of
//! the shared transaction log.
//!
//! A note holds a [`note::Ticket`] and not the bytes, so that any number of notes in any number of
//! databases share one copy. [`Objects::put`] appends block records and an end record;
//! [`Objects::read`] finds the blocks in the log, or in a segment that the store adopted when the
//! log gave it up. The catalog counts references per database from the ticket deltas of change
//! records. The bytes are described in `docs/formats/objects.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod care;
mod catalog;
mod checkpoint;
mod counts;
mod desk;
mod error;
mod hot;
mod list;
mod pins;
mod prune;
mod put;
mod read;
mod rebuild;
mod record;
mod report;
mod rewrite;
mod segments;
mod squeeze;
mod store;
mod tail;
mod tend;

#[cfg(test)]
mod tests;

pub use care::Recount;
pub use error::ObjectsError;
pub use list::{Estimate, ObjectFacts, ObjectPage, ObjectState, ThresholdEstimate};
pub use pins::Pin;
pub use prune::PruneOrder;
pub use rebuild::Rebuilt;
pub use report::{
    AdoptedSegment, DamagedBlock, Difference, ObjectsStatus, PruneReport, ResyncReport,
    RewriteReport, VerifyReport, VerifySlice,
};
pub use store::{Entered, Objects};

use std::path::PathBuf;

use note::ObjectHash;

/// How the store is laid out and how it writes.
#[derive(Clone, Debug)]
pub struct ObjectsOptions {
    /// Directory of `catalog.db` and of adopted segments.
    pub dir: PathBuf,
    /// Content of at least this many bytes is looked up by hash and shared when it is there. What
    /// is smaller is shared with what came since the last checkpoint, unless this is
    /// [`SHARING_OFF_BYTES`] or more. Default 65,536.
    pub dedupe_bytes_min: u64,
    /// Raw bytes per block, from 256 to 1 MiB. Default 65,536.
    pub block_bytes: usize,
    /// zstd level of the blocks, from -7 to 19. Default 1.
    pub level: i32,
    /// Deferred deletion: an object no note refers to is kept this long, in seconds; longer than
    /// the time between backups. Default 2,592,000 (30 days).
    pub defer_s: u64,
    /// Adopted segments are rewritten when less than this share of them is alive, in percent.
    /// Default 40.
    pub rewrite_live_percent: u8,
    /// Rewriting waits until so many segments are due: what is alive in them then fills fewer.
    /// Default 4.
    pub rewrite_segments_min: usize,
    /// Bytes that rewriting appends to the log between two checkpoints, about. Default 64 MiB.
    pub rewrite_log_bytes_max: u64,
    /// How often [`Objects::tend`] looks for what can be pruned and rewritten, in seconds.
    /// Default 3,600.
    pub care_interval_s: u64,
    /// Bytes of content that one call of [`Objects::tend`] verifies; 0 turns that off.
    /// Default 262,144.
    pub verify_slice_bytes: u64,
    /// Rest between two verifications of everything, in seconds. Default 604,800 (7 days).
    pub verify_interval_s: u64,
}

/// With [`ObjectsOptions::dedupe_bytes_min`] from here on, smaller content is never shared.
pub const SHARING_OFF_BYTES: u64 = 1 << 30;

const DAY_S: u64 = 24 * 3_600;

impl ObjectsOptions {
    /// The usual settings for a store in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            dedupe_bytes_min: 65_536,
            block_bytes: 65_536,
            level: 1,
            defer_s: 30 * DAY_S,
            rewrite_live_percent: 40,
            rewrite_segments_min: 4,
            rewrite_log_bytes_max: 64 << 20,
            care_interval_s: 3_600,
            verify_slice_bytes: 256 << 10,
            verify_interval_s: 7 * DAY_S,
        }
    }

    fn bounded(mut self) -> Self {
        self.block_bytes = self.block_bytes.clamp(256, record::BLOCK_RAW_BYTES_MAX);
        self.level = self.level.clamp(-7, 19);
        self.rewrite_live_percent = self.rewrite_live_percent.min(100);
        self
    }
}

/// Change of one count: `count` references to `hash` more (or fewer, when negative).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketDelta {
    /// The object.
    pub hash: ObjectHash,
    /// References gained (positive) or lost (negative).
    pub count: i64,
}
