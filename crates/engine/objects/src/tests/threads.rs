//! Many threads at once.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use note::{Dbiid, Ticket};

use super::driver::{Driver, Random};

#[test]
fn eight_threads_store_link_and_read_while_checkpoints_run() {
    let driver = Driver::new();
    let mut random = Random::new(21);
    let common: Vec<_> = (0..6).map(|n| random.noise(700 + n * 900)).collect();
    let counted = Mutex::new(HashMap::new());
    let running = AtomicBool::new(true);
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=8)
            .map(|worker| {
                let (driver, common, counted) = (&driver, &common, &counted);
                scope.spawn(move || work(driver, common, counted, worker))
            })
            .collect();
        let checkpoints = scope.spawn(|| {
            let mut rounds = 0;
            while running.load(Ordering::Relaxed) || rounds == 0 {
                driver.release();
                rounds += 1;
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        running.store(false, Ordering::Relaxed);
        checkpoints.join().unwrap();
    });
    let counted = counted.into_inner().unwrap();
    check(&driver, &counted);
    let driver = driver.crash(5);
    check(&driver, &counted);
}

/// Objects come, lose their last reference and come back while everything that can go goes at
/// once.
#[test]
fn six_threads_link_and_unlink_while_objects_are_pruned_and_moved() {
    let driver = Driver::new();
    let mut random = Random::new(22);
    let common: Vec<_> = (0..5).map(|n| random.noise(2_100 + n * 900)).collect();
    let counted = Mutex::new(HashMap::new());
    let running = AtomicBool::new(true);
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=6)
            .map(|worker| {
                let (driver, common, counted) = (&driver, &common, &counted);
                scope.spawn(move || link_and_unlink(driver, common, counted, worker))
            })
            .collect();
        let rounds = scope.spawn(|| {
            while running.load(Ordering::Relaxed) {
                driver.release();
            }
        });
        let care = scope.spawn(|| {
            while running.load(Ordering::Relaxed) {
                driver.prune(0);
                driver.objects.rewrite(20_000).unwrap();
            }
        });
        let outcomes: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        running.store(false, Ordering::Relaxed);
        rounds.join().unwrap();
        care.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let counted = counted.into_inner().unwrap();
    let driver = driver.reopen();
    driver.release();
    driver.prune(0);
    check(&driver, &counted);
    driver.release();
    check(&driver.lose_power(7), &counted);
}

fn link_and_unlink(driver: &Driver, common: &[Vec<u8>], counted: &Mutex<Counted>, worker: u64) {
    let mut random = Random::new(worker + 70);
    let dbiid = Dbiid(worker);
    let mut held: Vec<(Ticket, Vec<u8>)> = Vec::new();
    for _ in 0..250 {
        if random.below(5) < 2 && held.len() < 4 || held.is_empty() {
            let content = match random.below(4) {
                0 => random.text(1_500),
                _ => common[random.below(5) as usize].clone(),
            };
            held.push((driver.store(dbiid, &content), content));
        } else if random.below(2) == 0 {
            let (ticket, _) = held.swap_remove(random.below(held.len() as u64) as usize);
            driver.count(dbiid, &[(ticket.hash, -1)]);
        } else {
            let (ticket, content) = &held[random.below(held.len() as u64) as usize];
            assert_eq!(&driver.read(ticket).unwrap(), content);
        }
    }
    for (ticket, content) in held {
        assert_eq!(&driver.read(&ticket).unwrap(), &content);
        *counted.lock().unwrap().entry((dbiid, ticket.hash)).or_insert(0) += 1;
    }
}

type Counted = HashMap<(Dbiid, note::ObjectHash), i64>;

fn work(driver: &Driver, common: &[Vec<u8>], counted: &Mutex<Counted>, worker: u64) {
    let mut random = Random::new(worker);
    let dbiid = Dbiid(worker);
    let mut stored: Vec<(Ticket, Vec<u8>)> = Vec::new();
    for _ in 0..60 {
        let content = match random.below(3) {
            0 => common[random.below(6) as usize].clone(),
            1 => random.text(1500),
            _ => random.noise(4000),
        };
        let ticket = driver.store(dbiid, &content);
        *counted.lock().unwrap().entry((dbiid, ticket.hash)).or_insert(0) += 1;
        stored.push((ticket, content));
        let (ticket, content) = &stored[random.below(stored.len() as u64) as usize];
        assert_eq!(&driver.read(ticket).unwrap(), content);
    }
}

fn check(driver: &Driver, counted: &Counted) {
    driver.settle();
    let report = driver.objects.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let resync = driver.objects.resync(counted.clone()).unwrap();
    assert!(resync.is_clean(), "{resync:?}");
    let status = driver.objects.status().unwrap();
    assert_eq!(status.references, counted.values().sum::<i64>());
    assert_eq!(status.unreferenced, 0);
}
