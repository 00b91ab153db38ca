//! The bound of memory over all open databases.

use super::full::figure;
use super::recovery::noise;
use super::*;

const MAX: u64 = 1 << 20;
/// What a use may add before the memory is looked at.
const USE: u64 = 96 << 10;

fn bench(change: impl FnOnce(&mut StoreOptions)) -> (Bench, Vec<Database>) {
    let bench = Bench::with(|options| {
        options.buffer_pool_bytes = MAX;
        change(options);
    });
    let create = |number| create(&bench.store, &format!("d{number}.nsf"));
    let databases = (0..20).map(create).collect();
    (bench, databases)
}

fn memory(database: &Database) -> u64 {
    database.0.memory.load(std::sync::atomic::Ordering::Relaxed)
}

/// Writes so many notes of 4 KB into each database in turn, and looks at the memory each time.
fn fill(bench: &Bench, databases: &[Database], notes: u64) {
    for number in 0..notes {
        for database in databases {
            put(&bench.store, database, number, &noise(number, 4_000));
            let used = bench.store.buffer_pool_used();
            assert!(used < MAX + USE, "{used} bytes at note {number}");
        }
    }
}

#[test]
fn the_memory_that_is_told_is_that_of_the_open_databases() {
    let (bench, databases) = bench(|options| options.buffer_pool_bytes = 1 << 30);
    let sum = || databases.iter().map(memory).sum::<u64>();
    assert!(bench.store.buffer_pool_used() >= 20 * 32_000);
    assert_eq!(bench.store.buffer_pool_used(), sum());
    put(&bench.store, &databases[3], 1, &noise(1, 20_000));
    assert_eq!(bench.store.buffer_pool_used(), sum());
    let before = memory(&databases[3]);
    text_of(&bench.store, &databases[3], 1).unwrap();
    assert!(memory(&databases[3]) >= before);
    assert_eq!(bench.store.buffer_pool_used(), sum());
    bench.store.close().unwrap();
    assert_eq!((bench.store.buffer_pool_used(), sum()), (0, 0));
}

#[test]
fn databases_unused_longest_give_their_memory_back() {
    let (bench, databases) = bench(|_| {});
    bench.store.checkpoint_round().unwrap();
    for number in 0..30 {
        put(&bench.store, &databases[0], number, &noise(number, 4_000));
        bench.store.checkpoint_round().unwrap();
    }
    let hot = memory(&databases[0]);
    assert!(hot > 150_000, "{hot} bytes");
    fill(&bench, &databases[1..12], 10);
    // Between the uses of others this one is always among those used last.
    for number in 10..20 {
        text_of(&bench.store, &databases[0], number).unwrap();
        for database in &databases[1..12] {
            bench.store.checkpoint_round().unwrap();
            put(&bench.store, database, number, &noise(number, 4_000));
        }
    }
    assert!(memory(&databases[19]) < 16 << 10, "unused: {}", memory(&databases[19]));
    assert!(figure(&bench.store, "Database.BufferPool.Eased") > 0);
    for number in 0..20 {
        assert_eq!(text_of(&bench.store, &databases[1], number).unwrap(), noise(number, 4_000));
    }
}

#[test]
fn open_transactions_are_committed_when_they_are_the_most() {
    let (bench, databases) = bench(|_| {});
    let commits = figure(&bench.store, "Database.Checkpoint.Commits");
    fill(&bench, &databases, 40);
    assert!(figure(&bench.store, "Database.Checkpoint.Commits") > commits);
    drop(databases);
    let (bench, _) = bench.crash().open();
    for number in 0..20 {
        let database = bench.store.database(&format!("d{number}.nsf")).unwrap();
        assert_eq!(text_of(&bench.store, &database, 39).unwrap(), noise(39, 4_000));
    }
}

#[test]
fn a_bound_that_cannot_be_kept_does_no_harm() {
    let (bench, databases) = bench(|options| options.buffer_pool_bytes = 1);
    for number in 0..4 {
        databases.iter().for_each(|database| put(&bench.store, database, number, "small"));
    }
    let eased = figure(&bench.store, "Database.BufferPool.Eased");
    assert!((1..400).contains(&eased), "{eased}");
    assert_eq!(text_of(&bench.store, &databases[7], 3).unwrap(), "small");
}

#[test]
fn writers_beside_each_other_keep_the_bound() {
    let (bench, databases) = bench(|_| {});
    let store = &bench.store;
    std::thread::scope(|scope| {
        for own in databases.chunks(5) {
            scope.spawn(move || {
                for number in 0..40 {
                    for database in own {
                        put(store, database, number, &noise(number, 4_000));
                        let used = store.buffer_pool_used();
                        assert!(used < MAX + MAX / 8 + 4 * USE, "{used} bytes");
                    }
                }
            });
        }
    });
    for database in &databases {
        assert_eq!(text_of(&bench.store, database, 0).unwrap(), noise(0, 4_000));
    }
}
