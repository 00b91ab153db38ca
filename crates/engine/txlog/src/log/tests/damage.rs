//! Damage, and the end of the log.

use std::path::PathBuf;

use super::rig::{MEMORY_DIR, append, append_many, contents, open, open_with, options, payloads};
use super::*;
use crate::LogOptions;
use crate::faults::MemoryDisk;

fn path(segment: u32) -> PathBuf {
    PathBuf::from(MEMORY_DIR).join(crate::segment_file_name(segment))
}

fn small() -> LogOptions {
    LogOptions { segment_bytes: 16 << 10, group_bytes_max: 4096, ..options() }
}

/// A log with `count` durable groups of three records each; gives the heads.
fn write_groups(disk: &MemoryDisk, count: usize) -> Vec<Vec<Head>> {
    let (log, _) = open(disk);
    let mut groups = Vec::new();
    for number in 0..count {
        let one = |record: usize| {
            let dbiid = Dbiid(10 * number as u64 + record as u64);
            let payload = [number as u8; 700];
            log.append(RecordKind::Change, dbiid, &payload, Space::Ordinary).unwrap()
        };
        groups.push((0..3).map(one).collect::<Vec<Head>>());
        log.durable(log.appended()).wait().unwrap();
    }
    groups
}

fn lsns(log: &Log) -> Vec<Lsn> {
    contents(log, Lsn::ZERO).iter().map(|(head, _)| head.lsn).collect()
}

fn flatten(groups: &[Vec<Head>]) -> Vec<Lsn> {
    groups.iter().flatten().map(|head| head.lsn).collect()
}

#[test]
fn every_byte_of_the_last_group_counts() {
    let disk = MemoryDisk::new();
    let (log, _) = open_with(small(), disk.clone());
    let first = append(&log, b"first");
    log.durable(first.end).wait().unwrap();
    let last = append(&log, &[0xaa; 300]);
    log.durable(last.end).wait().unwrap();
    let disk = disk.kill();
    drop(log);
    let start = u64::from(last.lsn.offset()) - 80;
    let end = u64::from(last.end.offset());
    for offset in start..end + 100 {
        let flipped = disk.kill();
        flipped.flip(&path(0), offset, 0x11).unwrap();
        let cut = disk.kill();
        cut.open(&path(0)).unwrap().set_len(offset).unwrap();
        for image in [flipped, cut] {
            let (log, opened) = open_with(small(), image);
            assert!(opened.damage.is_empty(), "{offset}");
            let found = payloads(&log, Lsn::ZERO);
            let expected: &[&[u8]] = &[b"first", &[0xaa; 300]];
            let whole = if offset < end { 1 } else { 2 };
            let is_padding = (u64::from(last.lsn.offset()) + 24 + 300..end).contains(&offset);
            assert!(found == expected[..whole] || (is_padding && found == expected), "{offset}");
        }
    }
}

#[test]
fn a_damaged_group_header_is_reported_and_passed_over() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 6);
    for hit in 0..6 {
        let image = disk.kill();
        let start = u64::from(groups[hit][0].lsn.offset()) - 80;
        image.flip(&path(0), start + 30, 1).unwrap();
        let (log, opened) = open(&image);
        let from = if hit == 0 { Lsn::ZERO } else { groups[hit - 1][2].end };
        let dbiids = groups[hit].iter().map(|head| head.dbiid).collect();
        let damage = Damage { range: from..groups[hit][2].end, dbiids: Some(dbiids) };
        assert_eq!(opened.damage, [damage]);
        let rest = [&groups[..hit], &groups[hit + 1..]].concat();
        assert_eq!(lsns(&log), flatten(&rest));
        // It is reported again, and what came later is not affected.
        let next = append(&log, b"next");
        log.durable(next.end).wait().unwrap();
        drop(log);
        let (log, again) = open(&image.crash(hit as u64));
        assert_eq!(again.damage, opened.damage);
        assert_eq!(lsns(&log), [flatten(&rest), vec![next.lsn]].concat());
    }
}

