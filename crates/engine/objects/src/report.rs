//! What the store tells about itself: status, verification, recount.

use note::{Dbiid, ObjectHash};
use txlog::Lsn;

/// Totals over every object the store knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectsStatus {
    /// Objects that are stored.
    pub objects: u64,
    /// References from notes to objects.
    pub references: i64,
    /// Objects no note refers to.
    pub unreferenced: u64,
    /// Bytes of content, each object once.
    pub logical_bytes: u64,
    /// Bytes the blocks take in their records.
    pub stored_bytes: u64,
    /// Segments that hold at least one block of an object.
    pub segments: u64,
    /// Segment files the store has taken over from the log.
    pub adopted: u64,
    /// Objects that this process has found damaged.
    pub damaged: u64,
    /// The catalog was made anew and not all references are counted yet: nothing is pruned.
    pub recount_due: bool,
}

/// A segment file that the store has taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdoptedSegment {
    /// Its id.
    pub segment: u32,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Bytes of it that belong to known objects.
    pub live_bytes: u64,
    /// Blocks of known objects, and records that end or relocate one.
    pub live_blocks: u64,
}

/// What one call of [`crate::Objects::rewrite`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// Segments that this call chose to empty.
    pub segments: u64,
    /// Objects moved.
    pub objects: u64,
    /// Blocks appended again.
    pub blocks: u64,
    /// Bytes of those blocks, and of the records that say where they are.
    pub bytes: u64,
    /// Blocks that could not be moved because they are damaged; their segments stay.
    pub damaged: u64,
    /// Objects that are still to be moved.
    pub left: u64,
    /// A checkpoint has to come before anything else is moved.
    pub waits: bool,
}

/// A part of the work of [`crate::Objects::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifySlice {
    /// What was found in this part.
    pub report: VerifyReport,
    /// Where to go on; `None` at the end.
    pub next: Option<ObjectHash>,
}

/// What [`crate::Objects::prune`] dropped, or would drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Objects dropped.
    pub objects: u64,
    /// Bytes of their content.
    pub logical_bytes: u64,
    /// Bytes their blocks take in records. The space is free once the segments that hold them are
    /// removed or rewritten.
    pub stored_bytes: u64,
    /// Objects left alone because somebody is about to refer to them.
    pub pinned: u64,
    /// Objects left alone because something changed for them since the last checkpoint.
    pub changed: u64,
    /// Stopped at the number of objects that was ordered.
    pub more: bool,
    /// Nothing was looked at: references have to be counted anew first.
    pub waits: bool,
}

/// One block that is not what was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedBlock {
    /// The object it belongs to.
    pub hash: ObjectHash,
    /// Index in the object, from 0.
    pub block: u32,
    /// Where it stands.
    pub lsn: Lsn,
    /// What was found.
    pub reason: String,
}

/// What [`crate::Objects::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects read.
    pub objects: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Bytes of content read.
    pub bytes: u64,
    /// Blocks that are not what was stored.
    pub damaged: Vec<DamagedBlock>,
    /// Objects whose blocks are sound, but whose content does not have their hash.
    pub mismatched: Vec<ObjectHash>,
    /// Hashes that notes refer to and no object has.
    pub missing: Vec<ObjectHash>,
    /// Hashes whose catalog row is damaged.
    pub malformed: Vec<ObjectHash>,
}

impl VerifyReport {
    /// True when nothing was found.
    pub fn is_clean(&self) -> bool {
        let unsound = self.damaged.len() + self.mismatched.len();
        unsound + self.missing.len() + self.malformed.len() == 0
    }
}

/// One count that was wrong in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The object.
    pub hash: ObjectHash,
    /// The database instance.
    pub dbiid: Dbiid,
    /// What the catalog said.
    pub catalog: i64,
    /// What the database holds.
    pub counted: i64,
}

/// What [`crate::Objects::resync`] found and mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResyncReport {
    /// Counts compared.
    pub compared: u64,
    /// Counts left alone because they changed while the databases were counted.
    pub skipped: u64,
    /// Counts that differed; each is mended.
    pub differences: Vec<Difference>,
    /// Hashes that a database refers to and no object has.
    pub missing: Vec<ObjectHash>,
}

impl ResyncReport {
    /// True when nothing was found.
    pub fn is_clean(&self) -> bool {
        self.differences.is_empty() && self.missing.is_empty()
    }
}
