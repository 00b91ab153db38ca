use std::ops::ControlFlow;
use std::path::Path;

use mailfile::Marks;
use note::TimeDate;
use store::EntryFlags;

use super::*;
use crate::import::tests::{Bench, Row};
use crate::{EmlSink, EmlSource, MaildirSink, MaildirSource, MboxSink, MboxSource, Source};

const DATE: i64 = 1_772_531_400;

/// A mail file with messages that are not easy to write down.
fn filled() -> Bench {
    let bench = Bench::new();
    bench.file.create_folder("Lists/2026.03", None).unwrap();
    bench.file.create_folder("Entw\u{fc}rfe & mehr", None).unwrap();
    let long = "a line of text\r\n".repeat(30_000);
    let texts = [
        "From: Ada <ada@demo.test>\r\nSubject: 1\r\n\r\nFrom here\r\n>From there\r\n\r\n.\r\n",
        "Subject: 2\r\n\r\n",
        "Subject: 3\r\n\r\nends with blank lines\r\n\r\n\r\n",
        &format!("Subject: 4\r\n\r\n{long}"),
        "Subject: 5\r\nContent-Transfer-Encoding: base64\r\n\r\nRnJvbSA=\r\n",
    ];
    let seen = EntryFlags::SEEN;
    let marks = [
        Marks::default(),
        Marks { flags: seen, keywords: vec!["$Forwarded".into(), "Later".into()] },
        Marks { flags: seen | EntryFlags::FLAGGED | EntryFlags::ANSWERED, keywords: vec![] },
    ];
    for (at, folder) in ["INBOX", "Lists/2026.03", "Entw\u{fc}rfe & mehr"].iter().enumerate() {
        for (number, text) in texts.iter().enumerate() {
            let date = Some(TimeDate::from_unix_seconds(DATE + number as i64));
            bench.file.append(folder, text.as_bytes(), date, &marks[at]).unwrap();
        }
    }
    bench
}

fn export_to(bench: &Bench, sink: &mut dyn Sink) -> Report {
    let options = ExportOptions::default();
    export(&bench.file, sink, &options, &mut |_, _, _| ControlFlow::Continue(())).unwrap()
}

fn sorted(bench: &Bench) -> Vec<Row> {
    let mut rows = bench.rows();
    rows.iter_mut().for_each(|row| row.4.sort());
    rows.sort();
    rows
}

fn there_and_back(
    sink: &dyn Fn(&Path) -> Box<dyn Sink>,
    source: &dyn Fn(&Path) -> Box<dyn Source>,
) -> Bench {
    let bench = filled();
    let root = bench.dir.path().join("out");
    let report = export_to(&bench, &mut *sink(&root));
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.messages, 15);
    let other = Bench::new();
    let report = other.import(&mut *source(&root));
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(sorted(&other), sorted(&bench));
    bench
}

#[test]
fn mbox_files_hold_everything() {
    let bench = there_and_back(&|root| Box::new(MboxSink::new(root).unwrap()), &|root| {
        Box::new(MboxSource::new(root))
    });
    // Files that are there are not written over.
    let mut sink = MboxSink::new(&bench.dir.path().join("out")).unwrap();
    let options = ExportOptions::default();
    let again = export(&bench.file, &mut sink, &options, &mut |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(&again, Err(MigrateError::File { source, .. })
        if source.to_string().contains("another directory")));
}

#[test]
fn maildirs_hold_everything() {
    let bench = there_and_back(&|root| Box::new(MaildirSink::new(root).unwrap()), &|root| {
        Box::new(MaildirSource::new(root))
    });
    let mut sink = MaildirSink::new(&bench.dir.path().join("out")).unwrap();
    let again = export_to(&bench, &mut sink);
    assert_eq!((again.messages, again.already), (0, 15));
}

#[test]
fn trees_of_eml_files_hold_everything() {
    let bench = there_and_back(&|root| Box::new(EmlSink::new(root).unwrap()), &|root| {
        Box::new(EmlSource::new(root))
    });
    let mut sink = EmlSink::new(&bench.dir.path().join("out")).unwrap();
    let again = export_to(&bench, &mut sink);
    assert_eq!((again.messages, again.already), (0, 15));
}

#[test]
fn names_that_no_file_can_have_cost_their_folder_only() {
    let bench = Bench::new();
    let long = "x".repeat(400);
    for name in [long.as_str(), "..", "../../up", ".hidden"] {
        bench.file.create_folder(name, None).unwrap();
        bench.file.append(name, b"Subject: x\r\n\r\nhi\r\n", None, &Marks::default()).unwrap();
    }
    let root = bench.dir.path().join("a/b/c/out");
    let sinks: [Box<dyn Sink>; 3] = [
        Box::new(MboxSink::new(&root.join("mbox")).unwrap()),
        Box::new(MaildirSink::new(&root.join("maildir")).unwrap()),
        Box::new(EmlSink::new(&root.join("eml")).unwrap()),
    ];
    for mut sink in sinks {
        let report = export_to(&bench, &mut *sink);
        assert_eq!((report.messages, report.problems_total), (3, 1), "{report:?}");
        assert_eq!(report.problems[0].place, long);
    }
    let beside = std::fs::read_dir(bench.dir.path().join("a/b/c")).unwrap().count();
    assert_eq!(beside, 1, "something was written beside the target");
    let other = Bench::new();
    let report = other.import(&mut MboxSource::new(&root.join("mbox")));
    assert_eq!(report.messages, 3);
    assert_eq!(other.subjects(), [".. x", "../../up x", ".hidden x"]);
}

#[test]
fn single_folders_can_be_chosen_and_a_stop_is_told() {
    let bench = filled();
    let root = bench.dir.path().join("one");
    let options = ExportOptions { folders: vec!["Lists".to_owned()] };
    let mut sink = EmlSink::new(&root).unwrap();
    let report =
        export(&bench.file, &mut sink, &options, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.messages, report.folders), (5, 2));
    let none = ExportOptions { folders: vec!["List".to_owned()] };
    let refused = export(&bench.file, &mut sink, &none, &mut |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(MigrateError::Unfit(_))));
    let mut sink = EmlSink::new(&bench.dir.path().join("two")).unwrap();
    let all = ExportOptions::default();
    let report =
        export(&bench.file, &mut sink, &all, &mut |_, _, _| ControlFlow::Break(())).unwrap();
    assert!(report.stopped);
    assert_eq!(report.messages, 5);
}
