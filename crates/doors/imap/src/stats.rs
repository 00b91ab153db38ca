//! Counters of the door, shown as statistics `IMAP.*`.

use session::{Sessions, session_rows};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the IMAP door; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Stats {
    /// Its connections.
    pub sessions: Arc<Sessions>,
    /// Commands run.
    pub commands: AtomicU64,
    /// Commands answered NO or BAD.
    pub commands_refused: AtomicU64,
    /// Successful sign-ins.
    pub logins: AtomicU64,
    /// Failed sign-ins.
    pub logins_failed: AtomicU64,
    /// Messages whose content or facts were fetched.
    pub messages_fetched: AtomicU64,
    /// Messages appended.
    pub messages_appended: AtomicU64,
}

impl Stats {
    /// Every statistic with its name, in a stable order.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let mut rows = session_rows!(self.sessions, "IMAP");
        rows.extend([
            ("IMAP.Commands", at(&self.commands)),
            ("IMAP.Commands.Refused", at(&self.commands_refused)),
            ("IMAP.Logins", at(&self.logins)),
            ("IMAP.Logins.Failed", at(&self.logins_failed)),
            ("IMAP.Messages.Fetched", at(&self.messages_fetched)),
            ("IMAP.Messages.Appended", at(&self.messages_appended)),
        ]);
        rows
    }

    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}
