//! A disk that fails as planned.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Disk, DiskFile};

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `Disk::create`.
    Create,
    /// `Disk::rename`.
    Rename,
    /// `Disk::sync_dir`.
    SyncDir,
    /// `DiskFile::write_at`.
    Write,
    /// `DiskFile::sync_data` and `DiskFile::sync_all`.
    Sync,
    /// `DiskFile::allocate`.
    Allocate,
    /// `DiskFile::read_at`.
    Read,
}

struct Fault {
    operation: Operation,
    skip: u64,
    times: u64,
    kind: ErrorKind,
}

/// Passes everything on to another disk, except what is planned to fail.
#[derive(Clone)]
pub struct FailingDisk {
    inner: Arc<dyn Disk>,
    plan: Plan,
}

#[derive(Clone, Default)]
struct Plan(Arc<Mutex<Vec<Fault>>>);

impl Plan {
    fn check(&self, operation: Operation) -> io::Result<()> {
        for fault in self.0.lock().iter_mut().filter(|fault| fault.operation == operation) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 {
                fault.times -= 1;
                return Err(fault.kind.into());
            }
        }
        Ok(())
    }
}

impl FailingDisk {
    /// Fails nothing until told so.
    pub fn new(inner: Arc<dyn Disk>) -> FailingDisk {
        FailingDisk { inner, plan: Plan::default() }
    }

    /// Lets `skip` operations of this sort pass, then fails the next `times` of them.
    pub fn fail(&self, operation: Operation, skip: u64, times: u64, kind: ErrorKind) {
        self.plan.0.lock().push(Fault { operation, skip, times, kind });
    }

    /// Fails nothing from here on.
    pub fn clear(&self) {
        self.plan.0.lock().clear();
    }

    fn wrap(&self, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(FailingFile { inner, plan: self.plan.clone() })
    }
}

impl Disk for FailingDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open(path).map(|file| self.wrap(file))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.plan.check(Operation::Create)?;
        self.inner.create(path).map(|file| self.wrap(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.check(Operation::Rename)?;
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
        self.plan.check(Operation::SyncDir)?;
        self.inner.sync_dir(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }
}

struct FailingFile {
    inner: Arc<dyn DiskFile>,
    plan: Plan,
}

impl DiskFile for FailingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.plan.check(Operation::Read)?;
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.plan.check(Operation::Write)?;
        self.inner.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.plan.check(Operation::Sync)?;
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.plan.check(Operation::Sync)?;
        self.inner.sync_all()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.plan.check(Operation::Allocate)?;
        self.inner.allocate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }
}
