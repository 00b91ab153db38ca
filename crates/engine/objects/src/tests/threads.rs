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
