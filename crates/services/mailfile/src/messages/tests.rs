use super::*;
use crate::fixture::{Fixture, marks};
use crate::{FlagMode, INBOX, Marks};

#[test]
fn sparse_and_dense_sets_find_their_entries() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 40);
    let inbox = fixture.folder(INBOX);
    fixture.delete(inbox, &[5, 6, 7, 20]);
    let sets: &[&[u32]] =
        &[&[], &[1], &[5], &[1, 40], &[1, 2, 3, 5, 39, 40], &[20, 21], &[3, 9, 27, 40, 99, 4_000]];
    for uids in sets {
        let entries = fixture.file.entries(inbox, uids).unwrap().value;
        let found: Vec<u32> = entries.iter().map(|entry| entry.uid).collect();
        let there = |uid: &u32| *uid <= 40 && ![5, 6, 7, 20].contains(uid);
        let wanted: Vec<u32> = uids.iter().copied().filter(there).collect();
        assert_eq!(found, wanted, "{uids:?}");
    }
}

#[test]
fn what_is_appended_comes_back_with_date_and_marks() {
    let fixture = Fixture::new();
    let text = b"Subject: x\r\nFrom: a@x.test\r\n\r\nhello\r\n";
    let given = marks(EntryFlags::FLAGGED | EntryFlags::SEEN, &["$Forwarded", "Junk"]);
    let date = TimeDate(1_577_840_399_000_000);
    let appended = fixture.file.append("Sent", text, Some(date), &given).unwrap().value;
    let sent = fixture.folder("Sent");
    let (loaded, done) = fixture.file.load(sent, &[appended.uid], 1).unwrap().value;
    assert_eq!((loaded.len(), done), (1, 1));
    let entry = &loaded[0].entry;
    assert_eq!((Marks::of(entry), entry.date, entry.size), (given, date, text.len() as u64));
    let opened = loaded[0].open().unwrap();
    assert_eq!(opened.summary().unwrap().envelope().unwrap().subject.as_deref(), Some(&b"x"[..]));
    let mut bytes = Vec::new();
    let pieces = opened.content().unwrap();
    fixture.file.read_content(&pieces, 0..u64::MAX, &mut bytes).unwrap();
    assert_eq!(bytes, text);
    bytes.clear();
    fixture.file.read_content(&pieces, 9..10, &mut bytes).unwrap();
    assert_eq!(bytes, b"x");
}

#[test]
fn loading_stops_at_the_bound_of_bytes() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 10);
    let inbox = fixture.folder(INBOX);
    let uids: Vec<u32> = (1..=10).collect();
    let (mut left, mut seen) = (&uids[..], Vec::new());
    while !left.is_empty() {
        let (loaded, done) = fixture.file.load(inbox, left, 1).unwrap().value;
        assert!(done > 0 && loaded.len() <= 2);
        seen.extend(loaded.iter().map(|l| l.entry.uid));
        left = &left[done..];
    }
    assert_eq!(seen, uids);
}

#[test]
fn a_copy_is_the_same_note_and_shares_the_read_mark() {
    let fixture = Fixture::new();
    fixture.append(INBOX, b"Subject: x\r\n\r\nhi", &marks(EntryFlags::FLAGGED, &["k"]));
    let (inbox, sent) = (fixture.folder(INBOX), fixture.folder("Sent"));
    let copied = fixture.file.copy_entries(inbox, &[1, 7], "Sent").unwrap().value;
    assert_eq!(copied.pairs, [(1, 1)]);
    let one = |folder| fixture.file.entries(folder, &[1]).unwrap().value.remove(0);
    assert_eq!(one(inbox).note, one(sent).note);
    assert_eq!(Marks::of(&one(sent)), marks(EntryFlags::FLAGGED, &["k"]));
    fixture.change(sent, &[1], FlagMode::Replace, marks(EntryFlags::SEEN, &[]));
    let flagged_and_seen = EntryFlags::FLAGGED | EntryFlags::SEEN;
    assert_eq!(Marks::of(&one(inbox)), marks(flagged_and_seen, &["k"]));
    assert_eq!(Marks::of(&one(sent)), marks(EntryFlags::SEEN, &[]));
}

#[test]
fn a_failed_copy_copies_nothing() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 2);
    let inbox = fixture.folder(INBOX);
    for moves in [false, true] {
        let result = match moves {
            true => fixture.file.move_entries(inbox, &[1, 2], "None"),
            false => fixture.file.copy_entries(inbox, &[1, 2], "None"),
        };
        assert!(matches!(result, Err(MailError::NoFolder { .. })));
    }
    assert_eq!(fixture.uids(INBOX), [1, 2]);
}

