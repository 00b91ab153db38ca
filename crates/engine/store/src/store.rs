//! The store: all databases of a server, their log and their objects.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use note::{Dbiid, ObjectHash, TimeDate, Unid};
use objects::Objects;
use parking_lot::{Mutex, MutexGuard, RwLock};
use txlog::{Clock, Damage, Durable, Log, Lsn};

use crate::cache::Cache;
use crate::database::{Shared, State};
use crate::handle::{Handle, is_corrupt};
use crate::pool::Pool;
use crate::progress::{Progress, tell};
use crate::register::Register;
use crate::room::Waiting;
use crate::round::Rounds;
use crate::statistics::Statistics;
use crate::{Database, Read, Reader, Result, StoreError, StoreOptions, unwatched};

/// How often each database refers to each object.
pub type References = HashMap<(Dbiid, ObjectHash), i64>;

/// All databases of a server.
///
/// Lock order: the lock of life changes, the lock of rounds, databases in order of DBIID, the
/// gate of the object store, the log; the register and the table of paths are taken last.
pub struct Store {
    pub(crate) options: StoreOptions,
    pub(crate) log: Arc<Log>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) register: Arc<Register>,
    /// Databases by path.
    pub(crate) databases: RwLock<HashMap<String, Database>>,
    /// Held while a database is created, renamed or deleted.
    pub(crate) life: Mutex<()>,
    /// From here on the log is needed for a life change that is under way; `u64::MAX`: for none.
    pub(crate) life_needed: AtomicU64,
    /// Held while a database is compacted, copied or repaired; taken before all others.
    pub(crate) maintenance: Mutex<()>,
    pub(crate) rounds: Mutex<Rounds>,
    /// Databases that the start left to be replayed, those first that hold the log back furthest.
    pub(crate) queue: Mutex<VecDeque<Database>>,
    /// How many databases are still to be replayed, in the queue or not.
    pub(crate) pending: AtomicUsize,
    pub(crate) cache: Cache,
    pub(crate) waiting: Waiting,
    pub(crate) pool: Pool,
    /// References that are counted for databases which are not registered yet.
    pub(crate) counted_ahead: Mutex<HashMap<Dbiid, HashMap<ObjectHash, i64>>>,
    pub(crate) statistics: Statistics,
    /// Where the log begins.
    pub(crate) oldest: AtomicU64,
    /// Stretches of the log that cannot be read.
    pub(crate) damage: Vec<Damage>,
    /// Where the last checkpoint found every database's file to be, when the store was opened.
    pub(crate) complete: Lsn,
    /// The file systems to be synced in a round.
    pub(crate) file_systems: Vec<File>,
    pub(crate) closed: AtomicBool,
}

impl Drop for Store {
    /// Closes the files even when handles of databases are still about; nothing is committed.
    fn drop(&mut self) {
        for database in self.all() {
            let mut state = database.0.state.lock();
            state.handle = None;
            state.gone = true;
        }
    }
}

impl Store {
    /// The transaction log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The object store.
    pub fn objects(&self) -> &Arc<Objects> {
        &self.objects
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.options.clock
    }

    /// The present time.
    pub fn now(&self) -> TimeDate {
        self.options.clock.now()
    }

    /// Waits (as a future, or blocking) until the log is durable up to an LSN.
    pub fn durable(&self, lsn: Lsn) -> Durable {
        self.log.durable(lsn)
    }

    /// Content of at least this many bytes becomes an object.
    pub fn object_bytes_min(&self) -> u64 {
        self.options.object_bytes_min
    }

    /// A new universal id.
    pub fn new_unid(&self) -> Unid {
        Unid(self.random())
    }

