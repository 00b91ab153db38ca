//! Reads by range.

use note::{Dbiid, ObjectHash, Ticket};

use super::driver::{Driver, Random};
use crate::ObjectsError;

/// Around the borders of blocks of 1,024 bytes.
const POINTS: [usize; 12] = [0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 3071, 3072, 3073, 5003];

#[test]
fn every_range_around_block_borders() {
    let driver = Driver::new();
    let mut random = Random::new(3);
    for size in POINTS {
        for content in [random.text(size), random.noise(size)] {
            let ticket = driver.store(Dbiid(1), &content);
            assert_eq!(driver.entry(&ticket).blocks.len(), size.div_ceil(1024));
            for (start, end) in pairs(size) {
                let mut out = b"x".to_vec();
                driver.objects.read(&ticket, start as u64..end as u64, &mut out).unwrap();
                assert_eq!(out[1..], content[start..end], "{start}..{end} of {size}");
            }
        }
    }
}

fn pairs(size: usize) -> Vec<(usize, usize)> {
    let points: Vec<_> = POINTS.into_iter().filter(|point| *point <= size).collect();
    let ends = |start| points.iter().filter(move |end| **end >= start);
    points.iter().flat_map(|&start| ends(start).map(move |&end| (start, end))).collect()
}

#[test]
fn what_is_not_there_is_refused() {
    let driver = Driver::new();
    let ticket = driver.store(Dbiid(1), &[7; 3000]);
    let mut out = b"kept".to_vec();
    let longer = Ticket { length: 3001, ..ticket };
    #[expect(clippy::reversed_empty_ranges, reason = "refused, not followed")]
    for (ticket, range) in [(ticket, 0..3001), (ticket, 2..1), (longer, 0..1)] {
        let error = driver.objects.read(&ticket, range, &mut out).unwrap_err();
        assert!(matches!(error, ObjectsError::Range { length: 3000, .. }), "{error}");
    }
    let unknown = Ticket { hash: ObjectHash([9; 32]), length: 1 };
    let error = driver.objects.read(&unknown, 0..1, &mut out).unwrap_err();
    assert!(matches!(error, ObjectsError::Missing { .. }), "{error}");
    assert_eq!(out, b"kept");
}
