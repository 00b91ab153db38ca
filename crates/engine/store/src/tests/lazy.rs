//! Databases that a start leaves to be replayed later.

use super::recovery::noise;
use super::*;

const PATHS: [&str; 4] = ["a.nsf", "b.nsf", "c.nsf", "d.nsf"];

/// Four databases with a note each that the files do not hold, after a crash.
fn crashed(change: impl FnOnce(&mut StoreOptions)) -> Closed {
    let bench = Bench::with(change);
    let databases = PATHS.map(|path| create(&bench.store, path));
    bench.store.checkpoint_round().unwrap();
    for (number, database) in databases.iter().enumerate() {
        put(&bench.store, database, number as u64, PATHS[number]);
    }
    drop(databases);
    bench.crash()
}

fn text(bench: &Bench, number: usize) -> Option<String> {
    let database = bench.store.database(PATHS[number]).unwrap();
    text_of(&bench.store, &database, number as u64)
}

#[test]
fn a_start_opens_no_file_that_is_only_to_be_replayed() {
    let (bench, recovery) = crashed(|_| {}).open_lazily();
    assert_eq!((recovery.databases_pending, recovery.records_pending), (4, 4));
    assert_eq!((bench.store.pending(), bench.store.cache.open()), (4, 0));
    assert_eq!(text(&bench, 2).unwrap(), "c.nsf");
    assert_eq!((bench.store.pending(), bench.store.cache.open()), (3, 1));
    let first = bench.store.replay_pending(Duration::ZERO).unwrap();
    assert_eq!((first.databases, first.sections, first.left), (1, 1, 3));
    let rest = bench.store.replay_pending(Duration::MAX).unwrap();
    assert_eq!((rest.databases, rest.left, bench.store.pending()), (2, 0, 0));
    (0..4).for_each(|number| assert_eq!(text(&bench, number).unwrap(), PATHS[number]));
}

#[test]
fn a_database_that_is_not_replayed_holds_the_log() {
    let (bench, _) = crashed(|_| {}).open_lazily();
    let first = bench.store.database(PATHS[0]).unwrap().0.needed().unwrap();
    let busy = bench.store.database(PATHS[3]).unwrap();
    for number in 10..60 {
        put(&bench.store, &busy, number, &noise(number, 8_000));
        bench.store.tick().unwrap();
    }
    assert!(bench.store.log().status().segments > 5);
    assert!(bench.store.log().status().oldest_needed_lsn.segment() <= first.segment());
    drop(busy);
    // A second crash before the replay loses nothing either.
    let (bench, recovery) = bench.crash().open_lazily();
    assert_eq!(recovery.databases_pending, 4);
    (0..4).for_each(|number| assert_eq!(text(&bench, number).unwrap(), PATHS[number]));
    bench.store.checkpoint_round().unwrap();
    assert!(bench.store.log().status().segments <= 2);
}

#[test]
fn flush_and_close_replay_what_is_pending() {
    for closes in [false, true] {
        // Fewer may be open than are to be replayed.
        let (bench, _) = crashed(|options| options.open_databases_max = 2).open_lazily();
        if closes {
            bench.store.close().unwrap();
        } else {
            bench.store.flush().unwrap();
            assert!(bench.store.log().status().segments <= 2);
        }
        assert_eq!(bench.store.pending(), 0);
        let (bench, recovery) = if closes { bench.close() } else { bench.crash() }.open_lazily();
        assert_eq!((recovery.databases_pending, recovery.records_pending), (0, 0));
        (0..4).for_each(|number| assert_eq!(text(&bench, number).unwrap(), PATHS[number]));
    }
}

#[test]
fn databases_that_are_not_replayed_are_renamed_and_deleted() {
    let closed = crashed(|_| {});
    crate::handle::remove_files(&closed.file(PATHS[3])).unwrap();
    let (bench, _) = closed.open_lazily();
    bench.store.rename(PATHS[0], "deep/er/x.nsf").unwrap();
    bench.store.delete(PATHS[1]).unwrap();
    let (bench, recovery) = bench.crash().open_lazily();
    assert_eq!(recovery.moved, []);
    assert_eq!(bench.store.paths(), ["c.nsf", "d.nsf", "deep/er/x.nsf"]);
    let moved = bench.store.database("deep/er/x.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &moved, 0).unwrap(), PATHS[0]);
    assert_eq!(text(&bench, 2).unwrap(), PATHS[2]);
}

#[test]
fn creations_that_were_lost_are_made_when_used_and_renamed() {
    let bench = Bench::new();
    for path in PATHS {
        let database = create(&bench.store, path);
        put(&bench.store, &database, 0, path);
    }
    let closed = bench.crash();
    PATHS.iter().for_each(|path| crate::handle::remove_files(&closed.file(path)).unwrap());
    let (bench, recovery) = closed.open_lazily();
    assert_eq!((recovery.databases_pending, recovery.fenced.len()), (4, 0));
    assert!(!bench.file(PATHS[0]).exists());
    bench.store.rename(PATHS[0], "x.nsf").unwrap();
    let refused = bench.store.create(PATHS[1], NewDatabase::titled("x"));
    assert!(matches!(refused, Err(StoreError::Exists { .. })));
    bench.store.checkpoint_round().unwrap();
    assert!(PATHS[1..].iter().all(|path| bench.file(path).exists()));
    let (bench, recovery) = bench.crash().open_lazily();
    assert_eq!((recovery.databases_pending, recovery.fenced.len()), (0, 0));
    let moved = bench.store.database("x.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &moved, 0).unwrap(), PATHS[0]);
}

#[test]
fn a_database_with_many_records_is_due_before_its_age() {
    let bench = Bench::with(|options| options.redo_records_max = 20);
    let ada = create(&bench.store, "ada.nsf");
    (0..20).for_each(|number| put(&bench.store, &ada, number, "text"));
    bench.store.tick().unwrap();
    assert!(ada.0.needed().is_some());
    put(&bench.store, &ada, 20, "text");
    bench.store.tick().unwrap();
    assert_eq!(ada.0.needed(), None);
}

/// The round right after a start must not let go of the last whole register before the one at the
/// head of the new segment is safe.
#[test]
fn a_crash_right_after_the_first_round_of_a_start_keeps_the_register() {
    use txlog::faults::MemoryDisk;
    let mut disk = MemoryDisk::new();
    let bench = Bench::with(|options| {
        options.disk = Arc::new(disk.clone());
        options.log.lazy_flush_ms = 3_600_000;
    });
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    bench.store.flush().unwrap();
    drop(ada);
    let mut closed = bench.close();
    for round in 1..=3 {
        disk = disk.crash(round);
        closed.options.disk = Arc::new(disk.clone());
        let (bench, recovery) = closed.open_lazily();
        assert_eq!((recovery.databases, recovery.adopted.len()), (1, 0), "round {round}");
        bench.store.checkpoint_round().unwrap();
        let after = disk.crash(round);
        let Bench { dir, clock, options, store } = bench;
        drop(store);
        closed = Closed { dir, clock, options };
        disk = after;
    }
}
