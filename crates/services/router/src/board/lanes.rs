//! Queues: one in order of priority, and one for each destination that mail is transferred to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use note::Unid;

use super::Job;
use crate::lockouts::Lockout;
use crate::status::TransferRow;

/// Most messages that wait for one destination; the rest stays in mail.box until it has drained.
pub(crate) const LANE_MAX: usize = 20_000;
/// Every n-th message taken is one of the lowest priority there is, so that none waits for ever.
const LOWEST_EVERY: u32 = 8;

/// Messages that are ready, by priority.
#[derive(Default)]
pub(crate) struct Ready {
    by_priority: [VecDeque<Job>; 3],
    taken: u32,
}

impl Ready {
    pub(crate) fn push(&mut self, job: Job) {
        self.by_priority[job.priority as usize].push_back(job);
    }

    fn push_first(&mut self, job: Job) {
        self.by_priority[job.priority as usize].push_front(job);
    }

    pub(crate) fn pop(&mut self) -> Option<Job> {
        self.taken = self.taken.wrapping_add(1);
        let queues = &mut self.by_priority;
        if self.taken.is_multiple_of(LOWEST_EVERY) {
            queues.iter_mut().rev().find_map(VecDeque::pop_front)
        } else {
            queues.iter_mut().find_map(VecDeque::pop_front)
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_priority.iter().map(VecDeque::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_priority.iter().all(VecDeque::is_empty)
    }

    pub(crate) fn remove(&mut self, unid: &Unid) -> Option<Job> {
        self.by_priority.iter_mut().find_map(|queue| {
            let at = queue.iter().position(|job| job.unid == *unid)?;
            queue.remove(at)
        })
    }

    /// Takes out those that answer to `is`.
    fn take_if(&mut self, is: impl Fn(&Job) -> bool) -> Vec<Job> {
        let mut taken = Vec::new();
        for queue in &mut self.by_priority {
            let (out, stay) = std::mem::take(queue).into_iter().partition(|job| is(job));
            *queue = stay;
            taken.extend::<VecDeque<Job>>(out);
        }
        taken
    }
}

/// What waits for one destination.
#[derive(Default)]
struct Lane {
    ready: Ready,
    later: BTreeMap<(Instant, Unid), Job>,
    working: usize,
    /// Attempts in a row at which the destination could not be reached.
    failures: u32,
    closed_until: Option<Instant>,
    last_error: Option<String>,
    /// When it was served last, as a number of the takes.
    served: u64,
    /// Messages were left in mail.box.
    overflow: bool,
}

impl Lane {
    fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }

    fn is_closed(&self, now: Instant) -> bool {
        self.closed_until.is_some_and(|until| until > now)
    }

    /// Messages whose wait is over become ready.
    fn wake(&mut self, now: Instant) {
        while let Some(first) = self.later.first_entry() {
            if first.key().0 > now {
                break;
            }
            self.ready.push(first.remove());
        }
    }

    fn may_serve(&self, now: Instant, each: usize) -> bool {
        // One try tells whether a destination is back.
        let most = if self.failures > 0 { 1 } else { each };
        !self.ready.is_empty() && self.working < most && !self.is_closed(now)
    }

    /// When there is something to do that is not to be done now.
    fn next_due(&self, now: Instant) -> Option<Instant> {
        let closed = self.closed_until.filter(|until| *until > now && !self.ready.is_empty());
        closed.or_else(|| self.later.first_key_value().map(|((due, _), _)| *due))
    }
}

/// The destinations.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Arc<str>, Lane>,
    /// Closed before a restart, and no mail for them yet.
    kept: BTreeMap<Arc<str>, Lane>,
    served: u64,
    /// Most threads at work for one destination.
    pub each: usize,
}

impl Lanes {
    /// Queues a message, not before `due`; false when the lane is full.
    pub(crate) fn push(&mut self, to: &Arc<str>, job: Job, due: Option<Instant>) -> bool {
        let kept = &mut self.kept;
        let lane = self.lanes.entry(to.clone());
        let lane = lane.or_insert_with(|| kept.remove(to).unwrap_or_default());
        if lane.len() >= LANE_MAX {
            lane.overflow = true;
            return false;
        }
        match due {
            Some(due) => {
                lane.later.insert((due, job.unid), job);
            }
            None => lane.ready.push(job),
        }
        true
    }

    /// The next message: for the destination `held` when there is one, else for the one that was
    /// served longest ago.
    pub(crate) fn take(&mut self, held: Option<&str>, now: Instant) -> Option<(Arc<str>, Job)> {
        let each = self.each;
        for lane in self.lanes.values_mut() {
            lane.wake(now);
        }
        let serves = |name: &Arc<str>| self.lanes.get(name).is_some_and(|l| l.may_serve(now, each));
        let held = held.and_then(|held| self.lanes.get_key_value(held)).map(|(name, _)| name);
        let name = match held.filter(|held| serves(held)) {
            Some(held) => held.clone(),
            None => {
                let open = self.lanes.iter().filter(|(_, lane)| lane.may_serve(now, each));
                open.min_by_key(|(_, lane)| lane.served)?.0.clone()
            }
        };
        self.served += 1;
        let lane = self.lanes.get_mut(&name)?;
        lane.served = self.served;
        lane.working += 1;
        let job = lane.ready.pop()?;
        Some((name, job))
    }

