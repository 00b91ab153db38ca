//! Blocks come back; what does not shrink is stored; broken payloads are refused.

use super::*;

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut x = seed | 1;
    std::iter::repeat_with(|| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    })
    .take(bytes)
    .collect()
}

fn pack(packer: &mut Packer, raw: &[u8]) -> Vec<u8> {
    packer.pack(raw, <[u8]>::to_vec).unwrap()
}

#[test]
fn blocks_of_every_kind_come_back() {
    let text = b"a lotus on the water, ".repeat(3_000);
    for level in [1, 3, -1] {
        for raw in [&text[..], &text[..1], &text[..65_536], &noise(65_536, 3), &noise(40, 9)] {
            let payload = pack(&mut Packer::new(level), raw);
            assert!(payload.len() <= raw.len() + BLOCK_HEADER_BYTES);
            let mut out = b"before".to_vec();
            assert_eq!(unpack(&payload, raw.len(), &mut out), Ok(()));
            assert_eq!(out, [b"before", raw].concat());
        }
    }
    assert!(pack(&mut Packer::new(1), &text).len() < text.len() / 10);
}

#[test]
fn behind_a_block_that_did_not_shrink_seven_go_untried() {
    let (text, noise) = (vec![b'x'; 1000], noise(1000, 5));
    let mut packer = Packer::new(1);
    let forms = |packer: &mut Packer, raw: &[u8]| pack(packer, raw)[0];
    assert_eq!(forms(&mut packer, &text), 0x11);
    assert_eq!(forms(&mut packer, &noise), 0x10);
    for _ in 0..UNTRIED_BLOCKS {
        assert_eq!(forms(&mut packer, &text), 0x10);
    }
    assert_eq!(forms(&mut packer, &text), 0x11);
}

#[test]
fn every_flipped_bit_is_noticed() {
    for raw in [b"to be or not to be ".repeat(40), noise(200, 1)] {
        let good = pack(&mut Packer::new(1), &raw);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let mut out = b"before".to_vec();
            // zstd may ignore a bit that carries nothing: then the content must be right
            let result = unpack(&bad, raw.len(), &mut out);
            let expected = if result.is_ok() { &raw[..] } else { b"" };
            assert_eq!(out, [b"before", expected].concat(), "bit {bit} went unnoticed");
        }
        let mut out = Vec::new();
        assert_eq!(unpack(&good, raw.len() - 1, &mut out), Err(UnpackError::Length));
        assert!(out.is_empty());
    }
}
