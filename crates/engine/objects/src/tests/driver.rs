//! A small stand-in for the crate that keeps databases: it appends change records and feeds the
//! object store at start.

use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use note::{Dbiid, ObjectHash, Ticket, TimeDate};
use tempfile::TempDir;
use txlog::faults::{FailingDisk, MemoryDisk, SplitDisk};
use txlog::sync::Mutex;
use txlog::{
    Clock, Disk, Head, Log, LogOptions, Lsn, ManualClock, Opened, RecordKind, Space,
    segment_file_name,
};

use crate::record::Entry;
use crate::{Objects, ObjectsError, ObjectsOptions, PruneOrder, PruneReport, TicketDelta};

pub(super) const HOUR_MICROS: i64 = 3_600 * 1_000_000;
pub(super) const DAY_MICROS: i64 = 24 * HOUR_MICROS;

/// The files of a catalog.
type Files = HashMap<OsString, Vec<u8>>;

/// Log and store on a disk in memory; the catalog lies in a real directory.
pub(super) struct Driver {
    dir: Arc<TempDir>,
    /// The catalog as the last sync left it.
    synced: Arc<Mutex<Files>>,
    split: bool,
    pub disk: MemoryDisk,
    /// Stands before the disk.
    pub failing: FailingDisk,
    pub clock: Arc<ManualClock>,
    pub log: Arc<Log>,
    pub objects: Arc<Objects>,
    pub opened: Opened,
    options: LogOptions,
    store: ObjectsOptions,
}

/// What outlives a process.
struct Rest {
    dir: Arc<TempDir>,
    synced: Arc<Mutex<Files>>,
    split: bool,
    clock: Arc<ManualClock>,
    options: LogOptions,
    store: ObjectsOptions,
}

fn log_options() -> LogOptions {
    LogOptions { segment_bytes: 256 << 10, lazy_flush_ms: 1, ..LogOptions::new("/log") }
}

pub(super) fn encode_change(dbiid: Dbiid, deltas: &[TicketDelta]) -> Vec<u8> {
    let mut payload = dbiid.0.to_le_bytes().to_vec();
    for delta in deltas {
        payload.extend_from_slice(&delta.hash.0);
        payload.extend_from_slice(&delta.count.to_le_bytes());
    }
    payload
}

fn decode_change(payload: &[u8]) -> (Dbiid, Vec<TicketDelta>) {
    let (dbiid, rest) = payload.split_at(8);
    let deltas = rest.chunks_exact(40).map(|bytes| TicketDelta {
        hash: ObjectHash(bytes[..32].try_into().unwrap()),
        count: i64::from_le_bytes(bytes[32..].try_into().unwrap()),
    });
    (Dbiid(u64::from_le_bytes(dbiid.try_into().unwrap())), deltas.collect())
}

impl Driver {
    /// Blocks of 1,024 bytes, sharing from 2,000 bytes on.
    pub fn new() -> Driver {
        Driver::with(log_options())
    }

    pub fn with(options: LogOptions) -> Driver {
        Driver::begin(options, false)
    }

    /// Starts again with a log of at most so many segments.
    pub fn limited_log(self, segments: u64) -> Driver {
        let (mut rest, disk) = self.end();
        rest.options.bytes_max = segments * u64::from(rest.options.segment_bytes);
        Driver::open(rest, disk)
    }

    /// Starts again with other options of the store.
    pub fn limited(self, change: impl FnOnce(&mut ObjectsOptions)) -> Driver {
        let (mut rest, disk) = self.end();
        change(&mut rest.store);
        Driver::open(rest, disk)
    }

    /// Log and adopted segments lie on two file systems.
    pub fn split() -> Driver {
        Driver::begin(log_options(), true)
    }

    fn begin(options: LogOptions, split: bool) -> Driver {
        let dir = TempDir::new().unwrap();
        let store = ObjectsOptions {
            block_bytes: 1024,
            dedupe_bytes_min: 2000,
            rewrite_segments_min: 1,
            ..ObjectsOptions::new(dir.path())
        };
        let rest = Rest {
            dir: Arc::new(dir),
            synced: Arc::default(),
            split,
            clock: Arc::new(ManualClock::new(TimeDate(1_800_000_000_000_000))),
            options,
            store,
        };
        Driver::open(rest, MemoryDisk::new())
    }