#[test]
fn a_change_of_flags_tells_what_is_stored() {
    let fixture = Fixture::new();
    let (file, inbox) = (&fixture.file, fixture.folder(INBOX));
    fixture.append(INBOX, b"Subject: x\r\n\r\nhi", &marks(EntryFlags::DRAFT, &["k"]));
    fixture.fill(INBOX, 2);
    let same_note = file.copy_entries(inbox, &[1], INBOX).unwrap().value.pairs;
    assert_eq!(same_note, [(1, 4)]);
    let both = EntryFlags::SEEN | EntryFlags::FLAGGED;
    let changes: &[(FlagMode, Marks, &[u32])] = &[
        (FlagMode::Add, marks(EntryFlags::FLAGGED, &["Later"]), &[2]),
        (FlagMode::Add, marks(EntryFlags::SEEN, &[]), &[2, 3]),
        (FlagMode::Replace, marks(both, &["k", "l"]), &[1, 2, 3, 4]),
        (FlagMode::Remove, marks(both, &["K"]), &[1, 3, 4, 9]),
        (FlagMode::Remove, marks(EntryFlags::SEEN, &["l"]), &[2, 4]),
        (FlagMode::Replace, marks(EntryFlags::NONE, &[]), &[1]),
    ];
    for (mode, marks, uids) in changes {
        let change = FlagChange::new(*mode, marks.clone());
        let told = file.change_flags(inbox, uids, &change).unwrap().value.entries;
        assert_eq!(told, file.entries(inbox, uids).unwrap().value, "{mode:?} {marks:?} {uids:?}");
        let folder = file.open_folder(INBOX).unwrap().value.folder;
        let all = file.entries(inbox, &[1, 2, 3, 4]).unwrap().value;
        let unseen = all.iter().filter(|entry| !entry.flags.contains(EntryFlags::SEEN)).count();
        assert_eq!(folder.unseen as usize, unseen, "{mode:?} {marks:?} {uids:?}");
    }
}

#[test]
fn unchanged_flags_are_not_written() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 2);
    let inbox = fixture.folder(INBOX);
    let change = FlagChange::new(FlagMode::Add, marks(EntryFlags::FLAGGED, &["k"]));
    let first = fixture.file.change_flags(inbox, &[1, 2, 3], &change).unwrap();
    assert_eq!(first.value.changed, [1, 2]);
    assert_eq!(first.value.entries.len(), 2);
    let modseq = fixture.file.open_folder(INBOX).unwrap().value.folder.modseq;
    assert!(first.value.entries.iter().all(|entry| entry.modseq == modseq));
    let second = fixture.file.change_flags(inbox, &[1, 2], &change).unwrap();
    assert_eq!(second.value.changed, [0u32; 0]);
    assert_eq!(fixture.file.open_folder(INBOX).unwrap().value.folder.modseq, modseq);
}

#[test]
fn expunge_takes_what_is_marked_and_no_more() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 6);
    let inbox = fixture.folder(INBOX);
    fixture.change(inbox, &[2, 4, 5], FlagMode::Add, marks(EntryFlags::DELETED, &[]));
    assert_eq!(fixture.file.expunge(inbox, Some(&[1, 4])).unwrap().value, [4]);
    assert_eq!(fixture.file.expunge(inbox, None).unwrap().value, [2, 5]);
    assert_eq!(fixture.file.expunge(inbox, None).unwrap().value, [0u32; 0]);
    assert_eq!(fixture.uids(INBOX), [1, 3, 6]);
}

#[test]
fn polls_tell_what_changed_since() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 3);
    let before = fixture.file.open_folder(INBOX).unwrap().value;
    let (inbox, since) = (before.folder.id, before.folder.modseq);
    let poll = |since| fixture.file.poll(inbox, since, 0).unwrap().value.unwrap();
    assert!(poll(since).changed.is_empty());
    fixture.change(inbox, &[2], FlagMode::Add, marks(EntryFlags::FLAGGED, &[]));
    fixture.delete(inbox, &[1]);
    fixture.fill(INBOX, 1);
    let polled = poll(since);
    let changed: Vec<u32> = polled.changed.iter().map(|entry| entry.uid).collect();
    assert_eq!((changed, polled.more), (vec![2, 4], false));
    let news = before.uids.difference(&polled.uids);
    assert_eq!((news.gone, news.came), (vec![1], vec![4]));
    let again = fixture.files.open("mail/ada.nsf").unwrap();
    assert_eq!(again.open_folder(INBOX).unwrap().value.uids.len(), 3);
    fixture.file.create_folder("x", None).unwrap();
    let gone = fixture.folder("x");
    fixture.file.delete_folder("x").unwrap();
    assert!(fixture.file.poll(gone, 0, 0).unwrap().value.is_none());
    assert!(fixture.file.is_gone(gone).unwrap());
}

