//! A door over a store and a directory in a directory of its own.

use std::sync::Arc;
use std::time::Duration;

use directory::Directory;
use mailfile::{MailFile, MailFiles, Marks};
use pop3::{Door, Parts, Settings, Stats};
use session::{Registry, Stopper, Stopping, Wire};
use store::{Store, StoreOptions};
use tokio_rustls::TlsAcceptor;

use crate::client::Client;
use crate::house::{Blocking, Ground, house};

/// A small message.
pub const LETTER: &[u8] = b"Subject: x\r\n\r\nhi\r\n";

/// A server with the people alice and bob.
pub struct Server {
    pub door: Arc<Door>,
    pub store: Arc<Store>,
    pub registry: Registry,
    pub stopper: Stopper,
    pub stopping: Stopping,
    pub directory: Arc<Directory>,
    ground: Ground,
}

/// What differs from the usual.
pub struct Choices {
    pub settings: Settings,
    pub tls: Option<TlsAcceptor>,
}

impl Default for Choices {
    fn default() -> Self {
        let settings =
            Settings { login_failure_wait: Duration::from_millis(1), ..Settings::default() };
        Choices { settings, tls: None }
    }
}

impl Server {
    pub fn start() -> Server {
        Server::with(Choices::default())
    }

    pub fn with(choices: Choices) -> Server {
        let (ground, store, directory) = house(["pw alice 1", "pw-bob-1"]);
        Server::over(ground, (store, directory), choices)
    }

    fn over(
        ground: Ground,
        (store, directory): (Arc<Store>, Arc<Directory>),
        choices: Choices,
    ) -> Server {
        let registry = Registry::default();
        let door = Door::new(Parts {
            files: MailFiles::new(store.clone()),
            directory: directory.clone(),
            pool: Blocking::new(Arc::default()),
            registry: registry.clone(),
            tls: choices.tls,
            settings: choices.settings,
            stats: Arc::new(Stats::default()),
        });
        let (stopper, stopping) = session::stopping();
        Server { door, store, registry, stopper, stopping, directory, ground }
    }

    /// Ends without closing anything, as a crash does, and starts again on what is there.
    pub fn crash(self) -> Server {
        let Server { door, store, directory, ground, .. } = self;
        let dir = ground.leave();
        drop((door, directory));
        // A session that is about to end holds the store; two of them must not share a directory.
        let begun = std::time::Instant::now();
        while Arc::strong_count(&store) > 1 {
            assert!(begun.elapsed().as_secs() < 60, "a session does not end");
            std::thread::yield_now();
        }
        drop(store);
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        let directory = Directory::open(store.clone()).unwrap();
        let ground = Ground::new(store.clone(), dir);
        Server::over(ground, (store, directory), Choices::default())
    }

    /// A new connection, its greeting not read.
    pub fn connect(&self) -> Client {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let served = self.door.clone().serve_wire(Wire::memory(far), self.stopping.clone());
        tokio::spawn(served);
        Client::new(near)
    }

    /// A connection whose greeting was read.
    pub async fn guest(&self) -> Client {
        let mut client = self.connect();
        assert!(client.line().await.starts_with("+OK "));
        client
    }

    /// A connection on which alice signed in.
    pub async fn alice(&self) -> Client {
        let mut client = self.guest().await;
        client.ok("USER alice").await;
        client.ok("PASS pw alice 1").await;
        client
    }

    /// The mail file of somebody, as other doors use it.
    pub fn file(&self, name: &str) -> MailFile {
        let path = self.store.paths().into_iter().find(|path| path.contains(name)).unwrap();
        MailFiles::new(self.store.clone()).open(&path).unwrap()
    }

    /// Puts a message into alice's INBOX; gives its uid.
    pub fn put(&self, message: &[u8]) -> u32 {
        let written = self.file("alice").append("INBOX", message, None, &Marks::default()).unwrap();
        self.store.durable(written.lsn).wait().unwrap();
        written.value.uid
    }

    /// Puts letters into alice's INBOX.
    pub fn fill(&self, count: usize) {
        for _ in 0..count {
            self.put(LETTER);
        }
    }

    /// The uids in alice's INBOX.
    pub fn uids(&self) -> Vec<u32> {
        self.file("alice").open_folder("INBOX").unwrap().value.uids.iter().collect()
    }
}
