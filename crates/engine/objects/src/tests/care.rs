//! Recounts, and databases that go.

use std::collections::HashMap;

use note::{Dbiid, ObjectHash};

use super::driver::Driver;
use crate::{Difference, ObjectsError};

const UNKNOWN: ObjectHash = ObjectHash([0xEE; 32]);

#[test]
fn resync_finds_and_mends_differences() {
    for checkpointed in [false, true] {
        let driver = Driver::new();
        let a = driver.store(Dbiid(1), b"a").hash;
        let b = driver.store(Dbiid(1), b"b").hash;
        driver.store(Dbiid(2), b"b");
        if checkpointed {
            driver.objects.checkpoint().unwrap();
        }
        let counted = HashMap::from([
            ((Dbiid(1), a), 3),
            ((Dbiid(2), b), 1),
            ((Dbiid(3), b), 1),
            ((Dbiid(3), UNKNOWN), 1),
        ]);
        let mut report = driver.objects.resync(counted.clone()).unwrap();
        report.differences.sort_by_key(|found| (found.hash, found.dbiid));
        let difference = |hash, dbiid, catalog, counted| Difference {
            hash,
            dbiid: Dbiid(dbiid),
            catalog,
            counted,
        };
        let mut expected = [
            difference(a, 1, 1, 3),
            difference(b, 1, 1, 0),
            difference(b, 3, 0, 1),
            difference(UNKNOWN, 3, 0, 1),
        ];
        expected.sort_by_key(|found| (found.hash, found.dbiid));
        assert_eq!(report.differences, expected);
        assert_eq!((report.missing, report.compared), (vec![UNKNOWN], 5));
        driver.objects.checkpoint().unwrap();
        let driver = driver.reopen();
        assert_eq!(driver.objects.references(&a).unwrap(), 3);
        assert_eq!(driver.objects.references(&b).unwrap(), 2);
        let again = driver.objects.resync(counted).unwrap();
        assert_eq!((again.differences, again.missing), (vec![], vec![UNKNOWN]));
        let verified = driver.objects.verify(&mut |_, _| {}).unwrap();
        assert_eq!(verified.missing, [UNKNOWN]);
    }
}

#[test]
fn what_changes_during_a_recount_is_left_alone() {
    let driver = Driver::new();
    let a = driver.store(Dbiid(1), b"a").hash;
    let b = driver.store(Dbiid(1), b"b").hash;
    let gone = driver.store(Dbiid(2), b"b").hash;
    let recount = driver.objects.recount();
    let counted = HashMap::from([((Dbiid(1), a), 1), ((Dbiid(1), b), 9), ((Dbiid(2), gone), 1)]);
    driver.count(Dbiid(1), &[(a, 1)]);
    driver.delete_database(Dbiid(2));
    driver.objects.checkpoint().unwrap();
    let report = driver.objects.resync(counted.clone()).unwrap();
    assert_eq!(report.differences.len(), 1, "{report:?}");
    assert_eq!((report.differences[0].hash, report.skipped), (b, 2));
    assert_eq!(driver.objects.references(&a).unwrap(), 2);
    drop(recount);
    let report = driver.objects.resync(counted).unwrap();
    assert_eq!((report.differences.len(), report.skipped), (2, 0), "{report:?}");
}

#[test]
fn a_deleted_database_gives_up_all_its_references() {
    let mut driver = Driver::new();
    let kept = driver.store(Dbiid(1), b"both");
    driver.store(Dbiid(2), b"both");
    let alone: Vec<_> = (0..700_u32).map(|n| driver.store(Dbiid(2), &n.to_le_bytes())).collect();
    driver.objects.checkpoint().unwrap();
    driver.store(Dbiid(2), b"unsaved");
    driver.delete_database(Dbiid(2));
    for round in 0..3 {
        let status = driver.objects.status().unwrap();
        assert_eq!((status.objects, status.references, status.unreferenced), (702, 1, 701));
        assert_eq!(driver.objects.references(&kept.hash).unwrap(), 1);
        assert_eq!(driver.objects.references(&alone[5].hash).unwrap(), 0);
        let counted = HashMap::from([((Dbiid(1), kept.hash), 1)]);
        assert!(driver.objects.resync(counted).unwrap().is_clean());
        if round == 1 {
            driver.objects.checkpoint().unwrap();
        }
        driver = driver.reopen();
    }
}

#[test]
fn a_failed_checkpoint_keeps_everything_for_the_next() {
    let driver = Driver::new();
    let first = driver.store(Dbiid(1), b"first");
    driver.objects.checkpoint().unwrap();
    let before = driver.objects.checkpointed_lsn();
    let second = driver.store(Dbiid(1), b"second");
    driver.count(Dbiid(2), &[(first.hash, 1)]);
    let db = rusqlite::Connection::open(driver.catalog_path()).unwrap();
    db.execute_batch("ALTER TABLE segment RENAME TO away").unwrap();
    for _ in 0..2 {
        let error = driver.objects.checkpoint().unwrap_err();
        assert!(matches!(error, ObjectsError::Catalog(_)) && error.is_temporary(), "{error}");
        assert_eq!(driver.objects.checkpointed_lsn(), before);
        driver.count(Dbiid(2), &[(second.hash, 1)]);
    }
    let status = driver.objects.status().unwrap();
    assert_eq!((status.objects, status.references), (2, 5));
    db.execute_batch("ALTER TABLE away RENAME TO segment").unwrap();
    assert!(driver.objects.checkpoint().unwrap() > before);
    assert_eq!(driver.objects.status().unwrap(), status);
    let driver = driver.reopen();
    assert_eq!(driver.objects.status().unwrap(), status);
    assert_eq!(driver.read(&second).unwrap(), b"second");
    assert_eq!(driver.objects.references(&second.hash).unwrap(), 3);
}

#[test]
fn entering_twice_does_not_wait_for_a_waiting_checkpoint() {
    let driver = Driver::new();
    let outer = driver.objects.enter();
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| driver.objects.checkpoint().unwrap());
        while driver.objects.checkpointing.try_lock().is_some() {
            std::thread::yield_now();
        }
        // the checkpoint is at the gate, or about to be
        for _ in 0..100 {
            drop(driver.objects.enter());
            std::thread::yield_now();
        }
        assert!(!checkpoint.is_finished());
        drop(outer);
        checkpoint.join().unwrap();
    });
}
