//! Replaying what a start left to be replayed: at the first use, or in the background.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::database::Shared;
use crate::{Database, Replayed, Result, Store, StoreError};

impl Store {
    /// Brings databases up to date that a start found behind the log, for as long as `budget`
    /// lasts and one database at least; those first that hold the log back furthest. A database
    /// that is used meanwhile is replayed by its user. [`Replayed::left`] tells whether to go on.
    ///
    /// # Errors
    /// Trouble of the log. A database in trouble of its own is tried again when it is used, or by
    /// a checkpoint round.
    pub fn replay_pending(&self, budget: Duration) -> Result<Replayed> {
        let begun = Instant::now();
        let mut replayed = Replayed::default();
        loop {
            let (next, left) = {
                let mut queue = self.queue.lock();
                (queue.pop_front(), queue.len())
            };
            replayed.left = left;
            let Some(database) = next else { break };
            if database.0.is_pending.load(Ordering::Relaxed) {
                self.bring_up(&database, &mut replayed)?;
                self.trim_cache();
            }
            if begun.elapsed() >= budget {
                break;
            }
        }
        Ok(replayed)
    }

    /// Databases that are still to be replayed since the start.
    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Puts all databases that are to be replayed into the queue.
    pub(crate) fn queue_pending(&self) {
        let mut pending = self.all();
        pending.retain(|database| database.0.is_pending.load(Ordering::Relaxed));
        pending.sort_by_key(|database| database.0.needed());
        *self.queue.lock() = pending.into();
    }

    /// Opens a database and thereby replays it.
    pub(crate) fn bring_up(&self, database: &Database, replayed: &mut Replayed) -> Result<()> {
        let is_unmade = database.0.state.lock().is_unmade;
        let before = self.statistics.replayed.get();
        match self.lock_open(database) {
            Ok(_) => {
                let sections = self.statistics.replayed.get().saturating_sub(before);
                replayed.sections += sections;
                replayed.databases += usize::from(sections > 0);
                if is_unmade {
                    replayed.recreated.push(database.path());
                }
                Ok(())
            }
            Err(StoreError::Fenced { path, reason }) => {
                replayed.fenced.push((path, reason));
                Ok(())
            }
            Err(StoreError::NotFound { .. }) => Ok(()),
            Err(StoreError::Log(error)) => Err(StoreError::Log(error)),
            Err(error) => {
                tracing::warn!(database = ?database, %error, "database is not replayed yet");
                Ok(())
            }
        }
    }

    /// A database is up to date, fenced or deleted.
    pub(crate) fn no_longer_pending(&self, shared: &Shared) {
        if shared.is_pending.swap(false, Ordering::Relaxed) {
            self.pending.fetch_sub(1, Ordering::Relaxed);
            self.statistics.databases_replayed.add(1);
        }
    }
}