    fn open(rest: Rest, disk: MemoryDisk) -> Driver {
        let Rest { dir, synced, split, clock, options, store } = rest;
        let mut shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let failing = FailingDisk::new(shared);
        shared = Arc::new(failing.clone());
        if split {
            shared = Arc::new(SplitDisk::new(shared, "/log"));
        }
        #[cfg(feature = "schedules")]
        let shared: Arc<dyn Disk> = Arc::new(super::schedules::yielding(shared));
        let (log, opened) =
            Log::open(options.clone(), Arc::clone(&shared), Arc::clone(&clock) as _).unwrap();
        let objects =
            Objects::open(store.clone(), Arc::clone(&log), shared, Arc::clone(&clock) as _);
        let objects = objects.unwrap();
        replay(&log, &objects);
        // as the store does at each round: the log gives nothing up before its new segment is begun
        let begun = log.append(RecordKind::Checkpoint, Dbiid::NONE, b"", Space::Reserved).unwrap();
        log.durable(begun.end).wait().unwrap();
        Driver { dir, synced, split, disk, failing, clock, log, objects, opened, options, store }
    }

    /// Ends the log; what stays.
    fn end(self) -> (Rest, MemoryDisk) {
        let Driver { dir, synced, split, disk, clock, log, objects, options, store, .. } = self;
        log.stop();
        drop((log, objects));
        (Rest { dir, synced, split, clock, options, store }, disk)
    }

    /// Stops in order and starts again.
    pub fn reopen(self) -> Driver {
        let (rest, disk) = self.end();
        Driver::open(rest, disk)
    }

    /// Stops in order, lets `change` change files, and starts again.
    pub fn reopen_after(self, change: impl FnOnce()) -> Driver {
        let (rest, disk) = self.end();
        change();
        Driver::open(rest, disk)
    }

    /// The process is killed: what was not synced to the disk in memory is lost, the catalog keeps
    /// what it committed.
    pub fn crash(self, seed: u64) -> Driver {
        let left = self.disk.crash(seed);
        let (rest, _) = self.end();
        Driver::open(rest, left)
    }