#[test]
fn the_shared_list_agrees_with_the_database_after_random_changes() {
    let fixture = Fixture::new();
    let inbox = fixture.folder(INBOX);
    let mut state = 42u64;
    for _ in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let uids = fixture.uids(INBOX);
        match (state >> 33) % 4 {
            0 | 1 => fixture.fill(INBOX, 1 + (state >> 40) as usize % 3),
            2 if !uids.is_empty() => {
                fixture.delete(inbox, &[uids[(state >> 45) as usize % uids.len()]]);
            }
            3 if uids.len() > 4 => {
                let marked = [uids[1], uids[3]];
                fixture.change(inbox, &marked, FlagMode::Add, marks(EntryFlags::DELETED, &[]));
                fixture.fill(INBOX, 1);
                let unmark = marks(EntryFlags::NONE, &[]);
                fixture.change(inbox, &marked[1..], FlagMode::Replace, unmark);
                assert_eq!(fixture.file.expunge(inbox, None).unwrap().value, marked[..1]);
            }
            _ => fixture.change(inbox, &uids, FlagMode::Add, marks(EntryFlags::SEEN, &[])),
        }
        let real = fixture.file.read(|rows| rows.uids(inbox)).unwrap().value;
        assert_eq!(fixture.uids(INBOX), real);
    }
}

#[test]
fn a_copy_larger_than_a_record_is_whole_or_taken_back() {
    let fixture = Fixture::new();
    let (file, inbox) = (&fixture.file, fixture.folder(INBOX));
    let max = file.store().log().payload_bytes_max() / COPY.0;
    fixture.fill(INBOX, 3);
    let mut uids: Vec<u32> = vec![1, 2, 3];
    while uids.len() as u64 <= max {
        let copied = file.copy_entries(inbox, &uids, INBOX).unwrap().value;
        uids.extend(copied.pairs.iter().map(|(_, new)| *new));
    }
    assert!(file.slices(&uids, COPY).len() > 1);
    let copied = file.copy_entries(inbox, &uids, "Sent").unwrap().value;
    let old: Vec<u32> = copied.pairs.iter().map(|(old, _)| *old).collect();
    assert_eq!((old, fixture.uids("Sent").len()), (uids.clone(), uids.len()));
    file.take_back(&copied, "Sent").unwrap();
    assert!(fixture.uids("Sent").is_empty());
    assert_eq!(fixture.uids(INBOX), uids);
    let moved = file.move_entries(inbox, &uids, "Trash").unwrap().value;
    assert_eq!((moved.pairs.len(), fixture.uids("Trash").len()), (uids.len(), uids.len()));
    assert!(fixture.uids(INBOX).is_empty());
}

#[test]
fn a_copy_from_a_folder_that_is_gone_says_so() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    file.create_folder("Old", None).unwrap();
    let old = fixture.folder("Old");
    file.delete_folder("Old").unwrap();
    let gone = file.copy_entries(old, &[1], INBOX).unwrap_err();
    assert!(matches!(gone, MailError::Store(StoreError::NoFolder(id)) if id == old), "{gone}");
    let missing = file.move_entries(fixture.folder(INBOX), &[], "Nowhere").unwrap_err();
    assert!(matches!(missing, MailError::NoFolder { .. }), "{missing}");
}

#[test]
fn flags_changed_since_are_left_alone() {
    let fixture = Fixture::new();
    let (file, inbox) = (&fixture.file, fixture.folder(INBOX));
    fixture.fill(INBOX, 3);
    let known = file.poll(inbox, 0, 0).unwrap().value.unwrap().folder.modseq;
    fixture.change(inbox, &[2], FlagMode::Add, marks(EntryFlags::FLAGGED, &[]));
    let mut change = FlagChange::new(FlagMode::Add, marks(EntryFlags::DELETED, &[]));
    change.unchanged_since = Some(known);
    let flagged = file.change_flags(inbox, &[1, 2, 3], &change).unwrap().value;
    assert_eq!((flagged.changed, flagged.conflicts), (vec![1, 3], vec![2]));
    let missed = file.missed(inbox, known, &[(2, 9)], true).unwrap().value;
    assert_eq!(missed, crate::Missed { gone: vec![], changed: Some(vec![2, 3]) });
    fixture.delete(inbox, &[3]);
    let missed = file.missed(inbox, known, &[(2, 9)], true).unwrap().value;
    assert_eq!(missed, crate::Missed { gone: vec![3], changed: Some(vec![2]) });
}

#[test]
fn several_messages_are_appended_together_or_not_at_all() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    let new = |text: &'static str| NewMessage {
        bytes: text.as_bytes(),
        date: None,
        marks: Marks::default(),
    };
    let written = file.append_all(INBOX, &[new("a"), new("b"), new("c")]).unwrap().value;
    assert_eq!(written.1, [1, 2, 3]);
    let quota = store::Quota { limit_bytes: 4, warn_bytes: 0 };
    let db = file.database();
    file.store().write::<_, StoreError>(&[db], |w| w.set_quota(db, quota)).unwrap();
    let full = file.append_all(INBOX, &[new("d"), new("e")]).unwrap_err();
    assert!(matches!(full, MailError::OverQuota(_)), "{full}");
    assert_eq!(fixture.uids(INBOX), [1, 2, 3]);
}
