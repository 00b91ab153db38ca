//! What an administrator may choose about the router.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use note::TimeDate;

use crate::courier::Courier;
use crate::journal::JournalOptions;

/// Most mail.box databases.
pub const MAILBOXES_MAX: usize = 10;
/// Most delivery threads.
pub const DELIVERY_THREADS_MAX: usize = 25;
/// Most transfer threads.
pub const TRANSFER_THREADS_MAX: usize = 25;

const HOUR_S: i64 = 3_600;
const DAY_MINUTES: u16 = 24 * 60;

/// What becomes of mail for a mail file whose quota is used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverQuota {
    /// It goes back to the sender (status 5.2.2).
    #[default]
    Bounce,
    /// It waits in mail.box, as for a mail file in trouble, until there is room or it expires.
    Hold,
}

/// A time of every day, in UTC, from its first minute up to (not with) its last; it may span
/// midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayWindow {
    from: u16,
    to: u16,
}

impl DayWindow {
    /// Seconds until the window is open, 0 when it is.
    pub fn opens_in(self, now: TimeDate) -> i64 {
        let second = now.unix_seconds().rem_euclid(i64::from(DAY_MINUTES) * 60);
        let (from, to) = (i64::from(self.from) * 60, i64::from(self.to) * 60);
        let open = match from <= to {
            true => (from..to).contains(&second),
            false => second >= from || second < to,
        };
        if open { 0 } else { (from - second).rem_euclid(i64::from(DAY_MINUTES) * 60) }
    }
}

impl FromStr for DayWindow {
    type Err = String;
    /// `HH:MM-HH:MM`; a window of no length is none.
    fn from_str(text: &str) -> Result<DayWindow, String> {
        let minute = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let ends = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        match ends {
            Some((from, to)) if from != to => Ok(DayWindow { from, to }),
            _ => Err(format!("{text:?} is not a time of day like 00:00-06:00")),
        }
    }
}

impl fmt::Display for DayWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from, self.to);
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

/// How a router works. All of it can be changed while it runs.
#[derive(Debug, Clone)]
pub struct RouterOptions {
    /// Number of mail.box databases that take new mail, 1 to 10.
    pub mailboxes: usize,
    /// Delivery threads, 1 to 25.
    pub delivery_threads: usize,
    /// Transfer threads, 1 to 25; none run without a courier.
    pub transfer_threads: usize,
    /// Most transfer threads for one destination; 0: half of all, at least one.
    pub transfer_threads_each: usize,
    /// Most Received headers a message may carry.
    pub hop_limit: u32,
    /// The name this server gives itself in reports.
    pub host_name: String,
    /// Largest message that is routed, in bytes; 0: no limit.
    pub message_bytes_max: u64,
    /// How long delivery to people of this server is tried, in seconds.
    pub expiry_s: i64,
    /// How long transfer to another host is tried, in seconds.
    pub transfer_expiry_s: i64,
    /// The wait after the first failed transfer, in seconds; it doubles with each further one.
    pub retry_first_s: u64,
    /// The longest wait between two transfers, in seconds.
    pub retry_longest_s: u64,
    /// After how many seconds a sender is told that a message still waits; 0: never.
    pub delay_report_s: i64,
    /// When messages of low priority are transferred; `None`: at any time, behind the others.
    pub low_priority_window: Option<DayWindow>,
    /// Treats all messages alike.
    pub ignore_priority: bool,
    /// Mail for a mail file whose quota is used up.
    pub over_quota: OverQuota,
    /// Copies what passes into a journal.
    pub journal: Option<JournalOptions>,
    /// Carries mail for other domains; without it they are refused.
    pub courier: Option<Arc<dyn Courier>>,
    /// A start delivers and transfers nothing until `Router::resume`.
    pub begins_paused: bool,
}

impl Default for RouterOptions {
    fn default() -> RouterOptions {
        RouterOptions {
            mailboxes: 2,
            delivery_threads: 2,
            transfer_threads: 5,
            transfer_threads_each: 0,
            hop_limit: 25,
            host_name: "localhost".to_owned(),
            message_bytes_max: 0,
            expiry_s: 24 * HOUR_S,
            transfer_expiry_s: 5 * 24 * HOUR_S,
            retry_first_s: 300,
            retry_longest_s: 3_600,
            delay_report_s: 4 * HOUR_S,
            low_priority_window: None,
            ignore_priority: false,
            over_quota: OverQuota::Bounce,
            journal: None,
            courier: None,
            begins_paused: false,
        }
    }
}

impl RouterOptions {
    pub(crate) fn mailboxes(&self) -> usize {
        self.mailboxes.clamp(1, MAILBOXES_MAX)
    }

    pub(crate) fn delivery_threads(&self) -> usize {
        self.delivery_threads.clamp(1, DELIVERY_THREADS_MAX)
    }

    pub(crate) fn transfer_threads(&self) -> usize {
        let threads = self.transfer_threads.clamp(1, TRANSFER_THREADS_MAX);
        if self.courier.is_some() { threads } else { 0 }
    }

    /// Most threads that work for one destination at once.
    pub(crate) fn threads_each(&self) -> usize {
        let all = self.transfer_threads();
        match self.transfer_threads_each {
            0 => (all / 2).max(1),
            each => each.min(all).max(1),
        }
    }

    /// The wait before the next try after this many failed ones.
    pub(crate) fn retry_wait_s(&self, failed: u32) -> u64 {
        let first = self.retry_first_s.max(1);
        let wait = first.saturating_mul(1 << failed.saturating_sub(1).min(20));
        wait.min(self.retry_longest_s.max(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_once_a_day() {
        let at = |hour: i64, minute: i64| TimeDate::from_unix_seconds(hour * 3_600 + minute * 60);
        let cases = [
            ("00:00-06:00", at(3, 0), 0),
            ("00:00-06:00", at(6, 0), 18 * 3_600),
            ("22:30-01:00", at(0, 59), 0),
            ("22:30-01:00", at(23, 0), 0),
            ("22:30-01:00", at(1, 0), 21 * 3_600 + 1_800),
        ];
        for (text, now, wait) in cases {
            let window: DayWindow = text.parse().unwrap();
            assert_eq!((window.opens_in(now), window.to_string()), (wait, text.to_owned()));
        }
        for bad in ["", "1-2", "24:00-06:00", "06:00-06:00", "0:0", "00:60-01:00"] {
            assert!(bad.parse::<DayWindow>().is_err(), "{bad}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let options = RouterOptions::default();
        let waits: Vec<u64> = (1..8).map(|failed| options.retry_wait_s(failed)).collect();
        assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600, 3_600]);
        assert_eq!(options.retry_wait_s(u32::MAX), 3_600);
    }
}
