//! How far long work is: told to whoever asked for it, who may stop it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Least time between two steps that are passed on.
const EVERY: Duration = Duration::from_millis(200);
/// Longest name of what is being done, in characters.
const WHAT_CHARS_MAX: usize = 200;

/// Who is told how far the work is.
pub trait Progress {
    /// `done` of `total` (0: nobody knows) of `what` are done. `Break` asks the work to stop in
    /// order and to tell what it did so far.
    fn step(&mut self, what: &str, done: u64, total: u64) -> ControlFlow<()>;

    /// Whether the work shall stop, asked while there is nothing new to tell.
    fn look(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody listens, and nobody stops the work.
#[derive(Debug, Default)]
pub struct Unheard;

impl Progress for Unheard {
    fn step(&mut self, _what: &str, _done: u64, _total: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// One thing told.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Step {
    /// What is being done, such as the path of a database.
    pub what: String,
    /// How much is done.
    pub done: u64,
    /// How much there is; 0 when nobody knows.
    pub total: u64,
}

impl Step {
    /// A step, its name cut to a sensible length.
    pub fn new(what: &str, done: u64, total: u64) -> Self {
        Self { what: what.chars().take(WHAT_CHARS_MAX).collect(), done, total }
    }
}

/// Lets a step through now and then, so that work may tell each one.
#[derive(Debug, Default)]
pub struct Pace {
    last: Option<Instant>,
}

impl Pace {
    /// Whether enough time has gone by since the last step that was let through.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) >= EVERY);
        if due {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_lets_the_first_step_through_and_holds_the_next_back() {
        let mut pace = Pace::default();
        assert!(pace.is_due());
        assert!(!pace.is_due());
        pace.last = Instant::now().checked_sub(EVERY);
        assert!(pace.is_due());
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(Step::new(&"ä".repeat(1000), 1, 2).what.chars().count(), WHAT_CHARS_MAX);
    }
}
