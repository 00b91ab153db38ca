use super::*;
use crate::fixture::Fixture;

#[test]
fn a_new_mail_file_has_its_folders() {
    let fixture = Fixture::new();
    let folders = fixture.file.folders().unwrap().value;
    let shown: Vec<_> =
        folders.iter().map(|f| (f.name.as_str(), f.special_use.as_deref(), f.subscribed)).collect();
    let wanted = [
        ("Archive", Some("\\Archive"), true),
        ("Drafts", Some("\\Drafts"), true),
        ("INBOX", None, true),
        ("Junk", Some("\\Junk"), true),
        ("Sent", Some("\\Sent"), true),
        ("Trash", Some("\\Trash"), true),
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn a_repeated_delivery_is_a_no_op_also_after_a_move_or_a_deletion() {
    let fixture = Fixture::new();
    let prepared = fixture.prepared(b"Subject: x\r\n\r\nhi\r\n");
    let deliver = || fixture.deliver(&prepared);
    assert_eq!(deliver(), Outcome::Delivered { uid: 1, warn: None });
    assert_eq!(deliver(), Outcome::Already);
    let inbox = fixture.folder(INBOX);
    fixture.file.move_entries(inbox, &[1], "Trash").unwrap();
    assert_eq!(deliver(), Outcome::Already);
    fixture.delete(fixture.folder("Trash"), &[1]);
    assert_eq!(deliver(), Outcome::Already);
    assert_eq!(fixture.uids(INBOX), [0u32; 0]);
}

#[test]
fn a_lost_inbox_comes_back() {
    let fixture = Fixture::new();
    let (store, db) = (fixture.file.store(), fixture.file.database());
    let inbox = fixture.folder(INBOX);
    store.write::<_, StoreError>(&[db], |w| w.delete_folder(db, inbox)).unwrap();
    let prepared = fixture.prepared(b"Subject: x\r\n\r\nhi\r\n");
    assert_eq!(fixture.deliver(&prepared), Outcome::Delivered { uid: 1, warn: None });
    assert_eq!(fixture.uids(INBOX), [1]);
}
