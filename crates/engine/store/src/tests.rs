//! Tests of the store as a whole.

mod fixture;
mod fixup;
mod flips;
mod folders;
mod full;
mod lazy;
mod life;
mod maintenance;
mod model;
mod pool;
mod power;
mod recovery;
mod rounds;
mod together;
mod travel;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use note::{Item, ItemFlags, ItemValue, Note, NoteClass, Piece, Recipe, Ticket, TimeDate, Unid};
use tempfile::TempDir;
use txlog::ManualClock;

use crate::{
    Database, NewDatabase, PreparedNote, Recovery, Replayed, Store, StoreError, StoreOptions,
};

/// A store in a directory of its own, with a clock that stands still.
pub(crate) struct Bench {
    pub dir: TempDir,
    pub clock: Arc<ManualClock>,
    pub options: StoreOptions,
    pub store: Arc<Store>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut StoreOptions)) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_800_000_000)));
        let mut options = StoreOptions::small(dir.path());
        options.log.segment_bytes = 64 << 10;
        options.log.bytes_max = 64 << 20;
        options.clock = clock.clone();
        change(&mut options);
        let (store, _) = Store::open(options.clone()).unwrap();
        Bench { dir, clock, options, store }
    }

    /// Everything appended becomes durable, then the process ends without warning.
    pub fn crash(self) -> Closed {
        let store = &self.store;
        store.durable(store.log().appended()).wait().unwrap();
        let Bench { dir, clock, options, store } = self;
        let store = Arc::into_inner(store).expect("nobody else has the store");
        drop(store);
        Closed { dir, clock, options }
    }

    pub fn close(self) -> Closed {
        self.store.close().unwrap();
        let Bench { dir, clock, options, .. } = self;
        Closed { dir, clock, options }
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.options.data_dir.join(path)
    }
}

/// A store that is not open.
pub(crate) struct Closed {
    pub dir: TempDir,
    pub clock: Arc<ManualClock>,
    pub options: StoreOptions,
}

/// What a start and the replay that follows it found and did.
#[derive(Debug)]
pub(crate) struct Found {
    pub databases: usize,
    pub sections_replayed: u64,
    pub databases_replayed: usize,
    pub recreated: Vec<String>,
    pub moved: Vec<(String, String)>,
    pub adopted: Vec<String>,
    pub fenced: Vec<(String, String)>,
    pub damage: Vec<String>,
}

impl Found {
    fn new(recovery: Recovery, replayed: Replayed) -> Found {
        let Recovery { databases, moved, adopted, mut fenced, damage, .. } = recovery;
        fenced.extend(replayed.fenced);
        Found {
            databases,
            sections_replayed: replayed.sections,
            databases_replayed: replayed.databases,
            recreated: replayed.recreated,
            moved,
            adopted,
            fenced,
            damage,
        }
    }
}

impl Closed {
    /// Opens the store and replays everything.
    pub fn open(self) -> (Bench, Found) {
        let (bench, recovery) = self.open_lazily();
        let replayed = bench.store.replay_pending(Duration::MAX).unwrap();
        assert_eq!((replayed.left, bench.store.pending()), (0, 0));
        (bench, Found::new(recovery, replayed))
    }

    /// Opens the store; databases are replayed when they are used.
    pub fn open_lazily(self) -> (Bench, Recovery) {
        let (store, recovery) = Store::open(self.options.clone()).unwrap();
        let Closed { dir, clock, options } = self;
        (Bench { dir, clock, options, store }, recovery)
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.options.data_dir.join(path)
    }
}

pub(crate) fn create(store: &Store, path: &str) -> Database {
    store.create(path, NewDatabase::titled(path)).unwrap()
}

pub(crate) fn unid(number: u64) -> Unid {
    let mut bytes = [0_u8; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Unid(bytes)
}

/// A note with a text and references to objects.
pub(crate) fn note(number: u64, text: &str, tickets: &[Ticket]) -> PreparedNote {
    let mut note = Note::new(unid(number), NoteClass::DOCUMENT, TimeDate(number as i64));
    note.set("Subject", text);
    if !tickets.is_empty() {
        let object = |ticket: &Ticket| Piece::Object { ticket: *ticket, recipe: Recipe::Raw };
        let pieces = ItemValue::Pieces(tickets.iter().map(object).collect());
        note.put(Item::new("$Content", pieces, ItemFlags::NONE));
    }
    PreparedNote::new(&note, text.len() as u64, TimeDate(7))
}

/// The text of a note made by [`note`].
pub(crate) fn text_of(store: &Store, database: &Database, number: u64) -> Option<String> {
    let read = store.read(database, |reader| {
        let Some(meta) = reader.note_by_unid(&unid(number))? else { return Ok(None) };
        reader.note(meta.id)
    });
    read.unwrap().value.map(|note| note.text("subject").unwrap().to_owned())
}

pub(crate) fn put(store: &Store, database: &Database, number: u64, text: &str) {
    let prepared = note(number, text, &[]);
    let put = |writer: &mut crate::Writer<'_>| writer.put_note(database, &prepared);
    store.write::<_, StoreError>(&[database], put).unwrap();
}

/// The counts of the object store agree with the databases, and every object is whole.
pub(crate) fn assert_counts_agree(store: &Store) {
    let counted = {
        let _recount = store.objects().recount();
        store.count_references().unwrap()
    };
    let report = store.objects().resync(counted).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let report = store.objects().verify(&mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// SQLite finds nothing wrong with a closed database file.
pub(crate) fn assert_sound(path: &Path) {
    let conn = rusqlite::Connection::open(path).unwrap();
    let said: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok", "{}", path.display());
}
