//! Waiting, sharing of syncs, stopping, failing.

use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use super::rig::{append, append_many, contents, open, open_with, options};
use super::*;
use crate::faults::{CountingDisk, FailingDisk, GatedDisk, MemoryDisk, Operation};
use crate::{Durable, LogOptions};

/// Waits for what another thread is about to do.
fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn those_who_come_during_a_sync_share_the_next() {
    let disk = GatedDisk::new(Arc::new(MemoryDisk::new()));
    let (log, _) = open_with(options(), disk.clone());
    let before = disk.syncs();
    disk.shut();
    thread::scope(|scope| {
        let first = scope.spawn(|| log.durable(append(&log, b"first").end).wait().unwrap());
        disk.wait_for_syncs(before + 1);
        let wait = || log.durable(append(&log, &[7; 500]).end).wait().unwrap();
        let others: Vec<_> = (0..64).map(|_| scope.spawn(wait)).collect();
        until(|| log.status().waiters == 65);
        disk.open_gate();
        first.join().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    let syncs = disk.syncs() - before;
    assert!((2..=3).contains(&syncs), "{syncs} (a group may spread over two segments)");
    assert_eq!(contents(&log, Lsn::ZERO).len(), 65);
}

#[test]
fn many_threads_append_and_wait() {
    for threads in [8u32, 32, 64] {
        let dir = tempfile::tempdir().unwrap();
        let disk = CountingDisk::new(Arc::new(crate::RealDisk));
        let options = LogOptions { dir: dir.path().to_owned(), ..options() };
        let (log, _) = open_with(options, disk.clone());
        thread::scope(|scope| {
            for number in 0..threads {
                let log = &log;
                scope.spawn(move || {
                    for round in 0..10u32 {
                        let payload = [number.to_le_bytes(), round.to_le_bytes()].concat();
                        log.durable(append(log, &payload.repeat(100)).end).wait().unwrap();
                    }
                });
            }
        });
        let mut found: Vec<Vec<u8>> = Vec::new();
        for (_, payload) in contents(&log, Lsn::ZERO) {
            assert_eq!(payload, payload[..8].repeat(100));
            found.push(payload[..8].to_vec());
        }
        for number in 0..threads {
            let own = found.iter().filter(|one| one[..4] == number.to_le_bytes());
            let rounds: Vec<_> = own.map(|one| one[4]).collect();
            assert_eq!(rounds, (0..10).collect::<Vec<u8>>());
        }
        let waits = u64::from(threads) * 10;
        assert_eq!(found.len() as u64, waits);
        assert!(disk.counts().sync_data < waits, "{:?}", disk.counts());
        assert_eq!(log.status().waiters, 0);
    }
}

#[test]
fn records_nobody_waits_for_are_flushed_lazily() {
    let disk = MemoryDisk::new();
    let options = LogOptions { lazy_flush_ms: 5, ..options() };
    let (log, _) = open_with(options, disk);
    for _ in 0..3 {
        let head = append(&log, b"nobody waits");
        until(|| log.durable_lsn() >= head.end);
        assert_eq!(log.status().durable_lsn, head.end);
    }
}

#[test]
fn nothing_is_synced_while_nobody_waits() {
    let disk = CountingDisk::new(Arc::new(MemoryDisk::new()));
    let (log, _) = open_with(options(), disk.clone());
    let before = disk.counts().sync_data;
    append_many(&log, 49, &[1; 4000]);
    let head = append(&log, &[1; 4000]);
    until(|| log.status().groups >= 10);
    assert_eq!(disk.counts().sync_data, before);
    assert_eq!(log.durable_lsn(), Lsn::ZERO);
    log.durable(head.end).wait().unwrap();
    assert_eq!(log.durable_lsn(), head.end);
}

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(durable: &mut Durable, counter: &Arc<Counter>) -> Poll<Result<(), LogError>> {
    let waker = Waker::from(Arc::clone(counter));
    Pin::new(durable).poll(&mut Context::from_waker(&waker))
}

#[test]
fn futures_wake_once_and_leave_nothing_behind() {
    let disk = GatedDisk::new(Arc::new(MemoryDisk::new()));
    let (log, _) = open_with(options(), disk.clone());
    disk.shut();
    let head = append(&log, b"x");
    let (woken, dropped) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
    let mut kept = log.durable(head.end);
    assert!(poll(&mut kept, &woken).is_pending());
    assert!(poll(&mut kept, &woken).is_pending());
    let mut given_up = log.durable(head.end);
    assert!(poll(&mut given_up, &dropped).is_pending());
    assert_eq!(log.status().waiters, 2);
    drop(given_up);
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert_eq!(log.status().waiters, 1);
    disk.open_gate();
    until(|| woken.0.load(Ordering::SeqCst) > 0);
    assert!(matches!(poll(&mut kept, &woken), Poll::Ready(Ok(()))));
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert_eq!(dropped.0.load(Ordering::SeqCst), 0);
    assert_eq!((log.status().waiters, Arc::strong_count(&woken)), (0, 1));
    let mut at_once = log.durable(head.lsn);
    assert!(matches!(poll(&mut at_once, &woken), Poll::Ready(Ok(()))));
}

#[test]
fn who_waits_for_the_future_is_answered_when_it_comes() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let first = append(&log, b"one");
    let early = log.durable(Lsn(first.end.0 + 32));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| early.wait());
        until(|| log.status().waiters == 1);
        append(&log, b"two");
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn positions_of_earlier_runs_are_durable() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let head = append(&log, b"never written");
    let (log, _) = { (open(&disk.kill()).0, log) };
    log.durable(head.end).wait().unwrap();
}

