use super::*;
use crate::handle::wal_path;
use txlog::Lsn;

fn two(bench: &Bench) -> (Database, Database) {
    (create(&bench.store, "ada.nsf"), create(&bench.store, "bob.nsf"))
}

#[test]
fn a_creation_that_did_not_reach_the_disk_is_made_again() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "text");
    let dbiid = ada.dbiid();
    drop((ada, bob));
    let closed = bench.crash();
    crate::handle::remove_files(&closed.file("ada.nsf")).unwrap();
    std::fs::write(closed.file("bob.nsf"), b"").unwrap();
    std::fs::remove_file(wal_path(&closed.file("bob.nsf"))).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.recreated, ["ada.nsf"]);
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(ada.dbiid(), dbiid);
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
    let bob = bench.store.database("bob.nsf").unwrap();
    put(&bench.store, &bob, 1, "text");
    assert_eq!(text_of(&bench.store, &bob, 1).unwrap(), "text");
}

#[test]
fn a_checkpointed_file_that_is_missing_fences_its_database_until_it_is_back() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "text");
    drop((ada, bob));
    bench.store.flush().unwrap();
    let closed = bench.close();
    let away = closed.dir.path().join("away");
    std::fs::rename(closed.file("ada.nsf"), &away).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.fenced.len(), 1);
    let fenced = bench.store.database("ada.nsf");
    assert!(matches!(fenced, Err(StoreError::Fenced { .. })));
    assert!(matches!(bench.store.count_references(), Err(StoreError::Fenced { .. })));
    let bob = bench.store.database("bob.nsf").unwrap();
    put(&bench.store, &bob, 1, "served");
    drop(bob);
    let closed = bench.close();
    std::fs::rename(&away, closed.file("ada.nsf")).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
}

#[test]
fn a_damaged_file_fences_its_database_and_others_are_served() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "text");
    put(&bench.store, &bob, 1, "text");
    drop((ada, bob));
    bench.store.flush().unwrap();
    let closed = bench.close();
    std::fs::write(closed.file("ada.nsf"), vec![0x55; 40_960]).unwrap();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    let write = |database: &Database| {
        let put = |writer: &mut crate::Writer<'_>| writer.put_note(database, &note(2, "x", &[]));
        bench.store.write::<_, StoreError>(&[database], put)
    };
    assert!(matches!(write(&ada), Err(StoreError::Fenced { .. })));
    assert!(ada.fenced().is_some());
    let infos = bench.store.list();
    assert!(infos[0].fenced.is_some() && infos[1].fenced.is_none());
    let bob = bench.store.database("bob.nsf").unwrap();
    write(&bob).unwrap();
    bench.store.checkpoint_round().unwrap();
    assert_eq!(text_of(&bench.store, &bob, 1).unwrap(), "text");
}

#[test]
fn a_flipped_bit_in_a_note_is_found_when_it_is_read() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "the first and only text");
    put(&bench.store, &ada, 2, "another");
    drop(ada);
    bench.store.flush().unwrap();
    let closed = bench.close();
    let mut bytes = std::fs::read(closed.file("ada.nsf")).unwrap();
    let at = bytes.windows(9).position(|window| window == b"only text").unwrap();
    bytes[at] ^= 1;
    std::fs::write(closed.file("ada.nsf"), bytes).unwrap();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    let read = bench.store.read(&ada, |reader| reader.note(crate::NoteId(1)));
    assert!(matches!(read, Err(StoreError::Damage { .. })));
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "another");
}

#[test]
fn an_old_copy_put_back_is_replayed_while_the_log_reaches_back() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "old");
    bench.store.flush().unwrap();
    let old = std::fs::read(bench.file("ada.nsf")).unwrap();
    put(&bench.store, &ada, 2, "new");
    bench.store.flush().unwrap();
    drop(ada);
    let closed = bench.close();
    std::fs::write(closed.file("ada.nsf"), old).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "new");
    put(&bench.store, &ada, 3, "newer");
    drop(ada);
    let (bench, _) = bench.crash().open();
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 3).unwrap(), "newer");
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "old");
}

#[test]
fn an_old_copy_put_back_is_fenced_when_the_log_does_not_reach_back() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "old");
    bench.store.flush().unwrap();
    let old = std::fs::read(bench.file("ada.nsf")).unwrap();
    put(&bench.store, &ada, 2, "new");
    // Whole segments of other changes, so that the log lets go of the first.
    for number in 0..40 {
        put(&bench.store, &bob, number, &noise(number, 8_000));
    }
    bench.store.flush().unwrap();
    drop((ada, bob));
    let closed = bench.close();
    let new = std::fs::read(closed.file("ada.nsf")).unwrap();
    std::fs::write(closed.file("ada.nsf"), old).unwrap();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    let read = bench.store.read(&ada, |_| Ok(()));
    assert!(matches!(read, Err(StoreError::Fenced { .. })), "{read:?}");
    drop(ada);
    let closed = bench.close();
    std::fs::write(closed.file("ada.nsf"), new).unwrap();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "new");
}

