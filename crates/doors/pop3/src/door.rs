//! The door as the server holds it: one value for all connections.

use std::sync::Arc;
use std::time::Duration;

use mailfile::MailFiles;
use parking_lot::RwLock;
use session::{Opening, Stopping, Wire};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::locks::Locks;
use crate::octets::Octets;
use crate::session::Session;
use crate::{Settings, Stats};

/// What the door is made of.
pub struct Parts {
    /// The mail files, with what sessions of all doors share.
    pub files: Arc<MailFiles>,
    /// Who may sign in, and where their mail file is.
    pub directory: Arc<directory::Directory>,
    /// Where work that touches a database runs.
    pub pool: Arc<dyn session::Pool>,
    /// Who is connected.
    pub registry: session::Registry,
    /// TLS, when the server has a certificate: STLS and the implicit port need it.
    pub tls: Option<TlsAcceptor>,
    /// Limits and choices at the start; [`Door::configure`] changes them.
    pub settings: Settings,
    /// Counters.
    pub stats: Arc<Stats>,
}

/// The POP3 door.
pub struct Door {
    pub(crate) parts: Parts,
    pub(crate) locks: Arc<Locks>,
    pub(crate) octets: Octets,
    settings: RwLock<Arc<Settings>>,
}

impl Door {
    /// A door over these parts.
    pub fn new(parts: Parts) -> Arc<Door> {
        let settings = RwLock::new(Arc::new(parts.settings.clone()));
        let (locks, octets) = (Arc::default(), Octets::default());
        Arc::new(Door { parts, locks, octets, settings })
    }

    /// Gives other settings to the sessions that begin from now on.
    pub fn configure(&self, settings: Settings) {
        *self.settings.write() = Arc::new(settings);
    }

    /// The settings for a session that begins now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.read().clone()
    }

    /// Its counters.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.parts.stats
    }

    /// Runs one accepted connection to its end. `implicit_tls`: the handshake comes before the
    /// greeting (port 995). Returns when the peer left, signed out, misbehaved, or `stopping` was
    /// requested.
    pub async fn serve_connection(
        self: Arc<Self>,
        stream: TcpStream,
        implicit_tls: bool,
        stopping: Stopping,
    ) {
        let sessions = &self.parts.stats.sessions;
        let wait = self.settings().handshake_wait;
        let opening = Opening::new(implicit_tls, self.parts.tls.as_ref(), wait);
        if let Some(wire) = sessions.accept(stream, opening).await {
            self.serve_wire(wire, stopping).await;
        }
    }

    /// Runs one connection that is a [`Wire`] already (also one within the process).
    pub async fn serve_wire(self: Arc<Self>, wire: Wire, stopping: Stopping) {
        let _entered = self.parts.stats.sessions.enter();
        let Ok(seat) = self.parts.registry.try_enter("pop3", wire.peer()) else {
            return turn_away(wire, self.settings().write_wait).await;
        };
        Box::pin(Session::new(self, wire, seat, stopping).run()).await;
    }
}

/// Tells a client that its address has too many connections.
async fn turn_away(mut wire: Wire, wait: Duration) {
    let line = b"-ERR [SYS/TEMP] Too many connections, try again later\r\n";
    if wire.write_all(line, wait).await.is_ok() {
        wire.close().await;
    }
}
