//! Self-contained copies, single notes, resync beside copies, watching and stopping.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::recovery::noise;
use super::*;
use crate::private::steps;
use crate::{CopyOptions, EntryFlags, FolderId, Quota, Step, unwatched};

/// A database with objects, folders, flags, a quota and a softly deleted note.
fn fill(bench: &Bench) -> Database {
    let ada = create(&bench.store, "mail/ada.nsf");
    let content: Vec<Vec<u8>> = (0..6).map(|at| noise(at, 9_000).into_bytes()).collect();
    let pins: Vec<_> = content.iter().map(|c| bench.store.objects().put(c).unwrap()).collect();
    let write = |writer: &mut crate::Writer<'_>| {
        let inbox = writer.create_folder(&ada, "INBOX", None)?.id;
        let sub = writer.create_folder(&ada, "A/B", None)?.id;
        for number in 1..=20 {
            let tickets = [pins[number as usize % 6].ticket, pins[number as usize % 2].ticket];
            let put = writer.put_note(&ada, &note(number, &noise(number, 700), &tickets))?;
            let flags = if number % 3 == 0 { EntryFlags::SEEN } else { EntryFlags::FLAGGED };
            writer.add_to_folder(&ada, inbox, put.id, flags, &["$x".to_owned()])?;
            if number % 5 == 0 {
                writer.add_to_folder(&ada, sub, put.id, flags, &[])?;
            }
        }
        writer.remove_from_folder(&ada, inbox, 1)?;
        writer.set_quota(&ada, Quota { limit_bytes: 5_000, warn_bytes: 4_000 })
    };
    bench.store.write::<_, StoreError>(&[&ada], write).unwrap();
    ada
}

/// What a database shows, its UIDVALIDITYs aside.
fn show(store: &Store, path: &str) -> super::model::state::ModelDb {
    let database = store.database(path).unwrap();
    let read = store.read(&database, |reader| super::model::state::observe(&database, reader));
    let mut model = read.unwrap().value;
    model.folders.values_mut().for_each(|folder| folder.uidvalidity = 0);
    model.change_seq = 0;
    model
}

/// Every object that the notes refer to can be read.
fn read_objects(store: &Store, path: &str) -> usize {
    let tickets: Vec<Ticket> =
        show(store, path).notes.into_values().flat_map(|note| note.tickets).collect();
    for ticket in &tickets {
        let mut content = Vec::new();
        store.objects().read(ticket, 0..ticket.length, &mut content).unwrap();
        assert_eq!(content.len() as u64, ticket.length);
    }
    tickets.len()
}

#[test]
fn a_self_contained_copy_is_taken_in_by_another_server() {
    let bench = Bench::new();
    fill(&bench);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ada.nsf");
    let done = bench.store.export("mail/ada.nsf", &file, &mut unwatched).unwrap();
    assert_eq!((done.notes, done.objects), (19, 6));
    assert_eq!(std::fs::metadata(&file).unwrap().len(), done.bytes);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_counts_agree(&bench.store);
    let expected = show(&bench.store, "mail/ada.nsf");

    let other = Bench::new();
    other.store.import(&file, "deep/eve.nsf", &mut unwatched).unwrap();
    assert_eq!(show(&other.store, "deep/eve.nsf"), expected);
    assert_eq!(read_objects(&other.store, "deep/eve.nsf"), 40);
    assert_counts_agree(&other.store);
    // Dropped into the data directory of a server that is down, it is taken in by the start.
    let closed = other.crash();
    std::fs::copy(&file, closed.file("dropped.nsf")).unwrap();
    let (other, found) = closed.open();
    assert_eq!(
        (found.adopted.as_slice(), found.fenced.len()),
        (&["dropped.nsf".to_owned()][..], 0)
    );
    for path in ["deep/eve.nsf", "dropped.nsf"] {
        assert_eq!(show(&other.store, path), expected);
        assert_eq!(read_objects(&other.store, path), 40);
        let database = other.store.database(path).unwrap();
        let state = other.store.lock_open(&database).unwrap();
        let conn = &state.handle.as_ref().unwrap().conn;
        assert_eq!(crate::carried::carried(conn).unwrap(), None, "objects are not kept twice");
    }
    assert_counts_agree(&other.store);
    other.store.flush().unwrap();
    assert_sound(&other.close().file("deep/eve.nsf"));
}

