//! Counters of the door, shown as statistics `SMTP.*`.

use session::Traffic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the SMTP door; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Stats {
    /// Connections open now.
    pub sessions_active: AtomicU64,
    /// Most connections that were open at once.
    pub sessions_peak: AtomicU64,
    /// Connections since start.
    pub sessions_total: AtomicU64,
    /// Connections refused because too many were open.
    pub sessions_refused: AtomicU64,
    /// TLS handshakes that succeeded.
    pub sessions_tls: AtomicU64,
    /// TLS handshakes that failed.
    pub handshakes_bad: AtomicU64,
    /// Bytes over the wires of the door.
    pub traffic: Arc<Traffic>,
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
        vec![
            ("SMTP.Sessions.Inbound.Active", at(&self.sessions_active)),
            ("SMTP.Sessions.Inbound.Peak", at(&self.sessions_peak)),
            ("SMTP.Sessions.Inbound.Total", at(&self.sessions_total)),
            ("SMTP.Sessions.Inbound.Refused", at(&self.sessions_refused)),
            ("SMTP.Sessions.Inbound.Total.SSL", at(&self.sessions_tls)),
            ("SMTP.Sessions.Inbound.Total.SSL.Bad_Handshake", at(&self.handshakes_bad)),
            ("SMTP.Sessions.Inbound.BytesReceived", at(&self.traffic.received)),
            ("SMTP.Sessions.Inbound.BytesSent", at(&self.traffic.sent)),
            ("SMTP.MessagesProcessed", at(&self.messages)),
            ("SMTP.MessagesProcessed.Bytes", at(&self.message_bytes)),
            ("SMTP.MessagesRefused", at(&self.messages_refused)),
            ("SMTP.Recipients", at(&self.recipients)),
            ("SMTP.Recipients.Refused", at(&self.recipients_refused)),
            ("SMTP.Limited", at(&self.limited)),
            ("SMTP.Logins", at(&self.logins)),
            ("SMTP.Logins.Failed", at(&self.logins_failed)),
        ]
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
