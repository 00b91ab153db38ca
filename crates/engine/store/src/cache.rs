//! The database cache: how many files are open, and which are closed next.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use txlog::Lsn;

use crate::{Database, Store};

/// Counts open files and their uses.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    open: AtomicUsize,
    uses: AtomicU64,
    trimming: Mutex<()>,
}

impl Cache {
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    pub fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Store {
    /// Closes the files not used for longest when more than allowed are open. Their results are
    /// committed first, for which the log must be durable; the -wal stays.
    pub(crate) fn trim_cache(&self) {
        let max = self.options.open_databases_max.max(1);
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
