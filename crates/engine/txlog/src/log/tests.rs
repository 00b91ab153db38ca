//! The log as its callers see it, on disks that fail, fill up and lose power.

mod archive;
mod damage;
mod layout;
mod moves;
mod power;
mod rig;
mod space;
mod waits;

use std::path::PathBuf;

use rig::{MEMORY_DIR, append, contents, open, options, payloads, try_open};

use super::*;
use crate::faults::{Dice, MemoryDisk};
use crate::{Damage, LogOptions, SystemClock};

#[test]
fn what_was_stopped_in_order_is_scanned_back() {
    let disk = MemoryDisk::new();
    let (log, opened) = open(&disk);
    assert_eq!((opened.oldest, opened.end), (Lsn::ZERO, Lsn::ZERO));
    let mut dice = Dice::new(3);
    let wanted: Vec<Vec<u8>> = (0..100).map(|index| dice.bytes(index * 37)).collect();
    let heads: Vec<Head> = wanted.iter().map(|payload| append(&log, payload)).collect();
    assert!(heads.windows(2).all(|pair| pair[0].end <= pair[1].lsn));
    log.stop();
    assert_eq!(log.durable_lsn(), heads[99].end);
    let (again, opened) = open(&disk);
    assert_eq!(opened.end, heads[99].end);
    assert!(opened.damage.is_empty());
    assert_eq!(payloads(&again, Lsn::ZERO), wanted);
    assert_eq!(payloads(&again, heads[50].lsn), wanted[50..]);
    assert_eq!(payloads(&again, Lsn(heads[50].lsn.0 + 1)), wanted[51..]);
    for (head, payload) in heads.iter().zip(&wanted) {
        assert_eq!(again.read(head.lsn).unwrap(), (*head, payload.clone()));
    }
    assert!(again.appended() > heads[99].end);
    assert!(append(&again, b"next").lsn.segment() > heads[99].lsn.segment());
}

#[test]
fn records_can_be_read_before_they_are_written() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let heads: Vec<Head> = (0..20u8).map(|byte| append(&log, &[byte; 3000])).collect();
    for (byte, head) in heads.iter().enumerate() {
        assert_eq!(log.read(head.lsn).unwrap(), (*head, vec![byte as u8; 3000]));
    }
    let missing = [Lsn::ZERO, heads[3].end, Lsn(heads[3].lsn.0 + 8), log.appended()];
    for lsn in missing.into_iter().filter(|lsn| heads.iter().all(|head| head.lsn != *lsn)) {
        assert!(log.read(lsn).is_err(), "{lsn}");
    }
}

#[test]
fn a_scan_stops_when_told_and_reads_payloads_on_demand() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let heads: Vec<Head> = (0..10u8).map(|byte| append(&log, &[byte; 100])).collect();
    log.durable(heads[9].end).wait().unwrap();
    let mut seen = Vec::new();
    log.scan(Lsn::ZERO, &mut |head, payload| {
        seen.push(head.lsn);
        if seen.len() == 4 {
            assert_eq!(payload.get().unwrap(), [3; 100]);
            assert_eq!(payload.get().unwrap(), [3; 100]);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, heads[..4].iter().map(|head| head.lsn).collect::<Vec<_>>());
}

#[test]
fn a_scan_gives_durable_records_only() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let first = append(&log, b"durable");
    log.durable(first.end).wait().unwrap();
    append(&log, b"not yet");
    assert_eq!(payloads(&log, Lsn::ZERO), [b"durable"]);
}

