//! What happened in each of the last minutes, and the peaks.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use note::TimeDate;

/// Length of a minute.
const MINUTE: Duration = Duration::from_secs(60);
/// Minutes that are remembered.
const MINUTES_MAX: usize = 60;

/// What is counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub transactions: u64,
    pub delivered: u64,
    /// Users now.
    pub users: u64,
}

/// One minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minute {
    /// When it ended.
    pub at: TimeDate,
    pub transactions: u64,
    pub users: u64,
    pub delivered: u64,
}

/// The greatest number so far, and when it was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peak {
    pub number: u64,
    pub at: Option<TimeDate>,
}

impl Peak {
    fn raise(&mut self, number: u64, at: TimeDate) {
        if number > self.number {
            *self = Self { number, at: Some(at) };
        }
    }
}

/// The minutes of a running server.
#[derive(Debug, Default)]
pub(crate) struct Minutes {
    begun: Option<(Instant, Counted)>,
    list: VecDeque<Minute>,
    /// Most users at once.
    pub users: Peak,
    /// Most transactions in a minute.
    pub transactions: Peak,
    /// Most messages delivered in a minute.
    pub delivered: Peak,
}

impl Minutes {
    /// Looks at the counters; a minute is entered when it is over.
    pub(crate) fn look(&mut self, counted: Counted, now: Instant, at: TimeDate) {
        self.users.raise(counted.users, at);
        let Some((begun, before)) = self.begun else {
            self.begun = Some((now, counted));
            return;
        };
        if now.duration_since(begun) < MINUTE {
            return;
        }
        let minute = Minute {
            at,
            transactions: counted.transactions.saturating_sub(before.transactions),
            users: counted.users,
            delivered: counted.delivered.saturating_sub(before.delivered),
        };
        self.transactions.raise(minute.transactions, at);
        self.delivered.raise(minute.delivered, at);
        if self.list.len() == MINUTES_MAX {
            self.list.pop_front();
        }
        self.list.push_back(minute);
        self.begun = Some((now, counted));
    }

    /// The minutes that are remembered, oldest first.
    pub(crate) fn last(&self) -> impl DoubleEndedIterator<Item = &Minute> {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_entered_when_they_are_over() {
        let mut minutes = Minutes::default();
        let begun = Instant::now();
        let counts = [(0, 10, 1), (30, 40, 5), (60, 70, 2), (119, 90, 2), (121, 100, 0)];
        for (second, transactions, users) in counts {
            let counted = Counted { transactions, delivered: transactions / 10, users };
            let now = begun + Duration::from_secs(second);
            minutes.look(counted, now, TimeDate(second as i64 * 1_000_000));
        }
        let list: Vec<(u64, u64)> =
            minutes.last().map(|minute| (minute.transactions, minute.users)).collect();
        assert_eq!(list, [(60, 2), (30, 0)]);
        assert_eq!(minutes.users, Peak { number: 5, at: Some(TimeDate(30_000_000)) });
        assert_eq!(minutes.transactions.number, 60);
        assert_eq!(minutes.delivered.number, 6);
    }

    #[test]
    fn old_minutes_are_forgotten() {
        let mut minutes = Minutes::default();
        let begun = Instant::now();
        for minute in 0..=200_u64 {
            let now = begun + Duration::from_secs(60 * minute);
            minutes.look(Counted::default(), now, TimeDate(0));
        }
        assert_eq!(minutes.last().count(), MINUTES_MAX);
    }
}
