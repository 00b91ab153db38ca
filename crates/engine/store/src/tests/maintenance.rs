//! Compacting, copying and rebuilding databases that are in use.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::recovery::noise;
use super::*;
use crate::handle::wal_path;
use crate::private::steps;
use crate::{EntryFlags, FolderId, NoteId, Stub};

/// A database with a folder, notes of which most were deleted, and an object.
fn holey(bench: &Bench) -> (Database, Ticket) {
    let store = &bench.store;
    let ada = create(store, "mail/ada.nsf");
    let pin = store.objects().put(noise(1, 9_000).as_bytes()).unwrap();
    let folder = |writer: &mut crate::Writer<'_>| writer.create_folder(&ada, "F", None);
    let folder = store.write::<_, StoreError>(&[&ada], folder).unwrap().value.id;
    for number in 0..60 {
        add(store, &ada, folder, number, &[pin.ticket]);
    }
    for id in 1..=50 {
        let delete =
            |writer: &mut crate::Writer<'_>| writer.delete_note(&ada, NoteId(id), Stub::Keep);
        store.write::<_, StoreError>(&[&ada], delete).unwrap();
    }
    (ada, pin.ticket)
}

fn add(store: &Store, database: &Database, folder: FolderId, number: u64, tickets: &[Ticket]) {
    let prepared = note(number, &noise(number, 9_000), tickets);
    let put = |writer: &mut crate::Writer<'_>| {
        let put = writer.put_note(database, &prepared)?;
        writer.add_to_folder(database, folder, put.id, EntryFlags::NONE, &[])
    };
    store.write::<_, StoreError>(&[database], put).unwrap();
}

/// UIDVALIDITY, UIDNEXT, and the uids with the notes they stand for.
fn folder_of(store: &Store, database: &Database) -> (u32, u32, Vec<(u32, Unid)>) {
    let read = store.read(database, |reader| {
        let folder = reader.folder_by_name("F")?.unwrap();
        let entries = reader.entries(folder.id, 1..=u32::MAX, usize::MAX)?;
        assert_eq!(folder.messages as usize, entries.len());
        let uids = entries.iter().map(|entry| (entry.uid, entry.unid)).collect();
        Ok((folder.uidvalidity, folder.uidnext, uids))
    });
    read.unwrap().value
}

fn check(store: &Store, path: &str) {
    let database = store.database(path).unwrap();
    for number in 50..60 {
        assert_eq!(text_of(store, &database, number).unwrap(), noise(number, 9_000));
    }
    assert_eq!(text_of(store, &database, 49), None);
    assert_counts_agree(store);
}

fn private_files(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.file("mail")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".nsf") && !name.ends_with(".nsf-wal")).collect()
}

#[test]
fn compacting_frees_space_and_changes_nothing_else() {
    let bench = Bench::new();
    let (ada, _) = holey(&bench);
    bench.store.flush().unwrap();
    let before = (ada.dbiid(), folder_of(&bench.store, &ada));
    let done = bench.store.compact("mail/ada.nsf").unwrap();
    assert!(done.bytes_after * 3 < done.bytes_before, "{done:?}");
    assert_eq!(std::fs::metadata(bench.file("mail/ada.nsf")).unwrap().len(), done.bytes_after);
    assert_eq!((ada.dbiid(), folder_of(&bench.store, &ada)), before);
    check(&bench.store, "mail/ada.nsf");
    put(&bench.store, &ada, 100, "after");
    assert_eq!(private_files(&bench), [""; 0]);
    drop(ada);
    let (bench, found) = bench.crash().open();
    assert_eq!((found.fenced.len(), found.adopted.len(), found.sections_replayed), (0, 0, 1));
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    assert_eq!((ada.dbiid(), folder_of(&bench.store, &ada)), before);
    check(&bench.store, "mail/ada.nsf");
    bench.store.flush().unwrap();
    assert_sound(&bench.close().file("mail/ada.nsf"));
}

#[test]
fn writes_beside_a_compaction_are_all_there() {
    let bench = Bench::with(|options| options.redo_bytes_max = 256 << 10);
    let (ada, _) = holey(&bench);
    let folder = FolderId(1);
    let (next, stop) = (AtomicU64::new(1_000), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    add(&bench.store, &ada, folder, number, &[]);
                    bench.store.tick().unwrap();
                }
            });
        }
        for _ in 0..8 {
            bench.store.compact("mail/ada.nsf").unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let last = next.load(Ordering::Relaxed);
    drop(ada);
    let (bench, found) = bench.crash().open();
    assert_eq!(found.fenced, []);
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    let (_, _, uids) = folder_of(&bench.store, &ada);
    assert_eq!(uids.len() as u64, 10 + last - 1_000);
    (1_000..last).for_each(|number| {
        assert_eq!(text_of(&bench.store, &ada, number).unwrap(), noise(number, 9_000));
    });
    check(&bench.store, "mail/ada.nsf");
}

