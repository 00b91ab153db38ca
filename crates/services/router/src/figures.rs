//! Statistics of the router under the names of the field.

use std::sync::atomic::{AtomicU64, Ordering};

use note::TimeDate;

/// One statistic: name as in `show stat`, value.
pub type StatRow = (&'static str, f64);

/// Sizes that messages are counted by: the first bytes that are too many for a class.
const SIZES: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
const DELIVERED_SIZE: [&str; 7] = [
    "Mail.DeliveredSize.Under_1KB",
    "Mail.DeliveredSize.1KB_to_10KB",
    "Mail.DeliveredSize.10KB_to_100KB",
    "Mail.DeliveredSize.100KB_to_1MB",
    "Mail.DeliveredSize.1MB_to_10MB",
    "Mail.DeliveredSize.10MB_to_100MB",
    "Mail.DeliveredSize.Over_100MB",
];
const TRANSFERRED_SIZE: [&str; 7] = [
    "Mail.TransferredSize.Under_1KB",
    "Mail.TransferredSize.1KB_to_10KB",
    "Mail.TransferredSize.10KB_to_100KB",
    "Mail.TransferredSize.100KB_to_1MB",
    "Mail.TransferredSize.1MB_to_10MB",
    "Mail.TransferredSize.10MB_to_100MB",
    "Mail.TransferredSize.Over_100MB",
];

/// Figures of the router; counters run since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RouterStats {
    /// Messages ready, in work or waiting for a retry or another host.
    pub waiting: u64,
    /// Dead messages.
    pub dead: u64,
    /// Held messages.
    pub held: u64,
    /// Deliveries into mail files.
    pub delivered: u64,
    /// Messages that left mail.box.
    pub routed: u64,
    /// Recipients that failed.
    pub failures: u64,
    /// Deposits.
    pub deposits: u64,
    /// Reports made.
    pub reports: u64,
    /// Recipients that other hosts took.
    pub transferred: u64,
    /// Tries at which a destination could not be reached.
    pub transfer_failures: u64,
    /// Bytes of messages, once for each recipient that other hosts took.
    pub transferred_bytes: u64,
    /// Bytes of messages, once for each delivery, and the largest one.
    pub delivered_bytes: u64,
    /// See `delivered_bytes`.
    pub delivered_bytes_max: u64,
    /// Deliveries and transfers by size.
    pub delivered_sizes: [u64; 7],
    /// See `delivered_sizes`.
    pub transferred_sizes: [u64; 7],
    /// Deliveries in the minute with the most of them, and in the one before this.
    pub delivered_peak: u64,
    /// See `delivered_peak`.
    pub delivered_rate: u64,
    /// Sum of the seconds between deposit and delivery.
    pub deliver_s: f64,
    /// The longest of them.
    pub deliver_s_max: f64,
    /// Writes into mail.box databases, and those that met another one.
    pub accesses: u64,
    /// See `accesses`.
    pub conflicts: u64,
    /// Delivery threads, and how many are at work.
    pub threads: u64,
    /// See `threads`.
    pub threads_active: u64,
    /// Transfer threads, and how many are at work.
    pub transfer_threads: u64,
    /// See `transfer_threads`.
    pub transfer_threads_active: u64,
    /// Messages that went into the journal.
    pub journaled: u64,
    /// Tries at which the journal did not take a message.
    pub journal_failures: u64,
    /// Messages that went on without being journaled.
    pub journal_passed: u64,
    /// Number of mail.box databases.
    pub mailboxes: u64,
}

fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

