use std::fs;

use store::EntryFlags;

use super::names::{directory_of, folder_of, keywords, letters, marks};
use super::*;
use crate::import::tests::Bench;

#[test]
fn flags_stand_in_names() {
    let words = keywords("0 $Label1\n1 Later\nx\n99 no\n");
    let read = |name: &str| {
        let marks = marks(name, &words);
        (marks.flags.0, marks.keywords.join(" "))
    };
    let (seen, flagged, deleted) =
        (EntryFlags::SEEN.0, EntryFlags::FLAGGED.0, EntryFlags::DELETED.0);
    assert_eq!(read("1.x"), (0, String::new()));
    assert_eq!(read("1.x:2,"), (0, String::new()));
    assert_eq!(read("1.x,S=5:2,FSab"), (seen | flagged, "$Label1 Later".to_owned()));
    assert_eq!(read("1.x;2,PST"), (seen | deleted, "$Forwarded".to_owned()));
    assert_eq!(read("1.x:2,Sz,a"), (seen, String::new()));
    let mut known = vec!["$Label1".to_owned()];
    let given = Marks {
        flags: EntryFlags(seen | flagged),
        keywords: vec!["Later".into(), "$forwarded".into()],
    };
    assert_eq!(letters(&given, &mut known), ("FPSb".to_owned(), vec![]));
    assert_eq!(known, ["$Label1", "Later"]);
    let many = Marks { keywords: (0..30).map(|n| format!("k{n}")).collect(), ..Marks::default() };
    assert_eq!(letters(&many, &mut known).1.len(), 6);
}

#[test]
fn folders_stand_in_names_of_directories() {
    for (folder, directory) in [
        ("Lists/Rust", ".Lists.Rust"),
        ("Entw\u{fc}rfe", ".Entw&APw-rfe"),
        ("2026.03/a", ".2026&AC4-03.a"),
        ("R&D", ".R&-D"),
    ] {
        assert_eq!(directory_of(folder), directory);
        assert_eq!(folder_of(directory), folder);
    }
    assert_eq!(folder_of(".Entw\u{fc}rfe"), "Entw\u{fc}rfe");
}

#[test]
fn a_maildir_with_folders_is_brought_in() {
    let bench = Bench::new();
    let root = bench.dir.path().join("Maildir");
    let put = |path: &str, subject: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("Subject: {subject}\n\nhi\n")).unwrap();
    };
    put("cur/1700000002.a:2,S", "b");
    put("cur/1700000001.b:2,RSa", "a");
    put("new/1700000003.c", "c");
    put("tmp/1700000004.d", "not there yet");
    put("cur/.hidden", "hidden");
    put(".Sent/cur/1.x:2,S", "d");
    put(".Lists.Rust/new/1.x", "e");
    put(".Empty/cur/.x", "");
    put("fs/Deep/cur/1.x:2,S", "f");
    put(".notes/file", "no folder");
    fs::write(root.join("dovecot-keywords"), "0 $Label1\n").unwrap();
    let report = bench.import(&mut MaildirSource::new(&root));
    assert!(report.is_clean());
    let wanted = ["INBOX a", "INBOX b", "INBOX c", "Lists/Rust e", "Sent d", "fs/Deep f"];
    assert_eq!(bench.subjects(), wanted);
    let rows = bench.rows();
    let inbox: Vec<_> = rows.iter().filter(|row| row.0 == "INBOX").collect();
    let flags = EntryFlags::SEEN.0 | EntryFlags::ANSWERED.0;
    assert_eq!((inbox[0].3, inbox[0].4.join(" ")), (flags, "$Label1".to_owned()));
    assert_eq!(inbox[2].3, 0);
    assert!(inbox[0].1.contains("\r\n\r\nhi\r\n"));
    assert!(bench.file.open_folder("Empty").is_ok());
    let again = bench.import(&mut MaildirSource::new(&root));
    assert_eq!((again.messages, again.already), (0, 6));
}

#[test]
fn what_is_no_maildir_is_refused() {
    let bench = Bench::new();
    let import = |path: &Path| {
        let options = crate::ImportOptions::default();
        let mut progress = |_: &str, _, _| std::ops::ControlFlow::Continue(());
        crate::import(&bench.file, &mut MaildirSource::new(path), &options, &mut progress)
    };
    assert!(matches!(import(&bench.dir.path().join("no")), Err(MigrateError::File { .. })));
    let empty = bench.dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(import(&empty), Err(MigrateError::Unfit(_))));
}