    /// When a lane opens or a wait is over.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.lanes.values().filter_map(|lane| lane.next_due(now)).min()
    }

    /// Work on a message for this destination ended; true when messages that were left in
    /// mail.box have room now.
    pub(crate) fn ended(&mut self, name: &str) -> bool {
        let Some(lane) = self.lanes.get_mut(name) else { return false };
        lane.working = lane.working.saturating_sub(1);
        let room = lane.overflow && lane.len() <= LANE_MAX / 2;
        lane.overflow &= !room;
        if lane.len() == 0 && lane.working == 0 && lane.failures == 0 {
            self.lanes.remove(name);
        }
        room
    }

    /// The destination was reached; whether it could not before.
    pub(crate) fn reached(&mut self, name: &str) -> bool {
        let Some(lane) = self.lanes.get_mut(name) else { return false };
        lane.closed_until = None;
        lane.last_error = None;
        std::mem::take(&mut lane.failures) > 0
    }

    /// The destinations that are left alone.
    pub(crate) fn lockouts(&self, now: Instant) -> Vec<Lockout> {
        let row = |(to, lane): (&Arc<str>, &Lane)| {
            let left = lane.closed_until?.checked_duration_since(now)?;
            let error = lane.last_error.clone().unwrap_or_default();
            Some(Lockout { to: to.clone(), failures: lane.failures, left, error })
        };
        self.lanes.iter().chain(&self.kept).filter_map(row).collect()
    }

    /// Leaves these alone as soon as there is mail for them.
    pub(crate) fn restore(&mut self, lockouts: Vec<Lockout>, now: Instant) {
        let lane = |lockout: Lockout| {
            let lane = Lane {
                failures: lockout.failures,
                closed_until: now.checked_add(lockout.left),
                last_error: Some(lockout.error),
                ..Lane::default()
            };
            (lockout.to, lane)
        };
        self.kept = lockouts.into_iter().map(lane).collect();
    }

    /// The destination could not be reached: it is left alone for what `wait` says of the number
    /// of failures. `job` is the first at the next try.
    pub(crate) fn failed(
        &mut self,
        name: &Arc<str>,
        job: Job,
        error: &str,
        wait: impl Fn(u32) -> Duration,
    ) {
        let lane = self.lanes.entry(name.clone()).or_default();
        lane.failures = lane.failures.saturating_add(1);
        lane.closed_until = Instant::now().checked_add(wait(lane.failures));
        lane.last_error = Some(error.to_owned());
        lane.ready.push_first(job);
    }

    /// Messages of a destination that are so old that somebody has to be told.
    pub(crate) fn overdue(&mut self, name: &str, now_s: i64) -> Vec<Job> {
        let Some(lane) = self.lanes.get_mut(name) else { return Vec::new() };
        let cause = lane.last_error.clone().unwrap_or_default();
        let mut jobs = lane.ready.take_if(|job| job.look_s <= now_s);
        for job in &mut jobs {
            job.swept = Some(cause.clone());
        }
        jobs
    }

    /// Takes a message out wherever it waits.
    pub(crate) fn remove(&mut self, unid: &Unid) -> Option<Job> {
        self.lanes.values_mut().find_map(|lane| {
            if let Some(job) = lane.ready.remove(unid) {
                return Some(job);
            }
            let key = *lane.later.keys().find(|(_, waiting)| waiting == unid)?;
            lane.later.remove(&key)
        })
    }

    /// Takes everything out: where it goes is to be asked anew.
    pub(crate) fn drain(&mut self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for lane in self.lanes.values_mut() {
            jobs.extend(lane.ready.take_if(|_| true));
            jobs.extend(std::mem::take(&mut lane.later).into_values());
        }
        self.lanes.retain(|_, lane| lane.working > 0);
        jobs
    }

    /// Opens a destination (all without a name) now; how many messages wait there.
    pub(crate) fn open_now(&mut self, name: Option<&str>) -> usize {
        let mut count = 0;
        let meant = |lane: &Arc<str>| name.is_none_or(|name| name.eq_ignore_ascii_case(lane));
        for (_, lane) in self.lanes.iter_mut().filter(|(lane, _)| meant(lane)) {
            lane.closed_until = None;
            for job in std::mem::take(&mut lane.later).into_values() {
                lane.ready.push(job);
            }
            count += lane.ready.len();
        }
        count
    }

    pub(crate) fn working(&self) -> usize {
        self.lanes.values().map(|lane| lane.working).sum()
    }

    /// Nothing is worked on, and nothing that is ready may be taken.
    pub(crate) fn is_quiet(&self, now: Instant) -> bool {
        let busy =
            |lane: &Lane| lane.working > 0 || (!lane.ready.is_empty() && !lane.is_closed(now));
        !self.lanes.values().any(busy)
    }

    /// Why a message waits.
    pub(crate) fn cause(&self, unid: &Unid) -> Option<String> {
        for lane in self.lanes.values() {
            let mut later = lane.later.values();
            if let Some(job) = later.find(|job| job.unid == *unid) {
                return job.cause.clone().or_else(|| lane.last_error.clone());
            }
            let mut ready = lane.ready.by_priority.iter().flatten();
            if let Some(job) = ready.find(|job| job.unid == *unid) {
                return lane.last_error.clone().or_else(|| job.cause.clone());
            }
        }
        None
    }

    pub(crate) fn rows(&self, now: Instant) -> Vec<TransferRow> {
        let row = |(name, lane): (&Arc<str>, &Lane)| TransferRow {
            destination: name.to_string(),
            waiting: lane.len(),
            working: lane.working,
            attempts_failed: lane.failures,
            next_try_s: lane.next_due(now).map(|due| due.saturating_duration_since(now).as_secs()),
            last_error: lane.last_error.clone(),
        };
        let told = |lane: &Lane| lane.len() > 0 || lane.working > 0 || lane.failures > 0;
        self.lanes.iter().filter(|(_, lane)| told(lane)).map(row).collect()
    }
}
