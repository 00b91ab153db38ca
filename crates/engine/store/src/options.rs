//! Settings of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use note::{ReplicaId, TimeDate};
use objects::ObjectsOptions;
use txlog::{Clock, Disk, LogOptions, RealDisk, SystemClock};

use crate::{FileSystems, Room};

/// Where a store lies and how it works.
#[derive(Clone)]
pub struct StoreOptions {
    /// Directory of the databases.
    pub data_dir: PathBuf,
    /// Settings of the transaction log.
    pub log: LogOptions,
    /// Settings of the object store.
    pub objects: ObjectsOptions,
    /// Most databases held open at a time.
    pub open_databases_max: usize,
    /// Most bytes of log to be replayed after a crash.
    pub redo_bytes_max: u64,
    /// Records of one database above which it is checkpointed, so that its replay stays short.
    pub redo_records_max: usize,
    /// Content of at least this many bytes becomes an object.
    pub object_bytes_min: u64,
    /// Seconds after which a changed database is checkpointed even without need.
    pub checkpoint_age_s: u64,
    /// Length of a -wal in bytes above which it is written back into its database, whatever the
    /// length of that; shorter ones are when they are as long as the database and 1 MiB.
    pub wal_bytes_max: u64,
    /// Memory that open transactions may take beyond the page caches of their databases, in bytes.
    /// Above it the largest are committed early; when the disk is full, writes are refused.
    pub unwritten_bytes_max: u64,
    /// Memory that all open databases together may take for pages, read or changed, and prepared
    /// statements, in bytes. Above it those unused longest give theirs back; when that is not
    /// enough, their open transactions are committed early.
    pub buffer_pool_bytes: u64,
    /// Says how full the disk is.
    pub room: Arc<dyn Room>,
    /// The disk below log and objects.
    pub disk: Arc<dyn Disk>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl StoreOptions {
    /// A store in `dir`: `dir/data`, `dir/txlog`, `dir/objects`, with the usual settings.
    pub fn new(dir: impl AsRef<Path>) -> StoreOptions {
        let dir = dir.as_ref();
        StoreOptions {
            data_dir: dir.join("data"),
            log: LogOptions::new(dir.join("txlog")),
            objects: ObjectsOptions::new(dir.join("objects")),
            open_databases_max: 1_000,
            redo_bytes_max: 1 << 30,
            redo_records_max: 8_192,
            object_bytes_min: 4_096,
            checkpoint_age_s: 1_800,
            wal_bytes_max: 16 << 20,
            unwritten_bytes_max: 128 << 20,
            buffer_pool_bytes: 1 << 30,
            room: Arc::new(FileSystems),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
        }
    }

    /// As [`StoreOptions::new`], with log segments of 1 MiB, for tests.
    pub fn small(dir: impl AsRef<Path>) -> StoreOptions {
        let mut options = StoreOptions::new(dir);
        options.log.segment_bytes = 1 << 20;
        options.log.bytes_max = 64 << 20;
        options.redo_bytes_max = 16 << 20;
        options
    }
}

/// What a new database starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDatabase {
    /// Title.
    pub title: String,
    /// Replica id; a new one when `None`.
    pub replica_id: Option<ReplicaId>,
    /// Whether notes that leave their last folder go to soft deletion (else they are deleted).
    pub soft_delete: bool,
    /// When it was made; now when `None`.
    pub created: Option<TimeDate>,
}

impl NewDatabase {
    /// A database with soft deletion and a replica id of its own.
    pub fn titled(title: &str) -> NewDatabase {
        let title = title.to_owned();
        NewDatabase { title, replica_id: None, soft_delete: true, created: None }
    }
}
