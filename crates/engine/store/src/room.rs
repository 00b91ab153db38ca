//! Room on the disk, and memory for what the databases cannot write yet.
//!
//! Results stay in memory until a commit, and a commit is only begun when there is room for it:
//! SQLite would throw the whole transaction away when the disk is full. The log has everything,
//! so that reads and, up to a bound of memory, writes go on.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use txlog::Space;

use crate::database::{Shared, State};
use crate::handle::{CACHE_BYTES, Handle};
use crate::{Database, Result, Store, StoreError};

/// Bytes of a file system that are left alone: for the log's control file, names, and whatever
/// else is written beside.
const MARGIN_BYTES: u64 = 4 << 20;
/// Bytes that a checkpoint of the catalog of objects may take.
const CATALOG_BYTES: u64 = 8 << 20;
/// A commit that found the disk full although there was room is not tried again for so long.
const RETRY_WAIT_US: i64 = 10_000_000;

/// Says how much room there is; tests stand in for a full disk.
pub trait Room: Send + Sync + 'static {
    /// Bytes that may still be written to the file system of a directory.
    ///
    /// # Errors
    /// What the file system says; it counts as room.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
}

/// The file systems themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileSystems;

impl Room for FileSystems {
    #[allow(unsafe_code)]
    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let path = CString::new(dir.as_os_str().as_bytes())?;
        let mut facts = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path ends with a zero byte and outlives the call, which fills `facts`.
        if unsafe { libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded.
        let facts = unsafe { facts.assume_init() };
        Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
    }
}

/// What is known of a full disk, and what waits in memory for it.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    is_full: AtomicBool,
    /// Memory of open transactions beyond the page caches, in bytes.
    held: AtomicU64,
    /// No commit is tried before this time, in microseconds.
    not_before: AtomicI64,
    writing: Mutex<()>,
}

impl Waiting {
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}

/// Whether SQLite says that the disk is full.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

impl Store {
    /// Whether the disk of the databases is full: changes wait in memory and in the log, and above
    /// [`crate::StoreOptions::unwritten_bytes_max`] they are refused.
    pub fn is_disk_full(&self) -> bool {
        self.waiting.is_full()
    }

    /// Notes how much memory a database takes, and its open transaction beyond the page cache.
    pub(crate) fn note_memory(&self, shared: &Shared, handle: Option<&Handle>) {
        let pages = handle.map_or(0, Handle::cache_bytes);
        let memory = pages + handle.map_or(0, Handle::statement_bytes);
        self.pool.change(shared.memory.swap(memory, Ordering::Relaxed), memory);
        let held = match handle {
            Some(handle) if handle.in_transaction => pages.saturating_sub(CACHE_BYTES),
            _ => {
                shared.kept.store(0, Ordering::Relaxed);
                0
            }
        };
        let before = shared.held.swap(held, Ordering::Relaxed);
        // Wraps around when it gets less.
        self.waiting.held.fetch_add(held.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Whether so many bytes can be written to the file system of a directory.
    fn has_bytes(&self, dir: &Path, bytes: u64) -> bool {
        let free = self.options.room.free_bytes(dir);
        free.map_or(true, |free| free >= bytes.saturating_add(MARGIN_BYTES))
    }

    /// Refuses to write so many bytes into a new file when there is no room for them.
    pub(crate) fn need_room(&self, file: &Path, bytes: u64) -> Result<()> {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if self.has_bytes(folder, bytes) { Ok(()) } else { Err(StoreError::DiskFull) }
    }

    /// Whether a database can be committed; the alarm is raised when it cannot.
    pub(crate) fn has_room(&self, handle: &Handle) -> bool {
        let bytes = handle.cache_bytes();
        // Each page gets a frame header in the -wal.
        let bytes = bytes + bytes / 64;
        let may_try = self.waiting.not_before.load(Ordering::Relaxed) <= self.now().0;
        let has_room = may_try && self.has_bytes(&self.options.data_dir, bytes);
        if !has_room {
            self.raise_full();
        }
        has_room
    }

    /// Whether the catalog of objects can be checkpointed.
    pub(crate) fn has_room_for_catalog(&self) -> bool {
        let has_room = self.has_bytes(&self.options.objects.dir, CATALOG_BYTES);
        if !has_room {
            self.raise_full();
        }
        has_room
    }

    /// Whether a -wal of this length can be written back into its database.
    pub(crate) fn has_room_to_write_back(&self, wal_bytes: u64) -> bool {
        self.has_bytes(&self.options.data_dir, wal_bytes)
    }

    /// A commit met a full disk all the same.
    pub(crate) fn commit_met_full(&self) {
        let next = self.now().0.saturating_add(RETRY_WAIT_US);
        self.waiting.not_before.store(next, Ordering::Relaxed);
        self.raise_full();
    }

    fn raise_full(&self) {
        if !self.waiting.is_full.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the disk of the databases is full: changes wait in the log and in memory"
            );
        }
    }

