//! Many schedules of appenders, waiters, the writer, the archiver and those who release segments,
//! under a tester that chooses who goes on at each step.
//!
//! `cargo test -p txlog --features schedules schedules`; see [`crate::sync::explore`].

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use note::Dbiid;
use shuttle::rand::Rng;
use shuttle::thread;

use crate::faults::{FailingDisk, MemoryDisk, Operation, Watched};
use crate::sync::explore::{Yields, chance, explore};
use crate::{
    AppendError, Disk, Head, Log, LogError, LogOptions, Lsn, RecordKind, Space, Style, SystemClock,
    read_record, segment_file_name,
};

const DIR: &str = "/log";
const STORE: &str = "/store";
const ARCHIVE: &str = "/archive";

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 16 << 10,
        bytes_max: 8 * (16 << 10),
        group_bytes_max: 4 << 10,
        lazy_flush_ms: 3_600_000,
        ..LogOptions::new(DIR)
    }
}

fn open_with(options: LogOptions, disk: impl Disk) -> Arc<Log> {
    let disk = Watched::by(Arc::new(disk), Yields);
    Log::open(options, Arc::new(disk), Arc::new(SystemClock)).unwrap().0
}

fn append(log: &Log, payload: &[u8]) -> Result<Head, AppendError> {
    log.append(RecordKind::Change, Dbiid(7), payload, Space::Ordinary)
}

