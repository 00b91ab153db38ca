//! The door as the server holds it: one value for all connections.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mailfile::MailFiles;
use parking_lot::RwLock;
use session::{Opening, Stopping, Wire};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::session::Session;
use crate::{Settings, Stats};

/// What the door is made of.
pub struct Parts {
    /// The databases.
    pub store: Arc<store::Store>,
    /// Who may sign in, and where their mail file is.
    pub directory: Arc<directory::Directory>,
    /// Where work that touches a database runs.
    pub pool: Arc<dyn session::Pool>,
    /// Server-wide bound of bytes in flight (literals).
    pub budget: session::Budget,
    /// Who is connected.
    pub registry: session::Registry,
    /// TLS, when the server has a certificate: STARTTLS and the implicit port need it.
    pub tls: Option<TlsAcceptor>,
    /// Limits and choices at the start, see [`Door::configure`].
    pub settings: Settings,
    /// Counters.
    pub stats: Arc<Stats>,
}

/// The IMAP door.
pub struct Door {
    pub(crate) parts: Parts,
    /// The settings for connections from now on.
    settings: RwLock<Arc<Settings>>,
    pub(crate) files: Arc<MailFiles>,
}

impl Door {
    /// A door over these parts.
    pub fn new(parts: Parts) -> Arc<Door> {
        let files = MailFiles::new(parts.store.clone());
        let settings = RwLock::new(Arc::new(parts.settings.clone()));
        Arc::new(Door { parts, settings, files })
    }

    /// Other settings for connections that begin from now on.
    pub fn configure(&self, settings: Settings) {
        *self.settings.write() = Arc::new(settings);
    }

    /// The settings as they are now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.read().clone()
    }

    /// The mail files with what their sessions share, for other doors on the same store.
    pub fn files(&self) -> &Arc<MailFiles> {
        &self.files
    }

    /// Its counters.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.parts.stats
    }

    /// Runs one accepted connection to its end. `implicit_tls`: the handshake comes before the
    /// greeting
    /// (port 993). Returns when the peer left, signed out, misbehaved, or `stopping` was requested.
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
        // In a box, so that whoever passes the future of a connection on copies a few words.
        let served: Pin<Box<dyn Future<Output = ()> + Send>> =
            match self.parts.registry.try_enter("imap", wire.peer()) {
                Ok(seat) => Box::pin(Box::new(Session::new(self, wire, seat, stopping)).run()),
                Err(_) => Box::pin(turn_away(wire, self.settings().write_wait)),
            };
        served.await;
    }
}

/// Tells a client that its address has too many connections.
async fn turn_away(mut wire: Wire, wait: Duration) {
    // Whether the peer hears of it or not, this is the end.
    if wire.write_all(b"* BYE [LIMIT] Too many connections\r\n", wait).await.is_ok() {
        wire.close().await;
    }
}