impl RouterStats {
    /// The rows of `show stat mail`.
    pub fn rows(&self) -> Vec<StatRow> {
        let mut rows = vec![
            ("Mail.Waiting", self.waiting as f64),
            ("Mail.Dead", self.dead as f64),
            ("Mail.Hold", self.held as f64),
            ("Mail.TotalPending", (self.waiting + self.held) as f64),
            ("Mail.Deposited", self.deposits as f64),
            ("Mail.Delivered", self.delivered as f64),
            ("Mail.TotalRouted", self.routed as f64),
            ("Mail.TotalFailures", self.failures as f64),
            ("Mail.Reports", self.reports as f64),
            ("Mail.Transferred", self.transferred as f64),
            ("Mail.Transferred.SMTP", self.transferred as f64),
            ("Mail.TransferFailures", self.transfer_failures as f64),
            ("Mail.TotalKBTransferred", self.transferred_bytes as f64 / 1024.0),
            ("Mail.AverageDeliverTime", mean(self.deliver_s, self.delivered)),
            ("Mail.MaximumDeliverTime", self.deliver_s_max),
            ("Mail.AverageSizeDelivered", mean(self.delivered_bytes as f64, self.delivered)),
            ("Mail.MaximumSizeDelivered", self.delivered_bytes_max as f64),
            ("Mail.PeakMessagesDelivered", self.delivered_peak as f64),
            ("Mail.CurrentMessageDeliveryRate", self.delivered_rate as f64),
            ("Mail.DeliveryThreads.Max", self.threads as f64),
            ("Mail.DeliveryThreads.Active", self.threads_active as f64),
            ("Mail.TransferThreads.Max", self.transfer_threads as f64),
            ("Mail.TransferThreads.Active", self.transfer_threads_active as f64),
            ("Mail.Journal.Messages", self.journaled as f64),
            ("Mail.Journal.Failures", self.journal_failures as f64),
            ("Mail.Journal.Passed", self.journal_passed as f64),
            ("Mail.Mailbox.Accesses", self.accesses as f64),
            ("Mail.Mailbox.AccessConflicts", self.conflicts as f64),
            ("Server.Mailboxes", self.mailboxes as f64),
        ];
        let sizes = |names: [&'static str; 7], counts: [u64; 7]| {
            names.into_iter().zip(counts).map(|(name, count)| (name, count as f64))
        };
        rows.extend(sizes(DELIVERED_SIZE, self.delivered_sizes));
        rows.extend(sizes(TRANSFERRED_SIZE, self.transferred_sizes));
        rows
    }
}

/// Events of this minute, of the one before, and the most of any.
#[derive(Debug, Default)]
struct PerMinute {
    /// The minute in the upper half, its count in the lower.
    now: AtomicU64,
    last: AtomicU64,
    peak: AtomicU64,
}

impl PerMinute {
    fn add(&self, minute: u64, count: u64) {
        let minute = minute & u64::from(u32::MAX);
        let next = |old: u64| {
            let kept = if old >> 32 == minute { old & u64::from(u32::MAX) } else { 0 };
            Some(minute << 32 | (kept + count).min(u64::from(u32::MAX)))
        };
        let old = self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let old = old.unwrap_or_default();
        let before = if old >> 32 == minute { old & u64::from(u32::MAX) } else { 0 };
        if old >> 32 != minute {
            self.last.store(old, Ordering::Relaxed);
        }
        self.peak.fetch_max(before + count, Ordering::Relaxed);
    }

    /// The count of the minute before `minute`.
    fn rate(&self, minute: u64) -> u64 {
        let wanted = minute.wrapping_sub(1) & u64::from(u32::MAX);
        let known = [self.now.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed)];
        let found = known.into_iter().find(|value| value >> 32 == wanted);
        found.map_or(0, |value| value & u64::from(u32::MAX))
    }
}

fn minute_of(now: TimeDate) -> u64 {
    now.unix_seconds().div_euclid(60).unsigned_abs()
}

/// Counters that threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    deposits: AtomicU64,
    delivered: AtomicU64,
    routed: AtomicU64,
    failures: AtomicU64,
    reports: AtomicU64,
    transferred: AtomicU64,
    transfer_failures: AtomicU64,
    transferred_bytes: AtomicU64,
    delivered_bytes: AtomicU64,
    delivered_bytes_max: AtomicU64,
    delivered_sizes: [AtomicU64; 7],
    transferred_sizes: [AtomicU64; 7],
    journaled: AtomicU64,
    journal_failures: AtomicU64,
    journal_passed: AtomicU64,
    deliver_micros: AtomicU64,
    deliver_micros_max: AtomicU64,
    per_minute: PerMinute,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn class_of(size: u64) -> usize {
    SIZES.iter().position(|&too_many| size < too_many).unwrap_or(SIZES.len())
}

