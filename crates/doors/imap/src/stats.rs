//! Counters of the door, shown as statistics `IMAP.*`.

use session::Traffic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the IMAP door; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Stats {
    /// Connections open now.
    pub sessions_active: AtomicU64,
    /// Most connections that were open at once.
    pub sessions_peak: AtomicU64,
    /// Connections since start.
    pub sessions_total: AtomicU64,
    /// Connections that began TLS since start.
    pub sessions_tls: AtomicU64,
    /// TLS handshakes that failed.
    pub handshakes_bad: AtomicU64,
    /// Bytes over the wires of the door.
    pub traffic: Arc<Traffic>,
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
        vec![
            ("IMAP.Sessions.Inbound.Active", at(&self.sessions_active)),
            ("IMAP.Sessions.Inbound.Peak", at(&self.sessions_peak)),
            ("IMAP.Sessions.Inbound.Total", at(&self.sessions_total)),
            ("IMAP.Sessions.Inbound.Total.SSL", at(&self.sessions_tls)),
            ("IMAP.Sessions.Inbound.Total.SSL.Bad_Handshake", at(&self.handshakes_bad)),
            ("IMAP.Sessions.Inbound.BytesReceived", at(&self.traffic.received)),
            ("IMAP.Sessions.Inbound.BytesSent", at(&self.traffic.sent)),
            ("IMAP.Commands", at(&self.commands)),
            ("IMAP.Commands.Refused", at(&self.commands_refused)),
            ("IMAP.Logins", at(&self.logins)),
            ("IMAP.Logins.Failed", at(&self.logins_failed)),
            ("IMAP.Messages.Fetched", at(&self.messages_fetched)),
            ("IMAP.Messages.Appended", at(&self.messages_appended)),
        ]
    }

    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}
