//! What the tests of the log share.

use std::ops::ControlFlow;
use std::sync::Arc;

use note::Dbiid;

use crate::faults::MemoryDisk;
use crate::{Disk, Head, Log, LogError, LogOptions, Lsn, Opened, RecordKind, Space, SystemClock};

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
