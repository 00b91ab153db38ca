//! What the tests of the log share.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use note::Dbiid;
use parking_lot::{Condvar, Mutex};

use crate::faults::MemoryDisk;
use crate::{
    Disk, DiskFile, Head, Log, LogError, LogOptions, Lsn, Opened, RecordKind, Space, SystemClock,
};

pub const MEMORY_DIR: &str = "/log";

/// Small segments; nothing is flushed lazily within a test.
pub fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 64 << 10,
        bytes_max: 64 * (64 << 10),
        group_bytes_max: 16 << 10,
        lazy_flush_ms: 3_600_000,
        ..LogOptions::new(MEMORY_DIR)
    }
}

pub fn open_with(options: LogOptions, disk: impl Disk) -> (Arc<Log>, Opened) {
    Log::open(options, Arc::new(disk), Arc::new(SystemClock)).unwrap()
}

pub fn try_open(disk: &MemoryDisk) -> Result<(Arc<Log>, Opened), LogError> {
    Log::open(options(), Arc::new(disk.clone()), Arc::new(SystemClock))
}

pub fn open(disk: &MemoryDisk) -> (Arc<Log>, Opened) {
    try_open(disk).unwrap()
}

pub fn append(log: &Log, payload: &[u8]) -> Head {
    log.append(RecordKind::Change, Dbiid(7), payload, Space::Ordinary).unwrap()
}

pub fn append_many(log: &Log, count: usize, payload: &[u8]) {
    for _ in 0..count {
        append(log, payload);
    }
}

/// The records from `from` on.
pub fn contents(log: &Log, from: Lsn) -> Vec<(Head, Vec<u8>)> {
    let mut found = Vec::new();
    log.scan(from, &mut |head, payload| {
        found.push((*head, payload.get().unwrap().to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// The payloads of the records from `from` on.
pub fn payloads(log: &Log, from: Lsn) -> Vec<Vec<u8>> {
    contents(log, from).into_iter().map(|(_, payload)| payload).collect()
}

/// Prints how to repeat a random test when it fails.
pub struct Repeat {
    test: &'static str,
    seed: u64,
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("TXLOG_SEED={} cargo test -p txlog {}", self.seed, self.test);
        }
    }
}

/// Runs a random test with seeds from 0 to `count` (or `TXLOG_SEEDS`), or with the one in
/// `TXLOG_SEED`.
pub fn with_seeds(test: &'static str, count: u64, run: impl Fn(u64)) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let count = number("TXLOG_SEEDS").unwrap_or(count);
    let chosen = number("TXLOG_SEED");
    let seeds = chosen.map_or(0..count, |seed| seed..seed + 1);
    for seed in seeds {
        let _repeat = Repeat { test, seed };
        run(seed);
    }
}

/// A disk whose syncs of files wait at a gate.
#[derive(Clone)]
pub struct GatedDisk {
    inner: Arc<dyn Disk>,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_shut: bool,
    syncs: u64,
}

impl GatedDisk {
    pub fn new(inner: impl Disk) -> GatedDisk {
        GatedDisk { inner: Arc::new(inner), gate: Arc::default() }
    }

    pub fn shut(&self) {
        self.gate.state.lock().is_shut = true;
    }

    pub fn open_gate(&self) {
        self.gate.state.lock().is_shut = false;
        self.gate.changed.notify_all();
    }

    /// Syncs that have reached the gate.
    pub fn syncs(&self) -> u64 {
        self.gate.state.lock().syncs
    }

    /// Waits until so many syncs have reached the gate.
    pub fn wait_for_syncs(&self, count: u64) {
        let mut state = self.gate.state.lock();
        while state.syncs < count {
            self.gate.changed.wait(&mut state);
        }
    }

    fn wrap(&self, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(GatedFile { inner, gate: Arc::clone(&self.gate) })
    }
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock();
        state.syncs += 1;
        self.changed.notify_all();
        while state.is_shut {
            self.changed.wait(&mut state);
        }
    }
}

impl Disk for GatedDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open(path).map(|file| self.wrap(file))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.create(path).map(|file| self.wrap(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }
}

struct GatedFile {
    inner: Arc<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl DiskFile for GatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.gate.pass();
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.inner.sync_all()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.inner.allocate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }
}