/// After a stop in order the control file knows what was durable.
#[test]
fn the_last_group_is_missed_after_a_stop() {
    for count in [1, 3] {
        let disk = MemoryDisk::new();
        let groups = write_groups(&disk, count);
        let last = &groups[count - 1];
        disk.flip(&path(0), u64::from(last[0].lsn.offset()) - 80, 1).unwrap();
        let (log, opened) = open(&disk);
        let from = if count == 1 { Lsn::ZERO } else { groups[count - 2][2].end };
        let dbiids = last.iter().map(|head| head.dbiid).collect();
        let lost = Damage { range: from..last[2].end, dbiids: Some(dbiids) };
        assert_eq!(opened.damage, std::slice::from_ref(&lost));
        assert_eq!(opened.end, last[2].end);
        assert_eq!(lsns(&log), flatten(&groups[..count - 1]));
        drop(log);
        assert_eq!(open(&disk).1.damage, std::slice::from_ref(&lost));
        let (log, _) = open(&disk);
        let next = append(&log, b"next");
        drop(log);
        let (log, opened) = open(&disk);
        assert_eq!(opened.damage, [lost]);
        assert_eq!(lsns(&log), [flatten(&groups[..count - 1]), vec![next.lsn]].concat());
    }
}

#[test]
fn the_last_group_becomes_damage_when_a_later_run_knows_it() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 2);
    let (log, _) = open(&disk);
    let next = append(&log, b"next");
    log.durable(next.end).wait().unwrap();
    drop(log);
    let start = u64::from(groups[1][0].lsn.offset()) - 80;
    disk.flip(&path(0), start, 1).unwrap();
    let (log, opened) = open(&disk);
    assert_eq!(opened.damage.len(), 1);
    assert_eq!(opened.damage[0].range, groups[0][2].end..groups[1][2].end);
    assert_eq!(lsns(&log), [flatten(&groups[..1]), vec![next.lsn]].concat());
}

#[test]
fn a_damaged_record_header_costs_the_rest_of_its_group() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 4);
    let hit = groups[1][1];
    disk.flip(&path(0), u64::from(hit.lsn.offset()) + 8, 3).unwrap();
    let (log, opened) = open(&disk);
    assert_eq!(opened.damage, [Damage { range: hit.lsn..groups[1][2].end, dbiids: None }]);
    let left = [&flatten(&groups[..1])[..], &[groups[1][0].lsn], &flatten(&groups[2..])].concat();
    assert_eq!(lsns(&log), left);
    assert!(matches!(log.read(hit.lsn), Err(LogError::Damaged { .. })));
    assert!(log.read(groups[1][2].lsn).is_ok());
}

#[test]
fn a_damaged_payload_is_noticed_when_asked_for() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 4);
    let hit = groups[1][1];
    disk.flip(&path(0), u64::from(hit.lsn.offset()) + 300, 1).unwrap();
    let (log, opened) = open(&disk);
    assert!(opened.damage.is_empty());
    let mut seen = Vec::new();
    log.scan(Lsn::ZERO, &mut |head, payload| {
        seen.push(head.lsn);
        assert_eq!(payload.get().is_err(), head.lsn == hit.lsn);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, flatten(&groups));
    assert!(matches!(log.read(hit.lsn), Err(LogError::Damaged { lsn }) if lsn == hit.lsn));
}

#[test]
fn damage_that_came_after_the_open_is_an_error() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 4);
    for offset in [u64::from(groups[1][0].lsn.offset()) - 60, u64::from(groups[1][1].lsn.offset())]
    {
        let image = disk.kill();
        let (log, _) = open(&image);
        image.flip(&path(0), offset, 3).unwrap();
        let outcome = log.scan(Lsn::ZERO, &mut |_, _| ControlFlow::Continue(()));
        assert!(matches!(outcome, Err(LogError::DamagedRange { .. })), "{offset}");
    }
    let (log, _) = open(&disk);
    let head = append(&log, b"x");
    log.durable(head.end).wait().unwrap();
    disk.flip(&path(head.lsn.segment()), 3, 1).unwrap();
    let outcome = log.scan(Lsn::ZERO, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(outcome, Err(LogError::DamagedRange { .. })));
}

