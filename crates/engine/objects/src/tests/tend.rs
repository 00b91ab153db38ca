//! What the store does by itself, and verification in parts.

use note::Dbiid;
use txlog::Disk;

use super::driver::{DAY_MICROS, Driver, HOUR_MICROS, Random};
use crate::VerifyReport;

/// Stored objects in the catalog, in adopted segments.
fn stored(driver: Driver, count: u64) -> (Driver, Vec<note::Ticket>) {
    let mut random = Random::new(61);
    let tickets = (0..count).map(|_| driver.store(Dbiid(1), &random.noise(3_000))).collect();
    driver.settle();
    let driver = driver.reopen();
    driver.release();
    (driver, tickets)
}

#[test]
fn parts_add_up_to_the_whole() {
    let (driver, tickets) = stored(Driver::new(), 100);
    driver.damage(&tickets[17], 1);
    for (budget, expected) in [(1, 100), (10_000, 25), (u64::MAX, 1)] {
        let (mut after, mut sum, mut parts) = (None, VerifyReport::default(), 0);
        loop {
            let slice = driver.objects.verify_slice(after, budget).unwrap();
            sum.objects += slice.report.objects;
            sum.blocks += slice.report.blocks;
            sum.bytes += slice.report.bytes;
            sum.damaged.extend(slice.report.damaged);
            parts += 1;
            after = slice.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(sum, driver.objects.verify(&mut |_, _| {}).unwrap());
        assert_eq!(parts, expected, "parts of {budget}");
    }
    assert_eq!(driver.objects.status().unwrap().damaged, 1);
}

#[test]
fn damage_is_counted_until_it_is_mended() {
    let (driver, tickets) = stored(Driver::new(), 10);
    let mut content = driver.read(&tickets[3]).unwrap();
    driver.damage(&tickets[3], 0);
    driver.objects.verify_slice(None, u64::MAX).unwrap();
    assert_eq!(driver.objects.status().unwrap().damaged, 1);
    driver.objects.put(&content).unwrap();
    assert_eq!(driver.objects.status().unwrap().damaged, 0);
    content.clear();
    driver.objects.read(&tickets[3], 0..3_000, &mut content).unwrap();
    assert!(driver.objects.verify_slice(None, u64::MAX).unwrap().report.is_clean());
}

#[test]
fn missing_objects_are_found_in_parts_too() {
    let (driver, _) = stored(Driver::new(), 3);
    let unknown = note::ObjectHash([0xEE; 32]);
    driver.count(Dbiid(1), &[(unknown, 1)]);
    driver.objects.checkpoint().unwrap();
    let slice = driver.objects.verify_slice(None, u64::MAX).unwrap();
    assert_eq!((slice.report.missing, slice.next), (vec![unknown], None));
}

#[test]
fn tending_prunes_rewrites_and_verifies_when_due() {
    let (driver, tickets) = stored(Driver::new(), 500);
    for ticket in &tickets[25..] {
        driver.count(Dbiid(1), &[(ticket.hash, -1)]);
    }
    driver.release();
    driver.pass(31 * DAY_MICROS);
    let files = || driver.disk.list(driver.objects.adopted_path(0).parent().unwrap()).unwrap();
    let before = files().len();
    for _ in 0..20 {
        driver.objects.tend().unwrap();
        if driver.objects.wants_checkpoint() {
            driver.release();
        }
    }
    let status = driver.objects.status().unwrap();
    assert_eq!((status.objects, status.unreferenced), (25, 0));
    assert!(files().len() < before, "{before} files, then {:?}", files());
    for ticket in &tickets[..25] {
        driver.read(ticket).unwrap();
    }
    driver.damage(&tickets[0], 1);
    driver.objects.tend().unwrap();
    assert_eq!(driver.objects.status().unwrap().damaged, 0, "verified a moment ago");
    driver.pass(8 * DAY_MICROS);
    for _ in 0..5 {
        driver.objects.tend().unwrap();
    }
    assert_eq!(driver.objects.status().unwrap().damaged, 1);
}

#[test]
fn the_shortest_interval_leaves_time_to_rewrite() {
    let (driver, tickets) = stored(Driver::new(), 500);
    for ticket in &tickets[25..] {
        driver.count(Dbiid(1), &[(ticket.hash, -1)]);
    }
    driver.release();
    let driver = driver.limited(|options| (options.defer_s, options.care_interval_s) = (0, 1));
    let files = || driver.disk.list(driver.objects.adopted_path(0).parent().unwrap()).unwrap();
    let before = files().len();
    for _ in 0..20 {
        driver.pass(1_000_000);
        driver.objects.tend().unwrap();
        if driver.objects.wants_checkpoint() {
            driver.release();
        }
    }
    assert_eq!(driver.objects.status().unwrap().objects, 25);
    assert!(files().len() < before, "{before} files, then {:?}", files());
}

#[test]
fn nothing_is_due_at_the_start_and_a_clock_that_goes_back_does_no_harm() {
    let (driver, tickets) = stored(Driver::new(), 3);
    driver.count(Dbiid(1), &[(tickets[0].hash, -1)]);
    driver.release();
    let mut driver = driver.limited(|options| options.defer_s = 0);
    driver.objects.tend().unwrap();
    assert_eq!(driver.objects.status().unwrap().objects, 3);
    driver.pass(-40 * DAY_MICROS);
    driver.objects.tend().unwrap();
    assert_eq!(driver.objects.status().unwrap().objects, 3, "released in the future");
    driver.pass(40 * DAY_MICROS + HOUR_MICROS);
    // The first call ends what was begun before.
    driver.objects.tend().unwrap();
    driver.objects.tend().unwrap();
    assert_eq!(driver.objects.status().unwrap().objects, 2);
    driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap().objects, 2);
}
