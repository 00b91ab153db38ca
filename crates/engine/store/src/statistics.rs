//! Figures of the store, kept without locks.

use std::sync::atomic::{AtomicU64, Ordering};

/// One figure.
#[derive(Debug, Default)]
pub(crate) struct Figure(AtomicU64);

impl Figure {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All figures since the store was opened, except where they tell a present state.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// Uses of a database whose file was open already.
    pub cache_hits: Figure,
    /// Uses of a database whose file had to be opened.
    pub cache_opens: Figure,
    /// Files closed to stay within the limit.
    pub cache_closes: Figure,
    /// Databases that gave back memory while they were open.
    pub eased: Figure,
    /// Reads.
    pub reads: Figure,
    /// Writes that appended a record.
    pub writes: Figure,
    /// Databases concerned by these writes.
    pub sections: Figure,
    /// Writes that were rolled back.
    pub rollbacks: Figure,
    /// Bytes of change records.
    pub record_bytes: Figure,
    /// Transactions that SQLite rolled back on its own.
    pub lost_transactions: Figure,
    /// Databases that were brought up to date after a start.
    pub databases_replayed: Figure,
    /// Sections applied from the log.
    pub replayed: Figure,
    /// Damage found at reading.
    pub damage: Figure,
    /// Databases fenced.
    pub fenced: Figure,
    /// Checkpoint rounds.
    pub rounds: Figure,
    /// Transactions committed.
    pub commits: Figure,
    /// Calls of syncfs.
    pub syncs: Figure,
    /// Write-ahead files written back.
    pub write_backs: Figure,
    /// Databases compacted.
    pub compacted: Figure,
    /// Writes refused because the disk was full and the memory for what waits was too.
    pub full_refused: Figure,
    /// Segments that left the log.
    pub segments_released: Figure,
    /// Segments that the object store took over.
    pub segments_adopted: Figure,
}

impl Statistics {
    /// Names and values.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("Database.DbCache.Hits", self.cache_hits.get()),
            ("Database.DbCache.InitialDbOpens", self.cache_opens.get()),
            ("Database.DbCache.Closes", self.cache_closes.get()),
            ("Database.BufferPool.Eased", self.eased.get()),
            ("Database.Reads", self.reads.get()),
            ("Database.Writes", self.writes.get()),
            ("Database.Writes.Sections", self.sections.get()),
            ("Database.Writes.RolledBack", self.rollbacks.get()),
            ("Database.Writes.RecordBytes", self.record_bytes.get()),
            ("Database.LostTransactions", self.lost_transactions.get()),
            ("Database.Recovery.DatabasesReplayed", self.databases_replayed.get()),
            ("Database.Recovery.SectionsReplayed", self.replayed.get()),
            ("Database.Damage", self.damage.get()),
            ("Database.Fenced", self.fenced.get()),
            ("Database.Checkpoint.Rounds", self.rounds.get()),
            ("Database.Checkpoint.Commits", self.commits.get()),
            ("Database.Checkpoint.Syncs", self.syncs.get()),
            ("Database.Checkpoint.WriteBacks", self.write_backs.get()),
            ("Database.Compacted", self.compacted.get()),
            ("Database.DiskFull.Refused", self.full_refused.get()),
            ("Database.Checkpoint.SegmentsReleased", self.segments_released.get()),
            ("Database.Checkpoint.SegmentsAdopted", self.segments_adopted.get()),
        ]
    }
}