#[test]
fn a_lost_segment_is_damage() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let mut heads: Vec<Head> = (0..60u8).map(|byte| append(&log, &[byte; 4000])).collect();
    log.durable(log.appended()).wait().unwrap();
    heads.push(append(&log, b"this group knows that the others are durable"));
    drop(log);
    for lost in [0, 1] {
        let image = disk.kill();
        image.remove(&path(lost)).unwrap();
        let (log, opened) = open(&image);
        let inside = |head: &&Head| head.lsn.segment() == lost;
        let end = heads.iter().rfind(inside).unwrap().end;
        let before = heads.iter().rfind(|head| head.lsn.segment() < lost);
        let start = before.map_or(Lsn::ZERO, |head| head.end);
        assert_eq!(opened.damage, [Damage { range: start..end, dbiids: None }]);
        let left = heads.iter().filter(|head| head.lsn.segment() != lost);
        assert_eq!(lsns(&log), left.map(|head| head.lsn).collect::<Vec<_>>());
    }
}

/// Groups that were written but not synced, with a hole: the log ends before it, and what stands
/// behind never comes back.
#[test]
fn a_hole_that_was_never_durable_is_the_end() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let kept = append(&log, b"kept");
    log.durable(kept.end).wait().unwrap();
    let heads: Vec<Head> = (0..8u8).map(|byte| append(&log, &[byte; 6000])).collect();
    while log.status().groups < 4 {
        std::thread::yield_now();
    }
    let image = disk.kill();
    drop(log);
    image.flip(&path(0), u64::from(heads[0].lsn.offset()) - 80, 1).unwrap();
    let (log, opened) = open(&image);
    assert_eq!((opened.end, &opened.damage[..]), (kept.end, &[][..]));
    assert!(opened.discarded_bytes >= 12_000);
    assert_eq!(payloads(&log, Lsn::ZERO), [b"kept"]);
    assert!(matches!(log.read(heads[4].lsn), Err(LogError::NotInLog { .. })));
    let next = append(&log, b"next");
    log.durable(next.end).wait().unwrap();
    for seed in 0..5 {
        let (log, opened) = open(&image.crash(seed));
        assert!(opened.damage.is_empty());
        assert_eq!(opened.discarded_bytes, 0);
        assert_eq!(payloads(&log, Lsn::ZERO), [b"kept", b"next"]);
    }
}

/// What a killed process left in the system's memory is part of the log and made durable at once.
#[test]
fn what_an_open_found_survives_the_next_power_loss() {
    for seed in 0..20 {
        let disk = MemoryDisk::new();
        let (log, _) = open(&disk);
        append_many(&log, 30, &[1; 6000]);
        while log.status().groups < 10 {
            std::thread::yield_now();
        }
        let image = disk.kill();
        drop(log);
        let (log, opened) = open(&image);
        let found = lsns(&log);
        assert!(found.len() >= 20);
        let (after, again) = open(&image.crash(seed));
        assert_eq!(lsns(&after), found);
        assert_eq!((again.end, again.damage.len()), (opened.end, 0));
    }
}

