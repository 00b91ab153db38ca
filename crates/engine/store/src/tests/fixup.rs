//! Checking databases and saving what can be saved of damaged ones.

use std::collections::BTreeMap;

use super::recovery::noise;
use super::*;
use crate::handle::PAGE_BYTES;
use crate::private::steps;
use crate::{EntryFlags, Stub};

const PATH: &str = "mail/ada.nsf";
const NOTES: u64 = 300;

/// UIDVALIDITY, UIDNEXT and number of entries of each folder.
type Folders = BTreeMap<String, (u32, u32, usize)>;

/// A database of two folders with three hundred notes, closed and whole.
fn full() -> (Closed, Ticket) {
    let bench = Bench::new();
    let ada = create(&bench.store, PATH);
    let pin = bench.store.objects().put(noise(1, 9_000).as_bytes()).unwrap();
    let make = |writer: &mut crate::Writer<'_>| {
        writer.create_folder(&ada, "A", None)?;
        writer.create_folder(&ada, "B", None)
    };
    bench.store.write::<_, StoreError>(&[&ada], make).unwrap();
    for number in 1..=NOTES + 20 {
        let tickets = [pin.ticket];
        add(&bench.store, &ada, number, if number.is_multiple_of(10) { &tickets } else { &[] });
    }
    for number in NOTES + 1..=NOTES + 20 {
        let delete = |writer: &mut crate::Writer<'_>| {
            let meta = writer.reader(&ada)?.note_by_unid(&unid(number))?.unwrap();
            writer.delete_note(&ada, meta.id, Stub::Keep)
        };
        bench.store.write::<_, StoreError>(&[&ada], delete).unwrap();
    }
    drop(ada);
    bench.store.flush().unwrap();
    (bench.close(), pin.ticket)
}

fn add(store: &Store, database: &Database, number: u64, tickets: &[Ticket]) {
    let prepared = note(number, &noise(number, 200 + number as usize % 9 * 900), tickets);
    let put = |writer: &mut crate::Writer<'_>| {
        let put = writer.put_note(database, &prepared)?;
        let name = if number.is_multiple_of(2) { "A" } else { "B" };
        let folder = writer.reader(database)?.folder_by_name(name)?.unwrap().id;
        writer.add_to_folder(database, folder, put.id, EntryFlags::NONE, &["k".to_owned()])
    };
    store.write::<_, StoreError>(&[database], put).unwrap();
}

/// The notes that are there, each checked, and the folders with UIDVALIDITY, UIDNEXT and entries.
fn shown(store: &Store) -> (Vec<u64>, Folders) {
    let database = store.database(PATH).unwrap();
    let notes: Vec<u64> =
        (1..=NOTES + 20).filter(|number| text_of(store, &database, *number).is_some()).collect();
    for number in &notes {
        let text = text_of(store, &database, *number).unwrap();
        assert_eq!(text, noise(*number, 200 + *number as usize % 9 * 900));
    }
    let read = store.read(&database, |reader| {
        let mut folders = BTreeMap::new();
        for folder in reader.folders()? {
            let entries = reader.entries(folder.id, 1..=u32::MAX, usize::MAX)?;
            assert_eq!(folder.messages as usize, entries.len());
            assert!(entries.iter().all(|entry| entry.uid < folder.uidnext));
            for entry in &entries {
                assert_eq!(reader.note_meta(entry.note)?.unwrap().unid, entry.unid);
            }
            folders.insert(folder.name, (folder.uidvalidity, folder.uidnext, entries.len()));
        }
        Ok(folders)
    });
    (notes, read.unwrap().value)
}

