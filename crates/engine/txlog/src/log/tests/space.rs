//! The full log, the full disk, and the reserve.

use std::io::ErrorKind;

use note::TimeDate;

use super::rig::{MEMORY_DIR, append, append_many, contents, open, open_with, options};
use super::*;
use crate::faults::{FailingDisk, MemoryDisk, Operation};
use crate::{LogOptions, ManualClock, Style};

const SEGMENT: u64 = 64 << 10;

fn append_as(log: &Log, space: Space) -> Result<Head, AppendError> {
    log.append(RecordKind::Change, Dbiid(1), &[5; 6000], space)
}

/// Appends until the log refuses; gives the last head and the refusal.
fn fill(log: &Log, space: Space) -> (Option<Head>, AppendError) {
    let mut last = None;
    loop {
        match append_as(log, space) {
            Ok(head) => last = Some(head),
            Err(error) => return (last, error),
        }
    }
}

#[test]
fn a_full_log_keeps_a_reserve_and_resumes_after_a_release() {
    let disk = MemoryDisk::new();
    let options = LogOptions { bytes_max: 8 * SEGMENT, ..options() };
    let (log, _) = open_with(options, disk.clone());
    let (last, error) = fill(&log, Space::Ordinary);
    assert!(matches!(error, AppendError::Full { bytes } if bytes == 6 * SEGMENT));
    assert!(log.status().full);
    assert_eq!(last.unwrap().lsn.segment(), 5);
    let (last, error) = fill(&log, Space::Reserved);
    assert!(matches!(error, AppendError::Full { bytes } if bytes == 8 * SEGMENT));
    assert_eq!(last.unwrap().lsn.segment(), 7);
    assert!(matches!(append_as(&log, Space::Ordinary), Err(AppendError::Full { .. })));
    let end = log.appended();
    log.durable(end).wait().unwrap();
    log.release(Lsn::new(1, 0), &|_| None).unwrap();
    assert!(matches!(append_as(&log, Space::Ordinary), Err(AppendError::Full { .. })));
    log.release(Lsn::new(3, 0), &|_| None).unwrap();
    append_as(&log, Space::Ordinary).unwrap();
    assert!(!log.status().full);
    log.release(log.durable_lsn(), &|_| None).unwrap();
    let (_, error) = fill(&log, Space::Ordinary);
    assert!(matches!(error, AppendError::Full { bytes } if bytes == 6 * SEGMENT));
    log.durable(log.appended()).wait().unwrap();
    let files = disk.list(std::path::Path::new(MEMORY_DIR)).unwrap();
    assert!(files.len() <= 10, "eight segments and the control file, old and new: {files:?}");
}

#[test]
fn ordinary_records_do_not_ride_in_the_reserve() {
    let options = LogOptions { bytes_max: 8 * SEGMENT, ..options() };
    let (log, _) = open_with(options, MemoryDisk::new());
    fill(&log, Space::Ordinary);
    append_as(&log, Space::Reserved).unwrap();
    let small = log.append(RecordKind::Change, Dbiid(1), b"small", Space::Ordinary);
    assert!(matches!(small, Err(AppendError::Full { .. })));
}

#[test]
fn a_linear_log_grows() {
    let options = LogOptions { bytes_max: 4 * SEGMENT, style: Style::Linear, ..options() };
    let (log, _) = open_with(options, MemoryDisk::new());
    append_many(&log, 200, &[1; 6000]);
    assert!(log.status().segments > 15);
}

fn is_full(error: &AppendError) -> bool {
    let AppendError::Disk(error) = error else { return false };
    error.kind() == ErrorKind::StorageFull
}

fn open_at_noon(disk: impl Disk) -> (Arc<Log>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(TimeDate(1_000_000)));
    let (log, _) = Log::open(options(), Arc::new(disk), clock.clone()).unwrap();
    (log, clock)
}

