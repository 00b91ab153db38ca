//! How many share a sync, and whether it is worth while to wait for more of them.

use std::time::Duration;

use crate::sync::Instant;

/// Parts of one in the running figure; also how slowly it falls.
const PARTS: u32 = 16;
/// More than this many are not counted.
const COUNT_MAX: u32 = 4_096;

/// What is known of those who wait for syncs.
///
/// A sync that one waits for is held back for a moment when lately several shared one: if they
/// come, a sync is spared. As soon as as many wait as lately did, nobody else is waited for. So
/// somebody who works alone, each request after the answer to the one before, is never held back.
pub(crate) struct Company {
    window: Duration,
    /// The most that lately shared a sync, times [`PARTS`].
    lately: u32,
    /// Since when somebody waits whom no sync that is under way covers.
    since: Option<Instant>,
    /// The writer sleeps until the window ends: it need not be told of each who comes.
    pub is_gathering: bool,
}

impl Company {
    pub fn new(gather_ms: u64) -> Company {
        let window = Duration::from_millis(gather_ms);
        Company { window, lately: PARTS, since: None, is_gathering: false }
    }

    /// How many share a sync when it goes well.
    fn expected(&self) -> usize {
        ((self.lately + PARTS / 2) / PARTS) as usize
    }

    /// Somebody begins to wait.
    pub fn came(&mut self) {
        if self.since.is_none() && !self.window.is_zero() {
            self.since = Some(Instant::now());
        }
    }

    /// Whether there is no point in waiting for more than those who do.
    pub fn is_complete(&self, waiting: usize) -> bool {
        self.window.is_zero() || waiting >= self.expected()
    }

    /// Until when the sync may be held back for others; `None` when it is due.
    pub fn open_until(&mut self, waiting: usize) -> Option<Instant> {
        if self.is_complete(waiting) {
            return None;
        }
        let now = Instant::now();
        let end = *self.since.get_or_insert(now) + self.window;
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

#[cfg(all(test, not(feature = "schedules")))]
mod tests {
    use super::*;

    /// A window that does not end within a test.
    fn company() -> Company {
        Company::new(3_600_000)
    }

    #[test]
    fn one_alone_is_never_held_back() {
        let mut company = company();
        for _ in 0..100 {
            company.came();
            assert!(company.open_until(1).is_none());
            company.leaves(1);
        }
    }

    #[test]
    fn as_many_are_waited_for_as_lately_shared_a_sync() {
        let mut company = company();
        company.leaves(3);
        for _ in 0..100 {
            company.came();
            assert!(company.open_until(1).is_some());
            assert!(company.open_until(2).is_some());
            assert!(company.open_until(3).is_none());
            company.leaves(3);
        }
    }

    #[test]
    fn others_who_no_longer_come_are_forgotten() {
        let mut company = company();
        company.leaves(50);
        let mut held_back = 0;
        while company.open_until(1).is_some() {
            company.leaves(1);
            held_back += 1;
        }
        assert!((20..80).contains(&held_back), "{held_back}");
    }

    #[test]
    fn a_window_ends_and_can_be_turned_off() {
        let mut company = Company::new(1);
        company.leaves(9);
        company.came();
        while company.open_until(1).is_some() {
            std::thread::yield_now();
        }
        company.leaves(2);
        assert!(company.open_until(1).is_some());
        let mut off = Company::new(0);
        off.leaves(9);
        off.came();
        assert!(off.open_until(1).is_none());
    }
}
