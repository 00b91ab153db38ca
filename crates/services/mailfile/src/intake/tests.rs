use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use store::{NewDatabase, StoreError, StoreOptions};

use super::*;

struct House {
    store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl House {
    fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::small(dir.path())).unwrap().0;
        House { store, _dir: dir }
    }

    fn take_in(&self, message: &[u8]) -> Intake {
        let facts =
            Facts { unid: self.store.new_unid(), date: TimeDate(1_000_000), extra: Vec::new() };
        intake(&self.store, message, &facts).unwrap()
    }

    fn read(&self, pieces: &[Piece], range: Range<u64>) -> Vec<u8> {
        let mut out = b"before".to_vec();
        read_range(&self.store, pieces, range, &mut out).unwrap();
        assert!(out.starts_with(b"before"));
        out.split_off(6)
    }
}

/// Pseudo-random numbers (xorshift).
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % bound.max(1)
    }
}

fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut dice = dice(seed);
    (0..count).map(|_| dice(256) as u8).collect()
}

fn base64_lines(content: &[u8], width: usize, eol: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in content.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4 {
            let six = (bits >> (18 - 6 * place) & 63) as usize;
            text.push(if place > group.len() { '=' } else { char::from(alphabet[six]) });
        }
    }
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(eol)
}

fn with_attachment(body: &str) -> Vec<u8> {
    let mut out = String::from(
        "From: Ada <ada@example.test>\r\nTo: ben@example.test\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nsee below\r\n",
    );
    write!(out, "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}\r\n--b--\r\n").unwrap();
    out.into_bytes()
}

fn samples() -> Vec<Vec<u8>> {
    let content = noise(1, 200_000);
    let text = "a line of text, not the last one\r\n".repeat(3_000);
    let mut out = vec![
        Vec::new(),
        b"Subject: small\r\n\r\ntext\r\n".to_vec(),
        format!("Subject: large\r\n\r\n{text}").into_bytes(),
        with_attachment(&base64_lines(&content, 76, "\r\n")),
        with_attachment(&base64_lines(&content, 75, "\n")),
        with_attachment(&base64_lines(&content[..5_000], 1_000_000, "")),
        with_attachment(&(base64_lines(&content, 76, "\r\n") + "\r\n\r\n")),
        with_attachment(&base64_lines(&content, 76, "\r\n").replacen("\r\n", "\n", 1)),
        with_attachment(&base64_lines(&content, 76, "\r\n").replace('A', "-")),
        noise(2, 30_000),
        format!("X: {}\r\n\r\nbody", "endless ".repeat(20_000)).into_bytes(),
    ];
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../words/message/testdata");
    let files = std::fs::read_dir(cases).unwrap();
    out.extend(files.map(|file| std::fs::read(file.unwrap().path()).unwrap()));
    out
}

#[test]
fn what_goes_in_comes_out_byte_for_byte() {
    let house = House::new();
    for (at, message) in samples().iter().enumerate() {
        let taken = house.take_in(message);
        let bytes = taken.note.encode();
        let view = NoteView::new(&bytes).unwrap();
        let pieces = content(&view).unwrap();
        let length = message.len() as u64;
        assert_eq!(taken.size, length);
        assert_eq!(pieces.iter().map(Piece::wire_len).sum::<u64>(), length, "sample {at}");
        assert!(house.read(&pieces, 0..length) == *message, "sample {at}");
        assert!(house.read(&pieces, 0..u64::MAX) == *message, "sample {at}: cut at the end");
        let mut dice = dice(at as u64 + 1);
        for _ in 0..40 {
            let from = dice(length + 2);
            let to = from + dice(length + 2);
            let wanted = &message[from.min(length) as usize..to.min(length) as usize];
            assert!(house.read(&pieces, from..to) == wanted, "sample {at}: {from}..{to}");
        }
        let summary = message::summary_decode(view.binary(SUMMARY).unwrap()).unwrap();
        assert_eq!(summary, message::parse(message, &Limits::default()), "sample {at}");
    }
}

#[test]
fn big_parts_become_objects_and_small_messages_do_not() {
    let house = House::new();
    let small = house.take_in(b"Subject: x\r\n\r\ntext\r\n");
    assert!(small.pins.is_empty() && small.prepared.tickets().is_empty());
    let content = noise(3, 100_000);
    let one = house.take_in(&with_attachment(&base64_lines(&content, 76, "\r\n")));
    let two = house.take_in(&with_attachment(&base64_lines(&content, 60, "\n")));
    assert_eq!(one.prepared.tickets().len(), 1);
    assert_eq!(one.prepared.tickets()[0].length, 100_000);
    assert_eq!(one.prepared.tickets(), two.prepared.tickets());
    assert_eq!(one.pins[0].ticket, one.prepared.tickets()[0]);
    assert!(one.prepared.encoded_len() < 2_000, "{}", one.prepared.encoded_len());
}

