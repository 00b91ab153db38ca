use std::path::Path;

use super::*;
use crate::Disk;
use crate::faults::{Dice, MemoryDisk};

fn record_file(payload: &[u8], lsn: Lsn) -> (std::sync::Arc<dyn DiskFile>, Head) {
    let disk = MemoryDisk::new();
    disk.create_dir_all(Path::new("/d")).unwrap();
    let file = disk.create(Path::new("/d/x")).unwrap();
    let mut buffer = Vec::new();
    let head = Draft::new(RecordKind::ObjectBlock, Dbiid(77), payload).put(lsn, &mut buffer);
    assert_eq!(head.end.0 - lsn.0, buffer.len() as u64);
    file.write_at(&buffer, u64::from(lsn.offset())).unwrap();
    (file, head)
}

#[test]
fn records_of_all_lengths_read_back() {
    let mut dice = Dice::new(1);
    for length in [0, 1, 7, 8, 9, 4071, 4072, 4073, 70_000] {
        let payload = dice.bytes(length);
        let lsn = Lsn::new(3, 160);
        let (file, head) = record_file(&payload, lsn);
        let mut out = vec![9; 3];
        assert_eq!(read_record(&*file, 3, 160, &mut out).unwrap(), head);
        assert_eq!(out, payload);
        assert_eq!(head.end.offset() % 8, 0);
        for room in [0, length, 100_000] {
            let mut record = vec![9; room];
            assert_eq!(read_known(&*file, lsn, length as u32, &mut record).unwrap(), head);
            assert_eq!(head.payload_of(&record), payload);
        }
    }
}

#[test]
fn a_record_is_valid_at_its_own_position_only() {
    let (file, _) = record_file(b"payload", Lsn::new(3, 160));
    let mut out = Vec::new();
    for (segment, offset) in [(4, 160), (3, 168), (3, 0), (3, 100_000)] {
        let outcome = read_record(&*file, segment, offset, &mut out);
        assert!(matches!(outcome, Err(LogError::Damaged { .. })));
        let outcome = read_known(&*file, Lsn::new(segment, offset), 7, &mut out);
        assert!(matches!(outcome, Err(LogError::Damaged { .. })));
    }
    for length in [6, 8] {
        let outcome = read_known(&*file, Lsn::new(3, 160), length, &mut out);
        assert!(matches!(outcome, Err(LogError::Damaged { .. })), "another length");
    }
}

#[test]
fn one_flipped_bit_is_mended_in_the_header_and_noticed_in_the_payload() {
    let lsn = Lsn::new(1, 80);
    let (file, head) = record_file(b"some payload", lsn);
    let used = RECORD_HEADER_BYTES + b"some payload".len();
    for bit in 0..used * 8 {
        let at = 80 + bit as u64 / 8;
        let mut byte = [0];
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ (1 << (bit % 8))], at).unwrap();
        let mut out = Vec::new();
        let outcome = read_record(&*file, 1, 80, &mut out);
        let mut record = Vec::new();
        let known = read_known(&*file, lsn, head.length, &mut record);
        // The sum of the payload stands in the header.
        if bit < RECORD_HEADER_BYTES * 8 {
            assert_eq!((outcome.unwrap(), &out[..]), (head, &b"some payload"[..]), "bit {bit}");
            assert_eq!(known.unwrap().payload_of(&record), b"some payload", "bit {bit}");
        } else {
            assert!(matches!(known, Err(LogError::Damaged { .. })), "bit {bit}");
            assert!(matches!(outcome, Err(LogError::Damaged { .. })), "bit {bit}");
        }
        file.write_at(&byte, at).unwrap();
    }
}

#[test]
fn two_flipped_bits_in_the_header_are_noticed() {
    let lsn = Lsn::new(1, 80);
    let mut buffer = Vec::new();
    Draft::new(RecordKind::Change, Dbiid(77), b"some payload").put(lsn, &mut buffer);
    for one in 0..RECORD_HEADER_BYTES * 8 {
        for other in one + 1..RECORD_HEADER_BYTES * 8 {
            let mut flipped = buffer.clone();
            flipped[one / 8] ^= 1 << (one % 8);
            flipped[other / 8] ^= 1 << (other % 8);
            assert_eq!(decode_head(&flipped, lsn), None, "bits {one} and {other}");
        }
    }
}

#[test]
fn a_cut_file_is_damage_not_an_allocation() {
    let (file, _) = record_file(&[5; 9000], Lsn::new(1, 80));
    for length in [80, 90, 103, 104, 4000, 9000] {
        file.set_len(length).unwrap();
        let mut out = Vec::new();
        assert!(matches!(read_record(&*file, 1, 80, &mut out), Err(LogError::Damaged { .. })));
        assert!(out.capacity() < 9000);
        let known = read_known(&*file, Lsn::new(1, 80), 9000, &mut out);
        assert!(matches!(known, Err(LogError::Damaged { .. })));
    }
}
