//! How long actions took: histograms in shards, so that people on different threads seldom meet.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

/// Shards; a thread keeps to one of them.
const SHARDS: usize = 8;
/// Digits of a time that are kept, for whole runs.
const DIGITS: u8 = 3;
/// Digits of a time that are kept, for one second of a run.
const SECOND_DIGITS: u8 = 2;
/// The longest time that is told apart, in µs: longer ones count as this.
pub const TOOK_US_MAX: u64 = 3_600_000_000;

/// Times in µs.
pub(super) type Times = Histogram<u32>;

/// What was recorded of one action.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Of those that succeeded.
    pub(super) times: Times,
    /// The exact sum of them, in µs.
    pub(super) sum_us: u64,
    /// How many failed.
    pub(super) errors: u64,
}

/// What was recorded in one second, whatever the action.
pub(super) type Beat = Record;

#[derive(Debug)]
struct Shard {
    actions: Vec<Record>,
    lag: Record,
    beat: Beat,
}

/// All shards.
#[derive(Debug)]
pub(super) struct Recorder {
    shards: Vec<Mutex<Shard>>,
}

impl Record {
    pub(super) fn new() -> Self {
        Self { times: times(DIGITS), sum_us: 0, errors: 0 }
    }

    pub(super) fn beat() -> Self {
        Self { times: times(SECOND_DIGITS), sum_us: 0, errors: 0 }
    }

    pub(super) fn add(&mut self, took: Duration, ok: bool) {
        if !ok {
            self.errors += 1;
            return;
        }
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).clamp(1, TOOK_US_MAX);
        let recorded = self.times.record(us);
        debug_assert!(recorded.is_ok(), "the histogram grows up to u64::MAX");
        self.sum_us = self.sum_us.saturating_add(us);
    }

    pub(super) fn join(&mut self, other: &Self) {
        // Both have the same digits and grow as needed.
        let joined = self.times.add(&other.times);
        debug_assert!(joined.is_ok());
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.errors += other.errors;
    }

    /// The mean in ms; 0 of nothing.
    pub(super) fn mean_ms(&self) -> f64 {
        match self.times.len() {
            0 => 0.0,
            count => self.sum_us as f64 / count as f64 / 1000.0,
        }
    }

    /// The time that this share of them did not pass, in ms.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        self.times.value_at_quantile(share) as f64 / 1000.0
    }

    /// The longest, in ms.
    pub(super) fn max_ms(&self) -> f64 {
        self.times.max() as f64 / 1000.0
    }
}

/// A histogram from 1 µs to [`TOOK_US_MAX`] that takes memory as it needs it.
fn times(digits: u8) -> Times {
    let mut times = Histogram::new_with_max(2, digits)
        .unwrap_or_else(|_| unreachable!("2 and {digits} are values the histogram takes"));
    times.auto(true);
    times
}

impl Recorder {
    pub(super) fn new(actions: usize) -> Self {
        let shard = || {
            let actions = vec![Record::new(); actions];
            Mutex::new(Shard { actions, lag: Record::new(), beat: Record::beat() })
        };
        Self { shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    /// One action; without its index when it does not belong to the steady window.
    pub(super) fn action(&self, index: Option<usize>, took: Duration, ok: bool) {
        let mut shard = self.shard();
        shard.beat.add(took, ok);
        if let Some(record) = index.and_then(|index| shard.actions.get_mut(index)) {
            record.add(took, ok);
        }
    }

    pub(super) fn lag(&self, lag: Duration) {
        self.shard().lag.add(lag, true);
    }

    /// What came since the last call.
    pub(super) fn take_beat(&self) -> Beat {
        let mut sum = Record::beat();
        for shard in &self.shards {
            let mut shard = locked(shard);
            sum.join(&shard.beat);
            shard.beat.times.reset();
            (shard.beat.sum_us, shard.beat.errors) = (0, 0);
        }
        sum
    }

    /// One record for each action.
    pub(super) fn actions(&self) -> Vec<Record> {
        let mut sums: Vec<Record> = Vec::new();
        for shard in &self.shards {
            let shard = locked(shard);
            sums.resize_with(shard.actions.len(), Record::new);
            sums.iter_mut().zip(&shard.actions).for_each(|(sum, one)| sum.join(one));
        }
        sums
    }

    pub(super) fn lags(&self) -> Record {
        let mut sum = Record::new();
        self.shards.iter().for_each(|shard| sum.join(&locked(shard).lag));
        sum
    }

    fn shard(&self) -> MutexGuard<'_, Shard> {
        locked(&self.shards[own_shard() % self.shards.len()])
    }
}

/// The shard of this thread.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| {
        own.get().unwrap_or_else(|| {
            let new = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            own.set(Some(new));
            new
        })
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
