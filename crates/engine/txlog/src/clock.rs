//! Wall time, behind a trait so that tests can set it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use note::TimeDate;

/// Tells the wall time.
pub trait Clock: Send + Sync + 'static {
    /// The time now, in microseconds since 1970-01-01T00:00:00Z.
    fn now(&self) -> TimeDate;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> TimeDate {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
            }
        };
        TimeDate(micros)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: TimeDate) -> ManualClock {
        ManualClock(AtomicI64::new(now.0))
    }

    /// Shows `now` from here on.
    pub fn set(&self, now: TimeDate) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    /// Moves the clock by `micros` microseconds.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> TimeDate {
        TimeDate(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_moves_when_told() {
        let clock = ManualClock::new(TimeDate(5));
        clock.advance(10);
        assert_eq!(clock.now(), TimeDate(15));
        clock.set(TimeDate(-1));
        assert_eq!(clock.now(), TimeDate(-1));
    }

    #[test]
    fn system_clock_is_past_2020() {
        assert!(SystemClock.now().0 > 1_577_836_800_000_000);
    }
}
