//! A disk that counts what is asked of another.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Disk, DiskFile};

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

#[derive(Default)]
struct Counters {
    sync_data: AtomicU64,
    sync_all: AtomicU64,
    sync_dir: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    reads: AtomicU64,
}

/// Passes everything on to another disk, counting syncs, writes and reads.
#[derive(Clone)]
pub struct CountingDisk {
    inner: Arc<dyn Disk>,
    counters: Arc<Counters>,
}

impl CountingDisk {
    /// Counts what is asked of `inner`.
    pub fn new(inner: Arc<dyn Disk>) -> CountingDisk {
        CountingDisk { inner, counters: Arc::default() }
    }

    /// What has been counted so far; clones share their counts.
    pub fn counts(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Counts {
            sync_data: load(&self.counters.sync_data),
            sync_all: load(&self.counters.sync_all),
            sync_dir: load(&self.counters.sync_dir),
            writes: load(&self.counters.writes),
            bytes_written: load(&self.counters.bytes_written),
            reads: load(&self.counters.reads),
        }
    }

    fn wrap(&self, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(CountingFile { inner, counters: Arc::clone(&self.counters) })
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
}

impl Disk for CountingDisk {
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
        count(&self.counters.sync_dir);
        self.inner.sync_dir(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }
}

struct CountingFile {
    inner: Arc<dyn DiskFile>,
    counters: Arc<Counters>,
}

impl DiskFile for CountingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        count(&self.counters.reads);
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        count(&self.counters.writes);
        self.counters.bytes_written.fetch_add(buf.len() as u64, Ordering::SeqCst);
        self.inner.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        count(&self.counters.sync_data);
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        count(&self.counters.sync_all);
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