#[test]
fn what_cannot_travel_is_refused() {
    let bench = Bench::new();
    fill(&bench);
    let dir = tempfile::tempdir().unwrap();
    let export = |file: &Path| bench.store.export("mail/ada.nsf", file, &mut unwatched);
    let inside = bench.file("mail/x.nsf");
    assert!(matches!(export(&inside), Err(StoreError::BadPath { .. })));
    let taken = dir.path().join("taken");
    std::fs::write(&taken, "x").unwrap();
    assert!(matches!(export(&taken), Err(StoreError::Exists { .. })));
    assert!(matches!(export(&dir.path().join("no/such/x.nsf")), Err(StoreError::Io { .. })));
    let import = |file: &Path| bench.store.import(file, "new.nsf", &mut unwatched);
    assert!(matches!(import(&taken), Err(StoreError::Damage { .. })));
    // A live file is touched by nobody but the store, not by way of a link either.
    let link = dir.path().join("link.nsf");
    std::os::unix::fs::symlink(bench.file("mail/ada.nsf"), &link).unwrap();
    for live in [bench.file("mail/ada.nsf"), link] {
        assert!(matches!(import(&live), Err(StoreError::BadPath { .. })));
    }
    // A plain copy needs its objects here.
    bench.store.flush().unwrap();
    let plain = dir.path().join("plain.nsf");
    std::fs::copy(bench.file("mail/ada.nsf"), &plain).unwrap();
    import(&plain).unwrap();
    let other = Bench::new();
    let refused = other.store.import(&plain, "new.nsf", &mut unwatched);
    assert!(matches!(&refused, Err(StoreError::NoObject { .. })), "{refused:?}");
    assert_eq!(other.store.paths(), [""; 0]);
    for store in [&bench.store, &other.store] {
        assert_counts_agree(store);
    }
}

#[test]
fn a_flipped_object_in_a_self_contained_copy_is_found() {
    let bench = Bench::new();
    fill(&bench);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ada.nsf");
    bench.store.export("mail/ada.nsf", &file, &mut unwatched).unwrap();
    for sql in [
        "UPDATE carried SET body = zeroblob(length(body)) WHERE id = 3",
        "UPDATE carried SET hash = randomblob(32) WHERE id = 3",
    ] {
        let flipped = dir.path().join("flipped.nsf");
        std::fs::copy(&file, &flipped).unwrap();
        let conn = rusqlite::Connection::open(&flipped).unwrap();
        conn.execute_batch(sql).unwrap();
        drop(conn);
        let other = Bench::new();
        let refused = other.store.import(&flipped, "eve.nsf", &mut unwatched);
        assert!(matches!(&refused, Err(StoreError::Damage { .. })), "{refused:?}");
        assert_eq!(other.store.paths(), [""; 0]);
        assert_counts_agree(&other.store);
        // A start tells it and goes on.
        let closed = other.close();
        std::fs::copy(&flipped, closed.file("eve.nsf")).unwrap();
        let (other, found) = closed.open();
        assert_eq!((found.fenced.len(), found.databases), (1, 0));
        assert_counts_agree(&other.store);
    }
}

#[test]
fn strange_files_in_the_data_directory_keep_no_start_from_ending_well() {
    let bench = Bench::new();
    fill(&bench);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ada.nsf");
    bench.store.export("mail/ada.nsf", &file, &mut unwatched).unwrap();
    let mut closed = bench.close();
    for (number, sql) in [
        "DROP TABLE carried; CREATE TABLE carried(x)",
        "DROP TABLE carried; CREATE VIEW carried AS SELECT 1",
        "UPDATE carried SET unpacked = -5",
        "UPDATE carried SET unpacked = 9000000000000",
        "UPDATE carried SET body = 7, hash = NULL WHERE 0; DELETE FROM carried WHERE id = 2",
        "UPDATE note SET hashes = x'01' WHERE id = 3; UPDATE note SET body = x'02' WHERE id = 4",
        "DROP TABLE note; CREATE TABLE note(id, hashes)",
    ]
    .into_iter()
    .enumerate()
    {
        let strange = closed.file(&format!("strange{number}.nsf"));
        std::fs::copy(&file, &strange).unwrap();
        let conn = rusqlite::Connection::open(&strange).unwrap();
        conn.execute_batch(sql).unwrap();
        drop(conn);
        let (bench, _) = closed.open_lazily();
        assert_eq!(show(&bench.store, "mail/ada.nsf").notes.len(), 20);
        closed = bench.close();
    }
}

