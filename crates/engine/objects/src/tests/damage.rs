//! Flipped bits: noticed, named, confined, written anew.

use note::{Dbiid, Ticket};

use super::driver::{Driver, HOUR_MICROS, Random};
use crate::ObjectsError;

struct Scene {
    driver: Driver,
    hit: (Ticket, Vec<u8>),
    other: (Ticket, Vec<u8>),
}

/// Two objects of five blocks; the third block of one is damaged.
fn scene(adopted: bool) -> Scene {
    let mut driver = Driver::new();
    let mut random = Random::new(8);
    let (content, other) = (random.noise(5000), random.text(5000));
    let hit = driver.store(Dbiid(1), &content);
    let spared = driver.store(Dbiid(1), &other);
    if adopted {
        driver = driver.reopen();
        driver.release();
        assert_eq!(driver.objects.status().unwrap().adopted, 1);
    }
    driver.damage(&hit, 2);
    Scene { driver, hit: (hit, content), other: (spared, other) }
}

#[test]
fn reading_names_the_block_and_gives_nothing_wrong() {
    for adopted in [false, true] {
        let Scene { driver, hit, other } = scene(adopted);
        let mut out = b"kept".to_vec();
        let error = driver.objects.read(&hit.0, 0..5000, &mut out).unwrap_err();
        let ObjectsError::Damage { hash, block, lsn, .. } = &error else { panic!("{error}") };
        assert_eq!((*hash, *block), (hit.0.hash, 2));
        assert_eq!(*lsn, driver.entry(&hit.0).blocks[2].lsn);
        assert!(!error.is_temporary());
        assert_eq!(out, b"kept");
        for range in [0..2048_usize, 3072..5000] {
            out.clear();
            driver.objects.read(&hit.0, range.start as u64..range.end as u64, &mut out).unwrap();
            assert_eq!(out, hit.1[range], "blocks beside it are read");
        }
        assert_eq!(driver.read(&other.0).unwrap(), other.1);
    }
}

#[test]
fn verify_finds_it() {
    for adopted in [false, true] {
        let Scene { driver, hit, .. } = scene(adopted);
        let mut steps = Vec::new();
        let report = driver.objects.verify(&mut |done, all| steps.push((done, all))).unwrap();
        assert_eq!(steps, [(0, 2), (1, 2), (2, 2)]);
        assert_eq!((report.objects, report.blocks, report.bytes), (2, 10, 10_000));
        assert_eq!(report.damaged.len(), 1);
        assert_eq!((report.damaged[0].hash, report.damaged[0].block), (hit.0.hash, 2));
        assert!(report.mismatched.is_empty() && report.missing.is_empty());
    }
}

#[test]
fn a_hit_on_it_is_refused_and_the_content_written_anew() {
    for adopted in [false, true] {
        let Scene { driver, hit, .. } = scene(adopted);
        let place = driver.entry(&hit.0).end_lsn;
        assert_eq!(driver.store(Dbiid(2), &hit.1), hit.0);
        assert_ne!(driver.entry(&hit.0).end_lsn, place);
        assert_eq!(driver.read(&hit.0).unwrap(), hit.1);
        assert_eq!(driver.objects.references(&hit.0.hash).unwrap(), 2);
        driver.objects.checkpoint().unwrap();
        let driver = driver.reopen();
        driver.clock.advance(HOUR_MICROS);
        assert_eq!(driver.read(&hit.0).unwrap(), hit.1);
        assert!(driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
        assert_eq!(driver.objects.status().unwrap().objects, 2);
    }
}

#[test]
fn a_damaged_catalog_row_is_found_and_confined() {
    let driver = Driver::new();
    let content = Random::new(9).noise(3000);
    let (hit, other) = (driver.store(Dbiid(1), &content), driver.store(Dbiid(1), b"other"));
    driver.objects.checkpoint().unwrap();
    let path = driver.catalog_path();
    let driver = driver.reopen();
    let db = rusqlite::Connection::open(path).unwrap();
    let sql = "UPDATE object SET end_lsn = end_lsn + 1 WHERE hash = ?1";
    assert_eq!(db.execute(sql, [&hit.hash.0[..]]).unwrap(), 1);
    let error = driver.read(&hit).unwrap_err();
    assert!(matches!(error, ObjectsError::Malformed { .. }), "{error}");
    assert_eq!(driver.read(&other).unwrap(), b"other");
    let report = driver.objects.verify(&mut |_, _| {}).unwrap();
    assert_eq!(report.malformed, [hit.hash]);
    driver.store(Dbiid(2), &content);
    driver.objects.checkpoint().unwrap();
    assert_eq!(driver.read(&hit).unwrap(), content);
    let counted = [((Dbiid(1), hit.hash), 1), ((Dbiid(2), hit.hash), 1)];
    let counted = counted.into_iter().chain([((Dbiid(1), other.hash), 1)]).collect();
    let report = driver.objects.resync(counted).unwrap();
    assert_eq!(report.differences.len(), 1, "{report:?}");
    assert_eq!(driver.objects.references(&hit.hash).unwrap(), 2);
}
