//! Handles of databases and those who watch them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use note::{Dbiid, ReplicaId};
use parking_lot::Mutex;
use txlog::Lsn;

use crate::Changed;
use crate::handle::Handle;
use crate::register::Row;

/// Called with every change, see [`Database::on_change`].
pub type Watcher = Box<dyn Fn(Changed) + Send + Sync>;

/// A database of the store. Cloning is cheap; the file is opened when it is used.
#[derive(Clone)]
pub struct Database(pub(crate) Arc<Shared>);

/// What all handles of a database share.
pub(crate) struct Shared {
    pub dbiid: Dbiid,
    pub replica_id: ReplicaId,
    path: Mutex<Arc<str>>,
    title: Mutex<Arc<str>>,
    fence: Mutex<Option<Arc<str>>>,
    /// The one lock of the database.
    pub state: Mutex<State>,
    /// No record of this database below this LSN is needed; `u64::MAX` when none is.
    needed: AtomicU64,
    /// When the database left its checkpoint, in microseconds; meaningful while one is needed.
    dirty_since: AtomicI64,
    /// When it was used last, on the clock of the cache.
    pub last_used: AtomicU64,
    /// `last_used` when the cache came by last: equal when nobody used it since.
    pub seen_used: AtomicU64,
    /// Whether the file is open.
    pub is_open: AtomicBool,
    /// Whether what a start found in the log is still to be replayed.
    pub is_pending: AtomicBool,
    /// Memory of pages and prepared statements, in bytes.
    pub memory: AtomicU64,
    /// What of it was left when it gave back what it could; 0 without an open transaction.
    pub kept: AtomicU64,
    /// Memory of the open transaction beyond the page cache, in bytes.
    pub held: AtomicU64,
    /// Records that a crash would leave to be replayed.
    pub unsaved: AtomicUsize,
    watchers: Arc<Watchers>,
}

/// What the lock of a database protects.
pub(crate) struct State {
    pub handle: Option<Handle>,
    /// Deleted for good.
    pub gone: bool,
    /// LSNs of the change records with a section of this database that may not be in the synced
    /// file, ascending.
    pub records: Vec<Lsn>,
    /// Behind the last record that was applied.
    pub applied: Lsn,
    /// The LSN in the last committed header.
    pub committed: Lsn,
    /// The LSN in the last synced header.
    pub checkpointed: Lsn,
    /// The file is not there and is made again from the log when it is opened.
    pub is_unmade: bool,
    /// Records from here on are kept for a copy of the file that is being made.
    pub kept_from: Option<Lsn>,
}

impl State {
    /// Whether the log holds results that are neither in the file nor in an open transaction.
    pub fn is_behind(&self) -> bool {
        let unread = || self.records.last().is_some_and(|lsn| *lsn >= self.applied);
        self.handle.is_none() && (self.is_unmade || self.applied > self.committed || unread())
    }

    /// Forgets the records before `lsn`, except those that are kept for a copy.
    pub fn forget_records(&mut self, lsn: Lsn) {
        let from = self.kept_from.map_or(lsn, |kept| kept.min(lsn));
        self.records.retain(|record| *record >= from);
    }
}

#[derive(Default)]
struct Watchers {
    next: AtomicU64,
    all: Mutex<Vec<(u64, Watcher)>>,
}

/// Keeps a watcher registered until it is dropped. Must not be dropped by its own watcher.
pub struct Watch {
    id: u64,
    watchers: Arc<Watchers>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watchers.all.lock().retain(|(id, _)| *id != self.id);
    }
}

const NOTHING: u64 = u64::MAX;

impl Database {
    pub(crate) fn new(dbiid: Dbiid, row: &Row) -> Database {
        Database(Arc::new(Shared {
            dbiid,
            replica_id: row.replica_id,
            path: Mutex::new(Arc::from(row.path.as_str())),
            title: Mutex::new(Arc::from(row.title.as_str())),
            fence: Mutex::new(None),
            state: Mutex::new(State {
                handle: None,
                gone: false,
                records: Vec::new(),
                applied: row.checkpointed_lsn,
                committed: row.checkpointed_lsn,
                checkpointed: row.checkpointed_lsn,
                is_unmade: false,
                kept_from: None,
            }),
            needed: AtomicU64::new(NOTHING),
            dirty_since: AtomicI64::new(0),
            last_used: AtomicU64::new(0),
            seen_used: AtomicU64::new(u64::MAX),
            is_open: AtomicBool::new(false),
            is_pending: AtomicBool::new(false),
            memory: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            held: AtomicU64::new(0),
            unsaved: AtomicUsize::new(0),
            watchers: Arc::default(),
        }))
    }

    /// Path below the data directory, "/" between its parts.
    pub fn path(&self) -> String {
        self.0.path.lock().to_string()
    }

    /// Instance id.
    pub fn dbiid(&self) -> Dbiid {
        self.0.dbiid
    }

    /// Replica id.
    pub fn replica_id(&self) -> ReplicaId {
        self.0.replica_id
    }

    /// Title.
    pub fn title(&self) -> String {
        self.0.title.lock().to_string()
    }

    /// Why the database is not served, if so.
    pub fn fenced(&self) -> Option<String> {
        self.0.fence.lock().as_deref().map(str::to_owned)
    }

    /// Calls `watcher` right after each change was appended to the log, on the writing thread and
    /// with the database locked: it may set a flag or wake a task, and must not use the store.
    /// Nothing of the change may be shown before the log is durable up to its LSN.
    pub fn on_change(&self, watcher: Watcher) -> Watch {
        let watchers = Arc::clone(&self.0.watchers);
        let id = watchers.next.fetch_add(1, Ordering::Relaxed);
        watchers.all.lock().push((id, watcher));
        Watch { id, watchers }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({} {})", self.0.dbiid, self.path())
    }
}

impl Shared {
    pub fn path(&self) -> Arc<str> {
        Arc::clone(&self.path.lock())
    }

    pub fn set_path(&self, path: &str) {
        *self.path.lock() = Arc::from(path);
    }

    pub fn set_title(&self, title: &Arc<str>) {
        *self.title.lock() = Arc::clone(title);
    }

    pub fn set_fence(&self, reason: &str) {
        *self.fence.lock() = Some(Arc::from(reason));
    }

    pub fn notify(&self, changed: Changed) {
        self.watchers.all.lock().iter().for_each(|(_, watcher)| watcher(changed));
    }

    /// The lowest LSN that must stay in the log for this database, if any.
    pub fn needed(&self) -> Option<Lsn> {
        match self.needed.load(Ordering::SeqCst) {
            NOTHING => None,
            lsn => Some(Lsn(lsn)),
        }
    }

    /// Before a record is appended: from `lsn` on the log is needed, if it was not already.
    pub fn need_from(&self, lsn: impl FnOnce() -> Lsn, now: i64) {
        if self.needed.load(Ordering::SeqCst) == NOTHING {
            self.dirty_since.store(now, Ordering::Relaxed);
            self.needed.store(lsn().0, Ordering::SeqCst);
        }
    }

    /// After a sync (with the database locked): what is still needed.
    pub fn set_needed(&self, lsn: Option<Lsn>, now: i64) {
        self.dirty_since.store(now, Ordering::Relaxed);
        self.needed.store(lsn.map_or(NOTHING, |lsn| lsn.0), Ordering::SeqCst);
    }

    pub fn dirty_since(&self) -> i64 {
        self.dirty_since.load(Ordering::Relaxed)
    }
}
