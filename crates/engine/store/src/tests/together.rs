//! Many threads at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::{EntryFlags, Writer};

#[test]
fn writers_readers_and_rounds_work_together() {
    let bench = Bench::with(|options| {
        options.open_databases_max = 3;
        options.wal_bytes_max = 120_000;
    });
    let paths: Vec<String> = (0..6).map(|number| format!("d{number}.nsf")).collect();
    let databases: Vec<Database> = paths.iter().map(|path| create(&bench.store, path)).collect();
    for database in &databases {
        let make = |writer: &mut Writer<'_>| writer.create_folder(database, "F", None);
        bench.store.write::<_, StoreError>(&[database], make).unwrap();
    }
    let (done, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let (store, databases, done, next) = (&bench.store, &databases, &done, &next);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_usize)
            .map(|thread| scope.spawn(move || deliver_many(store, databases, thread, next)))
            .collect();
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                store.checkpoint_round().unwrap();
                databases
                    .iter()
                    .for_each(|database| assert!(check_reading(store, database) <= 800));
                store.flush().unwrap();
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let total: u64 = databases.iter().map(|database| check_reading(store, database)).sum();
    assert_eq!(total, 4 * 100 * 2);
    let (bench, recovery) = bench_of(bench);
    assert_eq!(recovery.fenced, []);
    let databases = paths.iter().map(|path| bench.store.database(path).unwrap());
    let total: u64 = databases.map(|database| check_reading(&bench.store, &database)).sum();
    assert_eq!(total, 4 * 100 * 2);
}

fn bench_of(bench: Bench) -> (Bench, Found) {
    bench.crash().open()
}

/// A hundred records over two databases each, in changing pairs and orders.
fn deliver_many(store: &Store, databases: &[Database], thread: usize, next: &AtomicU64) {
    for round in 0..100_usize {
        let first = (thread + round) % databases.len();
        let second = (first + 1 + round % (databases.len() - 1)) % databases.len();
        let pair = [&databases[first], &databases[second]];
        let prepared = note(next.fetch_add(1, Ordering::Relaxed), "text", &[]);
        let written = store.write::<_, StoreError>(&pair, |writer| {
            pair.iter().try_for_each(|database| {
                let put = writer.put_note(database, &prepared)?;
                let folder = writer.reader(database)?.folder_by_name("F")?.unwrap().id;
                writer.add_to_folder(database, folder, put.id, EntryFlags::NONE, &[]).map(|_| ())
            })
        });
        if round % 20 == 0 {
            store.durable(written.unwrap().lsn).wait().unwrap();
        }
    }
}

/// Counters and entries agree; gives the number of entries.
fn check_reading(store: &Store, database: &Database) -> u64 {
    let read = store.read(database, |reader| {
        let folder = reader.folder_by_name("F")?.unwrap();
        let uids = reader.uids(folder.id)?;
        assert_eq!(uids, (1..folder.uidnext).collect::<Vec<_>>());
        assert_eq!(reader.note_count(), uids.len() as u64);
        Ok(uids.len() as u64)
    });
    read.unwrap().value
}