#[test]
fn a_crash_at_any_step_of_export_and_import_leaves_all_or_nothing() {
    for count in 1_u32..20 {
        let bench = Bench::new();
        fill(&bench);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ada.nsf");
        steps::stop_after(Some(count));
        let done = bench
            .store
            .export("mail/ada.nsf", &file, &mut unwatched)
            .and_then(|_| bench.store.import(&file, "eve.nsf", &mut unwatched));
        let closed = bench.crash();
        steps::stop_after(None);
        let (bench, found) = closed.open();
        assert_eq!(found.fenced, [], "step {count}");
        let expected = show(&bench.store, "mail/ada.nsf");
        if bench.store.database("eve.nsf").is_ok() {
            assert_eq!(show(&bench.store, "eve.nsf"), expected, "step {count}");
        }
        assert_counts_agree(&bench.store);
        if done.is_ok() {
            assert!(count > 4);
            return;
        }
    }
    panic!("never finished");
}

#[test]
fn references_counted_ahead_of_a_copy_survive_a_resync() {
    let bench = Bench::new();
    fill(&bench);
    let dbiid = bench.store.new_dbiid();
    {
        let ada = bench.store.database("mail/ada.nsf").unwrap();
        let state = bench.store.lock_open(&ada).unwrap();
        bench.store.count_for(&state, dbiid).unwrap();
    }
    assert_counts_agree(&bench.store);
    bench.store.forget_database(dbiid).unwrap();
    assert_counts_agree(&bench.store);
    assert_eq!(bench.store.counted_ahead.lock().len(), 0);
    bench.store.copy("mail/ada.nsf", "copy.nsf", false).unwrap();
    assert_eq!(bench.store.counted_ahead.lock().len(), 0);
    assert_counts_agree(&bench.store);
}

#[test]
fn references_of_sound_databases_are_counted_beside_fenced_ones() {
    let bench = Bench::new();
    fill(&bench);
    let bob = bench.store.copy("mail/ada.nsf", "bob.nsf", false).unwrap().dbiid();
    bench.store.flush().unwrap();
    let closed = bench.close();
    std::fs::remove_file(closed.file("bob.nsf")).unwrap();
    let (bench, found) = closed.open();
    assert_eq!(found.fenced.len(), 1);
    assert!(matches!(bench.store.count_references(), Err(StoreError::Fenced { .. })));
    let ada = bench.store.database("mail/ada.nsf").unwrap().dbiid();
    let (counts, unknown) = bench.store.count_references_of_sound(&mut crate::unwatched).unwrap();
    assert_eq!(unknown, [bob]);
    assert_eq!(counts.len(), 6);
    assert!(counts.keys().all(|(dbiid, _)| *dbiid == ada));
    assert_eq!(counts.values().sum::<i64>(), 40);
}

