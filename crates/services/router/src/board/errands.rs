//! What transfer threads ask of the board and tell it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Board, Errand, Job, Phase, State};
use crate::lockouts::Lockout;
use crate::status::TransferRow;

impl Board {
    /// Waits for a message to transfer, with an open line to `held` for at most `linger`.
    pub(crate) fn next_errand(
        &self,
        number: usize,
        held: Option<&str>,
        linger: Duration,
    ) -> Errand {
        let mut state = self.state.lock();
        let until = held.map(|_| Instant::now() + linger);
        loop {
            if state.stopping || number >= state.transfer_threads {
                return Errand::End;
            }
            let now = Instant::now();
            if !state.paused
                && let Some((to, job)) = state.lanes.take(held, now)
            {
                state.phases.insert(job.unid, Phase::Working);
                state.working += 1;
                return Errand::Transfer(to, job);
            }
            if until.is_some_and(|until| until <= now) {
                return Errand::Idle;
            }
            let due = if state.paused { None } else { state.lanes.next_due(now) };
            match until.into_iter().chain(due).min() {
                Some(due) => {
                    self.carry.wait_until(&mut state, due);
                }
                None => self.carry.wait(&mut state),
            }
        }
    }

    /// The message waits for a transfer to a destination, not before `wait` is over.
    pub(crate) fn queue(&self, mut job: Job, to: &Arc<str>, wait: Duration) {
        job.fresh = None;
        job.swept = None;
        let mut state = self.state.lock();
        state.working -= 1;
        state.enlane(job, to, wait);
        self.tell_ended(&state);
        drop(state);
        self.wake.notify_one();
        self.carry.notify_one();
    }

    /// A thread has no message of this destination in its hands any more. To be called before
    /// what became of the message is told.
    pub(crate) fn transfer_ended(&self, to: &str) {
        let mut state = self.state.lock();
        state.overflow |= state.lanes.ended(to);
        drop(state);
        self.carry.notify_one();
    }

    /// The destination was reached; whether it could not before.
    pub(crate) fn reached(&self, to: &str) -> bool {
        let is_back = self.state.lock().lanes.reached(to);
        self.carry.notify_all();
        is_back
    }

    /// The destinations that are left alone now.
    pub(crate) fn lockouts(&self) -> Vec<Lockout> {
        self.state.lock().lanes.lockouts(Instant::now())
    }

    /// Leaves these destinations alone as soon as there is mail for them.
    pub(crate) fn restore(&self, lockouts: Vec<Lockout>) {
        self.state.lock().lanes.restore(lockouts, Instant::now());
    }

    /// The destination could not be reached: it is left alone for what `wait` says of the number
    /// of failures in a row. Messages that have waited for too long go back to dispatch.
    pub(crate) fn failed(
        &self,
        job: Job,
        (to, error): (&Arc<str>, &str),
        now_s: i64,
        wait: impl Fn(u32) -> Duration,
    ) {
        let mut state = self.state.lock();
        state.working -= 1;
        if state.phases.get(&job.unid) == Some(&Phase::Again) {
            state.push(job);
        } else {
            state.phases.insert(job.unid, Phase::Lane);
            state.lanes.failed(to, job, error, wait);
        }
        for job in state.lanes.overdue(to, now_s) {
            state.push(job);
        }
        self.tell_ended(&state);
        drop(state);
        self.wake.notify_all();
        self.carry.notify_all();
    }

    /// Where messages for other hosts go is to be asked anew.
    pub(crate) fn replan(&self) {
        let mut state = self.state.lock();
        for job in state.lanes.drain() {
            state.push(job);
        }
        drop(state);
        self.wake.notify_all();
    }

    /// The destinations that mail waits for.
    pub(crate) fn transfers(&self) -> Vec<TransferRow> {
        self.state.lock().lanes.rows(Instant::now())
    }
}

impl State {
    fn enlane(&mut self, job: Job, to: &Arc<str>, wait: Duration) {
        let unid = job.unid;
        if self.phases.get(&unid) == Some(&Phase::Again) {
            return self.push(job);
        }
        let due = if wait.is_zero() { None } else { Instant::now().checked_add(wait) };
        if self.lanes.push(to, job, due) {
            self.phases.insert(unid, Phase::Lane);
        } else {
            self.phases.remove(&unid);
        }
    }
}
