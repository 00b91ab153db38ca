use super::*;
use crate::INBOX;
use crate::fixture::{Fixture, marks};

const FIRST: &[u8] = b"From: Zo\xc3\xab <zoe@x.test>\r\nSubject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\
    Date: Tue, 03 Mar 2026 09:15:00 +0000\r\nMIME-Version: 1.0\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n\
    VMOkZ2xpY2ggZ3LDvMOfdCBkYXMgTXVybWVsdGllcg==\r\n";

const SECOND: &[u8] = b"From: bob@x.test\r\nCc:\r\nSubject: outer\r\nMIME-Version: 1.0\r\n\
    Content-Type: message/rfc822\r\n\r\nSubject: hidden inside\r\n\r\nneedle in here\r\n";

fn filled() -> Fixture {
    let fixture = Fixture::new();
    fixture.append(INBOX, FIRST, &marks(EntryFlags::SEEN, &["Later"]));
    fixture.append(INBOX, SECOND, &marks(EntryFlags::FLAGGED, &[]));
    fixture.append(INBOX, b"no header at all", &marks(EntryFlags::NONE, &[]));
    fixture
}

fn search(fixture: &Fixture, key: &Key) -> Vec<u32> {
    let step = fixture.file.search(fixture.folder(INBOX), &[1, 2, 3, 9], key).unwrap().value;
    assert_eq!(step.done, 4);
    step.found
}

fn header(name: &str, text: &str) -> Key {
    Key::Header(name.to_owned(), Needle::new(text))
}

#[test]
fn text_is_found_decoded_and_in_any_case() {
    let fixture = filled();
    let text = |text: &str| Key::Text(Needle::new(text));
    let body = |text: &str| Key::Body(Needle::new(text));
    let march = 20_515;
    let cases: Vec<(Key, &[u32])> = vec![
        (header("Subject", "GR\u{dc}SSE"), &[]),
        (header("subject", "gr\u{fc}\u{df}"), &[1]),
        (header("From", "zo\u{cb}"), &[1]),
        (header("Cc", ""), &[2]),
        (header("Bcc", ""), &[]),
        (body("MURMELTIER"), &[1]),
        (body("hidden INSIDE"), &[2]),
        (body("Needle"), &[2]),
        (body("outer"), &[]),
        (text("outer"), &[2]),
        (text("zoe@x.test"), &[1]),
        (Key::Field(Field::From, Needle::new("zoe@X.test")), &[1]),
        (Key::Field(Field::From, Needle::new("zo\u{cb} <zoe")), &[1]),
        (Key::Field(Field::Subject, Needle::new("")), &[1, 2]),
        (Key::Field(Field::Cc, Needle::new("")), &[]),
        (Key::SentSince(march), &[1]),
        (Key::SentSince(march + 1), &[]),
        (Key::SentBefore(march), &[]),
        (Key::Not(Box::new(text("x.test"))), &[3]),
        (Key::Or(vec![body("needle"), header("From", "zoe")]), &[1, 2]),
        (Key::And(vec![Key::Flags(EntryFlags::FLAGGED), body("needle")]), &[2]),
    ];
    for (key, wanted) in cases {
        assert_eq!(search(&fixture, &key), wanted, "{key:?}");
    }
}

#[test]
fn the_entry_alone_decides_what_it_can() {
    let fixture = filled();
    let unknown = || Key::Body(Needle::new("x"));
    let entry = fixture.file.entries(fixture.folder(INBOX), &[1]).unwrap().value.remove(0);
    let seen = || Key::Flags(EntryFlags::SEEN);
    let not = |key| Key::Not(Box::new(key));
    let or = |a, b| Key::Or(vec![a, b]);
    let cases = [
        (Key::All, Some(true)),
        (seen(), Some(true)),
        (Key::Keyword(String::from("LATER")), Some(true)),
        (Key::Uids(vec![(2, 5)]), Some(false)),
        (Key::Larger(10_000), Some(false)),
        (Key::Smaller(10_000), Some(true)),
        (Key::Before(0), Some(false)),
        (unknown(), None),
        (Key::And(vec![seen(), unknown()]), None),
        (Key::And(vec![not(seen()), unknown()]), Some(false)),
        (or(seen(), unknown()), Some(true)),
        (or(not(seen()), unknown()), None),
        (or(not(seen()), not(seen())), Some(false)),
        (not(unknown()), None),
    ];
    for (key, wanted) in cases {
        assert_eq!(key.decide(&entry), wanted, "{key:?}");
    }
}

#[test]
fn bounds_keep_the_search_small() {
    let uids = Key::Uids(vec![(4, 5), (9, 9)]);
    let both = Key::And(vec![Key::Flags(EntryFlags::SEEN), uids.clone()]);
    assert_eq!(both.uid_bounds(), [(4, 5), (9, 9)]);
    assert_eq!(Key::Not(Box::new(uids.clone())).uid_bounds(), EVERYTHING);
    assert!(Key::And(vec![uids]).is_only_uids() && !both.is_only_uids());
}

#[test]
fn long_content_ends_a_step_early() {
    let fixture = Fixture::new();
    let line = "nothing in here\r\n".repeat(40_000);
    fixture.append(
        INBOX,
        format!("Subject: x\r\n\r\n{line}needle\r\n").as_bytes(),
        &marks(EntryFlags::NONE, &[]),
    );
    let inbox = fixture.folder(INBOX);
    for uids in [vec![1], vec![1, 2], vec![1, 2, 3, 4]] {
        fixture.file.copy_entries(inbox, &uids, INBOX).unwrap();
    }
    let seen = Key::Flags(EntryFlags::FLAGGED);
    fixture.change(inbox, &[8], crate::FlagMode::Add, marks(EntryFlags::FLAGGED, &[]));
    let key = Key::Or(vec![seen, Key::Body(Needle::new("needle"))]);
    let (all, mut found, mut steps) = (fixture.uids(INBOX), Vec::new(), 0);
    let mut left = &all[..];
    while !left.is_empty() {
        let step = fixture.file.search(inbox, left, &key).unwrap().value;
        found.extend(step.found);
        left = &left[step.done..];
        steps += 1;
    }
    assert_eq!((found, steps), (all.clone(), 2));
}
