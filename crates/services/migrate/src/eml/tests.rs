use std::fs;

use store::EntryFlags;

use super::*;
use crate::import::tests::Bench;

#[test]
fn a_tree_of_files_is_brought_in() {
    let bench = Bench::new();
    let root = bench.dir.path().join("eml");
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    };
    put("a.eml", "Subject: a\nDate: Tue, 03 Mar 2026 09:50:00 +0000\n\nhi\n");
    put("b.EML", "Subject: b\r\n\r\nhi");
    put("c.txt", "no message");
    put("Old/2025/d.eml", "Subject: d\n\n");
    put("index.tsv", "b.EML\t1772531401\t\\Seen $Label1 \\Answered\nrubbish\n");
    let report = bench.import(&mut EmlSource::new(&root));
    assert!(report.is_clean());
    assert_eq!(bench.subjects(), ["INBOX a", "INBOX b", "Old/2025 d"]);
    let rows = bench.rows();
    assert_eq!((rows[0].2, rows[0].3), (1_772_531_400, 0));
    let flags = EntryFlags::SEEN.0 | EntryFlags::ANSWERED.0;
    assert_eq!(
        (rows[1].2, rows[1].3, rows[1].4.join(" ")),
        (1_772_531_401, flags, "$Label1".into())
    );
    assert_eq!(rows[1].1, "Subject: b\r\n\r\nhi");
    let again = bench.import(&mut EmlSource::new(&root.join("a.eml")));
    assert_eq!((again.messages, again.already), (0, 1));
}

#[test]
fn a_message_that_is_too_large_is_told() {
    let bench = Bench::new();
    let path = bench.dir.path().join("large.eml");
    fs::write(&path, "x".repeat(1_000)).unwrap();
    let options = crate::ImportOptions { message_bytes_max: 999, ..Default::default() };
    let mut progress = |_: &str, _, _| std::ops::ControlFlow::Continue(());
    let mut source = EmlSource::new(&path);
    let report = crate::import(&bench.file, &mut source, &options, &mut progress).unwrap();
    assert_eq!((report.messages, report.problems_total), (0, 1));
}