#[test]
fn single_notes_are_copied_with_folders_and_flags() {
    let bench = Bench::new();
    let ada = fill(&bench);
    let bob = create(&bench.store, "bob.nsf");
    put(&bench.store, &bob, 4, "bob's own");
    let wanted = [unid(3), unid(5), unid(4), unid(1), unid(99)];
    let copy = || bench.store.copy_notes("mail/ada.nsf", "bob.nsf", &wanted, &mut unwatched);
    let done = copy().unwrap();
    assert_eq!((done.copied, done.already, done.left), (2, 1, 0));
    // Softly deleted, and not there.
    assert_eq!(done.missing, [unid(1), unid(99)]);
    let (first, second) = (show(&bench.store, "mail/ada.nsf"), show(&bench.store, "bob.nsf"));
    for number in [3, 5] {
        let (a, b) = (&first.notes[&number], &second.notes[&number]);
        assert_eq!((&a.text, &a.tickets, a.seen), (&b.text, &b.tickets, b.seen));
    }
    assert_eq!(text_of(&bench.store, &bob, 4).unwrap(), "bob's own");
    let entries = |model: &super::model::state::ModelDb, folder: &str, number: u64| {
        let entries = model.folders[folder].entries.values().filter(|e| e.note == number);
        entries.map(|e| (e.flags, e.keywords.clone())).collect::<Vec<_>>()
    };
    for folder in ["INBOX", "A/B"] {
        assert_eq!(entries(&second, folder, 5), entries(&first, folder, 5));
    }
    assert_eq!(entries(&second, "INBOX", 3).len(), 1);
    // A softly deleted one comes back.
    let bob_folder = |reader: &crate::Reader<'_>| Ok(reader.folder_by_name("INBOX")?.unwrap().id);
    let folder: FolderId = bench.store.read(&bob, bob_folder).unwrap().value;
    let remove = |writer: &mut crate::Writer<'_>| writer.remove_from_folder(&bob, folder, 1);
    bench.store.write::<_, StoreError>(&[&bob], remove).unwrap();
    let done = copy().unwrap();
    assert_eq!((done.copied, done.already), (1, 2));
    assert_counts_agree(&bench.store);
    drop((ada, bob));
    let (bench, _) = bench.crash().open();
    assert!(!show(&bench.store, "bob.nsf").notes[&3].deleted);
}

/// Stops at the step of the given number; notes what was told.
struct Watcher {
    left: u32,
    told: HashMap<&'static str, (u64, u64)>,
}

impl Watcher {
    fn new(left: u32) -> Watcher {
        Watcher { left, told: HashMap::new() }
    }

    fn look(&mut self, step: Step) -> ControlFlow<()> {
        assert!(step.total == 0 || step.done <= step.total, "{step:?}");
        let before = self.told.insert(step.what, (step.done, step.total));
        assert!(before.is_none_or(|(done, _)| done <= step.done), "{step:?} goes back");
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn work_that_is_stopped_has_changed_nothing() {
    type Work = fn(&Store, &Path, &mut crate::Progress<'_>) -> crate::Result<()>;
    let works: [Work; 6] = [
        |store, _, progress| store.compact_with("mail/ada.nsf", progress).map(drop),
        |store, _, progress| store.updall_with("mail/ada.nsf", progress).map(drop),
        |store, _, progress| store.fixup_with("mail/ada.nsf", true, progress).map(drop),
        |store, _, progress| {
            let options = CopyOptions::default();
            store.copy_with("mail/ada.nsf", "copy.nsf", options, progress).map(drop)
        },
        |store, dir, progress| {
            store.export("mail/ada.nsf", &dir.join("out.nsf"), progress).map(drop)
        },
        |store, dir, progress| store.import(&dir.join("in.nsf"), "in.nsf", progress).map(drop),
    ];
    for (number, work) in works.into_iter().enumerate() {
        let bench = Bench::new();
        let ada = fill(&bench);
        let before = show(&bench.store, "mail/ada.nsf");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("in.nsf");
        bench.store.export("mail/ada.nsf", &file, &mut unwatched).unwrap();
        let mut finished = false;
        for left in 1..60 {
            let mut watcher = Watcher::new(left);
            match work(&bench.store, dir.path(), &mut |step| watcher.look(step)) {
                Ok(()) => finished = true,
                Err(error) => assert!(matches!(error, StoreError::Stopped), "{error:?}"),
            }
            assert_eq!(show(&bench.store, "mail/ada.nsf"), before);
            assert_counts_agree(&bench.store);
            if finished {
                assert!(left > 2, "work {number} can be stopped");
                break;
            }
            assert_eq!(bench.store.paths(), ["mail/ada.nsf"], "work {number}, step {left}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
            assert_eq!(std::fs::read_dir(bench.file("mail")).unwrap().count(), 2);
        }
        assert!(finished, "work {number}");
        put(&bench.store, &ada, 77, "still written");
    }
}
