//! Segments move to another file system.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rig::{append, append_many, contents, open_with, options};
use crate::faults::{FailingDisk, MemoryDisk, Operation, SplitDisk};
use crate::{Disk, Head, Log, Lsn, RecordKind, read_record, segment_file_name};

const STORE: &str = "/store";

fn store_path(id: u32) -> PathBuf {
    Path::new(STORE).join(segment_file_name(id))
}

fn two_disks(disk: &MemoryDisk) -> SplitDisk {
    disk.create_dir_all(Path::new(STORE)).unwrap();
    SplitDisk::new(Arc::new(disk.clone()), STORE)
}

/// A log with records in three segments, durable.
fn filled(disk: impl Disk) -> (Arc<Log>, Vec<(Head, Vec<u8>)>) {
    let (log, _) = open_with(options(), disk);
    append_many(&log, 200, &[0x5A; 900]);
    log.durable(log.appended()).wait().unwrap();
    let all = contents(&log, Lsn::ZERO);
    (log, all)
}

fn release(log: &Log) -> Result<Vec<u32>, crate::LogError> {
    log.release(log.appended(), &|id| Some(store_path(id)))
}

/// Every record of a segment that has left is in its copy.
fn check_moved(disk: &MemoryDisk, id: u32, all: &[(Head, Vec<u8>)]) {
    let file = disk.open(&store_path(id)).unwrap();
    for (head, payload) in all.iter().filter(|(head, _)| head.lsn.segment() == id) {
        let mut read = Vec::new();
        let found = read_record(&*file, id, head.lsn.offset(), &mut read).unwrap();
        assert_eq!((found.kind, &read), (RecordKind::Change, payload));
    }
}

#[test]
fn segments_are_copied_whole_before_they_are_removed() {
    let disk = MemoryDisk::new();
    let (log, all) = filled(two_disks(&disk));
    let moved = release(&log).unwrap();
    assert!(moved.len() >= 2, "{moved:?}");
    for id in moved {
        check_moved(&disk, id, &all);
        assert!(!disk.exists(&Path::new("/log").join(segment_file_name(id))).unwrap());
    }
    let names = disk.list(Path::new(STORE)).unwrap();
    assert!(names.iter().all(|name| name.ends_with(".TXN")), "{names:?}");
}

/// Whatever a crash leaves, each segment is whole in one of the two places, and the next release
/// ends what was begun.
#[test]
fn power_may_go_at_every_step_of_a_move() {
    for seed in 0.. {
        let disk = MemoryDisk::new();
        let (log, all) = filled(two_disks(&disk));
        disk.power_off_after(seed / 3);
        let finished = release(&log).is_ok();
        let left = disk.crash(seed);
        log.stop();
        drop(log);
        let (log, opened) = open_with(options(), two_disks(&left));
        assert!(opened.damage.is_empty(), "seed {seed}");
        for (head, payload) in &all {
            let Ok((_, found)) = log.read(head.lsn) else {
                check_moved(&left, head.lsn.segment(), &all);
                continue;
            };
            assert_eq!(&found, payload, "seed {seed}");
        }
        let head = append(&log, b"heads the new segment");
        log.durable(head.end).wait().unwrap();
        release(&log).unwrap();
        let moved = all.iter().map(|(head, _)| head.lsn.segment());
        let current = log.appended().segment();
        for id in moved.filter(|id| *id < current) {
            check_moved(&left, id, &all);
        }
        if finished && seed % 3 == 2 {
            assert!(seed > 40, "{seed}");
            break;
        }
    }
}

#[test]
fn a_full_disk_keeps_the_segment_in_the_log() {
    let disk = MemoryDisk::new();
    let failing = FailingDisk::new(Arc::new(two_disks(&disk)));
    let (log, all) = filled(failing.clone());
    // the control file is written first
    failing.fail(Operation::Write, 1, 1, ErrorKind::StorageFull);
    release(&log).unwrap_err();
    assert!(disk.list(Path::new(STORE)).unwrap().is_empty(), "no part of a copy is left");
    assert_eq!(log.status().stopped, None);
    assert_eq!(log.read(all[0].0.lsn).unwrap().1, all[0].1);
    failing.clear();
    for id in release(&log).unwrap() {
        check_moved(&disk, id, &all);
    }
}