impl Counters {
    pub(crate) fn deposited(&self) {
        add(&self.deposits, 1);
    }

    pub(crate) fn routed(&self) {
        add(&self.routed, 1);
    }

    pub(crate) fn reported(&self) {
        add(&self.reports, 1);
    }

    pub(crate) fn failed(&self, recipients: u64) {
        add(&self.failures, recipients);
    }

    pub(crate) fn transfer_failed(&self) {
        add(&self.transfer_failures, 1);
    }

    pub(crate) fn journaled(&self) {
        add(&self.journaled, 1);
    }

    pub(crate) fn journal_failed(&self) {
        add(&self.journal_failures, 1);
    }

    pub(crate) fn journal_passed(&self) {
        add(&self.journal_passed, 1);
    }

    /// Recipients of a message that another host took.
    pub(crate) fn transferred(&self, count: u64, size: u64) {
        add(&self.transferred, count);
        add(&self.transferred_bytes, size.saturating_mul(count));
        add(&self.transferred_sizes[class_of(size)], count);
    }

    /// Deliveries of a message, each this long after the deposit.
    pub(crate) fn delivered(&self, count: u64, now: TimeDate, age_micros: i64, size: u64) {
        let age = u64::try_from(age_micros).unwrap_or(0);
        add(&self.delivered, count);
        add(&self.delivered_bytes, size.saturating_mul(count));
        add(&self.delivered_sizes[class_of(size)], count);
        add(&self.deliver_micros, age.saturating_mul(count));
        self.delivered_bytes_max.fetch_max(size, Ordering::Relaxed);
        self.deliver_micros_max.fetch_max(age, Ordering::Relaxed);
        self.per_minute.add(minute_of(now), count);
    }

    pub(crate) fn fill(&self, stats: &mut RouterStats, now: TimeDate) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.deposits = get(&self.deposits);
        stats.delivered = get(&self.delivered);
        stats.routed = get(&self.routed);
        stats.failures = get(&self.failures);
        stats.reports = get(&self.reports);
        stats.transferred = get(&self.transferred);
        stats.transfer_failures = get(&self.transfer_failures);
        stats.journaled = get(&self.journaled);
        stats.journal_failures = get(&self.journal_failures);
        stats.journal_passed = get(&self.journal_passed);
        stats.transferred_bytes = get(&self.transferred_bytes);
        stats.delivered_bytes = get(&self.delivered_bytes);
        stats.delivered_bytes_max = get(&self.delivered_bytes_max);
        stats.delivered_sizes = std::array::from_fn(|at| get(&self.delivered_sizes[at]));
        stats.transferred_sizes = std::array::from_fn(|at| get(&self.transferred_sizes[at]));
        stats.delivered_peak = get(&self.per_minute.peak);
        stats.delivered_rate = self.per_minute.rate(minute_of(now));
        stats.deliver_s = get(&self.deliver_micros) as f64 / 1e6;
        stats.deliver_s_max = get(&self.deliver_micros_max) as f64 / 1e6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_classes() {
        let cases = [(0, 0), (999, 0), (1_000, 1), (9_999, 1), (100_000_000, 6), (u64::MAX, 6)];
        for (size, class) in cases {
            assert_eq!(class_of(size), class, "{size}");
        }
    }

    #[test]
    fn minutes_are_counted_apart() {
        let per_minute = PerMinute::default();
        for (minute, count) in [(5, 2), (5, 3), (6, 1), (9, 4)] {
            per_minute.add(minute, count);
        }
        assert_eq!(per_minute.peak.load(Ordering::Relaxed), 5);
        assert_eq!((per_minute.rate(10), per_minute.rate(7), per_minute.rate(12)), (4, 1, 0));
    }
}
