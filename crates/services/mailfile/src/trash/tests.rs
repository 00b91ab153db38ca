use std::sync::Arc;

use txlog::ManualClock;

use super::*;
use crate::fixture::Fixture;
use crate::{Marks, Outcome};

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_700_000_000)))
}

#[test]
fn the_oldest_expire_first_and_leave_stubs() {
    let clock = clock();
    let fixture = Fixture::at(&clock);
    fixture.fill(INBOX, 5);
    let inbox = fixture.folder(INBOX);
    for uid in 1..=5 {
        fixture.delete(inbox, &[uid]);
        clock.advance(1_000_000);
    }
    let (store, db) = (fixture.file.store(), fixture.file.database());
    let kept = || fixture.file.deleted(10).unwrap().value;
    let newest = kept()[0].unid;
    let before = store.now().plus_seconds(-2);
    let size = kept()[0].size;
    let expired = expire(store, db, before, 2).unwrap().value;
    assert_eq!(expired, Expired { notes: 2, bytes: 2 * size, more: true });
    let expired = expire(store, db, before, 2).unwrap().value;
    assert_eq!(expired, Expired { notes: 1, bytes: size, more: false });
    assert_eq!((kept().len(), kept()[0].unid), (2, newest));
    let info = store.info(&db.path()).unwrap();
    assert_eq!((info.deleted, info.notes), (3, 0));
}

#[test]
fn what_was_deleted_goes_back_to_where_it_was() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    file.create_folder("Projects", None).unwrap();
    fixture.append("Projects", b"From: a@x.test\r\nSubject: plan\r\n\r\nx", &Marks::default());
    fixture.delete(fixture.folder("Projects"), &[1]);
    let deleted = file.deleted(10).unwrap().value;
    assert_eq!((deleted[0].from.as_str(), deleted[0].subject.as_str()), ("a@x.test", "plan"));
    let restored = file.restore(&deleted[0].unid, None).unwrap().value;
    assert_eq!(restored, Restored { folder: "Projects".to_owned(), uid: 2 });
    assert!(matches!(file.restore(&deleted[0].unid, None), Err(MailError::NotDeleted { .. })));
    // By way of the Trash folder, and from a folder that is gone: into INBOX.
    file.move_entries(fixture.folder("Projects"), &[2], "Trash").unwrap();
    fixture.delete(fixture.folder("Trash"), &[1]);
    let restored = file.restore(&deleted[0].unid, None).unwrap().value;
    assert_eq!(restored, Restored { folder: INBOX.to_owned(), uid: 1 });
    file.move_entries(fixture.folder(INBOX), &[1], "Projects").unwrap();
    file.delete_folder("Projects").unwrap();
    let restored = file.restore(&deleted[0].unid, None).unwrap().value;
    assert_eq!(restored, Restored { folder: INBOX.to_owned(), uid: 2 });
    fixture.delete(fixture.folder(INBOX), &[2]);
    let restored = file.restore(&deleted[0].unid, Some("drafts")).unwrap().value;
    assert_eq!(restored, Restored { folder: "Drafts".to_owned(), uid: 1 });
    fixture.delete(fixture.folder("Drafts"), &[1]);
    let nowhere = file.restore(&deleted[0].unid, Some("Nowhere"));
    assert!(matches!(nowhere, Err(MailError::NoFolder { .. })));
    assert_eq!(file.deleted(10).unwrap().value.len(), 1);
}

#[test]
fn a_message_in_two_folders_is_deleted_when_it_left_both() {
    let fixture = Fixture::new();
    let prepared = fixture.prepared(b"Subject: x\r\n\r\nx");
    assert!(matches!(fixture.deliver(&prepared), Outcome::Delivered { uid: 1, .. }));
    let inbox = fixture.folder(INBOX);
    fixture.file.copy_entries(inbox, &[1], "Sent").unwrap();
    fixture.delete(inbox, &[1]);
    assert!(fixture.file.deleted(10).unwrap().value.is_empty());
    fixture.delete(fixture.folder("Sent"), &[1]);
    let restored = fixture.file.restore(&prepared.unid(), None).unwrap().value;
    assert_eq!(restored.folder, "Sent");
}

#[test]
fn a_damaged_message_does_not_hide_the_others_and_expires() {
    let fixture = Fixture::new();
    for subject in ["sound one", "spoiled one"] {
        let message = format!("Subject: {subject}\r\n\r\nx");
        fixture.append(INBOX, message.as_bytes(), &Marks::default());
    }
    fixture.delete(fixture.folder(INBOX), &[1, 2]);
    let fixture = fixture.spoiled(b"spoiled one");
    let deleted = fixture.file.deleted(10).unwrap().value;
    let subjects: Vec<&str> = deleted.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["", "sound one"]);
    let (store, db) = (fixture.file.store(), fixture.file.database());
    let expired = expire(store, db, TimeDate(i64::MAX), 10).unwrap().value;
    assert_eq!(expired.notes, 2);
}
