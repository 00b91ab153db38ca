//! Counters of the door, shown as statistics `POP3.*`.

use session::{Sessions, session_rows};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the POP3 door; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Stats {
    /// Its connections.
    pub sessions: Arc<Sessions>,
    /// Commands run.
    pub commands: AtomicU64,
    /// Commands answered -ERR.
    pub commands_refused: AtomicU64,
    /// Successful sign-ins.
    pub logins: AtomicU64,
    /// Failed sign-ins.
    pub logins_failed: AtomicU64,
    /// Sign-ins refused because the maildrop had a session already.
    pub logins_in_use: AtomicU64,
    /// Messages sent whole.
    pub messages_retrieved: AtomicU64,
    /// Messages deleted at QUIT.
    pub messages_deleted: AtomicU64,
}

impl Stats {
    /// Every statistic with its name, in a stable order.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let mut rows = session_rows!(self.sessions, "POP3");
        rows.extend([
            ("POP3.Commands", at(&self.commands)),
            ("POP3.Commands.Refused", at(&self.commands_refused)),
            ("POP3.Logins", at(&self.logins)),
            ("POP3.Logins.Failed", at(&self.logins_failed)),
            ("POP3.Logins.InUse", at(&self.logins_in_use)),
            ("POP3.Messages.Retrieved", at(&self.messages_retrieved)),
            ("POP3.Messages.Deleted", at(&self.messages_deleted)),
        ]);
        rows
    }

    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}
