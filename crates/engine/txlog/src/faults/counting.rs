//! A disk that counts what is asked of another.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Call, Operation, Watch, Watched};
use crate::Disk;

/// What a [`CountingDisk`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `sync_data`.
    pub sync_data: u64,
    /// Calls of `sync_all`.
    pub sync_all: u64,
    /// Calls of `sync_dir`.
    pub sync_dir: u64,
    /// Calls of `write_at`.
    pub writes: u64,
    /// Bytes given to `write_at`.
    pub bytes_written: u64,
    /// Calls of `read_at`.
    pub reads: u64,
}

/// The counters of a [`CountingDisk`].
#[derive(Default)]
pub struct Counters {
    sync_data: AtomicU64,
    sync_all: AtomicU64,
    sync_dir: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    reads: AtomicU64,
}

/// Passes everything on to another disk, counting syncs, writes and reads.
pub type CountingDisk = Watched<Counters>;

impl Watched<Counters> {
    /// Counts what is asked of `inner`.
    pub fn new(inner: Arc<dyn Disk>) -> CountingDisk {
        Watched::by(inner, Counters::default())
    }

    /// What has been counted so far; clones share their counts.
    pub fn counts(&self) -> Counts {
        let counters = self.watch();
        let load = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Counts {
            sync_data: load(&counters.sync_data),
            sync_all: load(&counters.sync_all),
            sync_dir: load(&counters.sync_dir),
            writes: load(&counters.writes),
            bytes_written: load(&counters.bytes_written),
            reads: load(&counters.reads),
        }
    }
}

impl Watch for Counters {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        let counter = match call.operation {
            Operation::Sync => &self.sync_data,
            Operation::SyncAll => &self.sync_all,
            Operation::SyncDir => &self.sync_dir,
            Operation::Write => {
                self.bytes_written.fetch_add(call.bytes, Ordering::SeqCst);
                &self.writes
            }
            Operation::Read => &self.reads,
            _ => return Ok(()),
        };
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
