//! The board: which messages wait, are worked on, wait for a retry or for another host. One lock,
//! no I/O under it.

mod errands;
mod lanes;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use note::{Dbiid, Unid};
use parking_lot::{Condvar, Mutex, MutexGuard};
use store::{NoteId, PreparedNote};

use crate::envelope::{Envelope, Priority};
use crate::status::QueueState;
use lanes::{Lanes, Ready};

/// Most messages kept on the board; the rest stays in mail.box until it has drained.
pub(crate) const READY_MAX: usize = 100_000;
/// Bytes of fresh messages kept in memory between deposit and dispatch.
const FRESH_BYTES_MAX: usize = 32 << 20;

/// A message that waits.
#[derive(Clone)]
pub(crate) struct Job {
    pub unid: Unid,
    /// Which mail.box it lies in.
    pub mailbox: usize,
    pub priority: Priority,
    /// Attempts that left somebody waiting.
    pub attempts: u32,
    /// Why the last attempt left somebody waiting.
    pub cause: Option<String>,
    /// What the deposit knew; gone after a restart and under pressure.
    pub fresh: Option<Arc<Fresh>>,
    /// From when on, in seconds since 1970, somebody is to be told that it waits.
    pub look_s: i64,
    /// When it was deposited, in seconds since 1970.
    pub deposited_s: i64,
    /// It was taken out of a lane since it waits for so long; why it waits.
    pub swept: Option<String>,
}

impl Job {
    /// A message at its first attempt.
    pub(crate) fn new(unid: Unid, mailbox: usize, fresh: Option<Arc<Fresh>>) -> Job {
        let priority = fresh.as_ref().map_or(Priority::Normal, |fresh| fresh.envelope.priority);
        Job {
            unid,
            mailbox,
            priority,
            attempts: 0,
            cause: None,
            fresh,
            look_s: i64::MAX,
            deposited_s: i64::MAX,
            swept: None,
        }
    }
}

/// A message as it was deposited, so that dispatch need not read it back.
pub(crate) struct Fresh {
    /// Its note in mail.box, and in which file this is its id: a repair makes the file anew.
    pub id: NoteId,
    pub file: Dbiid,
    pub prepared: PreparedNote,
    pub envelope: Envelope,
    pub deposited: note::TimeDate,
    pub bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A deposit is writing it.
    Coming,
    Ready,
    Working,
    /// Changed by somebody else while it was worked on: look again.
    Again,
    Later(Instant),
    /// Waits for another host.
    Lane,
}

/// What a delivery thread does next.
pub(crate) enum Task {
    Deliver(Job),
    /// Look at the changes of the mail.box databases.
    Scan,
    End,
}

/// What a transfer thread does next.
pub(crate) enum Errand {
    Transfer(Arc<str>, Job),
    /// Nothing for as long as an open line is kept.
    Idle,
    End,
}

#[derive(Default)]
struct State {
    ready: Ready,
    later: BTreeMap<(Instant, Unid), Job>,
    lanes: Lanes,
    phases: HashMap<Unid, Phase>,
    parked: HashMap<Unid, QueueState>,
    working: usize,
    fresh_bytes: usize,
    scan: bool,
    scanning: bool,
    /// Messages were left in mail.box because the board was full.
    overflow: bool,
    paused: bool,
    stopping: bool,
    /// Threads with a number beyond these end.
    delivery_threads: usize,
    transfer_threads: usize,
}

/// Figures of the board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub waiting: usize,
    pub working: usize,
    /// Of those in work the ones that are transferred.
    pub transferring: usize,
    pub dead: usize,
    pub held: usize,
}

pub(crate) struct Board {
    state: Mutex<State>,
    wake: Condvar,
    carry: Condvar,
    ended: Condvar,
    idle: Condvar,
}

impl Default for Board {
    /// A board for any number of threads.
    fn default() -> Board {
        let board = Board {
            state: Mutex::default(),
            wake: Condvar::new(),
            carry: Condvar::new(),
            ended: Condvar::new(),
            idle: Condvar::new(),
        };
        board.set_threads(usize::MAX, usize::MAX, usize::MAX);
        board
    }
}

impl Board {
    /// How many delivery threads, transfer threads, and transfer threads for one destination
    /// there are to be.
    pub(crate) fn set_threads(&self, delivery: usize, transfer: usize, each: usize) {
        let mut state = self.state.lock();
        (state.delivery_threads, state.transfer_threads) = (delivery, transfer);
        state.lanes.each = each;
        drop(state);
        self.wake.notify_all();
        self.carry.notify_all();
    }

