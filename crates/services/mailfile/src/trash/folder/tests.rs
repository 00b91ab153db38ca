use std::sync::Arc;

use txlog::ManualClock;

use super::*;
use crate::fixture::Fixture;

const HOUR_MICROS: i64 = 3_600_000_000;

#[test]
fn messages_leave_the_trash_folder_by_how_long_they_lie_there() {
    let clock = Arc::new(ManualClock::new(note::TimeDate::from_unix_seconds(1_700_000_000)));
    let fixture = Fixture::at(&clock);
    let swept = || {
        let (store, db) = (fixture.file.store(), fixture.file.database());
        let before = fixture.uids("Trash").len();
        let removed = sweep(store, db, 2, 10).unwrap();
        assert_eq!(fixture.uids("Trash").len(), before - removed);
        removed
    };
    fixture.fill("Trash", 3);
    assert_eq!(swept(), 0);
    for hour in 1..=49 {
        clock.advance(HOUR_MICROS);
        if hour % 10 == 0 {
            // Old mail that is thrown away now is young here.
            fixture
                .file
                .append("Trash", b"\r\nx", Some(note::TimeDate(1)), &Default::default())
                .unwrap();
        }
        let due = hour == 48;
        assert_eq!(swept(), if due { 3 } else { 0 }, "hour {hour}");
    }
    assert_eq!(fixture.uids("Trash"), [4, 5, 6, 7]);
    clock.advance(9 * HOUR_MICROS);
    assert_eq!(swept(), 1);
    clock.advance(60 * HOUR_MICROS);
    assert_eq!(swept(), 3);
    assert_eq!(fixture.file.deleted(10).unwrap().value.len(), 7, "they can be restored");
}

#[test]
fn a_full_trash_folder_is_emptied_in_slices() {
    let clock = Arc::new(ManualClock::new(note::TimeDate::from_unix_seconds(1_700_000_000)));
    let fixture = Fixture::at(&clock);
    fixture.fill("Trash", 25);
    let (store, db) = (fixture.file.store(), fixture.file.database());
    assert_eq!(sweep(store, db, 1, 10).unwrap(), 0);
    clock.advance(25 * HOUR_MICROS);
    fixture.fill("Trash", 1);
    let removed: Vec<_> = (0..4).map(|_| sweep(store, db, 1, 10).unwrap()).collect();
    assert_eq!(removed, [10, 10, 5, 0]);
    assert_eq!(fixture.uids("Trash"), [26]);
}
