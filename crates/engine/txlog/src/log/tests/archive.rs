//! The archive style.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rig::{append, append_many, contents, open_with, options};
use super::*;
use crate::faults::{FailingDisk, MemoryDisk, Operation, SplitDisk};
use crate::{LogOptions, Style, segment_file_name};

const ARCHIVE: &str = "/archive";

fn archive_options() -> LogOptions {
    let archive_dir = Some(PathBuf::from(ARCHIVE));
    LogOptions { style: Style::Archive, archive_dir, ..options() }
}

/// The archive lies on another file system.
fn two_disks(disk: &MemoryDisk) -> SplitDisk {
    disk.create_dir_all(Path::new(ARCHIVE)).unwrap();
    SplitDisk::new(Arc::new(disk.clone()), ARCHIVE)
}

/// Where the only log is archived.
fn subdirectory(log: &Log) -> PathBuf {
    log.shared.archive_dir().unwrap()
}

fn fill(log: &Log, records: usize) {
    append_many(log, records, &[0x5A; 900]);
    log.durable(log.appended()).wait().unwrap();
}

/// Waits until the log itself has archived what it can.
fn until_archived(log: &Log) {
    while log.status().archive.unwrap().waiting > 0 {
        std::thread::yield_now();
    }
}

fn copy_dir(disk: &MemoryDisk, from: &Path, to: &Path) {
    disk.create_dir_all(to).unwrap();
    for name in disk.list(from).unwrap() {
        let old = disk.open(&from.join(&name)).unwrap();
        let mut bytes = vec![0; old.len().unwrap() as usize];
        old.read_at(&mut bytes, 0).unwrap();
        disk.create(&to.join(&name)).unwrap().write_at(&bytes, 0).unwrap();
    }
}

/// The records of a copy of the archive, opened as a log.
fn archived(disk: &MemoryDisk, dir: &Path) -> Vec<(Head, Vec<u8>)> {
    let copy = PathBuf::from("/restored");
    copy_dir(disk, dir, &copy);
    let (log, opened) = open_with(LogOptions { dir: copy, ..options() }, disk.kill());
    assert!(opened.damage.is_empty(), "{opened:?}");
    contents(&log, Lsn::ZERO)
}

#[test]
fn the_archive_of_several_runs_can_be_opened_as_a_log() {
    let mut disk = MemoryDisk::new();
    let mut all: Vec<(Head, Vec<u8>)> = Vec::new();
    let mut dir = PathBuf::new();
    for run in 0..4 {
        let (log, _) = open_with(archive_options(), two_disks(&disk));
        fill(&log, 150 + run);
        let known = all.last().map_or(Lsn::ZERO, |(head, _)| head.end);
        all.extend(contents(&log, Lsn::ZERO).into_iter().filter(|(head, _)| head.lsn >= known));
        until_archived(&log);
        let left = log.release(log.appended(), &|_| None).unwrap();
        assert!(left.len() >= 2, "{left:?}");
        dir = subdirectory(&log);
        let current = log.appended().segment();
        let before: Vec<_> =
            all.iter().filter(|(head, _)| head.lsn.segment() < current).cloned().collect();
        assert!(archived(&disk, &dir) == before, "run {run}");
        if run % 2 == 0 {
            log.stop();
        }
        disk = disk.kill();
    }
    let names = disk.list(&dir).unwrap();
    assert!(names.iter().all(|name| name.ends_with(".TXN") || name == "CONTROL.NEW"), "{names:?}");
}

#[test]
fn what_is_not_archived_does_not_leave_and_is_tried_again() {
    let faults = [
        (Operation::Create, ErrorKind::PermissionDenied),
        (Operation::Write, ErrorKind::StorageFull),
        (Operation::SyncAll, ErrorKind::Other),
        (Operation::Open, ErrorKind::NotFound),
        (Operation::Read, ErrorKind::Other),
        (Operation::Rename, ErrorKind::Other),
        (Operation::SyncDir, ErrorKind::Other),
    ];
    for (operation, kind) in faults {
        let disk = MemoryDisk::new();
        let failing = FailingDisk::new(Arc::new(two_disks(&disk)));
        failing.fail_below(ARCHIVE, (operation, kind), 0, u64::MAX);
        let (log, _) = open_with(archive_options(), failing.clone());
        fill(&log, 200);
        let all = contents(&log, Lsn::ZERO);
        assert!(log.archive().is_err(), "{operation:?}");
        let status = log.status().archive.unwrap();
        assert!(status.trouble.is_some() && status.waiting >= 2, "{operation:?} {status:?}");
        let released = log.give_up(log.appended(), &|_| None);
        assert!(released.segments().is_empty() && released.trouble.is_none(), "{released:?}");
        assert_eq!(released.oldest, Lsn::ZERO);
        assert!(contents(&log, Lsn::ZERO) == all, "{operation:?}");
        append(&log, b"the log goes on");
        failing.clear();
        // the log may have come first
        assert_eq!(log.archive().unwrap().waiting, 0);
        let status = log.status().archive.unwrap();
        assert!(status.archived >= 2 && status.trouble.is_none(), "{operation:?} {status:?}");
        assert!(log.release(log.appended(), &|_| None).unwrap().len() >= 2);
        assert_eq!(log.status().stopped, None);
    }
}

