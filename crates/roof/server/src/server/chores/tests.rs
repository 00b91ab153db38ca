//! Tests of the chores: expired deletions go, others stay.

use std::sync::Arc;

use note::{Note, NoteClass, TimeDate};
use store::{Database, NewDatabase, NoteId, PreparedNote, Store, StoreError, StoreOptions};
use txlog::ManualClock;

use super::{PURGE_BATCH, Purge, purge};

const HOUR_S: i64 = 3600;

fn deleted_note(store: &Store, database: &Database) -> NoteId {
    let note = Note::new(store.new_unid(), NoteClass::DOCUMENT, store.now());
    let prepared = PreparedNote::new(&note, 1, store.now());
    let written = store.write(&[database], |writer| -> Result<NoteId, StoreError> {
        let put = writer.put_note(database, &prepared)?;
        writer.soft_delete(database, put.id)?;
        Ok(put.id)
    });
    written.unwrap().value
}

fn is_there(store: &Store, database: &Database, id: NoteId) -> bool {
    store.read(database, |reader| reader.note_meta(id)).unwrap().value.is_some()
}

#[test]
fn expired_deletions_go_and_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_000_000)));
    let mut options = StoreOptions::small(dir.path());
    options.clock = clock.clone();
    let (store, _) = Store::open(options).unwrap();
    let one = store.create("one.nsf", NewDatabase::titled("one")).unwrap();
    let two = store.create("two.nsf", NewDatabase::titled("two")).unwrap();
    let old: Vec<NoteId> = (0..PURGE_BATCH + 3).map(|_| deleted_note(&store, &one)).collect();
    clock.set(TimeDate::from_unix_seconds(1_000_000 + 47 * HOUR_S));
    let young = deleted_note(&store, &two);
    assert_eq!(purge(&store, "one.nsf", 48 * HOUR_S).unwrap(), 0);
    clock.set(TimeDate::from_unix_seconds(1_000_000 + 49 * HOUR_S));
    let mut purging = Purge::default();
    while purging.begun.is_none() || !purging.paths.is_empty() {
        purging.slice(&store, 48 * HOUR_S).unwrap();
    }
    assert!(old.iter().all(|id| !is_there(&store, &one, *id)));
    assert!(is_there(&store, &two, young));
    assert!(matches!(purge(&store, "gone.nsf", 0), Err(StoreError::NotFound { .. })));
    store.close().unwrap();
}
