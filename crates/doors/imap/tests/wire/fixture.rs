//! A door over a store and a directory in a directory of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use imap::{Door, Parts, Settings, Stats};
use session::{Budget, Registry, Stopper, Stopping, Wire};
use store::Store;
use tokio_rustls::TlsAcceptor;

use crate::client::Client;
use crate::house::{Blocking, Ground, house};

/// A server with the people alice and bob.
pub struct Server {
    pub door: Arc<Door>,
    pub store: Arc<Store>,
    pub registry: Registry,
    pub stopper: Stopper,
    pub stopping: Stopping,
    /// Jobs that the pool was given.
    pub jobs: Arc<AtomicUsize>,
    _ground: Ground,
}

/// What differs from the usual.
pub struct Choices {
    pub settings: Settings,
    pub tls: Option<TlsAcceptor>,
    pub budget: u64,
}

impl Default for Choices {
    fn default() -> Self {
        let settings =
            Settings { login_failure_wait: Duration::from_millis(1), ..Settings::default() };
        Choices { settings, tls: None, budget: 1 << 30 }
    }
}

impl Server {
    pub fn start() -> Server {
        Server::with(Choices::default())
    }

    pub fn with(choices: Choices) -> Server {
        let (ground, store, directory) = house(["pw-alice-1", "pw-bob-1"]);
        let registry = Registry::default();
        let jobs = Arc::new(AtomicUsize::new(0));
        let door = Door::new(Parts {
            store: store.clone(),
            directory,
            pool: Blocking::new(jobs.clone()),
            budget: Budget::new(choices.budget),
            registry: registry.clone(),
            tls: choices.tls,
            settings: choices.settings,
            stats: Arc::new(Stats::default()),
        });
        let (stopper, stopping) = session::stopping();
        Server { door, store, registry, stopper, stopping, jobs, _ground: ground }
    }

    /// A new connection, its greeting not read.
    pub fn connect(&self) -> Client {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let served = self.door.clone().serve_wire(Wire::memory(far), self.stopping.clone());
        tokio::spawn(served);
        Client::new(near)
    }

    /// The mail file of alice.
    pub fn mail_file(&self) -> store::Database {
        let path = self.store.paths().into_iter().find(|path| path.contains("alice")).unwrap();
        self.store.database(&path).unwrap()
    }

    /// A connection on which alice signed in.
    pub async fn alice(&self) -> Client {
        let mut client = self.connect();
        client.unit().await;
        client.ok("LOGIN alice pw-alice-1").await;
        client
    }
}
