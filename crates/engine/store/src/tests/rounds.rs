use txlog::Lsn;
use txlog::faults::{FailingDisk, Operation};

use super::recovery::noise;
use super::*;
use crate::handle::wal_path;

#[test]
fn a_round_moves_the_checkpoint_and_nothing_is_replayed_after_it() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    let before = bench.store.info("ada.nsf").unwrap();
    assert!(before.checkpointed_lsn < before.applied_lsn);
    bench.store.checkpoint_round().unwrap();
    let after = bench.store.info("ada.nsf").unwrap();
    assert_eq!(after.checkpointed_lsn, before.applied_lsn);
    drop(ada);
    let (_bench, recovery) = bench.crash().open();
    assert_eq!(recovery.sections_replayed, 0);
}

#[test]
fn nothing_is_committed_before_the_log_is_durable() {
    let bench = Bench::with(|options| options.log.lazy_flush_ms = 3_600_000);
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    assert!(bench.store.log().durable_lsn() < bench.store.log().appended());
    bench.store.checkpoint_round().unwrap();
    let info = bench.store.info("ada.nsf").unwrap();
    assert!(info.checkpointed_lsn <= bench.store.log().durable_lsn());
    assert_eq!(info.checkpointed_lsn, info.applied_lsn);
}

#[test]
fn ticks_do_what_is_due_by_age_and_nothing_else() {
    let bench = Bench::with(|options| options.checkpoint_age_s = 600);
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    let rounds = || {
        let rows = bench.store.statistics();
        rows.into_iter().find(|(name, _)| *name == "Database.Checkpoint.Rounds").unwrap().1
    };
    bench.store.tick().unwrap();
    assert_eq!(rounds(), 0);
    bench.clock.set(bench.store.now().plus_seconds(601));
    bench.store.tick().unwrap();
    assert_eq!(rounds(), 1);
    let info = bench.store.info("ada.nsf").unwrap();
    assert_eq!(info.checkpointed_lsn, info.applied_lsn);
    bench.clock.set(bench.store.now().plus_seconds(6_001));
    bench.store.tick().unwrap();
    assert_eq!(rounds(), 1, "nothing has happened since");
}

#[test]
fn ticks_keep_the_log_short() {
    let bench = Bench::with(|options| options.redo_bytes_max = 512 << 10);
    let (ada, bob) = (create(&bench.store, "ada.nsf"), create(&bench.store, "bob.nsf"));
    put(&bench.store, &bob, 1, "rarely written");
    for number in 0..300 {
        put(&bench.store, &ada, number, &noise(number, 8_000));
        bench.store.tick().unwrap();
        let segments = bench.store.log().status().segments;
        assert!(segments <= 12, "{segments} segments of 64 KiB");
    }
    assert_eq!(text_of(&bench.store, &bob, 1).unwrap(), "rarely written");
    drop((ada, bob));
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.databases, recovery.fenced.len()), (2, 0));
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 299).unwrap(), noise(299, 8_000));
}

#[test]
fn many_databases_are_checkpointed_one_after_the_other_within_their_time() {
    let bench = Bench::with(|options| {
        options.checkpoint_age_s = 600;
        (options.redo_bytes_max, options.log.bytes_max) = (1 << 30, 2 << 30);
    });
    let store = &bench.store;
    let databases: Vec<Database> =
        (0..300).map(|number| create(store, &format!("d{number}.nsf"))).collect();
    store.checkpoint_round().unwrap();
    let commits = || figure(store, "Database.Checkpoint.Commits");
    let (mut most, mut begun, mut number) = (0, None, 0);
    let first = commits();
    for second in 1..=1_800 {
        // In use all the time: what was checkpointed is changed again at once.
        for database in databases.iter().filter(|one| one.0.needed().is_none()) {
            number += 1;
            put(store, database, number, "changed");
        }
        let before = commits();
        bench.clock.set(store.now().plus_seconds(1));
        store.tick().unwrap();
        most = most.max(commits() - before);
        begun = begun.or((commits() > before).then_some(second));
        let old = store.now().plus_seconds(-600).0;
        assert!(databases.iter().all(|one| one.0.dirty_since() > old), "after {second} s");
    }
    assert!(most <= 40, "{most} at a time");
    assert!(begun.is_some_and(|second| second >= 120), "begun after {begun:?} s");
    let each = (commits() - first) as f64 / 300.0;
    assert!((3.0..4.5).contains(&each), "{each} checkpoints of each in three times their time");
}

/// A figure of the store.
fn figure(store: &Store, name: &str) -> u64 {
    store.statistics().into_iter().find(|(row, _)| *row == name).unwrap().1
}

