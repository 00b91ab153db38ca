//! The bytes of a segment and of the control file, pinned by fixtures.

use std::path::{Path, PathBuf};

use note::TimeDate;

use super::rig::{MEMORY_DIR, options};
use super::*;
use crate::ManualClock;
use crate::control::Control;
use crate::faults::MemoryDisk;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// A log with a known identity, one group of two records in segment 3.
fn write_log() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let dir = Path::new(MEMORY_DIR);
    disk.create_dir_all(dir).unwrap();
    let mut control = Control::new(0x1111_2222_3333_4444, 0x5555_6666_7777_8888);
    control.next_segment = 3;
    control.save(&disk, dir).unwrap();
    let clock = Arc::new(ManualClock::new(TimeDate(1_700_000_000_000_000)));
    let (log, _) = Log::open(options(), Arc::new(disk.clone()), clock).unwrap();
    let dbiid = Dbiid(0x0102_0304_0506_0708);
    log.append(RecordKind::Change, dbiid, b"hello, log", Space::Ordinary).unwrap();
    log.append(RecordKind::ObjectBlock, Dbiid(0), &[0xee; 40], Space::Ordinary).unwrap();
    log.stop();
    disk
}

fn stored(disk: &MemoryDisk, name: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let file = disk.open(&Path::new(MEMORY_DIR).join(name)).unwrap();
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), length);
    bytes
}

fn compare(name: &str, bytes: &[u8]) {
    if std::env::var_os("TXLOG_WRITE_FIXTURES").is_some() {
        std::fs::write(fixture(name), bytes).unwrap();
    }
    assert!(std::fs::read(fixture(name)).unwrap() == bytes, "{name} differs");
}

#[test]
fn a_group_is_laid_out_as_documented() {
    let disk = write_log();
    compare("one-group-segment.bin", &stored(&disk, "S0000003.TXN", 4096));
    compare("control.bin", &stored(&disk, "CONTROL.TXN", 8192));
}

#[test]
fn the_fixture_can_be_read() {
    let disk = MemoryDisk::new();
    let dir = Path::new(MEMORY_DIR);
    disk.create_dir_all(dir).unwrap();
    let mut segment = std::fs::read(fixture("one-group-segment.bin")).unwrap();
    segment.resize(64 << 10, 0);
    disk.create(&dir.join("S0000003.TXN")).unwrap().write_at(&segment, 0).unwrap();
    let control = std::fs::read(fixture("control.bin")).unwrap();
    disk.create(&dir.join("CONTROL.TXN")).unwrap().write_at(&control, 0).unwrap();
    let (log, opened) = super::rig::open(&disk);
    assert_eq!((opened.end, opened.damage.len()), (Lsn::new(3, 184), 0));
    let found = super::rig::contents(&log, Lsn::ZERO);
    let records: Vec<_> = found.iter().map(|(head, payload)| (head.lsn, &payload[..])).collect();
    let expected = [(Lsn::new(3, 80), &b"hello, log"[..]), (Lsn::new(3, 120), &[0xee; 40])];
    assert_eq!(records, expected);
    assert_eq!(found[0].0.dbiid, Dbiid(0x0102_0304_0506_0708));
}