#[test]
fn stopping_flushes_and_refuses_what_comes_later() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let head = append(&log, b"last");
    log.stop();
    log.stop();
    log.durable(head.end).wait().unwrap();
    let late = log.append(RecordKind::Life, Dbiid(1), b"late", Space::Reserved);
    assert!(matches!(late, Err(AppendError::Stopped { .. })));
    let never = log.durable(Lsn(head.end.0 + 8)).wait();
    assert!(matches!(never, Err(LogError::Stopped { .. })));
    assert_eq!(log.status().stopped, None);
    assert_eq!(contents(&open(&disk.crash(1)).0, Lsn::ZERO).len(), 1);
}

#[test]
fn a_failed_sync_stops_the_log_for_good() {
    let cases = [(Operation::Sync, 0), (Operation::Write, 0), (Operation::SyncDir, 0)];
    for (operation, skip) in cases {
        let memory = MemoryDisk::new();
        let failing = FailingDisk::new(Arc::new(memory.clone()));
        let counting = CountingDisk::new(Arc::new(failing.clone()));
        let (log, _) = open_with(options(), counting.clone());
        failing.fail(operation, skip, 1, ErrorKind::Other);
        let head = append(&log, b"x");
        let outcome = log.durable(head.end).wait();
        assert!(matches!(outcome, Err(LogError::Stopped { .. })), "{operation:?}");
        let syncs = counting.counts();
        let later = log.append(RecordKind::Change, Dbiid(1), b"y", Space::Reserved);
        assert!(matches!(later, Err(AppendError::Stopped { .. })));
        assert!(log.release(head.lsn, &|_| None).is_err());
        assert!(log.status().stopped.is_some());
        assert_eq!(log.durable_lsn(), Lsn::ZERO);
        log.stop();
        assert_eq!(counting.counts(), syncs, "a failed sync is never retried");
        assert!(open(&memory.crash(5)).1.damage.is_empty());
    }
}

#[test]
fn a_failed_sync_wakes_all_who_wait() {
    let failing = FailingDisk::new(Arc::new(MemoryDisk::new()));
    let disk = GatedDisk::new(Arc::new(failing.clone()));
    let (log, _) = open_with(options(), disk.clone());
    let before = disk.syncs();
    disk.shut();
    thread::scope(|scope| {
        let wait = || log.durable(append(&log, b"x").end).wait();
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(wait)).collect();
        disk.wait_for_syncs(before + 1);
        until(|| log.status().waiters == 8);
        failing.fail(Operation::Sync, 0, 1, ErrorKind::Other);
        disk.open_gate();
        for one in waiting {
            assert!(matches!(one.join().unwrap(), Err(LogError::Stopped { .. })));
        }
    });
}

#[test]
fn too_many_pending_bytes_make_appenders_wait() {
    let disk = GatedDisk::new(Arc::new(MemoryDisk::new()));
    let options = LogOptions { pending_bytes_max: 40_000, ..options() };
    let (log, _) = open_with(options, disk.clone());
    let before = disk.syncs();
    disk.shut();
    let first = append(&log, b"first");
    let mut durable = log.durable(first.end);
    assert!(poll(&mut durable, &Arc::default()).is_pending());
    disk.wait_for_syncs(before + 1);
    thread::scope(|scope| {
        let flood = scope.spawn(|| append_many(&log, 100, &[3; 5000]));
        until(|| log.status().records == 8);
        assert!(!flood.is_finished());
        disk.open_gate();
        flood.join().unwrap();
    });
    assert_eq!(log.status().records, 101);
}

#[test]
fn pending_bytes_are_written_although_nobody_waits_for_a_sync() {
    let options = LogOptions { pending_bytes_max: 20_000, group_bytes_max: 1 << 20, ..options() };
    let (log, _) = open_with(options, MemoryDisk::new());
    append_many(&log, 100, &[3; 5000]);
    assert_eq!(log.durable_lsn(), Lsn::ZERO);
}