/// Text that does not pack well.
pub(super) fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 95) as u8)
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn a_record_over_several_databases_is_replayed_in_all_or_none() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    let both = note(1, "both", &[]);
    let put_both = |writer: &mut crate::Writer<'_>| {
        writer.put_note(&ada, &both)?;
        writer.put_note(&bob, &both)
    };
    bench.store.write::<_, StoreError>(&[&bob, &ada], put_both).unwrap();
    drop((ada, bob));
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.sections_replayed, recovery.databases_replayed), (2, 2));
    for path in ["ada.nsf", "bob.nsf"] {
        let database = bench.store.database(path).unwrap();
        assert_eq!(text_of(&bench.store, &database, 1).unwrap(), "both");
    }
}

#[test]
fn a_transaction_that_sqlite_rolled_back_is_replayed_from_the_log() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "first");
    bench.store.checkpoint_round().unwrap();
    put(&bench.store, &ada, 2, "second");
    // What SQLITE_FULL and its like do: the whole transaction is gone.
    let undo = |state: &crate::database::State| {
        state.handle.as_ref().unwrap().conn.execute_batch("ROLLBACK").unwrap();
    };
    let write = bench.store.write::<_, StoreError>(&[&ada], |writer| {
        writer.put_note(&ada, &note(4, "never", &[]))?;
        writer.reader(&ada)?.roll_back_for_test();
        writer.put_note(&ada, &note(3, "third", &[]))
    });
    assert!(write.is_err(), "{write:?}");
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "second");
    undo(&ada.0.state.lock());
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "second");
    assert_eq!(text_of(&bench.store, &ada, 3), None);
    put(&bench.store, &ada, 3, "third");
    undo(&ada.0.state.lock());
    bench.store.checkpoint_round().unwrap();
    drop(ada);
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.fenced.len(), recovery.sections_replayed), (0, 0));
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 4), None);
    let texts: Vec<_> = (1..=3).map(|number| text_of(&bench.store, &ada, number)).collect();
    assert_eq!(texts, [Some("first".into()), Some("second".into()), Some("third".into())]);
}

#[test]
fn swapped_files_are_fenced_when_they_are_opened() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "text");
    drop((ada, bob));
    bench.store.flush().unwrap();
    let closed = bench.close();
    let (a, b) = (closed.file("ada.nsf"), closed.file("bob.nsf"));
    let (ada, bob) = (std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
    std::fs::write(a, bob).unwrap();
    std::fs::write(b, ada).unwrap();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    let read = bench.store.read(&ada, |_| Ok(()));
    assert!(matches!(read, Err(StoreError::Fenced { .. })));
}

/// A disk that is full, as SQLite sees it: the file may not grow.
fn fill_disk(database: &Database, pages: u32) {
    let state = database.0.state.lock();
    let conn = &state.handle.as_ref().unwrap().conn;
    let pragma = format!("PRAGMA max_page_count={pages}");
    conn.query_row(&pragma, [], |_| Ok(())).unwrap();
}

#[test]
fn a_full_disk_loses_no_write_that_succeeded() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "committed");
    bench.store.checkpoint_round().unwrap();
    put(&bench.store, &ada, 2, "not committed yet");
    fill_disk(&ada, 20);
    let mut number = 2;
    let refused = loop {
        number += 1;
        let prepared = note(number, &noise(number, 9_000), &[]);
        let both = bench.store.write::<_, StoreError>(&[&ada, &bob], |writer| {
            writer.put_note(&bob, &prepared)?;
            writer.put_note(&ada, &prepared)
        });
        if let Err(error) = both {
            break error;
        }
        assert!(number < 100, "the disk gets full");
    };
    assert!(matches!(refused, StoreError::Sqlite(_)), "{refused}");
    for database in [&ada, &bob] {
        assert_eq!(text_of(&bench.store, database, number), None);
        assert_eq!(text_of(&bench.store, database, number - 1).unwrap(), noise(number - 1, 9_000));
    }
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "not committed yet");
    put(&bench.store, &ada, number, "there is space again");
    drop((ada, bob));
    let (bench, recovery) = bench.crash().open();
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, number).unwrap(), "there is space again");
}

/// The last record of a database.
fn last_record(bench: &Bench, database: &Database) -> txlog::Head {
    let lsn = *database.0.state.lock().records.last().unwrap();
    bench.store.log().read(lsn).unwrap().0
}

