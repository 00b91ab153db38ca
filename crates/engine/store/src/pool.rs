//! Memory of all open databases together: how much it is, and who gives it back when it is too
//! much.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use txlog::Lsn;

use crate::database::State;
use crate::{Database, Store};

/// How far below its bound the memory is brought once it is above, as a part of it: little, since
/// one caller does it.
const BELOW: u64 = 64;
/// A database with less memory than this, in bytes, has nothing worth giving back.
const LEAST_BYTES: u64 = 16 << 10;
/// Ticks within which the cache comes by at every database: 5 minutes.
const IDLE_TICKS: u64 = 300;

/// The sum of what the databases take.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    used: AtomicU64,
    /// Nothing is given back before this use: it was not enough the last time.
    not_before: AtomicU64,
    trimming: Mutex<()>,
    /// Counts the ticks.
    ticks: AtomicU64,
}

impl Pool {
    /// Bytes that all databases take.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// A database takes so many bytes now, and took others before.
    pub fn change(&self, before: u64, now: u64) {
        // Wraps around when it gets less.
        self.used.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Store {
    /// Memory of all open databases in bytes: their page caches, open transactions and prepared
    /// statements. See [`crate::StoreOptions::buffer_pool_bytes`].
    pub fn buffer_pool_used(&self) -> u64 {
        self.pool.used()
    }

    /// Takes memory back from the databases not used for longest when all together have more than
    /// allowed. One caller does it while the others go on, until they are an eighth above it: then
    /// they wait.
    pub(crate) fn trim_pool(&self) {
        let max = self.options.buffer_pool_bytes;
        let used = self.pool.used();
        if used <= max || self.pool.not_before.load(Ordering::Relaxed) > self.cache.uses() {
            return;
        }
        let trimming = &self.pool.trimming;
        let _one = match trimming.try_lock() {
            Some(one) => one,
            None if used <= max.saturating_add(max / 8) => return,
            None => trimming.lock(),
        };
        if self.pool.used() <= max {
            return;
        }
        let wanted = max - max / BELOW;
        let open = self.open_by_use();
        self.ease_until(wanted, &open);
        if self.pool.used() > max {
            self.commit_until(wanted, &open);
        }
        if self.pool.used() > max {
            // What is left is in use, or has just been: worth another look after so many uses.
            let later = self.cache.uses() + open.len() as u64 / 4;
            self.pool.not_before.store(later, Ordering::Relaxed);
        }
    }

    /// Clean pages and statements are given back, in the order of the databases.
    fn ease_until(&self, wanted: u64, databases: &[Database]) {
        for database in databases {
            if self.pool.used() <= wanted {
                return;
            }
            let kept = database.0.kept.load(Ordering::Relaxed);
            let memory = database.0.memory.load(Ordering::Relaxed);
            if memory.saturating_sub(kept) > LEAST_BYTES
                && let Some(state) = database.0.state.try_lock()
            {
                self.ease(database, &state);
            }
        }
    }

    /// Open transactions are committed, in the order of the databases, for which the log must be
    /// durable; one sync of it serves all of them.
    fn commit_until(&self, wanted: u64, databases: &[Database]) {
        if self.is_disk_full() {
            return;
        }
        let mut excess = self.pool.used().saturating_sub(wanted);
        let mut lsn = Lsn::ZERO;
        let mut chosen = Vec::new();
        for database in databases {
            let bytes = database.0.memory.load(Ordering::Relaxed);
            if excess == 0 {
                break;
            }
            if bytes > LEAST_BYTES
                && let Some(state) = database.0.state.try_lock()
            {
                lsn = lsn.max(state.applied);
                excess = excess.saturating_sub(bytes);
                chosen.push(database);
            }
        }
        if let Err(error) = self.durable(lsn).wait() {
            tracing::warn!(%error, "databases keep their memory");
            return;
        }
        for database in chosen {
            let Some(mut state) = database.0.state.try_lock() else { continue };
            if state.applied <= self.log.durable_lsn() && self.commit(&database.0, &mut state) {
                self.ease(database, &state);
            }
        }
    }

    /// Takes the memory back that databases do not need which nobody used since the cache came by
    /// last; it comes by at some of them with every tick.
    pub(crate) fn ease_idle(&self) {
        let turn = self.pool.ticks.fetch_add(1, Ordering::Relaxed) % IDLE_TICKS;
        let mut met = self.all();
        met.retain(|database| {
            let shared = &database.0;
            shared.dbiid.0 % IDLE_TICKS == turn && shared.is_open.load(Ordering::Relaxed)
        });
        for database in met {
            let used = database.0.last_used.load(Ordering::Relaxed);
            if database.0.seen_used.swap(used, Ordering::Relaxed) == used
                && let Some(state) = database.0.state.try_lock()
            {
                self.ease(&database, &state);
            }
        }
    }

    fn ease(&self, database: &Database, state: &State) {
        if let Some(handle) = &state.handle {
            handle.ease();
            self.note_memory(&database.0, Some(handle));
            if handle.in_transaction {
                let kept = database.0.memory.load(Ordering::Relaxed);
                database.0.kept.store(kept, Ordering::Relaxed);
            }
            self.statistics.eased.add(1);
        }
    }
}
