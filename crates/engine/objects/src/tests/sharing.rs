//! Content that is stored once, and pins.

use note::Dbiid;
use txlog::{LogOptions, Style};

use super::driver::{Driver, HOUR_MICROS, Random};
use crate::{ObjectsError, SHARING_OFF_BYTES};

#[test]
fn large_content_is_shared_and_small_content_since_the_last_checkpoint() {
    let driver = Driver::new();
    let mut random = Random::new(1);
    for (size, looked_up) in [(1999, false), (2000, true), (30_000, true)] {
        let content = random.noise(size);
        let first = driver.store(Dbiid(1), &content);
        let place = driver.entry(&first).end_lsn;
        for (owner, checkpointed) in [(2, false), (3, true)] {
            if checkpointed {
                driver.objects.checkpoint().unwrap();
            }
            let records = driver.log.status().records;
            assert_eq!(driver.store(Dbiid(owner), &content), first);
            let appended = driver.log.status().records - records;
            let shared = looked_up || !checkpointed;
            assert_eq!(appended == 1, shared, "{appended} records for {size} bytes");
            assert_eq!(driver.entry(&first).end_lsn == place, shared);
            assert_eq!(driver.read(&first).unwrap(), content);
            assert_eq!(driver.objects.references(&first.hash).unwrap(), owner as i64);
        }
    }
    assert_eq!(driver.objects.status().unwrap().objects, 3);
}

#[test]
fn nothing_is_shared_when_that_is_off() {
    let driver = Driver::new().limited(|options| options.dedupe_bytes_min = SHARING_OFF_BYTES);
    let content = Random::new(3).noise(5000);
    let place = |ticket| driver.entry(&ticket).end_lsn;
    let first = place(driver.store(Dbiid(1), &content));
    assert_ne!(place(driver.store(Dbiid(2), &content)), first);
}

#[test]
fn sharing_survives_checkpoint_restart_and_adoption() {
    let mut driver = Driver::new();
    let content = Random::new(2).noise(50_000);
    let ticket = driver.store(Dbiid(1), &content);
    let place = driver.entry(&ticket).end_lsn;
    for round in 0..3 {
        driver = driver.reopen();
        driver.release();
        let again = driver.store(Dbiid(2 + round), &content);
        assert_eq!(driver.entry(&again).end_lsn, place);
    }
    assert_eq!(driver.objects.status().unwrap().adopted, 1);
    assert_eq!(driver.read(&ticket).unwrap(), content);
}

#[test]
fn stored_blocks_are_compared_once_an_hour() {
    let driver = Driver::new();
    let content = Random::new(4).noise(5000);
    let ticket = driver.store(Dbiid(1), &content);
    let place = driver.entry(&ticket).end_lsn;
    driver.store(Dbiid(1), &content);
    driver.damage(&ticket, 2);
    driver.clock.advance(HOUR_MICROS - 1);
    driver.store(Dbiid(1), &content);
    assert_eq!(driver.entry(&ticket).end_lsn, place, "trusted within the hour");
    driver.clock.advance(1);
    driver.store(Dbiid(1), &content);
    assert_ne!(driver.entry(&ticket).end_lsn, place, "compared after it");
    assert_eq!(driver.read(&ticket).unwrap(), content);
}

#[test]
fn pins_count() {
    let driver = Driver::new();
    let first = driver.objects.put(b"pinned").unwrap();
    let second = driver.objects.put(b"pinned").unwrap();
    let hash = first.ticket.hash;
    drop(first);
    assert!(driver.objects.is_pinned(&hash));
    drop(second);
    assert!(!driver.objects.is_pinned(&hash));
}

#[test]
fn an_object_nobody_refers_to_stays_known() {
    let driver = Driver::new();
    let ticket = driver.objects.put(b"lonely").unwrap().ticket;
    driver.settle();
    let driver = driver.crash(1);
    assert_eq!(driver.objects.status().unwrap().unreferenced, 1);
    driver.objects.checkpoint().unwrap();
    let driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap().unreferenced, 1);
    assert_eq!(driver.read(&ticket).unwrap(), b"lonely");
}

#[test]
fn a_full_log_refuses_content_until_space_returns() {
    let options = LogOptions {
        segment_bytes: 64 << 10,
        bytes_max: 4 * (64 << 10),
        style: Style::Circular,
        lazy_flush_ms: 1,
        ..LogOptions::new("/log")
    };
    let driver = Driver::with(options);
    let mut random = Random::new(6);
    let mut stored = Vec::new();
    let error = loop {
        let content = random.noise(9000);
        match driver.objects.put(&content) {
            Ok(pin) => stored.push((pin.ticket, content)),
            Err(error) => break error,
        }
        assert!(stored.len() < 100, "the log never fills");
    };
    assert!(matches!(error, ObjectsError::Full) && error.is_temporary(), "{error}");
    assert_eq!(driver.objects.status().unwrap().objects, stored.len() as u64);
    driver.release();
    driver.store(Dbiid(1), &random.noise(9000));
    for (ticket, content) in &stored {
        assert_eq!(&driver.read(ticket).unwrap(), content);
    }
    assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
}
