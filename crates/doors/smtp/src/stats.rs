//! Counters of the door, shown as statistics `SMTP.*`.

use session::{Sessions, session_rows};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the SMTP door; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Stats {
    /// Its connections.
    pub sessions: Arc<Sessions>,
    /// Connections refused because too many were open.
    pub sessions_refused: AtomicU64,
    /// Messages accepted.
    pub messages: AtomicU64,
    /// Bytes of accepted messages.
    pub message_bytes: AtomicU64,
    /// Messages refused after their data.
    pub messages_refused: AtomicU64,
    /// Recipients accepted.
    pub recipients: AtomicU64,
    /// Recipients refused.
    pub recipients_refused: AtomicU64,
    /// Commands refused for a limit of an address or a user.
    pub limited: AtomicU64,
    /// Successful sign-ins.
    pub logins: AtomicU64,
    /// Failed sign-ins.
    pub logins_failed: AtomicU64,
}

impl Stats {
    /// Every statistic with its name, in a stable order.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let mut rows = session_rows!(self.sessions, "SMTP");
        rows.extend([
            ("SMTP.Sessions.Inbound.Refused", at(&self.sessions_refused)),
            ("SMTP.MessagesProcessed", at(&self.messages)),
            ("SMTP.MessagesProcessed.Bytes", at(&self.message_bytes)),
            ("SMTP.MessagesRefused", at(&self.messages_refused)),
            ("SMTP.Recipients", at(&self.recipients)),
            ("SMTP.Recipients.Refused", at(&self.recipients_refused)),
            ("SMTP.Limited", at(&self.limited)),
            ("SMTP.Logins", at(&self.logins)),
            ("SMTP.Logins.Failed", at(&self.logins_failed)),
        ]);
        rows
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