    /// Takes the alarm back when everything that waits has room.
    pub(crate) fn look_for_room(&self) {
        if !self.waiting.is_full() || self.waiting.not_before.load(Ordering::Relaxed) > self.now().0
        {
            return;
        }
        let waits = self.waiting.held() + CACHE_BYTES + MARGIN_BYTES;
        let has_room = self.has_bytes(&self.options.data_dir, waits)
            && self.has_bytes(&self.options.objects.dir, CATALOG_BYTES + MARGIN_BYTES);
        if has_room {
            self.waiting.is_full.store(false, Ordering::Relaxed);
            tracing::warn!("the disk of the databases has room again");
        }
    }

    /// Refuses a write whose results have nowhere to wait. What gives space back gets twice the
    /// memory.
    pub(crate) fn refuse_when_full(&self, space: Space) -> Result<()> {
        if !self.waiting.is_full() {
            return Ok(());
        }
        let max = match space {
            Space::Ordinary => self.options.unwritten_bytes_max,
            Space::Reserved => self.options.unwritten_bytes_max.saturating_mul(2),
        };
        if self.waiting.held() < max {
            return Ok(());
        }
        self.statistics.full_refused.add(1);
        Err(StoreError::DiskFull)
    }

    /// Whether a replay has to stop because its results have nowhere to wait.
    pub(crate) fn is_out_of_memory(&self, handle: &Handle) -> bool {
        let max = self.options.unwritten_bytes_max.saturating_mul(2);
        self.waiting.held().saturating_add(handle.cache_bytes()) > max
    }

    /// Commits those databases that hold most memory when all together hold more than allowed.
    /// One caller does it while the others go on, until they are half as much above it: then they
    /// wait.
    pub(crate) fn trim_held(&self) {
        let max = self.options.unwritten_bytes_max;
        let held = self.waiting.held();
        if held <= max || self.waiting.is_full() {
            return;
        }
        let writing = &self.waiting.writing;
        let _one = match writing.try_lock() {
            Some(one) => one,
            None if held <= max.saturating_add(max / 2) => return,
            None => writing.lock(),
        };
        let held = |database: &Database| database.0.held.load(Ordering::Relaxed);
        let mut most = self.all();
        most.retain(|database| held(database) > 0);
        // Each is asked once: the figures change meanwhile.
        most.sort_by_cached_key(|database| std::cmp::Reverse(held(database)));
        let mut excess = self.waiting.held().saturating_sub(max / 2);
        most.retain(|database| {
            let is_wanted = excess > 0;
            excess = excess.saturating_sub(held(database));
            is_wanted
        });
        for database in most {
            self.commit_due(&database);
        }
    }

    /// Closes a database that cannot be committed; its next use replays the log.
    pub(crate) fn close_uncommitted(&self, shared: &Shared, state: &mut State) {
        if self.waiting.is_full() && self.drop_handle(shared, state).is_some() {
            self.statistics.cache_closes.add(1);
        }
    }
}
