//! Many schedules of those who link, unlink and read, of checkpoint rounds, pruning and rewriting,
//! under a tester that chooses who goes on at each step.
//!
//! `cargo test -p objects --features schedules schedules`; see `txlog::sync::explore`.
//!
//! Tried on stores that were broken on purpose: pruning with the gate open is noticed by
//! `schedules_of_pruning_and_linking`, rewriting that does not hold the segments it appends to by
//! `schedules_of_rewriting_and_rounds`.

use std::collections::HashMap;
use std::sync::Arc;

use note::{Dbiid, ObjectHash, Ticket};
use shuttle::rand::Rng;
use shuttle::thread;
use txlog::faults::Watched;
use txlog::sync::Mutex;
use txlog::sync::explore::{Yields, chance, explore};
use txlog::{Disk, LogOptions};

use super::driver::{Driver, Random};
use crate::ObjectsError;

pub(super) fn yielding(disk: Arc<dyn Disk>) -> Watched<Yields> {
    Watched::by(disk, Yields)
}

fn small_segments() -> Driver {
    Driver::with(LogOptions {
        segment_bytes: 16 << 10,
        group_bytes_max: 4 << 10,
        lazy_flush_ms: 1,
        ..LogOptions::new("/log")
    })
}

type Counted = Arc<Mutex<HashMap<(Dbiid, ObjectHash), i64>>>;

/// Everything is there that is referred to, and the counts are right; also after a loss of power.
fn check(driver: Driver, counted: &Counted) {
    let counted = counted.lock().clone();
    driver.settle();
    let check = |driver: &Driver| {
        let report = driver.objects.verify(&mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
        let resync = driver.objects.resync(counted.clone()).unwrap();
        assert!(resync.is_clean(), "{resync:?}");
    };
    check(&driver);
    check(&if chance(50) { driver.lose_power(3) } else { driver.crash(4) });
}

/// Links a content, reads it, and unlinks it or not.
fn link_and_unlink(driver: &Driver, dbiid: Dbiid, content: &[u8], counted: &Counted) {
    let ticket = driver.store(dbiid, content);
    assert_eq!(driver.read(&ticket).unwrap(), content);
    if chance(60) {
        driver.count(dbiid, &[(ticket.hash, -1)]);
    } else {
        *counted.lock().entry((dbiid, ticket.hash)).or_insert(0) += 1;
    }
}

fn round(driver: &Driver) {
    let outcome = driver.try_release();
    assert!(matches!(outcome, Ok(()) | Err(ObjectsError::Full)), "{outcome:?}");
}

/// Contents without references are linked again by others while they are pruned.
#[test]
fn schedules_of_pruning_and_linking() {
    explore(500, || {
        let driver = Arc::new(small_segments());
        let counted = Counted::default();
        let mut random = Random::new(5);
        let contents: Arc<Vec<_>> = Arc::new((0..8).map(|_| random.noise(2_010)).collect());
        for content in &*contents {
            let ticket = driver.store(Dbiid(9), content);
            driver.count(Dbiid(9), &[(ticket.hash, -1)]);
        }
        driver.objects.checkpoint().unwrap();
        let workers: Vec<_> = (1..=2)
            .map(|number| {
                let (driver, counted) = (Arc::clone(&driver), Arc::clone(&counted));
                let contents = Arc::clone(&contents);
                thread::spawn(move || {
                    // entering twice must not wait for who waits to have the gate alone
                    let outer = chance(20).then(|| driver.objects.enter());
                    let at = shuttle::rand::thread_rng().gen_range(0..contents.len());
                    link_and_unlink(&driver, Dbiid(number), &contents[at], &counted);
                    drop(outer);
                })
            })
            .collect();
        driver.prune(0);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        if chance(50) {
            round(&driver);
            driver.prune(0);
        }
        check(Arc::into_inner(driver).unwrap(), &counted);
    });
}

/// Objects to keep, in adopted segments that are half dead; the log goes on in a segment without
/// any.
fn scene() -> (Driver, Vec<(Ticket, Vec<u8>)>, Counted) {
    let driver = small_segments().limited(|options| options.rewrite_live_percent = 90);
    let counted = Counted::default();
    let mut random = Random::new(6);
    let mut kept = Vec::new();
    for number in 0..10 {
        let content = random.noise(5_600);
        let ticket = driver.store(Dbiid(1), &content);
        if number % 2 == 0 {
            counted.lock().insert((Dbiid(1), ticket.hash), 1);
            kept.push((ticket, content));
        } else {
            driver.count(Dbiid(1), &[(ticket.hash, -1)]);
        }
    }
    driver.settle();
    let driver = driver.reopen();
    driver.release();
    driver.prune(0);
    driver.release();
    (driver, kept, counted)
}

/// Readers follow what moves while rounds give up, adopt and remove segments around them.
#[test]
fn schedules_of_rewriting_and_rounds() {
    explore(240, || {
        let (driver, kept, counted) = scene();
        assert!(driver.objects.status().unwrap().adopted >= 2);
        let (driver, kept) = (Arc::new(driver), Arc::new(kept));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (driver, kept) = (Arc::clone(&driver), Arc::clone(&kept));
                thread::spawn(move || {
                    for _ in 0..4 {
                        let at = shuttle::rand::thread_rng().gen_range(0..kept.len());
                        let (ticket, content) = &kept[at];
                        assert!(driver.read(ticket).unwrap() == *content);
                    }
                })
            })
            .collect();
        let rounds = {
            let driver = Arc::clone(&driver);
            thread::spawn(move || (0..4).for_each(|_| round(&driver)))
        };
        while driver.objects.rewrite(u64::MAX).unwrap().left > 0 {
            thread::yield_now();
        }
        rounds.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        round(&driver);
        round(&driver);
        check(Arc::into_inner(driver).unwrap(), &counted);
    });
}

/// All of it at once, with a content that is longer than a segment.
#[test]
fn schedules_of_everything() {
    explore(100, || {
        let (driver, kept, counted) = scene();
        let driver = Arc::new(driver);
        let content = Arc::new(kept[0].1.clone());
        let worker = {
            let (driver, counted) = (Arc::clone(&driver), Arc::clone(&counted));
            thread::spawn(move || {
                link_and_unlink(&driver, Dbiid(2), &Random::new(8).noise(30_000), &counted);
                link_and_unlink(&driver, Dbiid(2), &content, &counted);
                let list = driver.objects.list(None, 100).unwrap();
                assert!(list.rows.len() >= 5);
            })
        };
        let rounds = {
            let driver = Arc::clone(&driver);
            thread::spawn(move || (0..4).for_each(|_| round(&driver)))
        };
        let gone = {
            let driver = Arc::clone(&driver);
            thread::spawn(move || {
                let ticket = driver.store(Dbiid(3), b"of a database that goes");
                driver.count(Dbiid(3), &[(ticket.hash, 2)]);
                driver.delete_database(Dbiid(3));
            })
        };
        for _ in 0..2 {
            driver.prune(0);
            driver.objects.rewrite(6_000).unwrap();
        }
        for one in [worker, rounds, gone] {
            one.join().unwrap();
        }
        check(Arc::into_inner(driver).unwrap(), &counted);
    });
}