/// Everything that a log on what `disk` would be after a loss of power holds.
fn survivors(disk: &MemoryDisk, seed: u64) -> Vec<(Lsn, Vec<u8>)> {
    let log = open_with(options(), disk.crash(seed));
    let mut found = Vec::new();
    log.scan(Lsn::ZERO, &mut |head, payload| {
        found.push((head.lsn, payload.get().unwrap().to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// What was answered as durable is there after a loss of power at that moment.
#[test]
fn schedules_of_appenders_and_waiters() {
    explore(1_500, || {
        let disk = MemoryDisk::new();
        let log = open_with(options(), disk.clone());
        let workers: Vec<_> = (0..3u8)
            .map(|number| {
                let (log, disk) = (Arc::clone(&log), disk.clone());
                thread::spawn(move || {
                    let mut kept = None;
                    for round in 0..2u8 {
                        let payload = vec![number * 16 + round; 300 + usize::from(number) * 1_700];
                        let head = append(&log, &payload).unwrap();
                        if chance(30) {
                            // gives up the wait
                            let mut durable = log.durable(head.end);
                            let mut context = Context::from_waker(Waker::noop());
                            let _ = Pin::new(&mut durable).poll(&mut context);
                            continue;
                        }
                        log.durable(head.end).wait().unwrap();
                        assert!(log.durable_lsn() >= head.end);
                        assert_eq!(log.read(head.lsn).unwrap().1, payload);
                        kept = Some((disk.crash(u64::from(round)), head.lsn, payload));
                    }
                    kept
                })
            })
            .collect();
        for worker in workers {
            if let Some((image, lsn, payload)) = worker.join().unwrap() {
                assert!(survivors(&image, 3).contains(&(lsn, payload)));
            }
        }
        assert_eq!(log.status().waiters, 0);
    });
}

/// Records nobody waits for become durable by themselves.
#[test]
fn schedules_of_the_lazy_flush() {
    explore(1_500, || {
        let log = open_with(LogOptions { lazy_flush_ms: 5, ..options() }, MemoryDisk::new());
        let other = Arc::clone(&log);
        let busy = thread::spawn(move || {
            let head = append(&other, b"awaited").unwrap();
            other.durable(head.end).wait().unwrap();
        });
        let mut busy = Some(busy);
        if chance(50) {
            busy.take().into_iter().for_each(|busy| busy.join().unwrap());
        }
        let head = append(&log, b"not awaited").unwrap();
        busy.into_iter().for_each(|busy| busy.join().unwrap());
        while log.durable_lsn() < head.end {
            thread::yield_now();
        }
    });
}

/// However a disk fails and whoever stops the log meanwhile: everybody who waits is answered, and a
/// yes is true.
#[test]
fn schedules_of_a_stop_with_a_failing_disk() {
    explore(2_000, || {
        let disk = MemoryDisk::new();
        let failing = FailingDisk::new(Arc::new(disk.clone()));
        let log = open_with(options(), failing.clone());
        let workers: Vec<_> = (0..3u8)
            .map(|number| {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    let mut promised = Vec::new();
                    for round in 0..3u8 {
                        let payload = vec![number * 16 + round; 2_500];
                        let Ok(head) = append(&log, &payload) else { break };
                        match log.durable(head.end).wait() {
                            Ok(()) => promised.push((head.lsn, payload)),
                            Err(LogError::Stopped { .. }) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    promised
                })
            })
            .collect();
        let operations = [Operation::Sync, Operation::Write, Operation::SyncDir, Operation::Rename];
        let operation = operations[shuttle::rand::thread_rng().gen_range(0..4)];
        if chance(70) {
            let skip = shuttle::rand::thread_rng().gen_range(0..3);
            failing.fail(operation, skip, u64::MAX, ErrorKind::Other);
        }
        if chance(50) {
            log.stop();
        }
        let promised: Vec<_> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        log.stop();
        assert!(append(&log, b"late").is_err());
        assert_eq!(log.status().waiters, 0);
        let survivors = survivors(&disk, u64::from(chance(50)));
        for one in promised {
            assert!(survivors.contains(&one), "{} was promised", one.0);
        }
    });
}

/// A full log is released while others append and read: each record reads as it was written or is
/// said to have left; kept segments are whole where they were kept; no file is lost or left over.
#[test]
fn schedules_of_release_and_spares() {
    explore(700, || {
        let disk = MemoryDisk::new();
        disk.create_dir_all(Path::new(STORE)).unwrap();
        let options = LogOptions { bytes_max: 6 * (16 << 10), ..options() };
        let log = open_with(options, disk.clone());
        let writer = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let mut written = Vec::new();
                for round in 0..14u8 {
                    match append(&log, &vec![round; 6_000]) {
                        Ok(head) => written.push((head, round)),
                        Err(AppendError::Full { .. }) => thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                    let at = shuttle::rand::thread_rng().gen_range(0..written.len().max(1));
                    if let Some((head, round)) = written.get(at) {
                        check_read(&log, head, *round);
                    }
                }
                written
            })
        };
        let mut kept = Vec::new();
        for _ in 0..5 {
            log.durable(log.appended()).wait().unwrap();
            let to = log.durable_lsn();
            let keep = |id: u32| {
                id.is_multiple_of(2).then(|| Path::new(STORE).join(segment_file_name(id)))
            };
            let released = log.give_up(to, &keep);
            assert!(released.trouble.is_none(), "{released:?}");
            kept.extend(released.adopted);
        }
        let written = writer.join().unwrap();
        for (head, round) in &written {
            check_read(&log, head, *round);
            if kept.contains(&head.lsn.segment()) {
                check_kept(&disk, head, *round);
            }
        }
        log.stop();
        check_files(&log, &disk);
    });
}

fn check_read(log: &Log, head: &Head, round: u8) {
    match log.read(head.lsn) {
        Ok((found, payload)) => assert!(found == *head && payload == vec![round; 6_000]),
        Err(LogError::NotInLog { .. }) => {}
        Err(error) => panic!("{}: {error}", head.lsn),
    }
}

fn check_kept(disk: &MemoryDisk, head: &Head, round: u8) {
    let id = head.lsn.segment();
    let file = disk.open(&Path::new(STORE).join(segment_file_name(id))).unwrap();
    let mut payload = Vec::new();
    assert_eq!(read_record(&*file, id, head.lsn.offset(), &mut payload).unwrap(), *head);
    assert_eq!(payload, vec![round; 6_000]);
}

/// The files of the directory are those that the log knows, and no more than it may have.
fn check_files(log: &Log, disk: &MemoryDisk) {
    let state = log.shared.state.lock();
    let mut known: Vec<String> = state.segments.keys().map(|id| segment_file_name(*id)).collect();
    known.extend(state.spares.iter().chain(state.openings.iter().map(|one| &one.spare)).map(
        |spare| {
            let path = spare.path(Path::new(DIR));
            path.file_name().unwrap().to_str().unwrap().to_owned()
        },
    ));
    let mut found = disk.list(Path::new(DIR)).unwrap();
    found.retain(|name| !name.starts_with("CONTROL"));
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
    assert!(known.len() as u64 <= log.shared.rules.segments_max, "{known:?}");
}

/// What leaves a log in the archive style is whole in the archive, whoever copied it.
#[test]
fn schedules_of_the_archive() {
    explore(500, || {
        let disk = MemoryDisk::new();
        let failing = FailingDisk::new(Arc::new(disk.clone()));
        let archive_dir = Some(PathBuf::from(ARCHIVE));
        let options = LogOptions { style: Style::Archive, archive_dir, ..options() };
        let log = open_with(options, failing.clone());
        let writer = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let append = |round| append(&log, &vec![round; 6_000]).unwrap();
                (0..6u8).map(|round| (append(round), round)).collect::<Vec<_>>()
            })
        };
        if chance(50) {
            failing.fail_below(ARCHIVE, (Operation::Write, ErrorKind::StorageFull), 1, 2);
        }
        let mut left = Vec::new();
        for _ in 0..3 {
            log.durable(log.appended()).wait().unwrap();
            if chance(50) {
                let _ = log.archive();
            }
            let released = log.give_up(log.durable_lsn(), &|_| None);
            assert!(released.trouble.is_none(), "{released:?}");
            left.extend(released.dropped);
        }
        let dir = log.shared.archive_dir().unwrap();
        for (head, round) in writer.join().unwrap() {
            let id = head.lsn.segment();
            if left.contains(&id) {
                let image = disk.crash(u64::from(round));
                let file = image.open(&dir.join(segment_file_name(id))).unwrap();
                let mut payload = Vec::new();
                read_record(&*file, id, head.lsn.offset(), &mut payload).unwrap();
                assert_eq!(payload, vec![round; 6_000]);
            } else {
                check_read(&log, &head, round);
            }
        }
        failing.clear();
        log.durable(log.appended()).wait().unwrap();
        while log.status().archive.unwrap().waiting > 0 {
            thread::yield_now();
        }
        log.stop();
    });
}