    /// Announces a deposit, so that a scan that sees its note leaves it alone.
    pub(crate) fn announce(&self, unid: Unid) {
        self.state.lock().phases.insert(unid, Phase::Coming);
    }

    /// The announced deposit failed.
    pub(crate) fn withdraw(&self, unid: &Unid) {
        self.state.lock().phases.remove(unid);
    }

    /// Puts a message up for dispatch, unless it is on the board already.
    pub(crate) fn post(&self, mut job: Job) {
        let mut state = self.state.lock();
        match state.phases.get(&job.unid).copied() {
            None | Some(Phase::Coming) => {}
            Some(Phase::Working) => {
                state.phases.insert(job.unid, Phase::Again);
                return;
            }
            Some(_) => return,
        }
        if state.ready.len() >= READY_MAX {
            state.phases.remove(&job.unid);
            state.overflow = true;
            return;
        }
        let bytes = job.fresh.as_ref().map_or(0, |fresh| fresh.bytes);
        if state.fresh_bytes.saturating_add(bytes) > FRESH_BYTES_MAX {
            job.fresh = None;
        } else {
            state.fresh_bytes += bytes;
        }
        state.parked.remove(&job.unid);
        state.push(job);
        drop(state);
        self.wake.notify_one();
    }

    /// A mail.box changed by another hand.
    pub(crate) fn ask_scan(&self) {
        self.state.lock().scan = true;
        self.wake.notify_one();
    }

    /// Waits for something to do. Ready messages come before retries that are due.
    pub(crate) fn next(&self, number: usize) -> Task {
        let mut state = self.state.lock();
        loop {
            if state.stopping || number >= state.delivery_threads {
                return Task::End;
            }
            if state.paused {
                self.wake.wait(&mut state);
                continue;
            }
            if (state.scan || (state.overflow && state.ready.is_empty())) && !state.scanning {
                state.scanning = true;
                return Task::Scan;
            }
            if let Some(job) = state.take(Instant::now()) {
                return Task::Deliver(job);
            }
            match state.later.first_key_value().map(|((due, _), _)| *due) {
                Some(due) => {
                    self.wake.wait_until(&mut state, due);
                }
                None => self.wake.wait(&mut state),
            }
        }
    }

    /// Takes the wish for a scan; true when all notes must be looked at again.
    pub(crate) fn begin_scan(&self) -> bool {
        let mut state = self.state.lock();
        state.scan = false;
        std::mem::take(&mut state.overflow)
    }

    /// The scan is over.
    pub(crate) fn end_scan(&self) {
        let mut state = self.state.lock();
        state.scanning = false;
        self.tell_idle(&state);
        drop(state);
        self.wake.notify_one();
    }

    /// The message left mail.box.
    pub(crate) fn done(&self, unid: &Unid) {
        let mut state = self.state.lock();
        state.working -= 1;
        state.phases.remove(unid);
        self.tell_ended(&state);
    }

    /// The message stays and is tried again after `wait`.
    pub(crate) fn retry(&self, mut job: Job, wait: Duration) {
        job.fresh = None;
        let mut state = self.state.lock();
        state.working -= 1;
        if wait.is_zero() || state.phases.get(&job.unid) == Some(&Phase::Again) {
            state.push(job);
        } else {
            let due = Instant::now() + wait;
            state.phases.insert(job.unid, Phase::Later(due));
            state.later.insert((due, job.unid), job);
        }
        self.tell_ended(&state);
        drop(state);
        self.wake.notify_one();
    }

    /// The message stays and is not tried again, unless somebody released it meanwhile.
    pub(crate) fn park(&self, mut job: Job, parked: QueueState) {
        job.fresh = None;
        let mut state = self.state.lock();
        state.working -= 1;
        if state.phases.remove(&job.unid) == Some(Phase::Again) {
            state.push(job);
        } else {
            state.parked.insert(job.unid, parked);
        }
        self.tell_ended(&state);
        drop(state);
        self.wake.notify_one();
    }