#[test]
fn a_full_disk_refuses_ordinary_records_until_space_returns() {
    let disk = MemoryDisk::new();
    disk.set_capacity(Some(6 * SEGMENT + 40_000));
    let (log, clock) = open_at_noon(disk.clone());
    let (last, error) = fill(&log, Space::Ordinary);
    assert!(is_full(&error), "{error:?}");
    assert_eq!(last.unwrap().lsn.segment(), 3);
    assert!(log.status().full && log.status().stopped.is_none());
    let (last, error) = fill(&log, Space::Reserved);
    assert!(is_full(&error), "{error:?}");
    assert_eq!(last.unwrap().lsn.segment(), 5);
    log.durable(log.appended()).wait().unwrap();
    assert_eq!(contents(&log, Lsn::ZERO).len() as u64, log.status().records);
    disk.set_capacity(None);
    assert!(is_full(&append_as(&log, Space::Ordinary).unwrap_err()), "not tried again at once");
    clock.advance(1_000_000);
    let head = append_as(&log, Space::Ordinary).unwrap();
    log.durable(head.end).wait().unwrap();
    assert!(!log.status().full);
    assert!(open(&disk.crash(9)).1.damage.is_empty());
}

#[test]
fn a_release_gives_a_full_disk_new_segments() {
    let disk = MemoryDisk::new();
    disk.set_capacity(Some(6 * SEGMENT + 17_000));
    let (log, _) = open_at_noon(disk.clone());
    fill(&log, Space::Ordinary);
    fill(&log, Space::Reserved);
    log.durable(log.appended()).wait().unwrap();
    log.release(log.appended(), &|_| None).unwrap();
    assert!(append_as(&log, Space::Ordinary).is_ok());
}

#[test]
fn a_release_on_a_disk_without_any_room_gives_up_a_spare() {
    let disk = MemoryDisk::new();
    let (log, _) = open_at_noon(disk.clone());
    append_many(&log, 30, &[1; 6000]);
    log.durable(log.appended()).wait().unwrap();
    disk.remove(&std::path::Path::new(MEMORY_DIR).join("CONTROL.NEW")).unwrap();
    let status = log.status();
    disk.set_capacity(Some(status.bytes + status.spare_bytes + 8192));
    let released = log.release(log.appended(), &|_| None).unwrap();
    assert!(!released.is_empty());
    assert!(log.status().stopped.is_none());
}

#[test]
fn a_write_without_space_is_tried_again() {
    let memory = MemoryDisk::new();
    let disk = FailingDisk::new(Arc::new(memory.clone()));
    let (log, _) = open_with(options(), disk.clone());
    let first = append(&log, b"first");
    log.durable(first.end).wait().unwrap();
    disk.fail(Operation::Write, 0, u64::MAX, ErrorKind::StorageFull);
    let second = append(&log, b"second");
    let waiting = log.durable(second.end);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waiting.wait());
        while !log.status().full {
            std::thread::yield_now();
        }
        let refused = append_as(&log, Space::Reserved);
        assert!(matches!(refused, Err(AppendError::Disk(_))));
        assert_eq!(log.read(second.lsn).unwrap().1, b"second");
        disk.clear();
        waiting.join().unwrap().unwrap();
    });
    let third = append(&log, b"third");
    log.durable(third.end).wait().unwrap();
    let found = contents(&open(&memory.crash(4)).0, Lsn::ZERO);
    assert_eq!(found.len(), 3);
}

/// What heads a segment repeats what older segments said; they stay until it is durable.
#[test]
fn nothing_leaves_before_something_of_the_new_segment_is_durable() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let first = append(&log, b"the only one");
    log.stop();
    let (log, _) = open(&disk);
    let release = || log.release(log.appended(), &|_| None).unwrap();
    assert_eq!(release(), []);
    let next = append(&log, b"heads the new segment");
    assert_eq!(release(), []);
    assert_eq!(log.read(first.lsn).unwrap().1, b"the only one");
    log.durable(next.end).wait().unwrap();
    assert_eq!(release(), [first.lsn.segment()]);
}
