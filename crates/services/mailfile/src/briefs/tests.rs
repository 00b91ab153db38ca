use std::sync::Arc;

use note::{Dbiid, TimeDate};
use store::{NoteId, StoreError};

use super::*;
use crate::fixture::Fixture;
use crate::intake::{Facts, intake};
use crate::{INBOX, Loaded, Marks};

fn subjects(loaded: &[Loaded]) -> Vec<String> {
    let subject = |one: &Loaded| {
        let envelope = one.summary().unwrap().envelope().unwrap();
        String::from_utf8(envelope.subject.unwrap()).unwrap()
    };
    loaded.iter().map(subject).collect()
}

fn listed(fixture: &Fixture, uids: &[u32]) -> Vec<String> {
    let inbox = fixture.folder(INBOX);
    let (loaded, done) = fixture.file.load_summaries(inbox, uids, usize::MAX).unwrap().value;
    assert_eq!(done, uids.len());
    assert!(loaded.iter().all(|one| one.note.is_empty()));
    subjects(&loaded)
}

fn fill(fixture: &Fixture, count: u32) {
    for number in 1..=count {
        let text = format!("Subject: s{number}\r\n\r\ntext\r\n");
        fixture.append(INBOX, text.as_bytes(), &Marks::default());
    }
}

#[test]
fn a_list_is_the_same_the_second_time() {
    let fixture = Fixture::new();
    fill(&fixture, 12);
    for uids in [&[1, 2, 3][..], &[1, 2, 3, 4, 12, 13], &[], &[4, 12]] {
        let wanted: Vec<String> =
            uids.iter().filter(|uid| **uid <= 12).map(|uid| format!("s{uid}")).collect();
        assert_eq!(listed(&fixture, uids), wanted, "{uids:?}");
        assert_eq!(listed(&fixture, uids), wanted, "{uids:?}");
    }
    let inbox = fixture.folder(INBOX);
    fixture.delete(inbox, &[2]);
    fill(&fixture, 1);
    assert_eq!(listed(&fixture, &[1, 2, 3, 13]), ["s1", "s3", "s1"]);
}

#[test]
fn a_note_that_is_replaced_is_told_anew() {
    let fixture = Fixture::new();
    fill(&fixture, 3);
    assert_eq!(listed(&fixture, &[1, 2, 3]), ["s1", "s2", "s3"]);
    let (store, db) = (fixture.file.store(), fixture.file.database());
    let inbox = fixture.folder(INBOX);
    let unid = fixture.file.entries(inbox, &[2]).unwrap().value[0].unid;
    for subject in ["other", "another"] {
        let text = format!("Subject: {subject}\r\n\r\ntext\r\n");
        let facts = Facts { unid, date: TimeDate(5), extra: Vec::new() };
        let taken = intake(store, text.as_bytes(), &facts).unwrap();
        store.write::<_, StoreError>(&[db], |w| w.put_note(db, &taken.prepared)).unwrap();
        assert_eq!(listed(&fixture, &[1, 2, 3]), ["s1", subject, "s3"]);
    }
}

#[test]
fn reading_stops_at_the_bound_of_bytes() {
    let fixture = Fixture::new();
    fill(&fixture, 9);
    // Those in the middle are kept already.
    listed(&fixture, &[4, 5]);
    let inbox = fixture.folder(INBOX);
    let uids: Vec<u32> = (1..=9).collect();
    let (mut left, mut seen, mut rounds) = (&uids[..], Vec::new(), 0);
    while !left.is_empty() {
        let (loaded, done) = fixture.file.load_summaries(inbox, left, 1).unwrap().value;
        assert!(done > 0);
        seen.extend(subjects(&loaded));
        left = &left[done..];
        rounds += 1;
    }
    let wanted: Vec<String> = (1..=9).map(|number| format!("s{number}")).collect();
    assert_eq!((seen, rounds > 3), (wanted, true));
}

#[test]
fn a_damaged_note_is_damaged_alone() {
    let fixture = Fixture::new();
    fixture.append(INBOX, b"Subject: first\r\n\r\nhi\r\n", &Marks::default());
    fixture.append(INBOX, b"Subject: zweite-zeile\r\n\r\nhi\r\n", &Marks::default());
    let fixture = fixture.spoiled(b"zweite-zeile");
    let inbox = fixture.folder(INBOX);
    for _ in 0..2 {
        let (loaded, done) = fixture.file.load_summaries(inbox, &[1, 2], usize::MAX).unwrap().value;
        assert_eq!((loaded.len(), done), (2, 2));
        assert!(loaded[0].summary().is_ok() && loaded[1].summary().is_err());
    }
}

#[test]
fn the_bounds_hold() {
    let mut kept = Kept::default();
    let summary: Arc<[u8]> = vec![7; 1_000].into();
    for dbiid in 1..=50 {
        let read = (0..300).map(|id| (NoteId(id), summary.clone())).collect();
        kept.clock += 1;
        kept.keep(Dbiid(dbiid), 1, read);
        assert_eq!(kept.files[&Dbiid(dbiid)].notes.len(), NOTES_MAX);
    }
    // The oldest note of a database went, and what is too long is not kept.
    assert_eq!(kept.find(Dbiid(50), &[NoteId(99), NoteId(100)])[0], Brief::Gone);
    let long: Arc<[u8]> = vec![7; BRIEF_BYTES_MAX + 1].into();
    kept.keep(Dbiid(50), 1, vec![(NoteId(1_000), long)]);
    assert_eq!(kept.find(Dbiid(50), &[NoteId(1_000)]), [Brief::Gone]);
    kept.find(Dbiid(1), &[]);
    kept.shrink(10 * NOTES_MAX * 1_100);
    let bytes: usize = kept.files.values().map(|file| file.bytes).sum();
    assert_eq!(kept.bytes, bytes);
    assert!(kept.bytes <= 10 * NOTES_MAX * 1_100 && kept.files.len() >= 8);
    assert!(kept.files.contains_key(&Dbiid(1)) && !kept.files.contains_key(&Dbiid(2)));
    kept.replaced(Dbiid(1), 2, &[NoteId(150), NoteId(7)]);
    assert_eq!(kept.files[&Dbiid(1)].notes.len(), NOTES_MAX - 1);
    kept.forget(Dbiid(1));
    let bytes: usize = kept.files.values().map(|file| file.bytes).sum();
    assert_eq!(kept.bytes, bytes);
}
