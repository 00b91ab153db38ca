use std::fs;
use std::path::Path;

use store::EntryFlags;

use super::read::{Mbox, date_of};
use super::*;
use crate::import::tests::Bench;

/// The messages of a file, read with any size of pieces, and what was left out.
fn letters(text: &str) -> Vec<(u64, String, Option<String>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    fs::write(&path, text).unwrap();
    let mut mbox = Mbox::open(&path, 1 << 20).unwrap();
    let mut found = Vec::new();
    while let Some(letter) = mbox.next().unwrap() {
        let text = String::from_utf8(letter.bytes).unwrap();
        found.push((letter.offset, text, letter.left_out));
    }
    found
}

fn texts(text: &str) -> Vec<String> {
    letters(text).into_iter().map(|letter| letter.1).collect()
}

const FROM: &str = "From ada@demo.test Tue Mar  3 09:50:00 2026\n";

#[test]
fn messages_are_split_at_from_lines() {
    let one = |body: &str| format!("{FROM}Subject: x\n\n{body}\n");
    let cases: &[(&str, String, &[&str])] = &[
        ("nothing", String::new(), &[]),
        ("two", one("a\n") + &one("b\n"), &["Subject: x\n\na\n", "Subject: x\n\nb\n"]),
        ("no end", format!("{FROM}Subject: x\n\na"), &["Subject: x\n\na"]),
        (
            "no blank line",
            format!("{FROM}Subject: x\n\na\n{FROM}Subject: y\n\nb\n"),
            &["Subject: x\n\na\n", "Subject: y\n\nb\n"],
        ),
        (
            "from in a text",
            one("\nFrom here on\nFrom me at 10:30\n"),
            &["Subject: x\n\n\nFrom here on\nFrom me at 10:30\n"],
        ),
        (
            "quoted",
            one(">From a\n>>From b\n>Fromage\n> From\n"),
            &["Subject: x\n\nFrom a\n>From b\n>Fromage\n> From\n"],
        ),
        (
            "header alone",
            format!("{FROM}Subject: x\n\n\n{FROM}Subject: y\n\n\n"),
            &["Subject: x\n\n", "Subject: y\n\n"],
        ),
        (
            "thunderbird",
            "From - Tue Mar 03 09:50:00 2026\nSubject: x\n\na\n".into(),
            &["Subject: x\n\na\n"],
        ),
        ("blank lines first", format!("\n\n{}", one("a\n")), &["Subject: x\n\na\n"]),
        ("crlf", one("a\n").replace('\n', "\r\n"), &["Subject: x\r\n\r\na\r\n"]),
    ];
    for (what, text, wanted) in cases {
        assert_eq!(texts(text), *wanted, "{what}");
    }
}

#[test]
fn content_length_is_believed_when_it_is_right() {
    let body = "a\n\nFrom x@y Tue Mar  3 09:50:00 2026\n>From b\n";
    let message = format!("Subject: x\nContent-Length: {}\n\n{body}", body.len());
    let two = format!("{FROM}{message}\n{FROM}{message}");
    assert_eq!(texts(&two), [message.clone(), message]);
    // Quoted in spite of the length.
    let body = ">From b\nc\n";
    let quoted = format!("{FROM}Content-Length: {}\n\n{body}\n", body.len());
    assert_eq!(texts(&quoted), ["Content-Length: 10\n\nFrom b\nc\n"]);
    for wrong in ["3", "9", "99999999999999999999", "18446744073709551615", "-1", "x"] {
        let text = format!("{FROM}Content-Length: {wrong}\n\n{body}\n{FROM}Subject: y\n\nz\n");
        assert_eq!(texts(&text).len(), 2, "{wrong}");
        assert!(texts(&text)[0].ends_with("\n\nFrom b\nc\n"), "{wrong}");
    }
}