/// Flips a bit in the payload of the last record of a database.
fn flip_last_record(bench: Bench, database: Database) -> Closed {
    let head = last_record(&bench, &database);
    drop(database);
    flip(bench.crash(), Lsn(u64::midpoint(head.lsn.0, head.end.0)))
}

fn flip(closed: Closed, at: Lsn) -> Closed {
    let path = closed.options.log.dir.join(txlog::segment_file_name(at.segment()));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at.offset() as usize] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    closed
}

#[test]
fn a_damaged_log_record_fences_the_database_it_names() {
    for catalog_is_ahead in [false, true] {
        let bench = Bench::new();
        let (ada, bob) = two(&bench);
        for number in 1..4 {
            for database in [&ada, &bob, &bob] {
                put(&bench.store, database, number, "text");
                bench.store.durable(bench.store.log().appended()).wait().unwrap();
            }
        }
        if catalog_is_ahead {
            bench.store.objects().checkpoint().unwrap();
        }
        drop(bob);
        let (bench, recovery) = flip_last_record(bench, ada).open();
        let fenced: Vec<&str> = recovery.fenced.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(fenced, ["ada.nsf"], "{recovery:?}");
        let bob = bench.store.database("bob.nsf").unwrap();
        assert_eq!(text_of(&bench.store, &bob, 3).unwrap(), "text");
        // It stays fenced when the damaged part of the log is gone.
        for number in 10..60 {
            put(&bench.store, &bob, number, &noise(number, 8_000));
        }
        drop(bob);
        bench.store.flush().unwrap();
        let (bench, _) = bench.close().open();
        let refused =
            bench.store.database("ada.nsf").and_then(|ada| bench.store.read(&ada, |_| Ok(())));
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    }
}

#[test]
fn a_damaged_record_of_several_databases_fences_those_it_names() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    let eve = create(&bench.store, "eve.nsf");
    put(&bench.store, &eve, 1, "long ago");
    bench.store.checkpoint_round().unwrap();
    let prepared = note(2, "to both", &[]);
    let both = bench.store.write::<_, StoreError>(&[&ada, &bob], |writer| {
        writer.put_note(&ada, &prepared)?;
        writer.put_note(&bob, &prepared)
    });
    bench.store.durable(both.unwrap().lsn).wait().unwrap();
    drop((bob, eve));
    let (bench, recovery) = flip_last_record(bench, ada).open();
    let mut fenced: Vec<&str> = recovery.fenced.iter().map(|(path, _)| path.as_str()).collect();
    fenced.sort_unstable();
    assert_eq!(fenced, ["ada.nsf", "bob.nsf"], "{recovery:?}");
    let eve = bench.store.database("eve.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &eve, 1).unwrap(), "long ago");
}

/// Bytes of a record before its payload (docs/formats/log-segment.md).
const RECORD_HEADER_BYTES: u64 = 24;

#[test]
fn damage_to_what_every_file_holds_already_fences_nobody() {
    for in_order in [false, true] {
        let bench = Bench::new();
        let (ada, bob) = two(&bench);
        let eve = create(&bench.store, "eve.nsf");
        put(&bench.store, &eve, 1, "text");
        bench.store.checkpoint_round().unwrap();
        let prepared = note(1, "text", &[]);
        let both = bench.store.write::<_, StoreError>(&[&ada, &bob], |writer| {
            writer.put_note(&ada, &prepared)?;
            writer.put_note(&bob, &prepared)
        });
        both.unwrap();
        let head = last_record(&bench, &ada);
        bench.store.checkpoint_round().unwrap();
        bench.store.durable(bench.store.log().appended()).wait().unwrap();
        drop((ada, bob, eve));
        let closed = if in_order { bench.close() } else { bench.crash() };
        // The names of the databases are damaged, so the record might concern anybody.
        let (bench, recovery) = flip(closed, Lsn(head.lsn.0 + RECORD_HEADER_BYTES + 3)).open();
        assert_eq!((recovery.damage.len(), recovery.fenced), (1, vec![]), "in order: {in_order}");
        for path in ["ada.nsf", "bob.nsf", "eve.nsf"] {
            let database = bench.store.database(path).unwrap();
            assert_eq!(text_of(&bench.store, &database, 1).unwrap(), "text");
        }
    }
}

#[test]
fn a_missing_change_is_noticed() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    bench.store.checkpoint_round().unwrap();
    put(&bench.store, &ada, 2, "text");
    put(&bench.store, &ada, 3, "text");
    ada.0.state.lock().records.remove(0);
    ada.0.state.lock().handle.as_ref().unwrap().conn.execute_batch("ROLLBACK").unwrap();
    let read = bench.store.read(&ada, |_| Ok(()));
    assert!(matches!(&read, Err(StoreError::Fenced { reason, .. }) if reason.contains("missing")));
}

