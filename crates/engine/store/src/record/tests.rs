use note::{Note, NoteClass, ObjectHash, Unid};

use super::*;
use crate::op::{FolderRef, NewEntry, NewFolder, NoteRef, Op, PutNote};
use crate::prepared::NoteBlob;
use crate::{FolderId, NoteId, Quota};

/// A record with two sections, fixed for ever.
const FIXTURE: &str = include_str!("change-record-1.hex");

fn prepared() -> PreparedNote {
    let mut note = Note::new(Unid([1; 16]), NoteClass::DOCUMENT, TimeDate(10));
    note.set("A", "b");
    PreparedNote::new(&note, 3, TimeDate(11))
}

fn ops(blob: NoteBlob<'_>) -> Vec<Op<'_>> {
    let note = NoteRef { id: NoteId(5), unid: Unid([1; 16]) };
    let folder = FolderRef { id: FolderId(6), unid: Unid([2; 16]) };
    let time = TimeDate(12);
    vec![
        Op::CreateFolder(NewFolder {
            folder,
            name: "Sent",
            uidvalidity: 7,
            special_use: Some("\\Sent"),
        }),
        Op::PutNote(PutNote { id: note.id, created: true, index: 0, blob }),
        Op::AddEntry(NewEntry { folder, note, uid: 300, flags: 17, keywords: "a b" }),
        Op::SetFlags { folder, uid: 300, flags: 16, keywords: "" },
        Op::SetSeen { note, seen: false },
        Op::Subscribe { folder, subscribed: true },
        Op::RenameFolder { folder, name: "Out" },
        Op::RemoveEntry { folder, uid: 300, note: note.id, seen: false },
        Op::SetDeleted { note, deleted: Some(time) },
        Op::SetDeleted { note, deleted: None },
        Op::DeleteNote { note, stub: true, time },
        Op::DeleteFolder { folder },
        Op::SetTitle { title: "T" },
    ]
}

fn sample() -> Vec<u8> {
    let prepared = prepared();
    let mut encoded = Vec::new();
    let blob = NoteBlob::decode(prepared.blob()).unwrap();
    ops(blob).iter().for_each(|op| op.encode(&mut encoded));
    let delta = TicketDelta { hash: ObjectHash([9; 32]), count: -2 };
    let sections = [
        SectionFacts { dbiid: Dbiid(20), change_seq: 1, deltas: &[delta], ops: &encoded },
        SectionFacts { dbiid: Dbiid(21), change_seq: 1_000, deltas: &[], ops: &[] },
    ];
    let mut out = vec![0xEE];
    encode(&mut out, TimeDate(13), std::slice::from_ref(&prepared), sections.into_iter());
    out
}

#[test]
fn the_record_is_the_documented_one() {
    let hex: String = sample().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, FIXTURE.split_whitespace().collect::<String>());
}

/// Results that came after the fixture was made, each as it stands in a record for ever.
#[test]
fn later_results_are_the_documented_ones() {
    let quota = Quota { limit_bytes: 10_000, warn_bytes: 9_000 };
    let (op, bytes) = (Op::SetQuota(quota), [13, 0x90, 0x4E, 0xA8, 0x46]);
    let mut encoded = Vec::new();
    op.encode(&mut encoded);
    assert_eq!(encoded, bytes);
    assert_eq!(Op::decode(&mut Cursor::new(&bytes), &[]), Ok(op));
}

#[test]
fn results_come_back() {
    let payload = sample();
    let record = ChangeRecord::decode(&payload).unwrap();
    let section = record.section(Dbiid(20)).unwrap().unwrap();
    assert_eq!(section.deltas, [TicketDelta { hash: ObjectHash([9; 32]), count: -2 }]);
    let mut cursor = Cursor::new(section.ops);
    let mut read = Vec::new();
    while !cursor.is_empty() {
        read.push(Op::decode(&mut cursor, &record.blobs).unwrap());
    }
    let prepared = prepared();
    assert_eq!(read, ops(NoteBlob::decode(prepared.blob()).unwrap()));
    assert_eq!(record.section(Dbiid(21)).unwrap().unwrap().change_seq, 1_000);
    assert!(record.section(Dbiid(22)).unwrap().is_none());
}

#[test]
fn every_cut_is_refused() {
    let payload = sample();
    for length in 0..payload.len() {
        let sections = ChangeRecord::decode(&payload[..length])
            .and_then(|record| record.sections().map(|sections| sections.len()));
        assert!(sections.is_err(), "cut at {length}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let payload = sample();
    for at in 0..payload.len() {
        for bit in 0..8 {
            let mut payload = payload.clone();
            payload[at] ^= 1 << bit;
            let Ok(record) = ChangeRecord::decode(&payload) else { continue };
            let Ok(Some(section)) = record.section(Dbiid(20)) else { continue };
            let mut cursor = Cursor::new(section.ops);
            while !cursor.is_empty() && Op::decode(&mut cursor, &record.blobs).is_ok() {}
        }
    }
}

#[test]
fn a_damaged_record_still_names_its_databases() {
    let record = sample();
    let named = Some(vec![Dbiid(20), Dbiid(21)]);
    let names_bytes = 2 + 8 * 2 + 4;
    for at in 0..record.len() {
        let mut damaged = record.clone();
        damaged[at] ^= 0x10;
        let expected = if at < names_bytes { None } else { named.clone() };
        assert_eq!(names_of_damaged(&damaged), expected, "byte {at}");
    }
    for length in 0..names_bytes {
        assert_eq!(names_of_damaged(&record[..length]), None, "cut at {length}");
    }
}
