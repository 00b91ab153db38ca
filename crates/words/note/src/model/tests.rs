use super::*;
use crate::{ObjectHash, Recipe};

fn note() -> Note {
    Note::new(Unid([7; 16]), NoteClass::DOCUMENT, TimeDate(1))
}

#[test]
fn items_are_found_without_regard_to_case() {
    let mut note = note();
    note.set("Subject", "one");
    note.set("SUBJECT", "two");
    note.set("SendTo", vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(note.items.len(), 2);
    assert_eq!(note.text("subject"), Some("two"));
    assert_eq!(note.texts("sendto"), ["a", "b"]);
    assert_eq!(note.text("sendto"), Some("a"));
    assert_eq!(note.number("subject"), None);
    assert!(note.remove("subjecT"));
    assert!(!note.remove("Subject"));
}

#[test]
fn items_carry_the_sequence_of_their_last_change() {
    let mut note = note();
    note.set_with("A", 1.0, ItemFlags::SUMMARY);
    note.set("B", TimeDate(5));
    note.touch(TimeDate(9));
    note.set("A", 2.0);
    assert_eq!(note.oid.sequence, 2);
    assert_eq!(note.oid.sequence_time, TimeDate(9));
    let a = note.item("A").unwrap();
    assert_eq!((a.sequence, a.flags), (2, ItemFlags::SUMMARY));
    assert_eq!(note.item("B").unwrap().sequence, 1);
    assert_eq!(note.time("b"), Some(TimeDate(5)));
}

#[test]
fn tickets_are_listed_once_per_reference() {
    let mut note = note();
    let ticket = Ticket { hash: ObjectHash([1; 32]), length: 10 };
    let object = Piece::Object { ticket, recipe: Recipe::Raw };
    note.set("$Content", ItemValue::Pieces(vec![object.clone(), Piece::Inline(vec![1]), object]));
    assert_eq!(note.tickets(), [ticket, ticket]);
}