#[test]
fn a_log_whose_archive_fails_fills_up_and_resumes() {
    let disk = MemoryDisk::new();
    let failing = FailingDisk::new(Arc::new(two_disks(&disk)));
    failing.fail_below(ARCHIVE, (Operation::Write, ErrorKind::StorageFull), 0, u64::MAX);
    let options = LogOptions { bytes_max: 6 * (64 << 10), ..archive_options() };
    let (log, _) = open_with(options, failing.clone());
    let error = loop {
        match log.append(RecordKind::Change, Dbiid(1), &[7; 6000], Space::Ordinary) {
            Ok(head) => log.durable(head.end).wait().unwrap(),
            Err(error) => break error,
        }
        log.release(log.durable_lsn(), &|_| None).unwrap();
    };
    assert!(matches!(error, AppendError::Full { .. }), "{error}");
    failing.clear();
    log.archive().unwrap();
    assert!(!log.release(log.durable_lsn(), &|_| None).unwrap().is_empty());
    append(&log, b"there is room again");
}

/// Whatever a cut leaves of a copy, the archive ends whole.
#[test]
fn power_may_go_at_every_step_of_archiving() {
    for cut in 0.. {
        let disk = MemoryDisk::new();
        let (log, _) = open_with(archive_options(), two_disks(&disk));
        disk.power_off_after(40 + cut / 2);
        append_many(&log, 150, &[0x5A; 900]);
        let finished = log.durable(log.appended()).wait().is_ok() && log.archive().is_ok();
        let left = if cut % 2 == 0 { disk.kill() } else { disk.crash(cut) };
        drop(log);
        let (log, opened) = open_with(archive_options(), two_disks(&left));
        assert!(opened.damage.is_empty(), "cut {cut}");
        fill(&log, 100);
        let all = contents(&log, Lsn::ZERO);
        log.archive().unwrap();
        let current = log.appended().segment();
        let before: Vec<_> =
            all.into_iter().filter(|(head, _)| head.lsn.segment() < current).collect();
        assert!(archived(&left, &subdirectory(&log)) == before, "cut {cut}");
        if finished && cut > 60 {
            break;
        }
    }
}

#[test]
fn a_copy_that_differs_is_noticed_and_a_damaged_segment_is_told() {
    let disk = MemoryDisk::new();
    let failing = FailingDisk::new(Arc::new(two_disks(&disk)));
    failing.fail_below(ARCHIVE, (Operation::Create, ErrorKind::Other), 0, u64::MAX);
    let (log, _) = open_with(archive_options(), failing.clone());
    fill(&log, 100);
    log.archive().unwrap_err();
    let path = Path::new("/log").join(segment_file_name(0));
    disk.flip(&path, 20_000, 1).unwrap();
    failing.clear();
    log.archive().unwrap();
    let status = log.status().archive.unwrap();
    assert_eq!((status.damaged, status.trouble), (1, None));
    let copy = subdirectory(&log).join(segment_file_name(0));
    assert!(disk.exists(&copy).unwrap());
}

#[test]
fn the_style_needs_a_directory() {
    let options = LogOptions { archive_dir: None, ..archive_options() };
    let opened = Log::open(options, Arc::new(MemoryDisk::new()), Arc::new(SystemClock));
    assert!(matches!(opened, Err(LogError::Options { .. })));
    let (log, _) = open_with(super::rig::options(), MemoryDisk::new());
    assert!(matches!(log.archive(), Err(LogError::Options { .. })));
    assert!(log.status().archive.is_none());
}
