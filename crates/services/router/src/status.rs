//! What the console and the statistics see of the router.

use std::sync::atomic::{AtomicU64, Ordering};

use note::TimeDate;

use crate::envelope::QueueId;

/// State of a message in mail.box (item RoutingState).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueState {
    /// Waits for dispatch or a retry.
    Waiting,
    /// Kept back; only a release takes it up again.
    Held,
    /// Could not be delivered nor reported.
    Dead,
}

/// One message in mail.box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Its queue id.
    pub id: QueueId,
    /// Path of the mail.box it lies in.
    pub mailbox: String,
    /// Waiting, held or dead.
    pub state: QueueState,
    /// Envelope sender; empty for the null sender.
    pub sender: String,
    /// Recipients that are not done.
    pub recipients: Vec<String>,
    /// Subject, decoded.
    pub subject: String,
    /// Bytes on the wire.
    pub size: u64,
    /// When it was deposited.
    pub date: TimeDate,
    /// Why it waits, is held or dead.
    pub cause: Option<String>,
}

/// One statistic: name as in `show stat`, value.
pub type StatRow = (&'static str, f64);

/// Figures of the router; counters run since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RouterStats {
    /// Messages ready, in work or waiting for a retry.
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
    /// Number of mail.box databases.
    pub mailboxes: u64,
}

impl RouterStats {
    /// The rows of `show stat mail`.
    pub fn rows(&self) -> Vec<StatRow> {
        let mean = if self.delivered == 0 { 0.0 } else { self.deliver_s / self.delivered as f64 };
        vec![
            ("Mail.Waiting", self.waiting as f64),
            ("Mail.Dead", self.dead as f64),
            ("Mail.Hold", self.held as f64),
            ("Mail.TotalPending", (self.waiting + self.held) as f64),
            ("Mail.Deposited", self.deposits as f64),
            ("Mail.Delivered", self.delivered as f64),
            ("Mail.TotalRouted", self.routed as f64),
            ("Mail.TotalFailures", self.failures as f64),
            ("Mail.Reports", self.reports as f64),
            ("Mail.AverageDeliverTime", mean),
            ("Mail.MaximumDeliverTime", self.deliver_s_max),
            ("Mail.DeliveryThreads.Max", self.threads as f64),
            ("Mail.DeliveryThreads.Active", self.threads_active as f64),
            ("Mail.Mailbox.Accesses", self.accesses as f64),
            ("Mail.Mailbox.AccessConflicts", self.conflicts as f64),
            ("Server.Mailboxes", self.mailboxes as f64),
        ]
    }
}

/// Counters that threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    deposits: AtomicU64,
    delivered: AtomicU64,
    routed: AtomicU64,
    failures: AtomicU64,
    reports: AtomicU64,
    deliver_micros: AtomicU64,
    deliver_micros_max: AtomicU64,
}

impl Counters {
    pub(crate) fn deposited(&self) {
        self.deposits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn routed(&self) {
        self.routed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn reported(&self) {
        self.reports.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, recipients: u64) {
        self.failures.fetch_add(recipients, Ordering::Relaxed);
    }

    /// Deliveries, each this long after the deposit.
    pub(crate) fn delivered(&self, count: u64, age_micros: i64) {
        let age = u64::try_from(age_micros).unwrap_or(0);
        self.delivered.fetch_add(count, Ordering::Relaxed);
        self.deliver_micros.fetch_add(age.saturating_mul(count), Ordering::Relaxed);
        self.deliver_micros_max.fetch_max(age, Ordering::Relaxed);
    }

    pub(crate) fn fill(&self, stats: &mut RouterStats) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.deposits = get(&self.deposits);
        stats.delivered = get(&self.delivered);
        stats.routed = get(&self.routed);
        stats.failures = get(&self.failures);
        stats.reports = get(&self.reports);
        stats.deliver_s = get(&self.deliver_micros) as f64 / 1e6;
        stats.deliver_s_max = get(&self.deliver_micros_max) as f64 / 1e6;
    }
}
