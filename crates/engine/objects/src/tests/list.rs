//! Lists and estimates.

use note::{Dbiid, ObjectHash};

use super::driver::{DAY_MICROS, Driver, Random};
use crate::{ObjectPage, ObjectState, PruneOrder};

const UNKNOWN: ObjectHash = ObjectHash([0xEE; 32]);

fn all(driver: &Driver, limit: usize) -> ObjectPage {
    let mut whole = ObjectPage::default();
    loop {
        let page = driver.objects.list(whole.next.as_ref(), limit).unwrap();
        assert!(page.rows.len() <= limit);
        whole.rows.extend(page.rows);
        whole.next = page.next;
        if page.next.is_none() {
            return whole;
        }
    }
}

#[test]
fn every_object_is_listed_once_wherever_it_is_known_from() {
    let driver = Driver::new();
    let mut stored = Vec::new();
    for number in 0..40_u32 {
        let ticket = driver.store(Dbiid(1), &number.to_le_bytes().repeat(800));
        stored.push(ticket.hash);
        if number == 20 {
            driver.objects.checkpoint().unwrap();
        }
    }
    driver.count(Dbiid(2), &[(stored[0], 3), (UNKNOWN, 1)]);
    driver.count(Dbiid(1), &[(stored[1], -1)]);
    // counts that come to nothing of what is not there
    driver.count(Dbiid(1), &[(ObjectHash([0xDD; 32]), 1)]);
    driver.count(Dbiid(1), &[(ObjectHash([0xDD; 32]), -1)]);
    stored.push(UNKNOWN);
    stored.sort_unstable();
    for limit in [1, 2, 7, 41, 10_000] {
        let rows = all(&driver, limit).rows;
        let hashes: Vec<_> = rows.iter().map(|row| row.hash).collect();
        assert_eq!(hashes, stored, "in pages of {limit}");
        let many = rows.iter().find(|row| row.references == 4).unwrap();
        assert_eq!((many.databases, many.raw_bytes, many.state), (2, 3_200, ObjectState::Stored));
        assert!(many.stored_bytes > 0 && !many.segments.is_empty());
        assert_eq!(rows.iter().filter(|row| row.state == ObjectState::Missing).count(), 1);
    }
    driver.objects.checkpoint().unwrap();
    let rows = all(&driver, 3).rows;
    let idle: Vec<_> = rows.iter().filter(|row| row.unreferenced_since.is_some()).collect();
    assert_eq!((idle.len(), idle[0].references), (1, 0));
    driver.delete_database(Dbiid(1));
    assert_eq!(all(&driver, 5).rows.iter().map(|row| row.references).sum::<i64>(), 4);
}

#[test]
fn an_estimate_tells_what_thresholds_and_pruning_are_worth() {
    let driver = Driver::new();
    let mut random = Random::new(3);
    let (small, large) = (random.noise(1_000), random.noise(50_000));
    let small = driver.store(Dbiid(1), &small).hash;
    let large = driver.store(Dbiid(1), &large).hash;
    driver.count(Dbiid(2), &[(large, 9)]);
    driver.count(Dbiid(1), &[(small, -1)]);
    driver.objects.checkpoint().unwrap();
    let order = PruneOrder { defer_s: 3_600, ..driver.objects.prune_order() };
    let early = driver.objects.estimate(&[2_000, 1, 60_000], &order).unwrap();
    let [all, above, none] = early.thresholds[..] else { panic!("{early:?}") };
    assert_eq!((all.bytes_min, all.objects, all.references), (1, 2, 10));
    assert_eq!((all.raw_bytes, all.referenced_bytes), (51_000, 500_000));
    assert_eq!((above.objects, above.raw_bytes, above.referenced_bytes), (1, 50_000, 500_000));
    assert_eq!(above.saved_bytes, 500_000 - above.stored_bytes);
    assert_eq!((none.objects, none.saved_bytes), (0, 0));
    assert_eq!((early.unreferenced, early.prunable), (1, 0));
    driver.pass(DAY_MICROS);
    let order = PruneOrder { defer_s: 3_600, ..driver.objects.prune_order() };
    let late = driver.objects.estimate(&[], &order).unwrap();
    assert_eq!((late.prunable, late.prunable_bytes), (1, late.unreferenced_bytes));
    assert_eq!(driver.objects.prune(&order).unwrap().objects, 1);
    assert_eq!(driver.objects.estimate(&[], &order).unwrap().unreferenced, 0);
}
