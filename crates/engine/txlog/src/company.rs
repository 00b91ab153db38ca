//! How many share a sync, and whether it is worth while to wait for more of them.

use std::time::Duration;

use crate::LogOptions;
use crate::sync::Instant;

/// Parts of one in the running figure; also how slowly it falls.
const PARTS: u32 = 16;
/// More than this many are not counted.
const COUNT_MAX: u32 = 4_096;
/// Those who came are counted over so long.
const SPAN: Duration = Duration::from_secs(2);

/// What is known of those who wait for syncs.
///
/// A sync that one waits for is held back for a moment when so many are wanted that each by itself
/// would be more of them than the log shall make, and lately several shared one: if they come, a
/// sync is spared. Up to that rate each begins at once. Above it the first who waits is held back
/// for just as long as makes the rate hold: the next comes one mean gap after a sync at the
/// latest, so the wait is what the gap lacks of the time between two syncs.
///
/// As soon as as many wait as lately did, nobody else is waited for. So somebody who works alone,
/// each request after the answer to the one before, is never held back.
#[derive(Default)]
pub(crate) struct Company {
    /// The longest wait.
    window: Duration,
    /// Time between two syncs at the rate from which on they are held back; `None`: always.
    cycle: Option<Duration>,
    pace: Pace,
    /// The most that lately shared a sync, times [`PARTS`].
    lately: u32,
    /// Since when somebody waits whom no sync that is under way covers.
    since: Option<Instant>,
    /// The writer sleeps until the window ends: it need not be told of each who comes.
    pub is_gathering: bool,
}

impl Company {
    pub fn new(options: &LogOptions) -> Company {
        let above = u32::try_from(options.gather_above_per_s).unwrap_or(u32::MAX);
        Company {
            window: Duration::from_millis(options.gather_ms),
            cycle: Duration::from_secs(1).checked_div(above),
            pace: Pace::default(),
            lately: PARTS,
            since: None,
            is_gathering: false,
        }
    }

    /// How many share a sync when it goes well.
    fn expected(&self) -> usize {
        ((self.lately + PARTS / 2) / PARTS) as usize
    }

    /// How long a sync is held back at the rate of these seconds.
    fn wait(&mut self, now: Instant) -> Duration {
        let Some(cycle) = self.cycle else { return self.window };
        let gap = self.pace.gap(now).unwrap_or(cycle);
        cycle.saturating_sub(gap).min(self.window)
    }

    /// Somebody begins to wait, besides `others` whose sync is still to come or under way.
    pub fn came(&mut self, others: usize, now: Instant) {
        self.pace.came(now);
        if others > 0 {
            self.lately = self.lately.max(2 * PARTS);
        }
        self.since.get_or_insert(now);
    }

    /// Whether there is no point in waiting for more than those who do.
    pub fn is_complete(&self, waiting: usize) -> bool {
        self.window.is_zero() || waiting >= self.expected()
    }

    /// Until when the sync may be held back for others; `None` when it is due.
    pub fn open_until(&mut self, waiting: usize, now: Instant) -> Option<Instant> {
        if self.is_complete(waiting) {
            return None;
        }
        let end = *self.since.get_or_insert(now) + self.wait(now);
        (end > now).then_some(end)
    }

    /// A sync begins that covers those who wait.
    pub fn leaves(&mut self, waiting: usize) {
        self.since = None;
        let count = u32::try_from(waiting).unwrap_or(COUNT_MAX).min(COUNT_MAX) * PARTS;
        let fall = self.lately.saturating_sub(count).div_ceil(PARTS);
        self.lately = count.max(self.lately - fall).max(PARTS);
    }
}

/// How many came within the last [`SPAN`]: those of the span that has begun, and of the one before
/// as large a part as lies within.
#[derive(Default)]
struct Pace {
    began: Option<Instant>,
    before: u32,
    count: u32,
}

impl Pace {
    fn came(&mut self, now: Instant) {
        self.turn(now);
        self.count = self.count.saturating_add(1);
    }

    /// Begins another span when one has passed; tells how much of the present one has.
    fn turn(&mut self, now: Instant) -> Duration {
        let began = *self.began.get_or_insert(now);
        let passed = now.saturating_duration_since(began);
        if passed < SPAN {
            return passed;
        }
        let is_next = passed < 2 * SPAN;
        self.before = if is_next { self.count } else { 0 };
        self.count = 0;
        let began = if is_next { began + SPAN } else { now };
        self.began = Some(began);
        now.saturating_duration_since(began)
    }

    /// The mean time between two who came; `None` when none did.
    fn gap(&mut self, now: Instant) -> Option<Duration> {
        let span = SPAN.as_micros() as u64;
        let left = span - self.turn(now).as_micros() as u64;
        let came = u64::from(self.before) * left + u64::from(self.count) * span;
        let gap = (span * span).checked_div(came)?;
        Some(Duration::from_micros(gap))
    }
}

#[cfg(all(test, not(feature = "schedules")))]
mod tests;
