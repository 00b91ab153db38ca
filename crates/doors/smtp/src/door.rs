//! The door as the server holds it: one value for all connections.

use crate::reply::Reply;
use crate::session::Session;
use crate::{Settings, Stats, reply};
use ::session::{Budget, Opening, Pool, Registry, Stopping, Wire};
use parking_lot::RwLock;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Longest time for a TLS handshake, and for a last word to a client that is turned away.
pub(crate) const HANDSHAKE_WAIT: Duration = Duration::from_secs(30);

/// What the door is made of.
pub struct Parts {
    /// The databases.
    pub store: Arc<store::Store>,
    /// Who receives mail here, and who may sign in.
    pub directory: Arc<directory::Directory>,
    /// Takes accepted messages.
    pub router: Arc<router::Router>,
    /// Where work that touches a database runs.
    pub pool: Arc<dyn Pool>,
    /// Server-wide bound of bytes in flight (message data).
    pub budget: Budget,
    /// Who is connected.
    pub registry: Registry,
    /// TLS, when the server has a certificate.
    pub tls: Option<TlsAcceptor>,
    /// Limits and choices.
    pub settings: Settings,
    /// Counters.
    pub stats: Arc<Stats>,
}

/// What kind of port a connection came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Port 25: mail from other servers for the people of this one.
    Relay,
    /// Port 587: mail programs; they sign in first (RFC 6409).
    Submission,
    /// Port 465: the same, with TLS from the first byte (RFC 8314).
    SubmissionTls,
}

/// The SMTP door.
pub struct Door {
    pub(crate) parts: Parts,
    settings: RwLock<Arc<Settings>>,
}

impl Door {
    /// A door over these parts.
    pub fn new(parts: Parts) -> Arc<Door> {
        let settings = RwLock::new(Arc::new(parts.settings.clone()));
        Arc::new(Door { parts, settings })
    }

    /// Other settings for sessions that begin from now on.
    pub fn configure(&self, settings: Settings) {
        *self.settings.write() = Arc::new(settings);
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.read().clone()
    }

    /// Its counters.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.parts.stats
    }

    /// Runs one accepted connection to its end: the client left, misbehaved, was silent for too
    /// long, or `stopping` was requested.
    pub async fn serve_connection(
        self: Arc<Self>,
        stream: TcpStream,
        listener: Listener,
        stopping: Stopping,
    ) {
        let sessions = &self.parts.stats.sessions;
        let implicit = listener == Listener::SubmissionTls;
        let opening = Opening::new(implicit, self.parts.tls.as_ref(), HANDSHAKE_WAIT);
        if let Some(wire) = sessions.accept(stream, opening).await {
            self.serve_wire(wire, listener, stopping).await;
        }
    }

    /// Runs one connection that is a [`Wire`] already (also one within the process).
    pub async fn serve_wire(self: Arc<Self>, wire: Wire, listener: Listener, stopping: Stopping) {
        let entered = self.parts.stats.sessions.enter();
        // In a box, so that whoever passes the future of a connection on copies a few words.
        let served: Pin<Box<dyn Future<Output = ()> + Send>> = if entered.active()
            > self.settings().connections_max
        {
            Box::pin(self.turn_away(wire, reply::TOO_BUSY))
        } else {
            match self.parts.registry.try_enter("smtp", wire.peer()) {
                Ok(seat) => {
                    let session = Box::new(Session::new(self, wire, seat, listener));
                    Box::pin(session.run(stopping))
                }
                Err(_) => {
                    tracing::debug!(peer = wire.shown_peer(), "too many connections of an address");
                    Box::pin(self.turn_away(wire, reply::TOO_MANY_CONNECTIONS))
                }
            }
        };
        served.await;
    }

    async fn turn_away(self: Arc<Self>, mut wire: Wire, reply: Reply) {
        Stats::add(&self.parts.stats.sessions_refused, 1);
        let mut line = Vec::new();
        reply.print(&mut line);
        // Whether it is heard does not matter: the connection ends.
        let _ = wire.write_all(&line, HANDSHAKE_WAIT).await;
    }
}
