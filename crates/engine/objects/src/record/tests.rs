//! Payloads are pinned byte by byte, come back, and are refused when broken.

use super::*;
use proptest::prelude::*;

fn entry(lengths: &[u32]) -> Entry {
    let blocks: Box<[BlockAddress]> = lengths
        .iter()
        .enumerate()
        .map(|(at, &raw_bytes)| BlockAddress {
            lsn: Lsn((0x2A << 32) + 0x1000 + at as u64 * 0x9000),
            raw_bytes,
            stored_bytes: raw_bytes / 2 + 9,
        })
        .collect();
    let length = lengths.iter().map(|&bytes| u64::from(bytes)).sum();
    Entry { hash: ObjectHash([0xAB; 32]), length, end_lsn: Lsn(7), blocks }
}

/// The payloads shown in `docs/formats/objects.md`.
#[test]
fn payloads_are_pinned() {
    let mut block = [0; BLOCK_HEADER_BYTES + 9];
    block[BLOCK_HEADER_BYTES..].copy_from_slice(b"123456789");
    write_block_header(&mut block, Packing::Stored, b"123456789");
    assert_eq!(&block[..BLOCK_HEADER_BYTES], b"\x10\x09\0\0\0\x26\x39\xF4\xCB");

    let known = entry(&[65_536, 100]);
    let end = encode_end(&known.hash, known.length, &known.blocks);
    let mut expected = vec![0x10];
    expected.extend_from_slice(&[0xAB; 32]);
    expected.extend_from_slice(b"\xE4\x80\x04"); // length 65,636
    expected.extend_from_slice(b"\x02"); // two blocks
    expected.extend_from_slice(b"\x80\xC0\x80\x80\xC0\x0A\x80\x80\x04\x89\x80\x02");
    expected.extend_from_slice(b"\x80\xC0\x04\x64\x3B");
    assert_eq!(end, expected);
    assert_eq!(decode_end(Lsn(7), &end), Some(known));
}

#[test]
fn relocate_records_are_pinned_and_broken_ones_refused() {
    let known = [entry(&[65_536, 100]), entry(&[7])];
    let payload = encode_relocate(&known);
    let mut expected = vec![0x10, 53]; // length of the first object
    expected.extend_from_slice(&[0xAB; 32]);
    expected.extend_from_slice(b"\xE4\x80\x04\x02"); // length 65,636, two blocks
    expected.extend_from_slice(b"\x80\xC0\x80\x80\xC0\x0A\x80\x80\x04\x89\x80\x02");
    expected.extend_from_slice(b"\x80\xC0\x04\x64\x3B");
    expected.push(42);
    expected.extend_from_slice(&[0xAB; 32]);
    expected.extend_from_slice(b"\x07\x01\x80\xC0\x80\x80\xC0\x0A\x07\x0C");
    assert_eq!(payload, expected);
    assert_eq!(decode_relocate(Lsn(7), &payload).as_deref(), Some(&known[..]));
    assert_eq!(decode_relocate(Lsn(7), &[0x10]), Some(vec![]));
    for cut in (1..payload.len()).filter(|cut| ![1, 55].contains(cut)) {
        assert_eq!(decode_relocate(Lsn(7), &payload[..cut]), None, "cut at {cut}");
    }
    assert_eq!(decode_relocate(Lsn(7), &[&[0x20], &payload[1..]].concat()), None);
}

#[test]
fn blocks_with_wrong_headers_are_refused() {
    for (bytes, why) in [
        (&b"\x10\x01\0\0\0\0\0\0"[..], "cut header"),
        (b"\x10\x02\0\0\0\0\0\0\0x", "stored data of another length"),
        (b"\x12\x01\0\0\0\0\0\0\0x", "unknown form"),
        (b"\x11\xFF\xFF\xFF\x7F\0\0\0\0x", "raw length out of range"),
    ] {
        assert_eq!(decode_block(bytes), None, "{why}");
    }
}

#[test]
fn ends_with_wrong_facts_are_refused() {
    let known = entry(&[10, 20]);
    let good = encode_end(&known.hash, 30, &known.blocks);
    for (bytes, why) in [
        (encode_end(&known.hash, 31, &known.blocks), "length is not the sum"),
        ([&good[..], &[0]].concat(), "something follows"),
        (good[..good.len() - 1].to_vec(), "cut"),
        ([&[0x20], &good[1..]].concat(), "unknown form"),
        (encode_end(&known.hash, 0, &entry(&[0]).blocks), "empty block"),
    ] {
        assert_eq!(decode_end(Lsn(7), &bytes), None, "{why}");
    }
    let mut many = good[..34].to_vec();
    many.extend_from_slice(b"\xFF\xFF\xFF\xFF\x0F");
    assert_eq!(decode_end(Lsn(7), &many), None, "count beyond the bytes");
}

proptest! {
    #[test]
    fn ends_come_back(lengths in prop::collection::vec(1_u32..70_000, 0..40)) {
        let known = entry(&lengths);
        let bytes = encode_end(&known.hash, known.length, &known.blocks);
        prop_assert_eq!(decode_end(Lsn(7), &bytes), Some(known));
    }

    #[test]
    fn hostile_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = decode_end(Lsn(1), &bytes);
        let _ = decode_block(&bytes);
        let _ = decode_relocate(Lsn(1), &bytes);
        if let Some(first) = bytes.first_mut() {
            *first = 0x10;
        }
        let _ = decode_end(Lsn(1), &bytes);
        let _ = decode_block(&bytes);
        let _ = decode_relocate(Lsn(1), &bytes);
    }
}