#[test]
fn every_segment_begins_with_its_head() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    log.set_segment_head(Box::new(|| b"register".to_vec()));
    for byte in 0..60u8 {
        append(&log, &[byte; 5000]);
    }
    log.durable(log.appended()).wait().unwrap();
    let mut heads: Vec<Lsn> = Vec::new();
    for (head, payload) in contents(&log, Lsn::ZERO) {
        assert_eq!(head.kind == RecordKind::Checkpoint, payload == b"register");
        if payload == b"register" {
            heads.push(head.lsn);
        }
    }
    let count = heads.len() as u32 / 2;
    assert!(count > 4);
    let twice = (0..count).flat_map(|id| [Lsn::new(id, 80), Lsn::new(id, 4096 + 80)]);
    assert_eq!(heads, twice.collect::<Vec<_>>());
}

#[test]
fn too_long_records_are_refused() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let longest = log.payload_bytes_max() as usize;
    log.set_segment_head(Box::new(move || vec![1; longest]));
    append(&log, &vec![7; longest]);
    let outcome = log.append(RecordKind::Change, Dbiid(1), &vec![7; longest + 1], Space::Reserved);
    assert!(matches!(outcome, Err(AppendError::TooLong { .. })));
    log.set_segment_head(Box::new(move || vec![1; longest + 1]));
    let outcome = log.append(RecordKind::Change, Dbiid(1), &vec![7; longest], Space::Ordinary);
    assert!(matches!(outcome, Err(AppendError::TooLong { .. })));
}

#[test]
fn released_segments_are_adopted_or_used_again() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let store = PathBuf::from("/objects");
    disk.create_dir_all(&store).unwrap();
    let heads: Vec<Head> = (0..40u8).map(|byte| append(&log, &[byte; 6000])).collect();
    let last = heads[39];
    log.durable(last.end).wait().unwrap();
    let keep = |id: u32| (id == 1).then(|| store.join(crate::segment_file_name(id)));
    let before = log.status();
    let released = log.release(last.lsn, &keep).unwrap();
    assert_eq!(released, (0..last.lsn.segment()).collect::<Vec<_>>());
    assert_eq!(log.status().segments, before.segments - released.len() as u64);
    assert!(log.status().spare_bytes > before.spare_bytes);
    assert!(log.release(last.lsn, &keep).unwrap().is_empty());
    let adopted = disk.open(&store.join("S0000001.TXN")).unwrap();
    for (byte, head) in heads.iter().enumerate() {
        let is_gone = head.lsn.segment() < last.lsn.segment();
        assert_eq!(matches!(log.read(head.lsn), Err(LogError::NotInLog { .. })), is_gone);
        if head.lsn.segment() == 1 {
            let mut out = Vec::new();
            assert_eq!(read_record(&*adopted, 1, head.lsn.offset(), &mut out).unwrap(), *head);
            assert_eq!(out, [byte as u8; 6000]);
        }
    }
    drop(log);
    let (log, opened) = open(&disk);
    assert_eq!(opened.oldest, Lsn::new(last.lsn.segment(), 0));
    assert!(opened.damage.is_empty());
    assert_eq!(contents(&log, Lsn::ZERO)[0].0.lsn.segment(), last.lsn.segment());
}

#[test]
fn what_is_not_durable_is_not_released() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let heads: Vec<Head> = (0..40u8).map(|byte| append(&log, &[byte; 6000])).collect();
    assert!(heads[39].lsn.segment() > 0);
    assert!(log.release(log.appended(), &|_| None).unwrap().is_empty());
    assert_eq!(log.read(heads[0].lsn).unwrap().1, [0; 6000]);
}

#[test]
fn an_adopted_segment_is_as_long_as_its_groups() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    append(&log, b"little");
    drop(log);
    let (log, _) = open(&disk);
    let head = append(&log, b"more");
    log.durable(head.end).wait().unwrap();
    log.release(head.lsn, &|_| Some(PathBuf::from(MEMORY_DIR).join("kept"))).unwrap();
    let kept = disk.open(&PathBuf::from(MEMORY_DIR).join("kept")).unwrap();
    assert_eq!(kept.len().unwrap(), 4096);
}