    /// Loses power: the catalog, too, is what the last sync left.
    pub fn lose_power(self, seed: u64) -> Driver {
        let left = self.disk.crash(seed);
        let (rest, _) = self.end();
        for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm"] {
            let path = rest.dir.path().join(name);
            match rest.synced.lock().get(&OsString::from(name)) {
                Some(bytes) => std::fs::write(path, bytes).unwrap(),
                None => drop(std::fs::remove_file(path)),
            }
        }
        Driver::open(rest, left)
    }

    /// Loses power, and the catalog.
    pub fn lose_catalog(self, seed: u64) -> Driver {
        let left = self.disk.crash(seed);
        let (rest, _) = self.end();
        for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm"] {
            drop(std::fs::remove_file(rest.dir.path().join(name)));
        }
        rest.synced.lock().clear();
        Driver::open(rest, left)
    }

    /// What `syncfs` does for the catalog; fails without power.
    pub fn sync(&self) -> std::io::Result<()> {
        self.disk.sync_dir(Path::new("/log"))?;
        let mut synced = self.synced.lock();
        synced.clear();
        for name in ["catalog.db", "catalog.db-wal"] {
            if let Ok(bytes) = std::fs::read(self.dir.path().join(name)) {
                synced.insert(name.into(), bytes);
            }
        }
        Ok(())
    }

    /// Changes counts with a change record; returns its position.
    pub fn count(&self, dbiid: Dbiid, deltas: &[(ObjectHash, i64)]) -> Lsn {
        let deltas: Vec<_> =
            deltas.iter().map(|&(hash, count)| TicketDelta { hash, count }).collect();
        let payload = encode_change(dbiid, &deltas);
        let entered = self.objects.enter();
        let head = self.log.append(RecordKind::Change, dbiid, &payload, Space::Reserved).unwrap();
        self.objects.counted(&entered, head.lsn, dbiid, &deltas);
        head.lsn
    }

    pub fn delete_database(&self, dbiid: Dbiid) -> Lsn {
        let entered = self.objects.enter();
        let head = self.log.append(RecordKind::Life, dbiid, b"", Space::Reserved).unwrap();
        self.objects.database_deleted(&entered, head.lsn, dbiid);
        head.lsn
    }

    /// Stores content and refers to it once from `dbiid`.
    pub fn store(&self, dbiid: Dbiid, content: &[u8]) -> Ticket {
        let pin = self.objects.put(content).unwrap();
        self.count(dbiid, &[(pin.ticket.hash, 1)]);
        pin.ticket
    }

    pub fn settle(&self) {
        self.log.durable(self.log.appended()).wait().unwrap();
    }

    /// Checkpoints, syncs, removes dead segments and lets the log give up what it can.
    pub fn release(&self) {
        self.try_release().unwrap();
    }

    pub fn try_release(&self) -> Result<(), ObjectsError> {
        let oldest = self.objects.checkpoint()?;
        self.sync()?;
        self.objects.synced(oldest)?;
        self.release_from(oldest)
    }

    /// Lets the log give up what is before `oldest`.
    pub fn release_from(&self, oldest: Lsn) -> Result<(), ObjectsError> {
        let keep = |segment| {
            self.objects.is_live_segment(segment).then(|| self.objects.adopted_path(segment))
        };
        for segment in self.log.release(oldest, &keep)? {
            self.objects.adopted(segment);
        }
        Ok(())
    }

    /// Prunes what has been without references for `days`.
    pub fn prune(&self, days: u64) -> PruneReport {
        let order = PruneOrder { defer_s: days * 24 * 3_600, ..self.objects.prune_order() };
        self.objects.prune(&order).unwrap()
    }

    pub fn clock_now(&self) -> i64 {
        self.clock.now().0
    }

    pub fn set_clock(&self, micros: i64) {
        self.clock.set(TimeDate(micros));
    }

    pub fn pass(&self, micros: i64) {
        self.clock.advance(micros);
    }

    pub fn read(&self, ticket: &Ticket) -> Result<Vec<u8>, crate::ObjectsError> {
        let mut out = Vec::new();
        self.objects.read(ticket, 0..ticket.length, &mut out).map(|()| out)
    }

    pub fn entry(&self, ticket: &Ticket) -> Arc<Entry> {
        self.objects.load_entry(&ticket.hash).unwrap().unwrap()
    }

    /// Opens another store beside this one's log.
    pub fn open_beside(&self, dir: &Path) -> Result<Arc<Objects>, ObjectsError> {
        let disk = Arc::new(self.disk.clone());
        disk.create_dir_all(dir)?;
        let options = ObjectsOptions::new(dir);
        Objects::open(options, Arc::clone(&self.log), disk, Arc::clone(&self.clock) as _)
    }

    pub fn catalog_path(&self) -> PathBuf {
        self.dir.path().join("catalog.db")
    }

    /// Flips a bit in the middle of a block's data, wherever its segment lies.
    pub fn damage(&self, ticket: &Ticket, block: usize) {
        self.settle();
        let block = self.entry(ticket).blocks[block];
        let in_log = Path::new("/log").join(segment_file_name(block.lsn.segment()));
        let adopted = self.objects.adopted_path(block.lsn.segment());
        let path = if self.disk.exists(&adopted).unwrap() { adopted } else { in_log };
        let file = self.disk.open(&path).unwrap();
        let offset = u64::from(block.lsn.offset()) + u64::from(block.stored_bytes) / 2 + 16;
        let mut byte = [0];
        file.read_at(&mut byte, offset).unwrap();
        file.write_at(&[byte[0] ^ 0x10], offset).unwrap();
        file.sync_data().unwrap();
    }
}

fn replay(log: &Log, objects: &Objects) {
    let mut visit = |head: &Head, payload: &mut dyn txlog::Payload| {
        match head.kind {
            RecordKind::ObjectEnd => objects.replay_end(head, payload.get().unwrap()).unwrap(),
            RecordKind::Relocate => {
                objects.replay_relocate(head, payload.get().unwrap()).unwrap();
            }
            RecordKind::Change => {
                let (dbiid, deltas) = decode_change(payload.get().unwrap());
                objects.replay_counts(head.lsn, dbiid, &deltas);
            }
            RecordKind::Life => objects.replay_database_deleted(head.lsn, head.dbiid),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    log.scan(objects.checkpointed_lsn(), &mut visit).unwrap();
}

/// A small deterministic generator.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn noise(&mut self, bytes: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.next() as u8).take(bytes).collect()
    }

    /// Compressible text.
    pub fn text(&mut self, bytes: usize) -> Vec<u8> {
        const WORDS: [&[u8]; 6] = [b"lotus ", b"leaf ", b"pond ", b"water ", b"root\r\n", b"seed "];
        let mut out = Vec::with_capacity(bytes + 8);
        while out.len() < bytes {
            out.extend_from_slice(WORDS[self.below(6) as usize]);
        }
        out.truncate(bytes);
        out
    }
}

/// Names the seed when a test fails.
pub(super) struct Seed(pub u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("OBJECTS_SEED={} cargo test -p objects (the step, for a sweep)", self.0);
        }
    }
}
