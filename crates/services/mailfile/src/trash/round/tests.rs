use std::sync::Arc;

use txlog::ManualClock;

use super::*;
use crate::fixture::Fixture;
use crate::{INBOX, Marks, create};

const SECOND: i64 = 1_000_000;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_700_000_000)))
}

/// Deletes `count` messages in a mail file.
fn throw_away(fixture: &Fixture, path: &str, count: usize) {
    let file = fixture.files.open(path).unwrap();
    let mut uids = Vec::new();
    for _ in 0..count {
        uids.push(file.append(INBOX, b"\r\nx", None, &Marks::default()).unwrap().value.uid);
    }
    let inbox = file.open_folder(INBOX).unwrap().value.folder.id;
    file.remove_entries(inbox, &uids).unwrap();
}

fn left(fixture: &Fixture, path: &str) -> usize {
    fixture.files.open(path).unwrap().deleted(1_000).unwrap().value.len()
}

#[test]
fn all_mail_files_get_their_turn_and_none_waits_for_a_full_one() {
    let clock = clock();
    let fixture = Fixture::at(&clock);
    let store = fixture.file.store();
    throw_away(&fixture, "mail/ada.nsf", 500);
    for number in 0..5 {
        let path = format!("mail/u{number}.nsf");
        create(store, &path, "U").unwrap();
        throw_away(&fixture, &path, 3);
    }
    let round = Round::new(Options { keep_hours: 1, folder_days: 0 });
    let budget = Budget { notes: 100, files: 3 };
    assert_eq!(round.slice(store, budget), Sliced { files: 3, ..Sliced::default() });
    assert_eq!(round.slice(store, budget), Sliced { files: 3, ..Sliced::default() });
    assert!(round.slice(store, budget).idle, "nothing is due before the hour is over");
    clock.advance(3_600 * SECOND);
    assert!(round.slice(store, budget).idle);
    clock.advance(LOOK_EVERY_S * SECOND);
    let first = round.slice(store, budget);
    assert_eq!((first.files, first.notes), (1, 100), "the budget ends with the first");
    let second = round.slice(store, budget);
    assert_eq!((second.files, second.notes), (3, 9), "and the others are next");
    let mut slices = 0;
    while !round.slice(store, budget).idle {
        clock.advance(SECOND);
        slices += 1;
        assert!(slices < 50);
    }
    assert_eq!(left(&fixture, "mail/ada.nsf"), 0);
    assert_eq!(round.rows()[0].1, 515);
}

#[test]
fn nothing_is_kept_when_that_is_wanted() {
    let clock = clock();
    let fixture = Fixture::at(&clock);
    let store = fixture.file.store();
    let round = Round::new(Options { keep_hours: 0, folder_days: 0 });
    throw_away(&fixture, "mail/ada.nsf", 3);
    assert_eq!(round.slice(store, Budget::default()).notes, 3);
    throw_away(&fixture, "mail/ada.nsf", 2);
    clock.advance(SECOND);
    assert_eq!(round.slice(store, Budget::default()).notes, 2);
    round.set_options(Options { keep_hours: 48, folder_days: 0 });
    throw_away(&fixture, "mail/ada.nsf", 1);
    clock.advance(60 * SECOND);
    assert_eq!(round.slice(store, Budget::default()).notes, 0);
    assert_eq!(left(&fixture, "mail/ada.nsf"), 1);
    round.set_options(Options { keep_hours: 0, folder_days: 0 });
    assert_eq!(round.slice(store, Budget::default()).notes, 1);
}

#[test]
fn the_trash_folder_is_swept_when_that_is_wanted() {
    let clock = clock();
    let fixture = Fixture::at(&clock);
    let store = fixture.file.store();
    fixture.fill("Trash", 4);
    let round = Round::new(Options { keep_hours: 24, folder_days: 1 });
    let mut left_trash = 0;
    for _ in 0..30 {
        left_trash += round.slice(store, Budget::default()).left_trash;
        clock.advance(3_600 * SECOND);
    }
    assert_eq!((left_trash, fixture.uids("Trash").len()), (4, 0));
    assert_eq!(left(&fixture, "mail/ada.nsf"), 4);
}