#[test]
fn a_recycled_segment_never_shows_its_old_groups() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let mut kept: Vec<(Lsn, Vec<u8>)> = Vec::new();
    for round in 0..30u32 {
        for _ in 0..10 {
            let payload = round.to_le_bytes().repeat(900);
            kept.push((append(&log, &payload).lsn, payload));
        }
        log.durable(log.appended()).wait().unwrap();
        let needed = kept[kept.len() - 8].0;
        log.release(needed, &|_| None).unwrap();
        kept.retain(|(lsn, _)| lsn.segment() >= needed.segment());
        if round % 5 == 0 {
            drop(log);
            log = open(&disk.crash(u64::from(round))).0;
            let found = contents(&log, Lsn::ZERO);
            let found: Vec<_> = found.into_iter().map(|(head, bytes)| (head.lsn, bytes)).collect();
            assert_eq!(found, kept);
            drop(log);
            log = open(&disk).0;
        }
    }
    assert!(log.status().segments < 8);
}

#[test]
fn opening_again_and_again_makes_no_segments() {
    let disk = MemoryDisk::new();
    let wanted = {
        let (log, _) = open(&disk);
        append(&log, b"one").lsn
    };
    for _ in 0..50 {
        let (log, opened) = open(&disk);
        assert_eq!(contents(&log, Lsn::ZERO)[0].0.lsn, wanted);
        assert!(opened.damage.is_empty());
        assert_eq!(log.status().segments, 1);
    }
    let names = disk.list(&PathBuf::from(MEMORY_DIR)).unwrap();
    assert!(names.len() <= 6, "{names:?}");
}

#[test]
fn a_log_without_its_control_file_is_not_a_new_log() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    append(&log, b"x");
    drop(log);
    disk.remove(&PathBuf::from(MEMORY_DIR).join("CONTROL.TXN")).unwrap();
    assert!(matches!(try_open(&disk), Err(LogError::ControlMissing { .. })));
}

#[test]
fn segments_of_another_length_stay_readable() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let head = append(&log, b"small segment");
    drop(log);
    let large = LogOptions { segment_bytes: 128 << 10, ..options() };
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let (log, _) = Log::open(large, shared, Arc::new(SystemClock)).unwrap();
    assert_eq!(log.read(head.lsn).unwrap().1, b"small segment");
    let next = append(&log, &vec![9; 60 << 10]);
    log.durable(next.end).wait().unwrap();
    log.release(next.lsn, &|_| None).unwrap();
    assert_eq!(payloads(&log, Lsn::ZERO), [vec![9; 60 << 10]]);
}

#[test]
fn wrong_options_are_refused() {
    for segment_bytes in [0, 4096, (16 << 10) + 1, (2u32 << 30) + 4096] {
        let wrong = LogOptions { segment_bytes, ..options() };
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let outcome = Log::open(wrong, disk, Arc::new(SystemClock));
        assert!(matches!(outcome, Err(LogError::Options { .. })));
    }
}

#[test]
fn the_log_works_on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let options = LogOptions { dir: dir.path().join("txlog"), ..options() };
    let disk: Arc<dyn Disk> = Arc::new(crate::RealDisk);
    let start = || Log::open(options.clone(), Arc::clone(&disk), Arc::new(SystemClock)).unwrap();
    let (log, _) = start();
    let heads: Vec<Head> = (0..60u8).map(|byte| append(&log, &[byte; 4000])).collect();
    log.durable(heads[59].end).wait().unwrap();
    let adopted = dir.path().join("S0000000.TXN");
    log.release(heads[50].lsn, &|id| (id == 0).then(|| adopted.clone())).unwrap();
    assert!(adopted.exists());
    drop(log);
    let (log, opened) = start();
    assert!(opened.damage.is_empty());
    let found = contents(&log, Lsn::ZERO);
    assert_eq!(found.last().unwrap().0, heads[59]);
    assert!(found.iter().all(|(head, _)| head.lsn.segment() >= heads[50].lsn.segment()));
}
