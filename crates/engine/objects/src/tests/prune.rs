//! Deferred deletion, pins, and segments without objects.

use note::{Dbiid, Ticket};
use txlog::Disk;

use super::driver::{DAY_MICROS, Driver, Random};
use crate::{ObjectsError, PruneOrder};

/// An object that lost its only reference before the last checkpoint.
fn released(driver: &Driver, content: &[u8]) -> Ticket {
    let ticket = driver.store(Dbiid(1), content);
    driver.count(Dbiid(1), &[(ticket.hash, -1)]);
    ticket
}

#[test]
fn released_objects_go_after_the_interval() {
    let driver = Driver::new();
    let kept = driver.store(Dbiid(1), b"kept");
    let gone = released(&driver, &[7; 3000]);
    let day = DAY_MICROS;
    assert_eq!(driver.prune(0).objects, 0, "not in the catalog yet");
    driver.release();
    let since = driver.clock_now();
    for (passed, objects) in [(0, 0), (day - 1, 0), (day, 1), (2 * day, 0)] {
        driver.set_clock(since + passed);
        let report = driver.prune(1);
        assert_eq!(report.objects, objects, "{passed}");
        assert_eq!(report.logical_bytes, objects * 3000);
    }
    let error = driver.read(&gone).unwrap_err();
    assert!(matches!(error, ObjectsError::Missing { .. }), "{error}");
    assert_eq!(driver.read(&kept).unwrap(), b"kept");
    let status = driver.objects.status().unwrap();
    assert_eq!((status.objects, status.unreferenced, status.logical_bytes), (1, 0, 4));
    let driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap().objects, 1);
    assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn what_is_referred_to_again_stays() {
    let driver = Driver::new();
    let ticket = released(&driver, b"back");
    driver.release();
    driver.pass(DAY_MICROS);
    driver.count(Dbiid(2), &[(ticket.hash, 1)]);
    let report = driver.prune(1);
    assert_eq!((report.objects, report.changed), (0, 1), "before its checkpoint");
    driver.release();
    assert_eq!(driver.prune(1).objects, 0);
    driver.count(Dbiid(2), &[(ticket.hash, -1)]);
    driver.release();
    assert_eq!(driver.prune(1).objects, 0, "the interval begins anew");
    driver.pass(DAY_MICROS);
    assert_eq!(driver.prune(1).objects, 1);
}

#[test]
fn pinned_objects_stay() {
    let driver = Driver::new();
    let content = Random::new(31).noise(5000);
    let shared = released(&driver, &content);
    let passed_on = released(&driver, b"a ticket that is passed on");
    driver.release();
    driver.pass(DAY_MICROS);
    let pin = driver.objects.put(&content).unwrap();
    let other = driver.objects.pin(&passed_on).unwrap().unwrap();
    let report = driver.prune(0);
    assert_eq!((report.objects, report.pinned), (0, 2));
    driver.count(Dbiid(2), &[(shared.hash, 1)]);
    drop((pin, other));
    let report = driver.prune(0);
    assert_eq!((report.objects, report.changed), (1, 1));
    assert!(driver.objects.pin(&passed_on).unwrap().is_none());
    let wrong = Ticket { length: 1, ..shared };
    assert!(driver.objects.pin(&wrong).unwrap().is_none());
    assert_eq!(driver.read(&shared).unwrap(), content);
}

#[test]
fn what_was_pruned_is_stored_anew() {
    for size in [100, 5000] {
        let driver = Driver::new();
        let content = Random::new(32).noise(size);
        let first = released(&driver, &content);
        assert_eq!(driver.read(&first).unwrap(), content, "so that it is remembered");
        driver.release();
        assert_eq!(driver.prune(0).objects, 1);
        let second = driver.store(Dbiid(2), &content);
        assert_eq!(driver.read(&second).unwrap(), content);
        let driver = driver.crash(5);
        if driver.objects.references(&second.hash).unwrap() == 1 {
            assert_eq!(driver.read(&second).unwrap(), content);
        }
        driver.release();
        assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
    }
}

