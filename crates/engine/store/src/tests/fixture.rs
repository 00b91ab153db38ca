//! A database file of every released structure version is still read.

use super::model::state::{ModelDb, observe};
use super::*;
use crate::{EntryFlags, NoteId, Stub, Writer};

/// A file of structure version 1 with the content of [`fill`].
const ODS_1: &[u8] = include_bytes!("fixtures/ods-1.nsf");

fn fill(store: &Store, database: &Database) {
    let write = |f: &dyn Fn(&mut Writer<'_>) -> crate::Result<()>| {
        store.write::<_, StoreError>(&[database], |writer| f(writer)).unwrap();
    };
    write(&|writer| {
        let inbox = writer.create_folder(database, "INBOX", None)?;
        let sent = writer.create_folder(database, "Sent", Some("\\Sent"))?;
        writer.subscribe(database, sent.id, true)?;
        for number in 1..=6 {
            let text = format!("text {number} ").repeat(number as usize * 20);
            let put = writer.put_note(database, &note(number, &text, &[]))?;
            writer.add_to_folder(database, inbox.id, put.id, EntryFlags::NONE, &[])?;
        }
        Ok(())
    });
    write(&|writer| {
        let folders = writer.reader(database)?.folders()?;
        let (inbox, sent) = (folders[0].id, folders[1].id);
        writer.add_to_folder(database, sent, NoteId(1), EntryFlags::FLAGGED, &[])?;
        writer.set_flags(database, inbox, 2, EntryFlags::ANSWERED, &["$Label".to_owned()])?;
        writer.set_seen(database, NoteId(1), true)?;
        writer.remove_from_folder(database, inbox, 3)?;
        writer.delete_note(database, NoteId(4), Stub::Keep)?;
        writer.set_title(database, "Ada's mail")
    });
}

fn show(store: &Store, database: &Database) -> ModelDb {
    let mut model = store.read(database, |reader| observe(database, reader)).unwrap().value;
    // A file from elsewhere gets new ones.
    model.folders.values_mut().for_each(|folder| folder.uidvalidity = 0);
    model
}

/// To make the file of a new version: fill a database, flush, close, copy it.
#[test]
fn files_of_structure_version_1_are_read() {
    let bench = Bench::new();
    let fresh = create(&bench.store, "fresh.nsf");
    fill(&bench.store, &fresh);
    let expected = show(&bench.store, &fresh);
    bench.store.flush().unwrap();
    let closed = bench.close();
    std::fs::write(closed.file("old.nsf"), ODS_1).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.adopted, ["old.nsf"]);
    let old = bench.store.database("old.nsf").unwrap();
    assert_eq!(show(&bench.store, &old), expected);
    put(&bench.store, &old, 50, "still written");
    let tables = |path: &str| {
        let database = bench.store.database(path).unwrap();
        let state = bench.store.lock_open(&database).unwrap();
        let conn = &state.handle.as_ref().unwrap().conn;
        let mut statement = conn.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        rows.map(|row| row.unwrap().unwrap_or_default()).collect::<Vec<String>>()
    };
    assert_eq!(tables("old.nsf"), tables("fresh.nsf"));
}