    /// Takes a message out of the hands of all threads, waiting for the one that has it; `None`
    /// after `wait`. It counts as worked on until one of the other calls says what became of it.
    pub(crate) fn claim(&self, unid: &Unid, mailbox: usize, wait: Duration) -> Option<Job> {
        let until = Instant::now() + wait;
        let mut state = self.state.lock();
        loop {
            let job = match state.phases.get(unid).copied() {
                None => Some(Job::new(*unid, mailbox, None)),
                Some(Phase::Ready) => state.ready.remove(unid),
                Some(Phase::Later(due)) => state.later.remove(&(due, *unid)),
                Some(Phase::Lane) => state.lanes.remove(unid),
                Some(Phase::Coming | Phase::Working | Phase::Again) => None,
            };
            if let Some(job) = job {
                state.fresh_bytes -= job.fresh.as_ref().map_or(0, |fresh| fresh.bytes);
                state.parked.remove(unid);
                state.phases.insert(*unid, Phase::Working);
                state.working += 1;
                return Some(Job { fresh: None, ..job });
            }
            if state.stopping || self.ended.wait_until(&mut state, until).timed_out() {
                return None;
            }
        }
    }

    /// A scan met a message that is held or dead, or (with `None`) one that is gone.
    pub(crate) fn set_parked(&self, unid: Unid, parked: Option<QueueState>) {
        let mut state = self.state.lock();
        match parked {
            Some(parked) => state.parked.insert(unid, parked),
            None => state.parked.remove(&unid),
        };
        match state.phases.get(&unid).copied() {
            Some(Phase::Later(due)) => {
                state.later.remove(&(due, unid));
            }
            Some(Phase::Lane) => {
                state.lanes.remove(&unid);
            }
            _ => return,
        }
        state.phases.remove(&unid);
    }

    /// Makes retries due and opens destinations: all of them, or the one named; how many messages
    /// that are.
    pub(crate) fn retry_now(&self, destination: Option<&str>) -> usize {
        let mut state = self.state.lock();
        let mut count = state.lanes.open_now(destination);
        if destination.is_none() {
            count += state.later.len();
            for (_, job) in std::mem::take(&mut state.later) {
                state.push(job);
            }
        }
        drop(state);
        self.wake.notify_all();
        self.carry.notify_all();
        count
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.state.lock().paused = paused;
        self.wake.notify_all();
        self.carry.notify_all();
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.state.lock().paused
    }

    pub(crate) fn counts(&self) -> Counts {
        let state = self.state.lock();
        let of = |wanted| state.parked.values().filter(|parked| **parked == wanted).count();
        Counts {
            waiting: state.phases.values().filter(|phase| **phase != Phase::Coming).count(),
            working: state.working,
            transferring: state.lanes.working(),
            dead: of(QueueState::Dead),
            held: of(QueueState::Held),
        }
    }

    /// Why a message waits for a retry.
    pub(crate) fn cause(&self, unid: &Unid) -> Option<String> {
        let state = self.state.lock();
        match state.phases.get(unid)? {
            Phase::Later(due) => state.later.get(&(*due, *unid))?.cause.clone(),
            Phase::Lane => state.lanes.cause(unid),
            _ => None,
        }
    }

    /// Waits until nothing is ready, worked on or to be scanned.
    pub(crate) fn wait_idle(&self) {
        let mut state = self.state.lock();
        self.idle.wait_while(&mut state, |state| !state.stopping && !state.is_idle());
    }

    /// No worker takes anything more.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.wake.notify_all();
        self.carry.notify_all();
        self.ended.notify_all();
        self.idle.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Somebody who waits for a message in work may look again.
    fn tell_ended(&self, state: &MutexGuard<'_, State>) {
        self.ended.notify_all();
        self.tell_idle(state);
    }

    fn tell_idle(&self, state: &MutexGuard<'_, State>) {
        if state.is_idle() {
            self.idle.notify_all();
        }
    }
}

impl State {
    fn push(&mut self, job: Job) {
        self.phases.insert(job.unid, Phase::Ready);
        self.ready.push(job);
    }

    fn take(&mut self, now: Instant) -> Option<Job> {
        let job = match self.ready.pop() {
            Some(job) => job,
            None => {
                let (key, _) = self.later.first_key_value()?;
                if key.0 > now {
                    return None;
                }
                self.later.pop_first()?.1
            }
        };
        self.fresh_bytes -= job.fresh.as_ref().map_or(0, |fresh| fresh.bytes);
        self.phases.insert(job.unid, Phase::Working);
        self.working += 1;
        Some(job)
    }

    fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.working == 0
            && !self.scan
            && !self.scanning
            && !self.overflow
            && self.lanes.is_quiet(Instant::now())
    }
}

#[cfg(test)]
mod tests;
