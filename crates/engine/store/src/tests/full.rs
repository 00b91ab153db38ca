//! A full disk below the databases: reads go on, nothing is lost, work goes on when there is room.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::recovery::noise;
use super::*;
use crate::{Room, unwatched};

/// A disk that says how much room it has.
#[derive(Debug)]
pub(super) struct Tank(AtomicU64);

impl Room for Tank {
    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        Ok(self.0.load(Ordering::Relaxed))
    }
}

pub(super) const PLENTY: u64 = 1 << 40;
/// Memory that may wait.
const HELD_MAX: u64 = 2 << 20;

impl Tank {
    pub fn new() -> Arc<Tank> {
        Arc::new(Tank(AtomicU64::new(PLENTY)))
    }

    pub fn fill(&self, free: u64) {
        self.0.store(free, Ordering::Relaxed);
    }

    pub fn free(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn bench(tank: &Arc<Tank>) -> Bench {
    Bench::with(|options| {
        options.room = tank.clone();
        options.unwritten_bytes_max = HELD_MAX;
        options.redo_bytes_max = 256 << 10;
    })
}

pub(super) fn figure(store: &Store, name: &str) -> u64 {
    store.statistics().into_iter().find(|(row, _)| *row == name).unwrap().1
}

fn try_put(store: &Store, database: &Database, number: u64) -> crate::Result<()> {
    let prepared = note(number, &noise(number, 8_000), &[]);
    store.write(&[database], |writer| writer.put_note(database, &prepared)).map(drop)
}

fn is_there(store: &Store, database: &Database, count: u64) {
    for number in 0..count {
        assert_eq!(text_of(store, database, number).unwrap(), noise(number, 8_000), "{number}");
    }
}

/// Writes and ticks until a write is refused; tells how many were taken.
fn write_until_refused(bench: &Bench, database: &Database) -> u64 {
    for number in 0..2_000 {
        match try_put(&bench.store, database, number) {
            Ok(()) => bench.store.tick().unwrap(),
            Err(error) => {
                assert!(matches!(error, StoreError::DiskFull), "{error:?}");
                assert!(error.is_temporary());
                return number;
            }
        }
    }
    panic!("never refused");
}

#[test]
fn with_a_full_disk_reads_go_on_and_work_resumes_when_there_is_room() {
    for is_lost in [false, true] {
        let tank = Tank::new();
        let bench = bench(&tank);
        let ada = create(&bench.store, "ada.nsf");
        bench.store.checkpoint_round().unwrap();
        tank.fill(1 << 20);
        let taken = write_until_refused(&bench, &ada);
        assert!(taken * 8_000 >= HELD_MAX, "{taken} notes");
        assert!(bench.store.is_disk_full());
        assert!(figure(&bench.store, "Database.UnwrittenBytes") < HELD_MAX + (1 << 20));
        let info = bench.store.info("ada.nsf").unwrap();
        assert!(info.checkpointed_lsn < info.applied_lsn);
        if is_lost {
            // As when the disk filled up between the look and the commit.
            let read = bench.store.read(&ada, |reader| {
                reader.roll_back_for_test();
                Ok(())
            });
            read.unwrap();
        }
        is_there(&bench.store, &ada, taken);
        bench
            .store
            .write_reserved(&[&ada], |writer| {
                let id = writer.reader(&ada)?.note_by_unid(&unid(0))?.unwrap().id;
                writer.delete_note(&ada, id, crate::Stub::None)?;
                writer.put_note(&ada, &note(0, &noise(0, 8_000), &[]))
            })
            .map_err(|error: StoreError| error)
            .unwrap();
        tank.fill(PLENTY);
        bench.store.tick().unwrap();
        assert!(!bench.store.is_disk_full());
        try_put(&bench.store, &ada, taken).unwrap();
        bench.store.checkpoint_round().unwrap();
        let info = bench.store.info("ada.nsf").unwrap();
        assert_eq!(info.checkpointed_lsn, info.applied_lsn);
        assert_eq!(figure(&bench.store, "Database.UnwrittenBytes"), 0);
        drop(ada);
        let (bench, found) = bench.crash().open();
        assert_eq!(found.fenced, []);
        let ada = bench.store.database("ada.nsf").unwrap();
        is_there(&bench.store, &ada, taken + 1);
        assert_counts_agree(&bench.store);
    }
}

#[test]
fn a_start_on_a_full_disk_shows_everything() {
    let tank = Tank::new();
    let bench = bench(&tank);
    let ada = create(&bench.store, "ada.nsf");
    bench.store.checkpoint_round().unwrap();
    tank.fill(0);
    let taken = write_until_refused(&bench, &ada);
    drop(ada);
    let (bench, found) = bench.crash().open();
    assert_eq!(found.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    is_there(&bench.store, &ada, taken);
    for _ in 0..3 {
        bench.store.tick().unwrap();
    }
    assert!(bench.store.is_disk_full());
    let begun = bench.store.log().appended();
    bench.store.tick().unwrap();
    assert_eq!(bench.store.log().appended(), begun, "a full disk does not fill the log");
    is_there(&bench.store, &ada, taken);
    bench.store.close().unwrap();
    drop(ada);
    tank.fill(PLENTY);
    let (bench, found) =
        Closed { dir: bench.dir, clock: bench.clock, options: bench.options }.open();
    assert_eq!(found.fenced, []);
    let ada = bench.store.database("ada.nsf").unwrap();
    is_there(&bench.store, &ada, taken);
    bench.store.flush().unwrap();
    drop(ada);
    assert_sound(&bench.close().file("ada.nsf"));
}

#[test]
fn a_transaction_that_meets_the_end_of_the_disk_is_replayed_and_served() {
    let bench = bench(&Tank::new());
    let ada = create(&bench.store, "ada.nsf");
    (0..20).for_each(|number| try_put(&bench.store, &ada, number).unwrap());
    let limit = |sql: &str| {
        let state = bench.store.lock_open(&ada).unwrap();
        let conn = &state.handle.as_ref().unwrap().conn;
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let pages = limit("PRAGMA page_count");
    limit(&format!("PRAGMA max_page_count={}", pages + 2));
    let refused = (20..40).find_map(|number| try_put(&bench.store, &ada, number).err()).unwrap();
    assert!(matches!(&refused, StoreError::Sqlite(error) if crate::room::is_full(error)));
    assert_eq!(figure(&bench.store, "Database.LostTransactions"), 1);
    is_there(&bench.store, &ada, 20);
    (20..40).for_each(|number| try_put(&bench.store, &ada, number).unwrap());
    is_there(&bench.store, &ada, 40);
}

#[test]
fn what_needs_a_new_file_is_refused_before_it_fills_the_disk() {
    let tank = Tank::new();
    let bench = bench(&tank);
    let ada = create(&bench.store, "ada.nsf");
    (0..100).for_each(|number| try_put(&bench.store, &ada, number).unwrap());
    bench.store.checkpoint_round().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("out.nsf");
    bench.store.export("ada.nsf", &file, &mut unwatched).unwrap();
    let (store, before) = (&bench.store, bench.store.log().appended());
    tank.fill(4_200_000);
    let is_full = |result: crate::Result<()>| matches!(result, Err(StoreError::DiskFull));
    assert!(is_full(store.compact("ada.nsf").map(drop)));
    assert!(is_full(store.fixup("ada.nsf", true).map(drop)));
    assert!(is_full(store.import(&file, "new.nsf", &mut unwatched).map(drop)));
    assert!(is_full(store.create("new.nsf", NewDatabase::titled("new")).map(drop)));
    assert_eq!(store.paths(), ["ada.nsf"]);
    let out = outside.path().join("out2.nsf");
    assert!(is_full(store.export("ada.nsf", &out, &mut unwatched).map(drop)));
    assert!(is_full(store.copy("ada.nsf", "copy.nsf", false).map(drop)));
    assert!(before <= store.log().appended());
    is_there(store, &ada, 100);
    tank.fill(PLENTY);
    store.create("new.nsf", NewDatabase::titled("new")).unwrap();
    store.copy("ada.nsf", "copy.nsf", false).unwrap();
    assert_counts_agree(store);
}

#[test]
fn a_commit_that_meets_a_full_disk_waits_before_the_next() {
    let tank = Tank::new();
    let bench = bench(&tank);
    let ada = create(&bench.store, "ada.nsf");
    try_put(&bench.store, &ada, 0).unwrap();
    bench.store.commit_met_full();
    bench.store.checkpoint_round().unwrap();
    let info = bench.store.info("ada.nsf").unwrap();
    assert!(info.checkpointed_lsn < info.applied_lsn);
    bench.clock.set(bench.store.now().plus_seconds(11));
    bench.store.tick().unwrap();
    assert!(!bench.store.is_disk_full());
    bench.store.checkpoint_round().unwrap();
    let info = bench.store.info("ada.nsf").unwrap();
    assert_eq!(info.checkpointed_lsn, info.applied_lsn);
}

#[test]
fn what_waits_in_memory_is_bounded() {
    let bench = Bench::with(|options| {
        options.unwritten_bytes_max = HELD_MAX;
        options.log.bytes_max = 64 << 20;
    });
    let databases: Vec<Database> =
        (0..4).map(|number| create(&bench.store, &format!("d{number}.nsf"))).collect();
    for number in 0..1_200 {
        try_put(&bench.store, &databases[number as usize % 4], number).unwrap();
        let held = figure(&bench.store, "Database.UnwrittenBytes");
        assert!(held < HELD_MAX + (256 << 10), "{held} bytes");
    }
    assert!(figure(&bench.store, "Database.Checkpoint.Commits") > 0);
}

#[test]
fn more_databases_than_may_be_open_are_read_on_a_full_disk() {
    let tank = Tank::new();
    let bench = Bench::with(|options| {
        options.room = tank.clone();
        options.open_databases_max = 3;
    });
    let databases: Vec<Database> =
        (0..12).map(|number| create(&bench.store, &format!("d{number}.nsf"))).collect();
    tank.fill(0);
    for (number, database) in databases.iter().enumerate() {
        try_put(&bench.store, database, number as u64).unwrap();
    }
    for (number, database) in databases.iter().enumerate() {
        let text = text_of(&bench.store, database, number as u64).unwrap();
        assert_eq!(text, noise(number as u64, 8_000));
        let open = figure(&bench.store, "Database.DbCache.CurrentEntries");
        assert!(open <= 4, "{open} are open");
    }
}

#[test]
fn what_waits_in_memory_is_bounded_beside_many_writers_of_one_database() {
    let bench = Bench::with(|options| options.unwritten_bytes_max = HELD_MAX);
    let ada = create(&bench.store, "ada.nsf");
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 1_200 {
                        break;
                    }
                    try_put(&bench.store, &ada, number).unwrap();
                    let held = figure(&bench.store, "Database.UnwrittenBytes");
                    assert!(held < 2 * HELD_MAX, "{held} bytes");
                }
            });
        }
    });
    is_there(&bench.store, &ada, 1_200);
    assert!(figure(&bench.store, "Database.Checkpoint.Commits") > 1);
}