#[test]
fn rounds_trickle_and_keep_the_redo_within_its_bound() {
    // (redo bound, most space of the log): the bound is half of that space at most.
    let cases =
        [(2 << 20, 16 << 20), (4 << 20, 2 << 20), (1 << 20, 16 << 20), (512 << 10, 16 << 20)];
    for (redo, log) in cases {
        let bench = Bench::with(|options| {
            (options.redo_bytes_max, options.log.bytes_max) = (redo, log);
        });
        let store = &bench.store;
        let paths: Vec<String> = (0..100).map(|number| format!("d{number}.nsf")).collect();
        let databases: Vec<Database> = paths.iter().map(|path| create(store, path)).collect();
        store.checkpoint_round().unwrap();
        let bound = redo.min(log / 2);
        let (mut rounds, mut commits_max) = (0, 0);
        for number in 0..3 * bound / 2_000 {
            put(store, &databases[number as usize * 7 % 100], number, &noise(number, 2_000));
            if number % 4 != 0 {
                continue;
            }
            let before = ["Rounds", "Commits"]
                .map(|name| figure(store, &format!("Database.Checkpoint.{name}")));
            let oldest = databases
                .iter()
                .filter_map(|one| Some((one.0.needed()?, one)))
                .min_by_key(|one| one.0);
            store.tick().unwrap();
            let [done, commits] = ["Rounds", "Commits"]
                .map(|name| figure(store, &format!("Database.Checkpoint.{name}")));
            rounds += done - before[0];
            commits_max = commits_max.max(commits - before[1]);
            if commits > before[1] {
                let (needed, first) = oldest.unwrap();
                assert!(first.0.needed().is_none_or(|now| now > needed), "the oldest goes first");
            }
            let needed = databases.iter().filter_map(|one| one.0.needed()).min();
            let end = store.log().appended();
            let lag = store.lag(needed.unwrap_or(end), end);
            assert!(lag <= bound, "{lag} bytes of log are to be replayed, {bound} allowed");
        }
        assert!(rounds > 3, "{rounds} rounds");
        assert!(commits_max <= 16, "{commits_max} databases in a round");
    }
}

#[test]
fn segments_with_live_objects_are_adopted_and_the_objects_stay_readable() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let mut tickets = Vec::new();
    for number in 0..40_u64 {
        let content = noise(number, 30_000);
        let pin = bench.store.objects().put(content.as_bytes()).unwrap();
        tickets.push((pin.ticket, content));
        let prepared = note(number, "text", &[pin.ticket]);
        let put = |writer: &mut crate::Writer<'_>| writer.put_note(&ada, &prepared);
        bench.store.write::<_, StoreError>(&[&ada], put).unwrap();
        if number % 10 == 9 {
            bench.store.checkpoint_round().unwrap();
        }
    }
    let adopted = std::fs::read_dir(&bench.options.objects.dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".TXN"));
    assert!(adopted.count() > 5);
    let check = |bench: &Bench| {
        for (ticket, content) in &tickets {
            let mut read = Vec::new();
            bench.store.objects().read(ticket, 0..ticket.length, &mut read).unwrap();
            assert!(read == content.as_bytes());
        }
        assert_counts_agree(&bench.store);
    };
    check(&bench);
    drop(ada);
    let (bench, _) = bench.crash().open();
    check(&bench);
}

#[test]
fn flush_leaves_no_write_ahead_files_and_a_short_log() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    for number in 0..100 {
        put(&bench.store, &ada, number, &noise(number, 5_000));
    }
    bench.store.flush().unwrap();
    let wal = std::fs::metadata(wal_path(&bench.file("ada.nsf"))).map_or(0, |facts| facts.len());
    assert_eq!(wal, 0);
    assert!(bench.store.log().status().segments <= 2);
    assert_eq!(text_of(&bench.store, &ada, 99).unwrap(), noise(99, 5_000));
    put(&bench.store, &ada, 100, "more");
    drop(ada);
    let closed = bench.crash();
    let (bench, _) = closed.open();
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 100).unwrap(), "more");
    drop(ada);
    bench.store.flush().unwrap();
    let closed = bench.close();
    assert_sound(&closed.file("ada.nsf"));
}

#[test]
fn long_write_ahead_files_are_written_back_by_rounds() {
    let bench = Bench::with(|options| options.wal_bytes_max = 200_000);
    let ada = create(&bench.store, "ada.nsf");
    for number in 0..60 {
        put(&bench.store, &ada, number, &noise(number, 5_000));
    }
    bench.store.checkpoint_round().unwrap();
    assert_eq!(std::fs::metadata(wal_path(&bench.file("ada.nsf"))).unwrap().len(), 0);
    assert_eq!(text_of(&bench.store, &ada, 0).unwrap(), noise(0, 5_000));
}

