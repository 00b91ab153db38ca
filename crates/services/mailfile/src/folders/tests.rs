use super::*;
use crate::Marks;
use crate::fixture::Fixture;

#[test]
fn missing_parents_are_created() {
    let fixture = Fixture::new();
    fixture.file.create_folder("a/b/c", None).unwrap();
    assert!(fixture.names().starts_with(&["Archive", "Drafts", "INBOX"].map(String::from)));
    for name in ["a", "a/b", "a/b/c"] {
        assert!(fixture.names().contains(&String::from(name)), "{name}");
        let again = fixture.file.create_folder(name, None);
        assert!(matches!(again, Err(MailError::FolderExists { .. })));
    }
}

#[test]
fn folders_below_follow_a_rename() {
    let fixture = Fixture::new();
    fixture.file.create_folder("a/b/b", None).unwrap();
    fixture.file.delete_folder("a").unwrap();
    fixture.file.rename_folder("a/b", "a").unwrap();
    let names = fixture.names();
    assert!(names.contains(&String::from("a")) && names.contains(&String::from("a/b")));
    assert!(!names.contains(&String::from("a/b/b")));
    // A name that exists only because of what lies below can be renamed too.
    fixture.file.delete_folder("a").unwrap();
    fixture.file.rename_folder("a", "z/y").unwrap();
    assert!(fixture.names().contains(&String::from("z/y/b")));
}

#[test]
fn impossible_renames_change_nothing() {
    let fixture = Fixture::new();
    fixture.file.create_folder("a/b", None).unwrap();
    fixture.file.create_folder("c/b", None).unwrap();
    fixture.file.delete_folder("c").unwrap();
    let before = fixture.names();
    for (from, to) in
        [("a", "c"), ("a", "a/x"), ("a", "INBOX"), ("none", "d"), ("a", "x//y"), ("a", "a")]
    {
        assert!(fixture.file.rename_folder(from, to).is_err(), "{from} -> {to}");
    }
    assert_eq!(fixture.names(), before);
}

#[test]
fn a_renamed_inbox_gives_its_messages_away_and_stays() {
    let fixture = Fixture::new();
    fixture.fill(INBOX, 3);
    fixture.file.create_folder("INBOX/sub", None).unwrap();
    fixture.file.rename_folder(INBOX, "Old").unwrap();
    assert_eq!(fixture.uids(INBOX), [0u32; 0]);
    assert_eq!(fixture.uids("Old"), [1, 2, 3]);
    assert!(fixture.names().contains(&String::from("INBOX/sub")));
}

#[test]
fn deletion_spares_inbox_and_what_lies_below() {
    let fixture = Fixture::new();
    fixture.file.create_folder("a/b", None).unwrap();
    assert!(matches!(fixture.file.delete_folder(INBOX), Err(MailError::InboxStays)));
    fixture.file.delete_folder("a").unwrap();
    assert!(matches!(fixture.file.delete_folder("a"), Err(MailError::HasChildren { .. })));
    fixture.file.delete_folder("a/b").unwrap();
    assert!(matches!(fixture.file.delete_folder("a"), Err(MailError::NoFolder { .. })));
}

#[test]
fn a_folder_made_again_has_a_higher_uidvalidity() {
    let fixture = Fixture::new();
    let first = fixture.file.create_folder("a", None).unwrap().value.uidvalidity;
    fixture.fill("a", 2);
    fixture.file.delete_folder("a").unwrap();
    let second = fixture.file.create_folder("a", None).unwrap().value.uidvalidity;
    assert!(second > first);
    assert_eq!(fixture.uids("a"), [0u32; 0]);
}

#[test]
fn counts_are_right() {
    let fixture = Fixture::new();
    let seen = Marks { flags: store::EntryFlags::SEEN, keywords: Vec::new() };
    fixture.append(INBOX, b"Subject: a\r\n\r\n1", &Marks::default());
    fixture.append(INBOX, b"Subject: b\r\n\r\n22", &seen);
    let status = fixture.file.status(INBOX, true).unwrap().value;
    let folder = &status.folder;
    assert_eq!((folder.messages, folder.unseen, folder.uidnext), (2, 1, 3));
    assert_eq!((status.recent, status.size), (2, 15 + 16));
    fixture.file.claim_recent(folder);
    assert_eq!(fixture.file.status(INBOX, false).unwrap().value.recent, 0);
}

#[test]
fn subscriptions_outlive_their_folders() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    file.create_folder("Old/Below", None).unwrap();
    file.subscribe("Old/Below", true).unwrap();
    assert!(file.orphaned_subscriptions().unwrap().value.is_empty());
    file.delete_folder("Old/Below").unwrap();
    file.delete_folder("Old").unwrap();
    assert_eq!(file.orphaned_subscriptions().unwrap().value, ["Old/Below"]);
    file.subscribe("Old/Below", true).unwrap();
    assert!(file.subscribe("Old", true).is_err());
    let made = file.create_folder("Old/Below", None).unwrap().value;
    assert!(made.subscribed);
    assert!(file.orphaned_subscriptions().unwrap().value.is_empty());
    file.delete_folder("Old/Below").unwrap();
    file.subscribe("Old/Below", false).unwrap();
    assert!(file.subscribe("Old/Below", false).is_err());
}