#[test]
fn notes_carry_items_and_extra_items_win() {
    let house = House::new();
    let message = with_attachment("AAAA");
    let item = |name: &str, text: &str| Item {
        name: name.into(),
        flags: ItemFlags::SUMMARY,
        sequence: 1,
        value: ItemValue::Text(text.into()),
    };
    let extra = vec![item("Form", "Reply"), item("RouteServers", "mail1")];
    let facts = Facts { unid: Unid([7; 16]), date: TimeDate(5), extra };
    let taken = intake(&house.store, &message, &facts).unwrap();
    assert_eq!(taken.subject, "café");
    assert_eq!((taken.unid, taken.note.oid.unid), (Unid([7; 16]), Unid([7; 16])));
    assert_eq!((taken.prepared.date(), taken.prepared.size()), (TimeDate(5), taken.size));
    let texts = [
        ("Form", "Reply"),
        ("RouteServers", "mail1"),
        ("Subject", "café"),
        ("From", "Ada <ada@example.test>"),
        ("SendTo", "ben@example.test"),
        ("$Abstract", "see below"),
    ];
    for (name, text) in texts {
        assert_eq!(taken.note.text(name), Some(text), "{name}");
    }
    assert_eq!(taken.note.number(SIZE), Some(message.len() as f64));
}

#[test]
fn a_message_says_which_server_took_it_in_and_when() {
    let house = House::new();
    let extra = route_items("CN=mail1/O=Demo", TimeDate(7));
    let facts = Facts { unid: Unid([7; 16]), date: TimeDate(5), extra };
    let note = intake(&house.store, b"Subject: x\r\n\r\n", &facts).unwrap().note;
    assert_eq!(note.texts("RouteServers"), ["CN=mail1/O=Demo"]);
    assert_eq!(note.get("RouteTimes"), Some(&ItemValue::TimeList(vec![TimeDate(7)])));
    assert_eq!(note.time("DeliveredDate"), Some(TimeDate(7)));
    let all = ["RouteServers", "RouteTimes", "DeliveredDate"];
    assert!(all.iter().all(|name| note.item(name).unwrap().flags == ItemFlags::SUMMARY));
}

#[test]
fn messages_are_read_back_from_a_database() {
    let house = House::new();
    let message = with_attachment(&base64_lines(&noise(4, 50_000), 76, "\r\n"));
    let taken = house.take_in(&message);
    let db = house.store.create("mail/ada.nsf", NewDatabase::titled("Ada")).unwrap();
    let put = |w: &mut store::Writer<'_>| w.put_note(&db, &taken.prepared);
    let written = house.store.write::<_, StoreError>(&[&db], put).unwrap();
    house.store.durable(written.lsn).wait().unwrap();
    drop(taken.pins);
    let ticket = taken.prepared.tickets()[0];
    assert_eq!(house.store.objects().references(&ticket.hash).unwrap(), 1);
    let read = house.store.read(&db, |r| r.note_bytes(written.value.id)).unwrap();
    let bytes = read.value.unwrap();
    let pieces = content(&NoteView::new(&bytes).unwrap()).unwrap();
    assert!(house.read(&pieces, 0..message.len() as u64) == message);
    let note = Note::decode(&bytes).unwrap();
    assert_eq!(content_of(&note).unwrap(), pieces);
}

#[test]
fn trouble_is_told_and_leaves_the_buffer_alone() {
    let house = House::new();
    let ticket = Ticket { hash: note::ObjectHash([9; 32]), length: 100 };
    let pieces = [Piece::Inline(b"abc".to_vec()), Piece::Object { ticket, recipe: Recipe::Raw }];
    let mut out = b"x".to_vec();
    let error = read_range(&house.store, &pieces, 1..10, &mut out).unwrap_err();
    assert!(matches!(error, ContentError::Objects(ObjectsError::Missing { .. })), "{error:?}");
    assert_eq!(out, b"x");
    read_range(&house.store, &pieces, 1..3, &mut out).unwrap();
    assert_eq!(out, b"xbc");
    let note = Note::new(Unid([1; 16]), NoteClass::DOCUMENT, TimeDate(1));
    let bytes = note.encode();
    let none = content(&NoteView::new(&bytes).unwrap());
    assert!(matches!(none, Err(ContentError::NoContent)));
    assert!(matches!(content_of(&note), Err(ContentError::NoContent)));
}
