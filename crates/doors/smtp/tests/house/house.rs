//! A small server around the door: store, directory with Alice and Bob, router, one connection
//! within the process.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, missing_docs)]

use directory::{Directory, NewGroup, NewPassword, NewPerson};
use router::{Router, RouterOptions};
use session::{Job, Pool, Stopper, Wire};
use smtp::{Door, Listener, Parts, Settings};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

#[path = "../../../session/tests/stand/ground.rs"]
mod ground;
use ground::Ground;

pub struct Threads;
impl Pool for Threads {
    fn submit(&self, job: Job) {
        std::thread::spawn(job);
    }
}

pub struct House {
    pub door: Arc<Door>,
    pub router: Arc<Router>,
    pub store: Arc<Store>,
    pub stats: Arc<smtp::Stats>,
    pub registry: session::Registry,
    pub directory: Arc<Directory>,
    stopper: Stopper,
    stopping: session::Stopping,
    _ground: Ground,
}

impl House {
    pub fn new(settings: impl FnOnce(&mut Settings)) -> House {
        House::over(settings, |_| {})
    }

    pub fn over(
        settings: impl FnOnce(&mut Settings),
        options: impl FnOnce(&mut StoreOptions),
    ) -> House {
        let dir = tempfile::tempdir().unwrap();
        let mut chosen = StoreOptions::new(dir.path());
        chosen.log.segment_bytes = 4 * 1024 * 1024;
        options(&mut chosen);
        let (store, _) = Store::open(chosen).unwrap();
        let directory = Directory::create(store.clone(), "example.test", "mail1/Example").unwrap();
        for (short, full) in [("alice", "Alice Example"), ("bob", "Bob Example")] {
            let person = NewPerson {
                full_name: full.to_owned(),
                short_name: short.to_owned(),
                password: Some(NewPassword::Plain(format!("pw-{short}-1").into_bytes())),
                aliases: vec![format!("{}.example@example.test", &short[..1])],
                ..NewPerson::default()
            };
            directory.add_person(person).unwrap();
        }
        let members = vec![String::from("Alice Example"), String::from("bob")];
        let crew = NewGroup { name: String::from("crew"), members, ..NewGroup::default() };
        directory.add_group(crew).unwrap();
        let router_options = RouterOptions {
            mailboxes: 2,
            delivery_threads: 1,
            hop_limit: 25,
            host_name: String::from("mail1.example.test"),
            ..RouterOptions::default()
        };
        let router = Router::start(store.clone(), directory.clone(), router_options).unwrap();
        let mut chosen = Settings {
            host_name: String::from("mail1.example.test"),
            faults_max: 100,
            login_failure_wait: Duration::ZERO,
            ..Settings::default()
        };
        settings(&mut chosen);
        let stats = Arc::new(smtp::Stats::default());
        let registry = session::Registry::default();
        let door = Door::new(Parts {
            store: store.clone(),
            directory: directory.clone(),
            router: router.clone(),
            pool: Arc::new(Threads),
            budget: session::Budget::new(64 * 1024 * 1024),
            registry: registry.clone(),
            tls: None,
            settings: chosen,
            stats: stats.clone(),
        });
        let (stopper, stopping) = session::stopping();
        let ground = Ground::new(store.clone(), dir);
        House {
            door,
            router,
            store,
            stats,
            registry,
            directory,
            stopper,
            stopping,
            _ground: ground,
        }
    }

    /// Opens a connection.
    pub fn connect(&self, listener: Listener) -> Client {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (door, stopping) = (self.door.clone(), self.stopping.clone());
        tokio::spawn(door.serve_wire(Wire::memory(near), listener, stopping));
        Client { stream: BufReader::new(far) }
    }

    /// Opens a connection that comes from this address to port 25.
    pub fn connect_from(&self, address: &str) -> Client {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (door, stopping) = (self.door.clone(), self.stopping.clone());
        let peer = std::net::SocketAddr::new(address.parse().unwrap(), 1_024);
        tokio::spawn(door.serve_wire(Wire::memory_from(near, peer), Listener::Relay, stopping));
        Client { stream: BufReader::new(far) }
    }

    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Every message in a mail file, as received, once the router is idle.
    pub fn messages_of(&self, short: &str) -> Vec<Vec<u8>> {
        self.router.wait_idle();
        let database = self.store.database(&format!("mail/{short}.nsf")).unwrap();
        let notes = self
            .store
            .read(&database, |rows| {
                let metas = rows.notes(note::NoteClass::DOCUMENT, store::NoteId(0), 1_000)?;
                metas.iter().map(|meta| rows.note_bytes(meta.id)).collect::<Result<Vec<_>, _>>()
            })
            .unwrap()
            .value;
        notes.into_iter().map(|bytes| self.whole(&bytes.unwrap())).collect()
    }

    fn whole(&self, note: &[u8]) -> Vec<u8> {
        let view = note::NoteView::new(note).unwrap();
        let (pieces, mut bytes) = (mailfile::intake::content(&view).unwrap(), Vec::new());
        let length = pieces.iter().map(note::Piece::wire_len).sum();
        mailfile::intake::read_range(&self.store, &pieces, 0..length, &mut bytes).unwrap();
        bytes
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stopper.stop();
        self.router.stop();
    }
}

pub struct Client {
    stream: BufReader<DuplexStream>,
}

impl Client {
    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// All lines of the next reply, joined; empty at the end of the connection.
    pub async fn reply(&mut self) -> String {
        let mut whole = String::new();
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line);
            let count = tokio::time::timeout(Duration::from_secs(20), read).await;
            if count.expect("the server answers").unwrap() == 0 {
                return whole;
            }
            whole.push_str(&line);
            if line.as_bytes().get(3) != Some(&b'-') {
                return whole;
            }
        }
    }

    pub async fn ask(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n").as_bytes()).await;
        self.reply().await
    }

    /// Whether a reply lies ready without waiting for the server.
    pub fn has_reply(&mut self) -> bool {
        use std::task::{Context, Poll, Waker};
        let mut context = Context::from_waker(Waker::noop());
        let fill = std::pin::pin!(self.stream.fill_buf());
        match std::future::Future::poll(fill, &mut context) {
            Poll::Ready(read) => !read.unwrap().is_empty(),
            Poll::Pending => false,
        }
    }
}