/// Lets the process end at each step of `act` in turn, and looks at what the next start shows.
fn at_each_step(act: impl Fn(&Store) -> bool, look: impl Fn(&Bench)) {
    for count in 1_u32.. {
        let bench = Bench::new();
        let (ada, _) = holey(&bench);
        if count.is_multiple_of(2) {
            bench.store.checkpoint_round().unwrap();
        }
        drop(ada);
        steps::stop_after(Some(count));
        let finished = act(&bench.store);
        let closed = bench.crash();
        steps::stop_after(None);
        let (bench, found) = closed.open();
        assert_eq!(found.fenced, [], "step {count}");
        assert_eq!(private_files(&bench), [""; 0], "step {count}");
        check(&bench.store, "mail/ada.nsf");
        look(&bench);
        bench.store.flush().unwrap();
        assert_sound(&bench.close().file("mail/ada.nsf"));
        if finished {
            assert!(count > 3);
            return;
        }
    }
}

#[test]
fn a_crash_at_any_step_of_compacting_leaves_a_whole_file() {
    at_each_step(|store| store.compact("mail/ada.nsf").is_ok(), |_| {});
}

#[test]
fn a_crash_at_any_step_of_copying_leaves_all_of_the_copy_or_nothing() {
    at_each_step(
        |store| store.copy("mail/ada.nsf", "mail/eve.nsf", false).is_ok(),
        |bench| {
            if bench.store.database("mail/eve.nsf").is_ok() {
                check(&bench.store, "mail/eve.nsf");
            }
        },
    );
}

#[test]
fn a_copy_is_a_database_of_its_own_that_shares_the_objects() {
    for new_replica in [false, true] {
        let bench = Bench::new();
        let (ada, ticket) = holey(&bench);
        let (validity, _, uids) = folder_of(&bench.store, &ada);
        let eve = bench.store.copy("mail/ada.nsf", "deep/mail/eve.nsf", new_replica).unwrap();
        assert_ne!(eve.dbiid(), ada.dbiid());
        assert_eq!(eve.replica_id() != ada.replica_id(), new_replica);
        let (copy_validity, _, copy_uids) = folder_of(&bench.store, &eve);
        assert!(copy_validity > validity);
        assert_eq!(copy_uids, uids);
        assert_eq!(bench.store.objects().references(&ticket.hash).unwrap(), 20);
        put(&bench.store, &eve, 7, "in the copy alone");
        assert_eq!(text_of(&bench.store, &ada, 7), None);
        check(&bench.store, "deep/mail/eve.nsf");
        bench.store.delete("mail/ada.nsf").unwrap();
        drop((ada, eve));
        let (bench, found) = bench.crash().open();
        assert_eq!((found.fenced.len(), found.adopted.len(), found.databases), (0, 0, 1));
        check(&bench.store, "deep/mail/eve.nsf");
        let eve = bench.store.database("deep/mail/eve.nsf").unwrap();
        assert_eq!(text_of(&bench.store, &eve, 7).unwrap(), "in the copy alone");
        assert_eq!(bench.store.objects().references(&ticket.hash).unwrap(), 10);
    }
}

#[test]
fn copies_are_refused_where_something_is() {
    let bench = Bench::new();
    let (_ada, ticket) = holey(&bench);
    create(&bench.store, "bob.nsf");
    std::fs::write(bench.file("file.nsf"), "x").unwrap();
    for to in ["bob.nsf", "file.nsf", "mail/ada.nsf"] {
        let refused = bench.store.copy("mail/ada.nsf", to, false);
        assert!(matches!(refused, Err(StoreError::Exists { .. })), "{to}: {refused:?}");
    }
    let refused = bench.store.copy("mail/ada.nsf", "../x.nsf", false);
    assert!(matches!(refused, Err(StoreError::BadPath { .. })));
    assert_eq!(bench.store.objects().references(&ticket.hash).unwrap(), 10);
}

#[test]
fn updall_mends_counters_copies_and_indexes() {
    let bench = Bench::new();
    let (ada, _) = holey(&bench);
    let sound = bench.store.updall("mail/ada.nsf").unwrap();
    assert_eq!(sound.mended, 0);
    let before = folder_of(&bench.store, &ada);
    bench.store.flush().unwrap();
    drop(ada);
    let closed = bench.close();
    let conn = rusqlite::Connection::open(closed.file("mail/ada.nsf")).unwrap();
    conn.execute_batch(
        "UPDATE folder SET messages = 3, unseen = 99; UPDATE entry SET size = 1 WHERE uid = 55;
         UPDATE entry SET flags = 16 WHERE uid = 56; UPDATE header SET notes = 5;",
    )
    .unwrap();
    drop(conn);
    let (bench, _) = closed.open();
    let mended = bench.store.updall("mail/ada.nsf").unwrap();
    assert_eq!(mended.mended, 4);
    assert_eq!(bench.store.updall("mail/ada.nsf").unwrap().mended, 0);
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    assert_eq!(folder_of(&bench.store, &ada), before);
    assert_eq!(bench.store.info("mail/ada.nsf").unwrap().notes, 10);
    bench.store.flush().unwrap();
    assert!(std::fs::metadata(wal_path(&bench.file("mail/ada.nsf"))).is_ok());
    check(&bench.store, "mail/ada.nsf");
}
