//! A door's connections: their counters, and the accepting of one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::Wire;

/// Counters of a door's connections; cheap to update from every session.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Connections open now.
    pub active: AtomicU64,
    /// Most connections that were open at once.
    pub peak: AtomicU64,
    /// Connections since start.
    pub total: AtomicU64,
    /// Connections under TLS now.
    pub tls_active: AtomicU64,
    /// Most connections that were under TLS at once.
    pub tls_peak: AtomicU64,
    /// Connections that began TLS since start.
    pub tls_total: AtomicU64,
    /// TLS handshakes that failed.
    pub handshakes_bad: AtomicU64,
    /// Bytes received.
    pub received: AtomicU64,
    /// Bytes sent.
    pub sent: AtomicU64,
}

/// How a connection begins.
#[derive(Clone, Copy)]
pub enum Opening<'a> {
    /// In plain text; TLS may come later.
    Plain,
    /// With a TLS handshake.
    Tls {
        /// `None`: the server has no certificate, and the connection is refused.
        acceptor: Option<&'a TlsAcceptor>,
        /// Longest time for the handshake.
        wait: Duration,
    },
}

impl<'a> Opening<'a> {
    /// With TLS from the first byte, or without.
    pub fn new(implicit: bool, acceptor: Option<&'a TlsAcceptor>, wait: Duration) -> Opening<'a> {
        if implicit { Opening::Tls { acceptor, wait } } else { Opening::Plain }
    }
}

impl Sessions {
    /// Makes a wire of an accepted connection; `None` when it could not begin, which is logged and
    /// counted.
    pub async fn accept(self: &Arc<Self>, stream: TcpStream, opening: Opening<'_>) -> Option<Wire> {
        let (acceptor, wait) = match opening {
            Opening::Plain => return Some(Wire::plain(stream, self.clone())),
            Opening::Tls { acceptor, wait } => (acceptor, wait),
        };
        let Some(acceptor) = acceptor else {
            tracing::warn!("a connection that wants TLS is refused: there is no certificate");
            return None;
        };
        match Wire::tls(stream, acceptor, self.clone(), wait).await {
            Ok(wire) => Some(wire),
            Err(error) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
        }
    }

    /// Counts a connection as open for as long as the guard lives.
    pub fn enter(self: &Arc<Self>) -> Entered {
        self.total.fetch_add(1, Ordering::Relaxed);
        let active = rise(&self.active, &self.peak);
        Entered { sessions: self.clone(), active }
    }

    /// Counts a connection as encrypted for as long as the guard lives.
    pub(crate) fn encrypt(self: &Arc<Self>) -> Encrypted {
        self.tls_total.fetch_add(1, Ordering::Relaxed);
        rise(&self.tls_active, &self.tls_peak);
        Encrypted(self.clone())
    }

    /// Every counter under its name, in a stable order; see [`crate::session_rows`].
    pub fn rows(&self, names: [&'static str; 9]) -> Vec<(&'static str, u64)> {
        let counters = [
            &self.active,
            &self.peak,
            &self.total,
            &self.tls_active,
            &self.tls_peak,
            &self.tls_total,
            &self.handshakes_bad,
            &self.received,
            &self.sent,
        ];
        let values = counters.map(|counter| counter.load(Ordering::Relaxed));
        names.into_iter().zip(values).collect()
    }
}

/// The rows of [`Sessions`] for a door whose statistics begin with a word such as `"IMAP"`.
#[macro_export]
macro_rules! session_rows {
    ($sessions:expr, $door:literal) => {
        $sessions.rows([
            concat!($door, ".Sessions.Inbound.Active"),
            concat!($door, ".Sessions.Inbound.Peak"),
            concat!($door, ".Sessions.Inbound.Total"),
            concat!($door, ".Sessions.Inbound.Active.SSL"),
            concat!($door, ".Sessions.Inbound.Peak.SSL"),
            concat!($door, ".Sessions.Inbound.Total.SSL"),
            concat!($door, ".Sessions.Inbound.Total.SSL.Bad_Handshake"),
            concat!($door, ".Sessions.Inbound.BytesReceived"),
            concat!($door, ".Sessions.Inbound.BytesSent"),
        ])
    };
}

/// One more; gives how many there are.
fn rise(active: &AtomicU64, peak: &AtomicU64) -> u64 {
    let now = active.fetch_add(1, Ordering::Relaxed) + 1;
    peak.fetch_max(now, Ordering::Relaxed);
    now
}

/// A connection that counts as open, however it ends.
#[derive(Debug)]
pub struct Entered {
    sessions: Arc<Sessions>,
    active: u64,
}

impl Entered {
    /// Connections open at its beginning, this one among them.
    pub fn active(&self) -> u64 {
        self.active
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.sessions.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that counts as encrypted.
#[derive(Debug)]
pub(crate) struct Encrypted(Arc<Sessions>);

impl Drop for Encrypted {
    fn drop(&mut self) {
        self.0.tls_active.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_while_they_live() {
        let sessions = Arc::new(Sessions::default());
        let first = sessions.enter();
        let second = sessions.enter();
        let encrypted = sessions.encrypt();
        assert_eq!((first.active(), second.active()), (1, 2));
        drop((first, encrypted));
        let third = sessions.enter();
        assert_eq!(third.active(), 2);
        let rows = session_rows!(sessions, "POP3");
        let values: Vec<u64> = rows.iter().map(|row| row.1).collect();
        assert_eq!(values, [2, 2, 3, 0, 1, 1, 0, 0, 0]);
        assert_eq!(rows[3].0, "POP3.Sessions.Inbound.Active.SSL");
    }
}