#[test]
fn a_dry_run_tells_and_changes_nothing_and_a_limit_is_kept() {
    let driver = Driver::new();
    for number in 0..300_u32 {
        released(&driver, &number.to_le_bytes());
    }
    driver.release();
    let order = PruneOrder { defer_s: 0, ..driver.objects.prune_order() };
    let told = driver.objects.prune(&PruneOrder { dry_run: true, ..order }).unwrap();
    assert_eq!((told.objects, told.logical_bytes, told.more), (300, 1200, false));
    assert_eq!(driver.objects.status().unwrap().objects, 300);
    let some = driver.objects.prune(&PruneOrder { objects_max: 100, ..order }).unwrap();
    assert!((100..250).contains(&some.objects) && some.more, "{some:?}");
    assert_eq!(driver.objects.status().unwrap().objects, 300 - some.objects);
    let rest = driver.objects.prune(&order).unwrap();
    assert_eq!((some.objects + rest.objects, rest.more), (300, false));
    assert_eq!(driver.objects.status().unwrap().stored_bytes, 0);
}

/// Segments of objects that are all released, in the store.
fn adopted(driver: Driver) -> (Driver, Vec<Ticket>) {
    let mut random = Random::new(33);
    let first = driver.log.appended().segment();
    let mut tickets = Vec::new();
    while driver.log.appended().segment() < first + 3 {
        tickets.push(released(&driver, &random.noise(10_000)));
    }
    driver.settle();
    let driver = driver.reopen();
    driver.release();
    (driver, tickets)
}

#[test]
fn dead_segments_are_removed_after_checkpoint_and_sync() {
    let (driver, tickets) = adopted(Driver::new());
    let all = driver.objects.status().unwrap().adopted;
    assert!(all >= 4, "{all}");
    let path = driver.objects.adopted_path(driver.entry(&tickets[0]).blocks[0].lsn.segment());
    let files = || driver.disk.list(path.parent().unwrap()).unwrap().len() as u64;
    assert_eq!(driver.prune(0).objects, tickets.len() as u64);
    assert!(driver.objects.wants_checkpoint());
    let lsn = driver.objects.checkpointed_lsn();
    assert_eq!(driver.objects.synced(lsn).unwrap(), 0, "not without a checkpoint");
    let lsn = driver.objects.checkpoint().unwrap();
    assert!(!driver.objects.wants_checkpoint());
    assert_eq!(files(), all, "not without a sync");
    driver.sync().unwrap();
    assert_eq!(driver.objects.synced(lsn).unwrap(), all);
    assert_eq!((files(), driver.objects.status().unwrap().adopted), (0, 0));
    assert_eq!(driver.objects.status().unwrap().segments, 0);
}

/// The power goes when the catalog was not synced: everything is back, and whole.
#[test]
fn a_pruning_that_was_not_synced_is_undone_whole() {
    let (driver, tickets) = adopted(Driver::new());
    driver.prune(0);
    driver.objects.checkpoint().unwrap();
    let driver = driver.lose_power(3);
    assert_eq!(driver.objects.status().unwrap().objects, tickets.len() as u64);
    assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
    assert_eq!(driver.prune(0).objects, tickets.len() as u64);
    driver.release();
    assert_eq!(driver.lose_power(4).objects.status().unwrap().adopted, 0);
}

/// A removed name may come back with a crash.
#[test]
fn a_segment_that_came_back_is_removed_again() {
    let (driver, tickets) = adopted(Driver::new());
    let path = driver.objects.adopted_path(driver.entry(&tickets[0]).blocks[0].lsn.segment());
    driver.prune(0);
    driver.release();
    driver.disk.create(&path).unwrap();
    let driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap().adopted, 1);
    driver.release();
    assert_eq!(driver.objects.status().unwrap().adopted, 0);
}