#[test]
fn rubbish_in_segments_is_never_a_record() {
    let disk = MemoryDisk::new();
    drop(write_groups(&disk, 3));
    let mut dice = Dice::new(11);
    for _ in 0..300 {
        let image = disk.kill();
        let file = image.open(&path(0)).unwrap();
        let length = dice.below(600) as usize;
        file.write_at(&dice.bytes(length), dice.below(14_000)).unwrap();
        let (log, opened) = open(&image);
        let mut count = 0;
        log.scan(Lsn::ZERO, &mut |head, payload| {
            if let Ok(payload) = payload.get() {
                assert_eq!(payload, [(head.dbiid.0 / 10) as u8; 700]);
                count += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(count >= 3 || !opened.damage.is_empty() || opened.end < Lsn::new(0, 8192));
    }
}

/// The first groups of a run, torn before any sync: the end, although an earlier run is known to
/// be durable up to its own end.
#[test]
fn a_hole_at_the_begin_of_a_run_is_the_end() {
    let disk = MemoryDisk::new();
    let groups = write_groups(&disk, 2);
    let (log, _) = open(&disk);
    let heads: Vec<Head> = (0..8u8).map(|byte| append(&log, &[byte; 6000])).collect();
    while log.status().groups < 3 {
        std::thread::yield_now();
    }
    let image = disk.kill();
    drop(log);
    image.flip(&path(heads[0].lsn.segment()), 0, 1).unwrap();
    let (log, opened) = open(&image);
    assert_eq!((opened.end, opened.damage.len()), (groups[1][2].end, 0));
    assert_eq!(lsns(&log), flatten(&groups));
}

/// A gap of which only the first part was durable: that part is damage, then the log ends.
#[test]
fn a_gap_that_was_durable_in_part_ends_the_log() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    let first = append(&log, b"first");
    log.durable(first.end).wait().unwrap();
    let second = append(&log, b"second");
    log.durable(second.end).wait().unwrap();
    let heads: Vec<Head> = (0..8u8).map(|byte| append(&log, &[byte; 6000])).collect();
    while log.status().groups < 5 {
        std::thread::yield_now();
    }
    let image = disk.kill();
    drop(log);
    for head in [second, heads[0]] {
        image.flip(&path(0), u64::from(head.lsn.offset()) - 80, 1).unwrap();
    }
    let (log, opened) = open(&image);
    let lost = Damage { range: first.end..second.end, dbiids: Some(vec![Dbiid(7)]) };
    assert_eq!((opened.end, &opened.damage[..]), (second.end, &[lost.clone()][..]));
    assert_eq!(payloads(&log, Lsn::ZERO), [b"first"]);
    let next = append(&log, b"next");
    log.durable(next.end).wait().unwrap();
    drop(log);
    let (log, opened) = open(&image);
    assert_eq!(opened.damage[0].range, lost.range);
    assert_eq!(payloads(&log, Lsn::ZERO), [&b"first"[..], b"next"]);
}

const REGISTER: [u8; 300] = [0x52; 300];

/// The register that heads the only segment of a log can be read although any one of its bytes, or
/// of its group, is damaged; and that concerns no database.
#[test]
fn the_head_of_a_segment_survives_any_flip() {
    let disk = MemoryDisk::new();
    let (log, _) = open(&disk);
    log.set_segment_head(Box::new(|| REGISTER.to_vec()));
    for _ in 0..3 {
        log.durable(append(&log, &[7; 900]).end).wait().unwrap();
    }
    log.stop();
    drop(log);
    let whole = contents(&open(&disk.kill()).0, Lsn::ZERO);
    let heads: Vec<_> = whole.iter().filter(|(_, payload)| payload[..] == REGISTER).collect();
    assert_eq!((heads.len(), heads[1].0.lsn), (2, Lsn::new(0, 4096 + 80)));
    let changes: Vec<Lsn> = whole.iter().map(|(head, _)| head.lsn).skip(2).collect();
    for offset in (0..512).chain(4096..4096 + 80 + 24 + 300) {
        let image = disk.kill();
        image.flip(&path(0), offset, 0x40).unwrap();
        let (log, opened) = open(&image);
        let is_in_second = offset >= 4096;
        let named = opened.damage.iter().flat_map(|one| one.dbiids.iter().flatten());
        assert!(is_in_second || named.count() == 0, "{offset}: {opened:?}");
        assert!(is_in_second || opened.damage.iter().all(|one| one.dbiids.is_some()), "{offset}");
        let mut registers = 0;
        let mut found = Vec::new();
        log.scan(Lsn::ZERO, &mut |head, payload| {
            match (head.kind, payload.get()) {
                (RecordKind::Checkpoint, Ok(payload)) => {
                    registers += i32::from(payload == REGISTER)
                }
                (RecordKind::Checkpoint, Err(_)) => {}
                _ => found.push(head.lsn),
            }
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert!(registers >= 1, "{offset}");
        assert!(is_in_second || found == changes, "{offset}");
    }
}