    /// Random bytes; when the system has none to give, bytes that no other call gets.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let mut bytes = [0_u8; N];
        if getrandom::fill(&mut bytes).is_err() {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let salt = (self.now().0 as u64).to_le_bytes().into_iter().chain(count.to_le_bytes());
            bytes.iter_mut().zip(salt).for_each(|(byte, salt)| *byte = salt);
        }
        bytes
    }

    pub(crate) fn new_dbiid(&self) -> Dbiid {
        Dbiid(u64::from_le_bytes(self.random()).max(1))
    }

    /// The database at a path. Cheap: the file is opened when it is used.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`].
    pub fn database(&self, path: &str) -> Result<Database> {
        let database = self.find(path)?;
        match database.fenced() {
            Some(reason) => Err(StoreError::Fenced { path: path.to_owned(), reason }),
            None => Ok(database),
        }
    }

    pub(crate) fn find(&self, path: &str) -> Result<Database> {
        let found = self.databases.read().get(path).cloned();
        found.ok_or_else(|| StoreError::NotFound { path: path.to_owned() })
    }

    /// Paths of all databases, sorted.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.databases.read().keys().cloned().collect();
        paths.sort_unstable();
        paths
    }

    pub(crate) fn all(&self) -> Vec<Database> {
        self.databases.read().values().cloned().collect()
    }

    pub(crate) fn file_path(&self, path: &str) -> PathBuf {
        self.options.data_dir.join(path)
    }

    /// Reads a database. The closure holds its lock: read in bounded batches. A reply made of the
    /// value waits until the log is durable up to [`Read::lsn`].
    ///
    /// # Errors
    /// Those of the closure; [`StoreError`] when the database cannot be used.
    pub fn read<T>(
        &self,
        database: &Database,
        f: impl FnOnce(&Reader<'_>) -> Result<T>,
    ) -> Result<Read<T>> {
        let result = {
            let mut state = self.lock_open(database)?;
            self.statistics.reads.add(1);
            let lsn = state.applied;
            let handle = state.handle.as_ref().ok_or(StoreError::Aborted)?;
            let result = f(&Reader { shared: Some(&database.0), handle });
            if handle.is_lost() {
                self.lost(&database.0, &mut state);
            } else {
                self.note_memory(&database.0, Some(handle));
            }
            match result {
                Ok(value) => Ok(Read { value, lsn }),
                Err(error) => Err(self.explain_read(database, error)),
            }
        };
        self.trim_cache();
        result
    }

    /// Broken pages are damage, and told as such; what lies on other pages is still served.
    fn explain_read(&self, database: &Database, error: StoreError) -> StoreError {
        let what = match &error {
            StoreError::Sqlite(sqlite) if is_corrupt(sqlite) => sqlite.to_string(),
            StoreError::Damage { what, .. } => what.clone(),
            _ => return error,
        };
        let path = database.path();
        tracing::error!(%path, %what, "damage was found at reading");
        self.statistics.damage.add(1);
        StoreError::Damage { path, what }
    }

    /// Locks a database and sees to it that its file is open and replayed.
    pub(crate) fn lock_open<'a>(&self, database: &'a Database) -> Result<MutexGuard<'a, State>> {
        let shared = &database.0;
        let mut state = shared.state.lock();
        if state.gone {
            return Err(StoreError::NotFound { path: shared.path().to_string() });
        }
        shared.last_used.store(self.cache.next_use(), Ordering::Relaxed);
        if state.handle.as_ref().is_some_and(Handle::is_lost) {
            self.lost(shared, &mut state);
        }
        if state.handle.is_some() {
            self.statistics.cache_hits.add(1);
        } else {
            self.open_file(database, &mut state)?;
        }
        Ok(state)
    }

    /// Lets go of a handle whose transaction SQLite rolled back; the next use replays the log.
    pub(crate) fn lost(&self, shared: &Shared, state: &mut State) {
        if state.handle.take().is_some_and(|handle| handle.in_transaction) {
            let path = shared.path();
            tracing::warn!(%path, "transaction was lost; the database is replayed from the log");
            self.statistics.lost_transactions.add(1);
        }
        self.note_closed(shared);
    }

    pub(crate) fn note_closed(&self, shared: &Shared) {
        self.note_memory(shared, None);
        if shared.is_open.swap(false, Ordering::Relaxed) {
            self.cache.closed();
        }
    }

    /// Serves a database no more. Its records no longer hold the log back; a file that is to be
    /// served again must say as much as the last of them.
    pub(crate) fn fence(&self, shared: &Shared, state: &mut State, reason: &str) -> StoreError {
        let path = shared.path().to_string();
        tracing::error!(%path, %reason, "database is fenced");
        self.statistics.fenced.add(1);
        state.handle = None;
        self.note_closed(shared);
        self.no_longer_pending(shared);
        shared.set_fence(reason);
        let last = state.records.last().map_or(Lsn::ZERO, |lsn| Lsn(lsn.0 + 1));
        let damaged = self.damage_of(shared.dbiid, state.applied);
        let damaged = damaged.map_or(Lsn::ZERO, |damage| damage.range.end);
        let least = last.max(state.applied).max(damaged);
        self.register.update(shared.dbiid, |row| {
            row.checkpointed_lsn = row.checkpointed_lsn.max(least);
        });
        shared.set_needed(None, self.now().0);
        StoreError::Fenced { path, reason: reason.to_owned() }
    }

    /// References to objects, counted in the databases themselves and for those that are being
    /// made, for [`Objects::resync`]. Locks one database at a time; hold [`Objects::recount`]
    /// around it while the store is in use.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when a database cannot be counted: nothing may be concluded then.
    pub fn count_references(&self) -> Result<References> {
        let mut counts = References::new();
        self.count_each(&mut counts, &mut |_, error| Err(error), &mut unwatched)?;
        Ok(counts)
    }

    /// As [`Store::count_references`], but goes on over databases that are fenced or damaged, and
    /// gives those: of their references nothing is known.
    ///
    /// # Errors
    /// Other trouble than fences and damage; [`StoreError::Stopped`] when `progress` said so.
    pub fn count_references_of_sound(
        &self,
        progress: &mut Progress<'_>,
    ) -> Result<(References, Vec<Dbiid>)> {
        let (mut counts, mut unknown) = (References::new(), Vec::new());
        let mut failed = |dbiid, error| match error {
            StoreError::Fenced { .. } | StoreError::Damage { .. } => {
                unknown.push(dbiid);
                Ok(())
            }
            other => Err(other),
        };
        self.count_each(&mut counts, &mut failed, progress)?;
        // A half that was counted before the damage was met says nothing.
        counts.retain(|(dbiid, _), _| !unknown.contains(dbiid));
        Ok((counts, unknown))
    }

    fn count_each(
        &self,
        counts: &mut References,
        failed: &mut dyn FnMut(Dbiid, StoreError) -> Result<()>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        // These first: a copy that is registered meanwhile is among the databases then.
        let mut ahead = self.counted_ahead.lock().clone();
        let all = self.all();
        for (done, database) in all.iter().enumerate() {
            tell(progress, "databases counted", done as u64, all.len() as u64)?;
            let dbiid = database.dbiid();
            ahead.remove(&dbiid);
            let counted = self.read(database, |reader| {
                reader.each_reference(|hash| *counts.entry((dbiid, hash)).or_insert(0) += 1)
            });
            match counted {
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => failed(dbiid, error)?,
            }
        }
        for (dbiid, more) in ahead {
            counts.extend(more.into_iter().map(|(hash, count)| ((dbiid, hash), count)));
        }
        Ok(())
    }

    /// Names and values of all figures.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut rows = self.statistics.rows();
        rows.push(("Database.DbCache.CurrentEntries", self.cache.open() as u64));
        rows.push(("Database.DbCache.HighWaterMark", self.cache.open_peak() as u64));
        rows.push(("Database.DbCache.MaxEntries", self.open_databases_max() as u64));
        rows.push(("Database.BufferPool.Used", self.buffer_pool_used()));
        rows.push(("Database.BufferPool.Maximum", self.options.buffer_pool_bytes));
        let pending = self.pending.load(Ordering::Relaxed) as u64;
        rows.push(("Database.Recovery.Pending", pending));
        rows.push(("Database.DiskFull", u64::from(self.is_disk_full())));
        rows.push(("Database.UnwrittenBytes", self.waiting.held()));
        rows.push(("Database.Count", self.databases.read().len() as u64));
        rows
    }

    pub(crate) fn drop_handle(&self, shared: &Shared, state: &mut State) -> Option<Handle> {
        let handle = state.handle.take();
        self.note_closed(shared);
        handle
    }
}
