//! Segments that the log gives up.

use note::Dbiid;
use txlog::{Disk, Head, Lsn, RecordKind};

use super::driver::{Driver, Random};
use crate::{ObjectsError, SHARING_OFF_BYTES};

#[test]
fn live_segments_are_adopted_and_dead_ones_are_not() {
    let driver = Driver::new();
    let mut random = Random::new(11);
    let mut stored = Vec::new();
    let first = driver.log.appended().segment();
    while driver.log.appended().segment() < first + 2 {
        let content = random.noise(10_000);
        stored.push((driver.store(Dbiid(1), &content), content));
    }
    // a segment of change records alone
    while driver.log.appended().segment() < first + 5 {
        let many = vec![(stored[0].0.hash, 0); 500];
        driver.count(Dbiid(1), &many);
    }
    driver.release();
    let adopted = driver.objects.status().unwrap().adopted;
    assert!((2..=3).contains(&adopted), "{adopted}");
    let driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap().adopted, adopted);
    for (ticket, content) in &stored {
        assert_eq!(&driver.read(ticket).unwrap(), content);
    }
    assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn an_object_spans_segments() {
    let driver = Driver::new();
    let content = Random::new(12).noise(700_000);
    let ticket = driver.store(Dbiid(1), &content);
    let entry = driver.entry(&ticket);
    let segments: std::collections::BTreeSet<_> =
        entry.blocks.iter().map(|block| block.lsn.segment()).collect();
    assert!(segments.len() >= 3, "{segments:?}");
    driver.release();
    assert_eq!(driver.read(&ticket).unwrap(), content);
    assert_eq!(driver.reopen().read(&ticket).unwrap(), content);
}

/// The blocks of an object may be before the checkpoint and its end record behind it.
#[test]
fn a_displaced_object_is_kept_until_its_successor_is_in_the_catalog() {
    let driver = Driver::new();
    let ticket = driver.store(Dbiid(1), b"twice");
    let first = driver.entry(&ticket).blocks[0].lsn.segment();
    driver.settle();
    let driver = driver.limited(|options| options.dedupe_bytes_min = SHARING_OFF_BYTES);
    driver.store(Dbiid(1), b"twice");
    let second = driver.entry(&ticket).blocks[0].lsn.segment();
    assert!(second > first);
    assert!(driver.objects.is_live_segment(first) && driver.objects.is_live_segment(second));
    driver.objects.checkpoint().unwrap();
    assert!(!driver.objects.is_live_segment(first) && driver.objects.is_live_segment(second));
}

#[test]
fn the_log_gives_up_segments_while_a_long_object_is_written() {
    let driver = Driver::new();
    let mut random = Random::new(14);
    for _ in 0..5 {
        let content = random.noise(2_000_000);
        let ticket = std::thread::scope(|scope| {
            let writer = scope.spawn(|| driver.objects.put(&content).unwrap().ticket);
            while !writer.is_finished() {
                driver.release();
            }
            writer.join().unwrap()
        });
        driver.release();
        assert_eq!(driver.read(&ticket).unwrap(), content);
    }
}

#[test]
fn a_segment_is_found_before_its_adoption_is_told() {
    let driver = Driver::new();
    let content = Random::new(13).noise(9000);
    let ticket = driver.store(Dbiid(1), &content);
    let driver = driver.reopen();
    let oldest = driver.objects.checkpoint().unwrap();
    let keep = |segment| Some(driver.objects.adopted_path(segment));
    assert!(!driver.log.release(oldest, &keep).unwrap().is_empty());
    assert_eq!(driver.read(&ticket).unwrap(), content);
}

#[test]
fn content_that_is_being_written_holds_its_segments() {
    let driver = Driver::new();
    let objects = &driver.objects;
    let from = Lsn::new(3, 4096);
    objects.state.lock().open_puts.begin(from);
    assert!(objects.is_live_segment(3) && objects.is_live_segment(4));
    objects.state.lock().open_puts.end(from);
    assert!(!objects.is_live_segment(3));
}

#[test]
fn a_malformed_end_record_is_refused() {
    let driver = Driver::new();
    let lsn = driver.log.appended();
    let head = Head { lsn, end: lsn, kind: RecordKind::ObjectEnd, dbiid: Dbiid::NONE, length: 4 };
    let error = driver.objects.replay_end(&head, b"\x10abc").unwrap_err();
    assert!(matches!(error, ObjectsError::Malformed { .. }), "{error}");
}

#[test]
fn a_catalog_of_another_log_is_refused() {
    let driver = Driver::new();
    driver.store(Dbiid(1), &Random::new(15).noise(300_000));
    driver.settle();
    driver.objects.checkpoint().unwrap();
    driver.objects.truncate_wal().unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    driver.disk.create_dir_all(dir.path()).unwrap();
    std::fs::copy(driver.catalog_path(), dir.path().join("catalog.db")).unwrap();
    driver.open_beside(dir.path()).unwrap();
    let error = Driver::new().open_beside(dir.path()).err().unwrap();
    assert!(matches!(error, ObjectsError::LogReplaced { .. }), "{error}");
}
