//! A disk with a directory on another file system.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Disk, DiskFile};

/// Passes everything on to another disk, but files cannot be renamed into a directory or out of
/// it, as if another file system were mounted there.
#[derive(Clone)]
pub struct SplitDisk {
    inner: Arc<dyn Disk>,
    mounted: PathBuf,
}

impl SplitDisk {
    /// What lies below `mounted` is on a file system of its own.
    pub fn new(inner: Arc<dyn Disk>, mounted: impl Into<PathBuf>) -> SplitDisk {
        SplitDisk { inner, mounted: mounted.into() }
    }
}

impl Disk for SplitDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if from.starts_with(&self.mounted) != to.starts_with(&self.mounted) {
            return Err(ErrorKind::CrossesDevices.into());
        }
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
