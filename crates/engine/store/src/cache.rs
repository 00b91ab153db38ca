//! The database cache: how many files are open, and which are closed next.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use txlog::Lsn;

use crate::{Database, Store};

/// Files beyond the bound from which on those who opened one wait until some are closed.
const BEYOND_MAX: usize = 64;

/// Counts open files and their uses.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    open: AtomicUsize,
    /// Most that were open at once.
    open_peak: AtomicUsize,
    /// Most that may be open; 0 stands for what the options say.
    open_max: AtomicUsize,
    uses: AtomicU64,
    is_off: AtomicBool,
    trimming: Mutex<()>,
}

impl Cache {
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    /// How many uses there were.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    pub fn opened(&self) {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        self.open_peak.fetch_max(before + 1, Ordering::Relaxed);
    }

    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub fn open_peak(&self) -> usize {
        self.open_peak.load(Ordering::Relaxed)
    }
}

impl Store {
    /// Switches the cache of open databases on, as it is at the start, or off. While it is off
    /// every database but the one used last is closed as soon as nobody uses it, and opened anew
    /// for the next use.
    pub fn set_cache_enabled(&self, enabled: bool) {
        self.cache.is_off.store(!enabled, Ordering::Relaxed);
        self.trim_cache();
    }

    /// Whether the cache of open databases is switched on.
    pub fn is_cache_enabled(&self) -> bool {
        !self.cache.is_off.load(Ordering::Relaxed)
    }

    /// Databases whose files are open.
    pub fn open_databases(&self) -> usize {
        self.cache.open()
    }

    /// Changes how many files may be open, at first
    /// [`open_databases_max`](crate::StoreOptions::open_databases_max). Those beyond it are closed
    /// with the next use of a database, or by [`Store::trim_open`].
    pub fn set_open_databases_max(&self, max: usize) {
        self.cache.open_max.store(max.max(1), Ordering::Relaxed);
    }

    /// Closes the files beyond the bound now, those not used for longest first. Those in use stay;
    /// waits for the log.
    pub fn trim_open(&self) {
        self.trim(true);
    }

    pub(crate) fn open_databases_max(&self) -> usize {
        match self.cache.open_max.load(Ordering::Relaxed) {
            0 => self.options.open_databases_max.max(1),
            max => max,
        }
    }

    /// Closes the files not used for longest when more than allowed are open, and sees to the
    /// memory of the others. The results are committed first, for which the log must be durable;
    /// the -wal stays.
    pub(crate) fn trim_cache(&self) {
        self.trim(false);
        self.trim_pool();
    }

    /// When another is at it, this waits for it if so told, or if very many are to be closed.
    fn trim(&self, is_awaited: bool) {
        let max = match self.is_cache_enabled() {
            true => self.open_databases_max(),
            false => 1,
        };
        if self.cache.open() <= max {
            return;
        }
        let is_far = self.cache.open() > max.saturating_add(BEYOND_MAX);
        let one = match is_awaited || is_far {
            true => Some(self.cache.trimming.lock()),
            false => self.cache.trimming.try_lock(),
        };
        let beyond = self.cache.open().saturating_sub(max);
        if one.is_none() || beyond == 0 {
            return;
        }
        let excess = beyond + max / 16;
        let mut open = self.open_by_use();
        open.truncate(excess.max(1));
        let applied = open.iter().filter_map(|database| Some(database.0.state.try_lock()?.applied));
        let lsn = applied.max().unwrap_or(Lsn::ZERO);
        if let Err(error) = self.durable(lsn).wait() {
            tracing::warn!(%error, "databases stay open");
            return;
        }
        open.iter().for_each(|database| self.close_idle(database));
    }

    /// The open databases, those first that nobody used for longest.
    pub(crate) fn open_by_use(&self) -> Vec<Database> {
        let mut open: Vec<Database> = self.all();
        open.retain(|database| database.0.is_open.load(Ordering::Relaxed));
        // Each is asked once: they are used meanwhile.
        open.sort_by_cached_key(|database| database.0.last_used.load(Ordering::Relaxed));
        open
    }

    /// Commits and closes a database unless it is in use.
    fn close_idle(&self, database: &Database) {
        let Some(mut state) = database.0.state.try_lock() else { return };
        if state.applied > self.log.durable_lsn() {
            return;
        }
        if !self.commit(&database.0, &mut state) {
            return self.close_uncommitted(&database.0, &mut state);
        }
        if self.drop_handle(&database.0, &mut state).is_some() {
            self.statistics.cache_closes.add(1);
        }
    }
}
