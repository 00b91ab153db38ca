//! What a server does by itself every second: checkpoints, a look at the log, replay of what a
//! crash left behind, expired deletions.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use objects::ObjectsError;
use parking_lot::{Condvar, Mutex};
use store::{Store, StoreError};

use super::Running;
use super::recount::Recount;
use crate::agenda::{Agenda, Hours};
use crate::minutes::Counted;
use crate::process;
use crate::programs;
use crate::request::chain;
use crate::settings::Key;

/// Time between two rounds.
const ROUND: Duration = Duration::from_secs(1);
/// Time between two rounds while databases are to be replayed.
const ROUND_REPLAYING: Duration = Duration::from_millis(50);
/// Time a round may spend on databases that are to be replayed.
const REPLAY_SLICE: Duration = Duration::from_millis(200);

/// Time between two looks at the counters of the last minutes.
const MINUTES_EVERY: Duration = Duration::from_secs(10);

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
        let mut hours = Hours::default();
        hour_begun(&running, &mut hours);
        let builder = std::thread::Builder::new().name("chores".to_owned());
        let thread = builder.spawn(move || work(&working, &running, hours))?;
        Ok(Self { shared, thread })
    }

    /// Begins the next round now.
    #[cfg(test)]
    pub(super) fn hurry(&self) {
        self.shared.wake.notify_all();
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

fn work(shared: &Shared, running: &Arc<Running>, mut hours: Hours) {
    let mut recount = Recount::default();
    let mut looked: Option<Instant> = None;
    let mut replay = Replay::default();
    let mut last_trouble = String::new();
    let mut last_alarms: Vec<String> = Vec::new();
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
        let trouble = match round(running, &mut replay) {
            Ok(()) => String::new(),
            Err(error) => chain(&error),
        };
        // The same trouble every second is told once.
        if !trouble.is_empty() && trouble != last_trouble {
            tracing::warn!("{trouble}");
        }
        last_trouble = trouble;
        if replay.is_done {
            recount.look(running);
        }
        running.share_descriptors();
        let alarms = running.alarms();
        for alarm in alarms.iter().filter(|alarm| !last_alarms.contains(alarm)) {
            tracing::error!(kind = "alarm", "{alarm}");
        }
        last_alarms = alarms;
        if looked.is_none_or(|at| at.elapsed() >= MINUTES_EVERY) {
            looked = Some(Instant::now());
            minutes(running);
        }
        if let Some(hour) = hour_begun(running, &mut hours) {
            begin_hour(running, hour);
        }
    }
}

/// The hour that has begun since the last look at the server's clock.
fn hour_begun(running: &Running, hours: &mut Hours) -> Option<u8> {
    hours.begun(process::local_hour(running.site.store.now())?)
}

/// Looks at the counters for `show performance` and the peaks.
fn minutes(running: &Running) {
    let seats = running.registry.list();
    let counted = Counted {
        transactions: running.pool.status().done,
        delivered: running.router.stats().delivered,
        users: seats.iter().filter(|seat| seat.user.is_some()).count() as u64,
    };
    running.minutes.lock().look(counted, Instant::now(), running.site.store.now());
}

/// Runs what the agenda has for an hour, one after the other, on a thread of its own.
fn begin_hour(running: &Arc<Running>, hour: u8) {
    let settings = running.site.settings();
    let agenda = Agenda::parse(settings.text(Key::TasksAt)).unwrap_or_default();
    let lines: Vec<String> = agenda.at(hour).map(|entry| entry.line.clone()).collect();
    if lines.is_empty() {
        return;
    }
    let running = running.clone();
    let builder = std::thread::Builder::new().name("agenda".to_owned());
    let begun = builder.spawn(move || {
        for line in lines {
            if running.is_stopping() {
                return;
            }
            programs::run(&running, &line);
        }
    });
    if let Err(error) = begun {
        tracing::error!(%error, "the tasks of hour {hour} cannot run");
    }
}

fn round(running: &Running, replay: &mut Replay) -> Result<(), StoreError> {
    let store = &running.site.store;
    if running.failure().is_none()
        && let Some(reason) = store.log().status().stopped
    {
        running.fail(format!("the transaction log has stopped: {reason}"));
        return Ok(());
    }
    match store.tick() {
        Err(
            error @ (StoreError::NotSynced { .. }
            | StoreError::Objects(ObjectsError::CatalogDamaged { .. })),
        ) => {
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
    running.trash.slice(store, mailfile::trash::Budget::default());
    running.missing.look(store, &running.site.dir.data(), Instant::now());
    Ok(())
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
