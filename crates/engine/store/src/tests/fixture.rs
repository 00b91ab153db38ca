//! A database file of every released structure version is still read.

use super::model::state::{ModelDb, observe};
use super::*;
use crate::handle::PAGE_BYTES;
use crate::{EntryFlags, NoteId, Quota, Stub, Writer};

/// Files of each structure version with the content of [`fill`]: two with pages of 4,096 bytes,
/// and one with pages of 2,048.
const FILES: [(u32, &[u8]); 3] = [
    (1, include_bytes!("fixtures/ods-1.nsf")),
    (2, include_bytes!("fixtures/ods-2.nsf")),
    (2, include_bytes!("fixtures/ods-2-small-pages.nsf")),
];
const QUOTA: Quota = Quota { limit_bytes: 10_000, warn_bytes: 9_000 };

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
        writer.set_quota(database, QUOTA)?;
        writer.set_title(database, "Ada's mail")
    });
}

fn show(store: &Store, database: &Database) -> ModelDb {
    let mut model = store.read(database, |reader| observe(database, reader)).unwrap().value;
    // A file from elsewhere gets new ones.
    model.folders.values_mut().for_each(|folder| folder.uidvalidity = 0);
    model
}

/// `STORE_FIXTURE=path cargo test -p store every_released` writes the file of the present version.
#[test]
fn files_of_every_released_structure_version_are_read() {
    let bench = Bench::new();
    let fresh = create(&bench.store, "fresh.nsf");
    fill(&bench.store, &fresh);
    let expected = show(&bench.store, &fresh);
    bench.store.flush().unwrap();
    let mut closed = bench.close();
    if let Ok(path) = std::env::var("STORE_FIXTURE") {
        std::fs::copy(closed.file("fresh.nsf"), path).unwrap();
    }
    for (number, (version, file)) in FILES.into_iter().enumerate() {
        let path = format!("old{number}.nsf");
        std::fs::write(closed.file(&path), file).unwrap();
        let (bench, recovery) = closed.open();
        assert_eq!(recovery.adopted, [path.as_str()]);
        let old = bench.store.database(&path).unwrap();
        let quota = if version < 2 { Quota::default() } else { QUOTA };
        assert_eq!(show(&bench.store, &old), ModelDb { quota, ..expected.clone() });
        let info = bench.store.info(&path).unwrap();
        assert_eq!(info.logical_bytes, bench.store.info("fresh.nsf").unwrap().logical_bytes);
        assert_eq!(bench.store.updall(&path).unwrap().mended, 0);
        put(&bench.store, &old, 50, "still written");
        let schema = |path: &str| schema(&bench.store, path);
        assert_eq!(schema(&path), schema("fresh.nsf"));
        drop(old);
        let (bench, _) = bench.crash().open();
        let old = bench.store.database(&path).unwrap();
        assert_eq!(text_of(&bench.store, &old, 50).unwrap(), "still written");
        drop(old);
        closed = bench.close();
    }
}

fn schema(store: &Store, path: &str) -> Vec<String> {
    let database = store.database(path).unwrap();
    let state = store.lock_open(&database).unwrap();
    let conn = &state.handle.as_ref().unwrap().conn;
    let mut statement = conn.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
    rows.map(|row| row.unwrap().unwrap_or_default()).collect()
}

#[test]
fn a_file_with_large_pages_keeps_them_until_it_is_compacted() {
    let page_bytes = |bench: &Bench| {
        let database = bench.store.database("old.nsf").unwrap();
        let state = bench.store.lock_open(&database).unwrap();
        let conn = &state.handle.as_ref().unwrap().conn;
        conn.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0)).unwrap() as usize
    };
    let closed = Bench::new().close();
    std::fs::write(closed.file("old.nsf"), FILES[1].1).unwrap();
    let (bench, _) = closed.open();
    let old = bench.store.database("old.nsf").unwrap();
    let before = show(&bench.store, &old);
    assert_eq!(page_bytes(&bench), 4_096);
    bench.store.compact("old.nsf").unwrap();
    assert_eq!(page_bytes(&bench), PAGE_BYTES);
    assert_eq!(show(&bench.store, &old), before);
    drop(old);
    let (bench, _) = bench.crash().open();
    let old = bench.store.database("old.nsf").unwrap();
    assert_eq!((show(&bench.store, &old), page_bytes(&bench)), (before, PAGE_BYTES));
}