#[test]
fn more_databases_than_may_be_open_are_served() {
    let bench = Bench::with(|options| options.open_databases_max = 3);
    let paths: Vec<String> = (0..12).map(|number| format!("d{number}.nsf")).collect();
    let databases: Vec<Database> = paths.iter().map(|path| create(&bench.store, path)).collect();
    for number in 0..5 {
        databases.iter().for_each(|database| put(&bench.store, database, number, "text"));
    }
    let rows = bench.store.statistics();
    let current = rows.iter().find(|(name, _)| *name == "Database.DbCache.CurrentEntries");
    assert!(current.unwrap().1 <= 3, "{current:?}");
    for database in &databases {
        assert_eq!(text_of(&bench.store, database, 4).unwrap(), "text");
    }
    bench.store.checkpoint_round().unwrap();
    drop(databases);
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.databases, recovery.sections_replayed), (12, 0));
    assert_eq!(bench.store.list().len(), 12);
}

#[test]
fn databases_are_closed_after_use_while_the_cache_is_switched_off() {
    let bench = Bench::new();
    let paths: Vec<String> = (0..6).map(|number| format!("d{number}.nsf")).collect();
    let databases: Vec<Database> = paths.iter().map(|path| create(&bench.store, path)).collect();
    databases.iter().for_each(|database| put(&bench.store, database, 0, "before"));
    assert!(bench.store.is_cache_enabled());
    assert_eq!(bench.store.cache.open(), 6);
    bench.store.set_cache_enabled(false);
    assert_eq!((bench.store.is_cache_enabled(), bench.store.cache.open()), (false, 1));
    for database in &databases {
        put(&bench.store, database, 1, "off");
        assert_eq!(text_of(&bench.store, database, 0).unwrap(), "before");
        assert_eq!(bench.store.cache.open(), 1);
    }
    bench.store.set_cache_enabled(true);
    databases.iter().for_each(|db| assert_eq!(text_of(&bench.store, db, 1).unwrap(), "off"));
    assert_eq!((bench.store.cache.open(), bench.store.cache.open_peak()), (6, 6));
}

#[test]
fn a_full_log_refuses_ordinary_writes_until_a_tick_makes_room() {
    let bench = Bench::with(|options| options.log.bytes_max = 8 * (64 << 10));
    let ada = create(&bench.store, "ada.nsf");
    let mut refused = None;
    for number in 0..200 {
        let prepared = note(number, &noise(number, 8_000), &[]);
        let put = |writer: &mut crate::Writer<'_>| writer.put_note(&ada, &prepared);
        if let Err(error) = bench.store.write::<_, StoreError>(&[&ada], put) {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("the log gets full");
    assert!(error.is_temporary(), "{error}");
    assert_eq!(text_of(&bench.store, &ada, number), None);
    while_reserve_lasts(&bench, &ada);
    bench.store.tick().unwrap();
    let delete = |writer: &mut crate::Writer<'_>| {
        writer.delete_note(&ada, crate::NoteId(1), crate::Stub::Keep)
    };
    bench.store.write_reserved::<_, StoreError>(&[&ada], delete).unwrap();
    bench.store.tick().unwrap();
    put(&bench.store, &ada, number, "now");
    assert_eq!(text_of(&bench.store, &ada, number).unwrap(), "now");
    assert!(bench.store.log().status().oldest_needed_lsn > Lsn::ZERO);
}

/// Takes the reserve of the log to the last byte.
fn while_reserve_lasts(bench: &Bench, database: &Database) {
    for number in 1_000..2_000 {
        let prepared = note(number, &noise(number, 8_000), &[]);
        let put = |writer: &mut crate::Writer<'_>| writer.put_note(database, &prepared);
        if bench.store.write_reserved::<_, StoreError>(&[database], put).is_err() {
            return;
        }
    }
    panic!("the reserve has an end");
}

#[test]
fn a_failed_sync_of_the_log_ends_writing_and_nothing_above_it_is_committed() {
    let disk = FailingDisk::new(Arc::new(txlog::RealDisk));
    let bench = Bench::with(|options| options.disk = Arc::new(disk.clone()));
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "promised");
    bench.store.checkpoint_round().unwrap();
    disk.fail(Operation::Sync, 0, u64::MAX, std::io::ErrorKind::Other);
    put(&bench.store, &ada, 2, "appended");
    let lsn = bench.store.log().appended();
    bench.store.durable(lsn).wait().unwrap_err();
    assert!(bench.store.log().status().stopped.is_some());
    let put = |writer: &mut crate::Writer<'_>| writer.put_note(&ada, &note(3, "refused", &[]));
    bench.store.write::<_, StoreError>(&[&ada], put).unwrap_err();
    bench.store.checkpoint_round().unwrap_err();
    let info = bench.store.info("ada.nsf").unwrap();
    assert!(info.checkpointed_lsn <= bench.store.log().durable_lsn());
    disk.clear();
    let Bench { dir, clock, options, store } = bench;
    drop((ada, store));
    let (bench, recovery) = Closed { dir, clock, options }.open();
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "promised");
    assert_eq!(text_of(&bench.store, &ada, 3), None);
}