fn change(closed: &Closed, act: impl FnOnce(&mut Vec<u8>)) {
    let path = closed.file(PATH);
    let mut bytes = std::fs::read(&path).unwrap();
    act(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// The body of a note is not what its checksum says.
fn break_note(closed: &Closed, number: u64) {
    let conn = rusqlite::Connection::open(closed.file(PATH)).unwrap();
    let sql = "UPDATE note SET body = zeroblob(length(body)) WHERE unid = ?1";
    assert_eq!(conn.execute(sql, [&unid(number).0]).unwrap(), 1);
}

/// Everything goes on after a repair, and the next start finds a sound database.
fn go_on(bench: Bench) {
    let ada = bench.store.database(PATH).unwrap();
    put(&bench.store, &ada, 9_999, "after the repair");
    assert_counts_agree(&bench.store);
    drop(ada);
    let (bench, found) = bench.crash().open();
    assert_eq!((found.fenced.len(), found.adopted.len(), found.databases), (0, 0, 1));
    let ada = bench.store.database(PATH).unwrap();
    assert_eq!(text_of(&bench.store, &ada, 9_999).unwrap(), "after the repair");
    assert_counts_agree(&bench.store);
    assert_eq!(bench.store.fixup(PATH, true).unwrap().found, [""; 0]);
    drop(ada);
    bench.store.flush().unwrap();
    assert_sound(&bench.close().file(PATH));
}

#[test]
fn a_sound_database_is_told_to_be_and_not_touched() {
    let (closed, _) = full();
    let (bench, _) = closed.open();
    let dbiid = bench.store.database(PATH).unwrap().dbiid();
    let before = shown(&bench.store);
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!(fixed, crate::Fixed { path: PATH.to_owned(), ..crate::Fixed::default() });
    assert_eq!(shown(&bench.store), before);
    assert_eq!(bench.store.database(PATH).unwrap().dbiid(), dbiid);
    go_on(bench);
}

#[test]
fn what_can_be_counted_anew_is_mended_in_place() {
    let (closed, _) = full();
    let conn = rusqlite::Connection::open(closed.file(PATH)).unwrap();
    conn.execute_batch("UPDATE folder SET unseen = 0; UPDATE header SET stubs = 1;").unwrap();
    drop(conn);
    let (bench, _) = closed.open();
    let dbiid = bench.store.database(PATH).unwrap().dbiid();
    let fixed = bench.store.fixup(PATH, false).unwrap();
    assert_eq!((fixed.found.len(), fixed.mended, fixed.dbiid), (2, 3, None));
    assert_eq!(bench.store.database(PATH).unwrap().dbiid(), dbiid);
    go_on(bench);
}

#[test]
fn a_broken_note_is_lost_and_nothing_else() {
    let (closed, _) = full();
    break_note(&closed, 17);
    let (bench, _) = closed.open();
    let before = bench.store.database(PATH).unwrap();
    let refused = bench.store.fixup(PATH, false);
    assert!(matches!(refused, Err(StoreError::Damage { .. })), "{refused:?}");
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!((fixed.notes, fixed.lost), (NOTES - 1, (1, 1, 0)), "{fixed:?}");
    let after = bench.store.database(PATH).unwrap();
    assert_eq!(fixed.dbiid, Some(after.dbiid()));
    assert_ne!(before.dbiid(), after.dbiid());
    let gone = bench.store.read(&before, |_| Ok(()));
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    assert!(bench.file("mail/ada.nsf.damaged").exists());
    let (notes, folders) = shown(&bench.store);
    assert_eq!(notes, (1..=NOTES).filter(|number| *number != 17).collect::<Vec<_>>());
    assert_eq!(folders.len(), 2);
    drop((before, after));
    go_on(bench);
}

#[test]
fn notes_on_whole_pages_are_saved_whatever_pages_are_broken() {
    let mut saved_entries = 0;
    for seed in 1..=6_u64 {
        let (closed, _) = full();
        change(&closed, |bytes| {
            let pages = (bytes.len() / PAGE_BYTES) as u64;
            for index in 0..8 {
                let page = 2 + (seed * 7_919 + index * 104_729) % (pages - 2);
                let start = page as usize * PAGE_BYTES;
                bytes[start..start + PAGE_BYTES].fill(0x0D);
            }
        });
        let (bench, _) = closed.open_lazily();
        let fixed = bench.store.fixup(PATH, true).unwrap();
        let (notes, folders) = shown(&bench.store);
        assert_eq!(fixed.notes, notes.len() as u64);
        assert_eq!(fixed.notes + fixed.lost.0, NOTES, "seed {seed}: {fixed:?}");
        // A page holds at most a dozen of these notes, and a note spans at most two pages more.
        assert!(notes.len() > 200, "seed {seed}: {fixed:?}");
        assert!(notes.iter().all(|number| *number <= NOTES));
        let entries: usize = folders.values().map(|(_, _, entries)| entries).sum();
        assert_eq!(entries, notes.len(), "seed {seed}: every note is in a folder");
        saved_entries += entries;
        go_on(bench);
    }
    assert!(saved_entries > 0);
}

#[test]
fn without_its_first_page_a_database_is_still_saved() {
    let (closed, _) = full();
    change(&closed, |bytes| bytes[..PAGE_BYTES].fill(0));
    let (bench, _) = closed.open();
    let refused = bench.store.database(PATH).and_then(|ada| bench.store.read(&ada, |_| Ok(())));
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    let replica_id = bench.store.info(PATH).unwrap().replica_id;
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!(fixed.notes, NOTES);
    let ada = bench.store.database(PATH).unwrap();
    assert_eq!((ada.replica_id(), ada.title()), (replica_id, PATH.to_owned()));
    assert_eq!(shown(&bench.store).0.len() as u64, NOTES);
    drop(ada);
    go_on(bench);
}

#[test]
fn folders_keep_their_uidvalidity_only_when_no_uid_can_be_lost() {
    // An old copy put back, which the log does not reach: its folders may have given out more.
    let (closed, _) = full();
    let old = std::fs::read(closed.file(PATH)).unwrap();
    let (bench, _) = closed.open();
    let before = shown(&bench.store).1;
    let ada = bench.store.database(PATH).unwrap();
    let other = create(&bench.store, "other.nsf");
    put(&bench.store, &ada, 9_000, "lost with the old copy");
    (0..40).for_each(|number| put(&bench.store, &other, number, &noise(number, 8_000)));
    bench.store.flush().unwrap();
    bench.store.delete("other.nsf").unwrap();
    drop((ada, other));
    let closed = bench.close();
    std::fs::write(closed.file(PATH), old).unwrap();
    let (bench, _) = closed.open();
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!((fixed.notes, fixed.lost.0), (NOTES, 0));
    let after = shown(&bench.store).1;
    for (name, (validity, uidnext, entries)) in &after {
        assert!(*validity > before[name].0);
        assert_eq!((uidnext, entries), (&before[name].1, &before[name].2));
    }
    go_on(bench);
    // A broken note in one folder says nothing against the other.
    let (closed, _) = full();
    break_note(&closed, 17);
    let (bench, _) = closed.open();
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!(fixed.lost, (1, 1, 0));
    let folders = shown(&bench.store).1;
    assert_eq!(folders["A"], before["A"]);
    assert!(folders["B"].0 > before["B"].0);
}

#[test]
fn changes_that_only_the_log_holds_are_in_the_repaired_file() {
    let (closed, _) = full();
    let (bench, _) = closed.open();
    let ada = bench.store.database(PATH).unwrap();
    add(&bench.store, &ada, 310, &[]);
    drop(ada);
    let closed = bench.crash();
    // The -wal goes with the crash, and the first page of the file breaks.
    crate::handle::remove_files(&crate::handle::wal_path(&closed.file(PATH))).unwrap();
    change(&closed, |bytes| bytes[16..200].fill(0xFF));
    let (bench, found) = closed.open();
    assert_eq!(found.fenced.len(), 1);
    let fixed = bench.store.fixup(PATH, true).unwrap();
    assert_eq!(fixed.notes, NOTES, "the note of the log comes on top: {fixed:?}");
    assert!(shown(&bench.store).0.contains(&310));
    go_on(bench);
}

#[test]
fn a_crash_at_any_step_of_a_repair_loses_nothing_more() {
    for count in 1.. {
        let (closed, _) = full();
        change(&closed, |bytes| bytes[..PAGE_BYTES].fill(0));
        let (bench, _) = closed.open();
        steps::stop_after(Some(count));
        let finished = bench.store.fixup(PATH, true).is_ok();
        let closed = bench.crash();
        steps::stop_after(None);
        let (bench, found) = closed.open();
        assert_eq!(found.adopted, [""; 0]);
        let read = bench.store.database(PATH).and_then(|ada| bench.store.read(&ada, |_| Ok(())));
        if read.is_err() {
            assert_eq!(bench.store.fixup(PATH, true).unwrap().notes, NOTES, "step {count}");
        }
        assert_eq!(shown(&bench.store).0.len() as u64, NOTES, "step {count}");
        go_on(bench);
        if finished {
            assert!(count > 3);
            return;
        }
    }
}
