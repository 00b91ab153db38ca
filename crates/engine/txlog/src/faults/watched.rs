//! A disk that asks somebody before each call is passed on to another disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Disk, DiskFile};

/// What is asked of a disk or of one of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `Disk::open`.
    Open,
    /// `Disk::create`.
    Create,
    /// `Disk::rename`.
    Rename,
    /// `Disk::remove`.
    Remove,
    /// `Disk::list`.
    List,
    /// `Disk::create_dir_all`.
    CreateDir,
    /// `Disk::sync_dir`.
    SyncDir,
    /// `Disk::exists`.
    Exists,
    /// `DiskFile::read_at`.
    Read,
    /// `DiskFile::write_at`.
    Write,
    /// `DiskFile::sync_data`.
    Sync,
    /// `DiskFile::sync_all`.
    SyncAll,
    /// `DiskFile::allocate`.
    Allocate,
    /// `DiskFile::len`.
    Length,
    /// `DiskFile::set_len`.
    SetLength,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is asked.
    pub operation: Operation,
    /// The file or directory; of an open file the name it was opened under.
    pub path: &'a Path,
    /// The new name of a rename.
    pub to: Option<&'a Path>,
    /// Bytes to read or write, or the length asked for.
    pub bytes: u64,
}

/// Hears of each call before it happens.
pub trait Watch: Send + Sync + 'static {
    /// An error is given to the caller, and the call does not happen. May take its time.
    fn before(&self, call: &Call<'_>) -> io::Result<()>;
}

/// Passes everything on to another disk, asking `W` first. Clones are the same disk.
pub struct Watched<W> {
    inner: Arc<dyn Disk>,
    watch: Arc<W>,
}

impl<W> Clone for Watched<W> {
    fn clone(&self) -> Self {
        Watched { inner: Arc::clone(&self.inner), watch: Arc::clone(&self.watch) }
    }
}

impl<W: Watch> Watched<W> {
    /// Asks `watch` before what is passed on to `inner`.
    pub fn by(inner: Arc<dyn Disk>, watch: W) -> Watched<W> {
        Watched { inner, watch: Arc::new(watch) }
    }

    /// Who is asked.
    pub fn watch(&self) -> &W {
        &self.watch
    }

    fn ask(&self, operation: Operation, path: &Path) -> io::Result<()> {
        self.watch.before(&Call { operation, path, to: None, bytes: 0 })
    }

    fn wrap(&self, path: &Path, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        let (path, watch) = (path.to_owned(), Arc::clone(&self.watch));
        Arc::new(WatchedFile { inner, path, watch })
    }
}

impl<W: Watch> Disk for Watched<W> {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.ask(Operation::Open, path)?;
        self.inner.open(path).map(|file| self.wrap(path, file))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.ask(Operation::Create, path)?;
        self.inner.create(path).map(|file| self.wrap(path, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let operation = Operation::Rename;
        self.watch.before(&Call { operation, path: from, to: Some(to), bytes: 0 })?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(Operation::Remove, path)?;
        self.inner.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.ask(Operation::List, dir)?;
        self.inner.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.ask(Operation::CreateDir, dir)?;
        self.inner.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.ask(Operation::SyncDir, dir)?;
        self.inner.sync_dir(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.ask(Operation::Exists, path)?;
        self.inner.exists(path)
    }
}

struct WatchedFile<W> {
    inner: Arc<dyn DiskFile>,
    path: PathBuf,
    watch: Arc<W>,
}

impl<W: Watch> WatchedFile<W> {
    fn ask(&self, operation: Operation, bytes: u64) -> io::Result<()> {
        self.watch.before(&Call { operation, path: &self.path, to: None, bytes })
    }
}

impl<W: Watch> DiskFile for WatchedFile<W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.ask(Operation::Read, buf.len() as u64)?;
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.ask(Operation::Write, buf.len() as u64)?;
        self.inner.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.ask(Operation::Sync, 0)?;
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.ask(Operation::SyncAll, 0)?;
        self.inner.sync_all()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.ask(Operation::Allocate, len)?;
        self.inner.allocate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.ask(Operation::Length, 0)?;
        self.inner.len()
    }

    fn read_ahead(&self, len: u64) {
        self.inner.read_ahead(len);
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.ask(Operation::SetLength, len)?;
        self.inner.set_len(len)
    }
}
