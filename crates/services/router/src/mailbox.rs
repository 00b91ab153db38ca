//! The mail.box databases: opened at start, chosen by load, watched for changes of other hands.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use store::{Changed, Database, NewDatabase, Store, StoreError, Watch};

use crate::board::Board;

thread_local! {
    /// Set while this thread makes a change of mail.box that needs no scan.
    static OWN_CHANGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a write whose changes of mail.box the router knows about.
pub(crate) fn own<T>(write: impl FnOnce() -> T) -> T {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            OWN_CHANGE.set(false);
        }
    }
    OWN_CHANGE.set(true);
    let _reset = Reset;
    write()
}

/// One mail.box.
pub(crate) struct MailBox {
    /// Its place among the router's mail.box databases.
    pub number: usize,
    pub path: String,
    pub database: Database,
    feed: Arc<Feed>,
    busy: AtomicUsize,
    accesses: AtomicU64,
    conflicts: AtomicU64,
    _watch: Watch,
}

/// How far the change feed was looked at.
struct Feed {
    board: Arc<Board>,
    seen: Mutex<Seen>,
}

struct Seen {
    /// Changes up to here need no look.
    change_seq: u64,
    /// Another hand changed something after it.
    dirty: bool,
}

/// `mail.box`, `mail1.box` …
pub(crate) fn path(number: usize) -> String {
    if number == 0 { "mail.box".to_owned() } else { format!("mail{number}.box") }
}

impl MailBox {
    /// Opens a mail.box, making it when it is missing.
    pub(crate) fn open(
        store: &Store,
        number: usize,
        path: String,
        board: &Arc<Board>,
    ) -> Result<MailBox, StoreError> {
        let database = match store.database(&path) {
            Err(StoreError::NotFound { .. }) => {
                let new = NewDatabase { soft_delete: false, ..NewDatabase::titled(&path) };
                store.create(&path, new)?
            }
            opened => opened?,
        };
        // A fence is found when the file is opened.
        store.read(&database, |_| Ok(()))?;
        let seen = Mutex::new(Seen { change_seq: 0, dirty: true });
        let feed = Arc::new(Feed { board: board.clone(), seen });
        let told = feed.clone();
        let watch = database.on_change(Box::new(move |changed| told.tell(&changed)));
        Ok(MailBox {
            number,
            path,
            database,
            feed,
            busy: AtomicUsize::new(0),
            accesses: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            _watch: watch,
        })
    }

    /// How many writes are going on here.
    pub(crate) fn load(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Counts an access for as long as the guard lives.
    pub(crate) fn access(&self) -> Access<'_> {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        if self.busy.fetch_add(1, Ordering::Relaxed) > 0 {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        Access { mailbox: self }
    }

    /// Accesses, and those that met another one.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.accesses.load(Ordering::Relaxed), self.conflicts.load(Ordering::Relaxed))
    }

    /// From which change on a scan has to look; `None` when there is nothing new.
    pub(crate) fn scan_from(&self, everything: bool) -> Option<u64> {
        let mut seen = self.feed.seen.lock();
        let dirty = std::mem::take(&mut seen.dirty);
        if everything { Some(0) } else { dirty.then_some(seen.change_seq) }
    }

    /// A scan looked at everything up to here.
    pub(crate) fn scanned(&self, change_seq: u64) {
        let mut seen = self.feed.seen.lock();
        seen.change_seq = seen.change_seq.max(change_seq);
    }

    /// A scan failed: the next one has to look again.
    pub(crate) fn scan_again(&self) {
        self.feed.seen.lock().dirty = true;
    }
}

impl Feed {
    /// Called under the database's lock: only flags are set.
    fn tell(&self, changed: &Changed) {
        let mut seen = self.seen.lock();
        if OWN_CHANGE.get() && !seen.dirty {
            seen.change_seq = seen.change_seq.max(changed.change_seq);
            return;
        }
        seen.dirty = true;
        drop(seen);
        self.board.ask_scan();
    }
}

pub(crate) struct Access<'a> {
    mailbox: &'a MailBox,
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        self.mailbox.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
