//! What stands below a door in its tests: a store, a directory with two people, and a pool.

#[path = "ground.rs"]
mod ground;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use directory::{Directory, NewPassword, NewPerson};
use session::{Job, Pool};
use store::{Store, StoreOptions};

pub use ground::Ground;

/// Runs jobs on the blocking threads of the runtime, and counts them.
pub struct Blocking {
    runtime: tokio::runtime::Handle,
    jobs: Arc<AtomicUsize>,
}

impl Blocking {
    /// Over the runtime of the caller; `jobs` counts what it was given.
    pub fn new(jobs: Arc<AtomicUsize>) -> Arc<Blocking> {
        Arc::new(Blocking { runtime: tokio::runtime::Handle::current(), jobs })
    }
}

impl Pool for Blocking {
    fn submit(&self, job: Job) {
        self.jobs.fetch_add(1, Ordering::SeqCst);
        self.runtime.spawn_blocking(job);
    }
}

/// A store and a directory with alice and bob in a directory of their own.
pub fn house(passwords: [&str; 2]) -> (Ground, Arc<Store>, Arc<Directory>) {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let directory = Directory::create(store.clone(), "example.test", "CN=mail/O=Example").unwrap();
    let people = [("Alice Example", "alice"), ("Bob Example", "bob")];
    for ((name, short), password) in people.into_iter().zip(passwords) {
        let password = Some(NewPassword::Plain(password.into()));
        let (full_name, short_name) = (name.to_owned(), short.to_owned());
        let person = NewPerson { full_name, short_name, password, ..NewPerson::default() };
        directory.add_person(person).unwrap();
    }
    (Ground::new(store.clone(), dir), store, directory)
}