#[test]
fn a_file_of_a_later_version_is_refused_clearly() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    put(&bench.store, &ada, 1, "text");
    bench.store.flush().unwrap();
    drop((ada, bob));
    let closed = bench.close();
    let conn = rusqlite::Connection::open(closed.file("ada.nsf")).unwrap();
    conn.execute_batch("PRAGMA user_version=3").unwrap();
    drop(conn);
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    let read = bench.store.read(&ada, |_| Ok(()));
    let said = "structure version 3 is newer than 2";
    assert!(matches!(&read, Err(StoreError::Fenced { reason, .. }) if reason == said), "{read:?}");
}

#[test]
fn databases_whose_place_in_the_register_is_damaged_are_registered_again_as_they_were() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    let pin = bench.store.objects().put(noise(1, 9_000).as_bytes()).unwrap();
    let prepared = note(1, "text", &[pin.ticket]);
    let write = |writer: &mut crate::Writer<'_>| {
        let folder = writer.create_folder(&ada, "F", None)?;
        let put = writer.put_note(&ada, &prepared)?;
        writer.add_to_folder(&ada, folder.id, put.id, crate::EntryFlags::NONE, &[])
    };
    bench.store.write::<_, StoreError>(&[&ada], write).unwrap();
    bench.store.checkpoint_round().unwrap();
    put(&bench.store, &ada, 2, "only in the log");
    bench.store.durable(bench.store.log().appended()).wait().unwrap();
    let observe = |store: &Store, database: &Database| {
        let read = store.read(database, |reader| super::model::state::observe(database, reader));
        read.unwrap().value
    };
    let (dbiid, before) = (ada.dbiid(), observe(&bench.store, &ada));
    let mut lost = Vec::new();
    let visit = &mut |head: &txlog::Head, _: &mut dyn txlog::Payload| {
        if matches!(head.kind, txlog::RecordKind::Checkpoint | txlog::RecordKind::Life) {
            lost.push(head.lsn);
        }
        std::ops::ControlFlow::Continue(())
    };
    bench.store.log().scan(bench.store.oldest_lsn(), visit).unwrap();
    assert!(lost.len() > 2);
    drop((ada, bob));
    let mut closed = bench.crash();
    for lsn in lost {
        closed = flip(closed, Lsn(lsn.0 + RECORD_HEADER_BYTES));
    }
    // A second file with the same DBIID is a copy all the same.
    for suffix in ["", "-wal"] {
        let file = |name: &str| closed.file(&format!("{name}.nsf{suffix}"));
        std::fs::copy(file("bob"), file("second")).unwrap();
    }
    let (bench, recovery) = closed.open_lazily();
    assert_eq!(recovery.fenced, []);
    assert_eq!(recovery.registered_again, ["ada.nsf", "bob.nsf"]);
    assert_eq!(recovery.adopted, ["second.nsf"]);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!((ada.dbiid(), observe(&bench.store, &ada)), (dbiid, before.clone()));
    assert_counts_agree(&bench.store);
    drop(ada);
    let (bench, recovery) = bench.crash().open();
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!((ada.dbiid(), observe(&bench.store, &ada)), (dbiid, before));
}

#[test]
fn a_database_that_is_lost_from_the_register_and_broken_keeps_its_references() {
    let bench = Bench::new();
    let (ada, bob) = two(&bench);
    let pin = bench.store.objects().put(noise(1, 9_000).as_bytes()).unwrap();
    let hash = pin.ticket.hash;
    let prepared = note(1, "text", &[pin.ticket]);
    let put = |writer: &mut crate::Writer<'_>| writer.put_note(&ada, &prepared);
    bench.store.write::<_, StoreError>(&[&ada], put).unwrap();
    bench.store.durable(bench.store.log().appended()).wait().unwrap();
    let mut lost = Vec::new();
    let visit = &mut |head: &txlog::Head, _: &mut dyn txlog::Payload| {
        if matches!(head.kind, txlog::RecordKind::Checkpoint | txlog::RecordKind::Life) {
            lost.push(head.lsn);
        }
        std::ops::ControlFlow::Continue(())
    };
    bench.store.log().scan(bench.store.oldest_lsn(), visit).unwrap();
    drop((ada, bob, pin));
    let mut closed = bench.crash();
    for lsn in lost {
        closed = flip(closed, Lsn(lsn.0 + RECORD_HEADER_BYTES));
    }
    std::fs::write(closed.file("ada.nsf"), [7; 9_000]).unwrap();
    std::fs::remove_file(closed.file("ada.nsf-wal")).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.fenced.len(), 1);
    assert_eq!(bench.store.objects().references(&hash).unwrap(), 1);
}