#[test]
fn what_is_no_mbox_or_too_large_is_told() {
    let found = letters("Subject: x\n\nhello\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].2.as_ref().unwrap().contains("no mbox"));
    let large = "x".repeat(2 << 20);
    let text = format!("{FROM}Subject: x\n\n{large}\n\n{FROM}Subject: y\n\nz\n");
    let found = letters(&text);
    assert_eq!(found.len(), 2);
    assert!(found[0].2.is_some());
    assert_eq!(found[1].1, "Subject: y\n\nz\n");
    assert_eq!(found[1].0, (text.len() - FROM.len() - 14) as u64);
    // A line that is longer than what is read at once.
    let long = format!("{FROM}Subject: x\n\n{}\n", "y".repeat(200_000));
    assert_eq!(texts(&long)[0].len(), 12 + 200_001);
}

#[test]
fn the_time_of_delivery_is_in_the_from_line() {
    let cases = [
        ("From ada@demo.test Tue Mar  3 09:50:00 2026", Some(1_772_531_400)),
        ("From - Tue Mar 03 09:50:00 2026", Some(1_772_531_400)),
        ("From \"a b\"@c Tue Mar  3 10:50:00 2026 +0100", Some(1_772_531_400)),
        ("From nobody", None),
    ];
    for (line, seconds) in cases {
        assert_eq!(date_of(line.as_bytes()).map(|d| d.unix_seconds()), seconds, "{line}");
    }
}

#[test]
fn flags_are_taken_out_of_the_header() {
    let flags = |text: &str| {
        let mut bytes = format!("{text}Subject: x\r\n\r\nStatus: R\r\n").into_bytes();
        let marks = status::take(&mut bytes)?;
        assert_eq!(bytes, b"Subject: x\r\n\r\nStatus: R\r\n");
        Some((marks.flags.0, marks.keywords))
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (seen, answered, flagged) =
        (EntryFlags::SEEN.0, EntryFlags::ANSWERED.0, EntryFlags::FLAGGED.0);
    assert_eq!(flags("Status: O\r\n"), Some((0, vec![])));
    assert_eq!(flags("Status: RO\r\nX-Status: AF\r\n"), Some((seen | answered | flagged, vec![])));
    assert_eq!(flags("X-Keywords: a $Later a b(\r\n"), Some((0, words(&["a", "$Later"]))));
    let mozilla = "X-Mozilla-Status: 1003\r\nX-Mozilla-Status2: 00000000\r\n\
                   X-Mozilla-Keys: $label1                    \r\n";
    assert_eq!(flags(mozilla), Some((seen | answered, words(&["$Forwarded", "$label1"]))));
    assert_eq!(flags("X-Mozilla-Status: 0009\r\n"), None);
    let mut own = b"X-IMAP: 1 2\r\nSubject: DON'T DELETE -- FOLDER INTERNAL DATA\r\n\r\n".to_vec();
    assert_eq!(status::take(&mut own), None);
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_tree_of_files_becomes_folders() {
    let bench = Bench::new();
    let root = bench.dir.path().join("Mail");
    let one = |subject: &str| format!("{FROM}Subject: {subject}\n\nhi\n\n");
    write(&root, "Inbox", &(one("1") + &one("2")));
    write(&root, "Inbox.msf", "// <!-- <mdb:mork:z -->");
    write(&root, "Inbox.sbd/Sub", &one("3"));
    write(&root, "Sent.mbox", &one("4"));
    write(&root, "Apple.mbox/mbox", &one("5"));
    write(&root, "Empty", "");
    write(&root, "Notes", "no mail");
    let report = bench.import(&mut MboxSource::new(&root));
    assert_eq!(bench.subjects(), ["Apple 5", "INBOX 1", "INBOX 2", "INBOX/Sub 3", "Sent 4"]);
    assert_eq!((report.messages, report.problems_total), (5, 1));
    assert!(report.problems[0].place.ends_with("Notes"), "{report:?}");
    assert!(bench.file.open_folder("Empty").is_ok());
    let again = bench.import(&mut MboxSource::new(&root.join("Inbox")));
    assert_eq!((again.messages, again.already), (0, 2));
    assert!(
        bench.rows().iter().all(|row| row.2 == 1_772_531_400 && row.1.contains("\r\n\r\nhi\r\n"))
    );
}
