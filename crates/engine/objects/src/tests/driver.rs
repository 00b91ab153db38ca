//! A small stand-in for the crate that keeps databases: it appends change records and feeds the
//! object store at start.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use note::{Dbiid, ObjectHash, Ticket, TimeDate};
use tempfile::TempDir;
use txlog::faults::MemoryDisk;
use txlog::{
    Disk, Head, Log, LogOptions, Lsn, ManualClock, Opened, RecordKind, Space, segment_file_name,
};

use crate::record::Entry;
use crate::{Objects, ObjectsOptions, TicketDelta};

pub(super) const HOUR_MICROS: i64 = 3_600 * 1_000_000;

/// Log and store on a disk in memory; the catalog lies in a real directory.
pub(super) struct Driver {
    dir: Arc<TempDir>,
    pub disk: MemoryDisk,
    pub clock: Arc<ManualClock>,
    pub log: Arc<Log>,
    pub objects: Arc<Objects>,
    pub opened: Opened,
    options: LogOptions,
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
        let clock = Arc::new(ManualClock::new(TimeDate(1_800_000_000_000_000)));
        Driver::open(Arc::new(TempDir::new().unwrap()), MemoryDisk::new(), clock, options)
    }

    fn open(
        dir: Arc<TempDir>,
        disk: MemoryDisk,
        clock: Arc<ManualClock>,
        options: LogOptions,
    ) -> Driver {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let (log, opened) =
            Log::open(options.clone(), Arc::clone(&shared), Arc::clone(&clock) as _).unwrap();
        let small = ObjectsOptions {
            block_bytes: 1024,
            dedupe_bytes_min: 2000,
            ..ObjectsOptions::new(dir.path())
        };
        let objects = Objects::open(small, Arc::clone(&log), shared, Arc::clone(&clock) as _);
        let objects = objects.unwrap();
        replay(&log, &objects);
        Driver { dir, disk, clock, log, objects, opened, options }
    }

    /// Stops in order and starts again.
    pub fn reopen(self) -> Driver {
        let Driver { dir, disk, clock, log, objects, options, .. } = self;
        log.stop();
        drop((log, objects));
        Driver::open(dir, disk, clock, options)
    }

    /// Loses what was not synced and starts again; the catalog keeps what it committed.
    pub fn crash(self, seed: u64) -> Driver {
        let Driver { dir, disk, clock, log, objects, options, .. } = self;
        let left = disk.crash(seed);
        log.stop();
        drop((log, objects));
        Driver::open(dir, left, clock, options)
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

    /// Checkpoints and lets the log give up what it can.
    pub fn release(&self) {
        let oldest = self.objects.checkpoint().unwrap();
        let keep = |segment| {
            self.objects.is_live_segment(segment).then(|| self.objects.adopted_path(segment))
        };
        for segment in self.log.release(oldest, &keep).unwrap() {
            self.objects.adopted(segment);
        }
    }

    pub fn read(&self, ticket: &Ticket) -> Result<Vec<u8>, crate::ObjectsError> {
        let mut out = Vec::new();
        self.objects.read(ticket, 0..ticket.length, &mut out).map(|()| out)
    }

    pub fn entry(&self, ticket: &Ticket) -> Arc<Entry> {
        self.objects.load_entry(&ticket.hash).unwrap().unwrap()
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
            eprintln!("failed with seed {}", self.0);
        }
    }
}
