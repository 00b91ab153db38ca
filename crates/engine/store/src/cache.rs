//! The database cache: how many files are open, and which are closed next.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use txlog::Lsn;

use crate::{Database, Store};

/// Ticks within which the cache comes by at every database: 5 minutes.
const IDLE_TICKS: u64 = 300;

/// Counts open files and their uses.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    open: AtomicUsize,
    /// Most that were open at once.
    open_peak: AtomicUsize,
    uses: AtomicU64,
    is_off: AtomicBool,
    trimming: Mutex<()>,
    /// Counts the ticks.
    ticks: AtomicU64,
}

impl Cache {
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
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

    /// Closes the files not used for longest when more than allowed are open. Their results are
    /// committed first, for which the log must be durable; the -wal stays.
    pub(crate) fn trim_cache(&self) {
        let max = match self.is_cache_enabled() {
            true => self.options.open_databases_max.max(1),
            false => 1,
        };
        if self.cache.open() <= max {
            return;
        }
        let Some(_one) = self.cache.trimming.try_lock() else { return };
        let excess = self.cache.open().saturating_sub(max) + max / 16;
        let mut open: Vec<Database> = self.all();
        open.retain(|database| database.0.is_open.load(Ordering::Relaxed));
        open.sort_by_key(|database| database.0.last_used.load(Ordering::Relaxed));
        open.truncate(excess.max(1));
        let applied = open.iter().filter_map(|database| Some(database.0.state.try_lock()?.applied));
        let lsn = applied.max().unwrap_or(Lsn::ZERO);
        if let Err(error) = self.durable(lsn).wait() {
            tracing::warn!(%error, "databases stay open");
            return;
        }
        open.iter().for_each(|database| self.close_idle(database));
    }

    /// Takes the memory back that databases do not need which nobody used since the cache came by
    /// last; it comes by at some of them with every tick.
    pub(crate) fn ease_idle(&self) {
        let turn = self.cache.ticks.fetch_add(1, Ordering::Relaxed) % IDLE_TICKS;
        let mut met = self.all();
        met.retain(|database| {
            let shared = &database.0;
            shared.dbiid.0 % IDLE_TICKS == turn && shared.is_open.load(Ordering::Relaxed)
        });
        for database in met {
            let used = database.0.last_used.load(Ordering::Relaxed);
            if database.0.seen_used.swap(used, Ordering::Relaxed) == used
                && let Some(state) = database.0.state.try_lock()
                && let Some(handle) = &state.handle
            {
                handle.ease();
            }
        }
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
