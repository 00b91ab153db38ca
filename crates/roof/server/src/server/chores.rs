//! What a server does by itself every second: checkpoints, a look at the log, replay of what a
//! crash left behind, expired deletions.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use store::{Store, StoreError, Stub};

use super::Running;
use crate::request::chain;
use crate::settings::Key;

/// Time between two rounds.
const ROUND: Duration = Duration::from_secs(1);
/// Time between two rounds while databases are to be replayed.
const ROUND_REPLAYING: Duration = Duration::from_millis(50);
/// Time a round may spend on databases that are to be replayed.
const REPLAY_SLICE: Duration = Duration::from_millis(200);
/// Time between two searches for expired deletions.
const PURGE_EVERY: Duration = Duration::from_secs(3600);
/// Time a round may spend on expired deletions.
const PURGE_SLICE: Duration = Duration::from_millis(50);
/// Notes deleted in one write.
const PURGE_BATCH: usize = 50;

/// The thread of the chores.
pub(super) struct Chores {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    stopping: Mutex<bool>,
    wake: Condvar,
}

impl Chores {
    pub(super) fn start(running: Arc<Running>) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let working = shared.clone();
        let builder = std::thread::Builder::new().name("chores".to_owned());
        let thread = builder.spawn(move || work(&working, &running))?;
        Ok(Self { shared, thread })
    }

    /// Ends the thread after the round it is in.
    pub(super) fn stop(self) {
        *self.shared.stopping.lock() = true;
        self.shared.wake.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the chores had ended in a bug");
        }
    }
}

fn work(shared: &Shared, running: &Running) {
    let mut purge = Purge::default();
    let mut replay = Replay::default();
    let mut last_trouble = String::new();
    loop {
        let wait = if replay.is_done { ROUND } else { ROUND_REPLAYING };
        let mut stopping = shared.stopping.lock();
        if !*stopping {
            shared.wake.wait_for(&mut stopping, wait);
        }
        if *stopping {
            return;
        }
        drop(stopping);
        let trouble = match round(running, &mut replay, &mut purge) {
            Ok(()) => String::new(),
            Err(error) => chain(&error),
        };
        // The same trouble every second is told once.
        if !trouble.is_empty() && trouble != last_trouble {
            tracing::warn!("{trouble}");
        }
        last_trouble = trouble;
    }
}

fn round(running: &Running, replay: &mut Replay, purge: &mut Purge) -> Result<(), StoreError> {
    let store = &running.site.store;
    if running.failure().is_none()
        && let Some(reason) = store.log().status().stopped
    {
        running.fail(format!("the transaction log has stopped: {reason}"));
        return Ok(());
    }
    match store.tick() {
        Err(error @ StoreError::NotSynced { .. }) => {
            if running.failure().is_none() {
                running.fail(chain(&error));
            }
            return Ok(());
        }
        outcome => outcome?,
    }
    if !replay.is_done {
        return replay.slice(store);
    }
    let keep_h = i64::try_from(running.site.settings.number(Key::DeletedKeep)).unwrap_or(i64::MAX);
    purge.slice(store, keep_h.saturating_mul(3600))
}

/// Brings databases up to date that the start left behind, a slice at a time.
#[derive(Default)]
struct Replay {
    is_done: bool,
    databases: usize,
    sections: u64,
}

impl Replay {
    fn slice(&mut self, store: &Store) -> Result<(), StoreError> {
        let replayed = store.replay_pending(REPLAY_SLICE)?;
        self.databases += replayed.databases;
        self.sections += replayed.sections;
        for path in &replayed.recreated {
            tracing::info!("database {path} was made again from the log");
        }
        if replayed.left == 0 {
            self.is_done = true;
            let Self { databases, sections, .. } = self;
            if *databases > 0 {
                tracing::info!(databases, sections, "every database is up to date");
            }
        }
        Ok(())
    }
}

/// Walks all databases for deletions that nobody can take back any more, a slice at a time.
#[derive(Default)]
pub(super) struct Purge {
    begun: Option<Instant>,
    paths: VecDeque<String>,
}

impl Purge {
    /// Does as much as fits in a slice; begins a new walk every hour.
    pub(super) fn slice(&mut self, store: &Store, keep_s: i64) -> Result<(), StoreError> {
        let due = self.begun.is_none_or(|begun| begun.elapsed() >= PURGE_EVERY);
        if self.paths.is_empty() && due {
            self.begun = Some(Instant::now());
            self.paths = store.paths().into();
        }
        let slice = Instant::now();
        while slice.elapsed() < PURGE_SLICE {
            let Some(path) = self.paths.front() else { return Ok(()) };
            match purge(store, path, keep_s) {
                Ok(PURGE_BATCH..) => {}
                Ok(_) | Err(StoreError::NotFound { .. } | StoreError::Fenced { .. }) => {
                    self.paths.pop_front();
                }
                Err(error) => {
                    self.paths.pop_front();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Deletes some expired notes of a database for good; how many.
fn purge(store: &Store, path: &str, keep_s: i64) -> Result<usize, StoreError> {
    let database = store.database(path)?;
    let before = store.now().plus_seconds(-keep_s);
    let expired = store.read(&database, |reader| reader.soft_deleted(before, PURGE_BATCH))?.value;
    if expired.is_empty() {
        return Ok(0);
    }
    store.write_reserved(&[&database], |writer| -> Result<(), StoreError> {
        for meta in &expired {
            // It may have been taken back meanwhile.
            let still = writer.reader(&database)?.note_meta(meta.id)?;
            if still.is_some_and(|meta| meta.deleted.is_some()) {
                writer.delete_note(&database, meta.id, Stub::Keep)?;
            }
        }
        Ok(())
    })?;
    Ok(expired.len())
}
