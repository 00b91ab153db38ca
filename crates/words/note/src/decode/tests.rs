use proptest::prelude::*;

use super::*;
use crate::NoteView;
use crate::ObjectHash;

fn sample() -> Note {
    let mut note = Note::new(Unid([0x11; 16]), NoteClass::DOCUMENT, TimeDate(1_000_000));
    note.parent = Some(Unid([0x22; 16]));
    note.set_with("Subject", "Grüße", ItemFlags::SUMMARY);
    note.set("SendTo", vec!["a@b".to_owned(), String::new()]);
    note.set("$Size", 1234.0);
    note.touch(TimeDate(2_000_000));
    note.set("Times", ItemValue::TimeList(vec![TimeDate(-1), TimeDate(1)]));
    note.set("Posted", TimeDate(3));
    note.set("Numbers", ItemValue::NumberList(vec![0.5, -1.0]));
    note.set("$Summary", ItemValue::Binary(vec![0, 255]));
    let ticket = Ticket { hash: ObjectHash([0x33; 32]), length: 300 };
    let base64 = Recipe::Base64 { line_chars: 76, eol: Eol::Lf, final_eol: true };
    let pieces = vec![
        Piece::Inline(b"head\r\n".to_vec()),
        Piece::Object { ticket, recipe: Recipe::Raw },
        Piece::Object { ticket, recipe: base64 },
    ];
    note.set("$Content", ItemValue::Pieces(pieces));
    note
}

/// The binary form of [`sample`], fixed for ever.
const FIXTURE: &str = include_str!("note-1.hex");

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap())
        .collect()
}

#[test]
fn the_binary_form_is_the_documented_one() {
    let hex: String = sample().encode().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, FIXTURE.split_whitespace().collect::<String>());
    assert_eq!(Note::decode(&unhex(FIXTURE)).unwrap(), sample());
}

#[test]
fn a_view_gives_single_items() {
    let bytes = sample().encode();
    let view = NoteView::new(&bytes).unwrap();
    assert_eq!(view.oid(), sample().oid);
    assert_eq!(view.parent(), sample().parent);
    assert_eq!(view.text("subject"), Some("Grüße"));
    assert_eq!(view.binary("$SUMMARY"), Some(&[0_u8, 255][..]));
    assert_eq!(view.text("$Summary"), None);
    assert_eq!(view.number("$size"), Some(1234.0));
    assert_eq!(
        Some(&ItemValue::Pieces(view.pieces("$Content").unwrap())),
        sample().get("$content")
    );
    assert_eq!(view.pieces("none").unwrap(), []);
    assert_eq!(view.items().count(), sample().items.len());
}

#[test]
fn every_cut_is_refused() {
    let bytes = sample().encode();
    for length in 0..bytes.len() {
        assert!(Note::decode(&bytes[..length]).is_err(), "cut at {length}");
        assert!(NoteView::new(&bytes[..length]).is_err(), "cut at {length}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(Note::decode(&longer), Err(DecodeError::Trailing(1)));
}

#[test]
fn hostile_counts_take_no_memory() {
    let mut bytes = Note::new(Unid::default(), NoteClass::ICON, TimeDate(0)).encode();
    bytes.pop();
    bytes.extend_from_slice(&[0xFF; 9]);
    bytes.push(1);
    assert_eq!(Note::decode(&bytes), Err(DecodeError::Short));
    let over = [0xFF_u8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    assert_eq!(value(kind::TEXT_LIST, &over), Err(DecodeError::Range("number")));
    assert_eq!(value(kind::PIECES, &[3, 9]), Err(DecodeError::Short));
    assert_eq!(value(99, &[]), Err(DecodeError::ItemType(99)));
    assert_eq!(value(kind::TEXT, &[0xFF]), Err(DecodeError::Text));
}

fn any_recipe() -> impl Strategy<Value = Recipe> {
    let base64 = (any::<u32>(), any::<bool>(), any::<bool>()).prop_map(|(line_chars, lf, end)| {
        Recipe::Base64 { line_chars, eol: if lf { Eol::Lf } else { Eol::Crlf }, final_eol: end }
    });
    prop_oneof![Just(Recipe::Raw), base64]
}

fn any_piece() -> impl Strategy<Value = Piece> {
    let object =
        (any::<[u8; 32]>(), any::<u64>(), any_recipe()).prop_map(|(hash, length, recipe)| {
            Piece::Object { ticket: Ticket { hash: ObjectHash(hash), length }, recipe }
        });
    prop_oneof![any::<Vec<u8>>().prop_map(Piece::Inline), object]
}

fn any_value() -> impl Strategy<Value = ItemValue> {
    let number = prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::INFINITE;
    prop_oneof![
        any::<String>().prop_map(ItemValue::Text),
        any::<Vec<String>>().prop_map(ItemValue::TextList),
        number.prop_map(ItemValue::Number),
        prop::collection::vec(number, 0..5).prop_map(ItemValue::NumberList),
        any::<i64>().prop_map(|micros| ItemValue::Time(TimeDate(micros))),
        any::<Vec<i64>>()
            .prop_map(|all| ItemValue::TimeList(all.into_iter().map(TimeDate).collect())),
        any::<Vec<u8>>().prop_map(ItemValue::Binary),
        prop::collection::vec(any_piece(), 0..5).prop_map(ItemValue::Pieces),
    ]
}

fn any_note() -> impl Strategy<Value = Note> {
    let item = ("[^/]{0,20}", any::<u16>(), any::<u32>(), any_value()).prop_map(
        |(name, flags, sequence, value)| Item { name, flags: ItemFlags(flags), sequence, value },
    );
    let head =
        (any::<[u8; 16]>(), any::<u32>(), any::<i64>(), any::<u16>(), any::<Option<[u8; 16]>>());
    (head, prop::collection::vec(item, 0..8)).prop_map(|(head, items)| {
        let (unid, sequence, time, class, parent) = head;
        let oid = OriginatorId { unid: Unid(unid), sequence, sequence_time: TimeDate(time) };
        Note { oid, class: NoteClass(class), parent: parent.map(Unid), items }
    })
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(note in any_note()) {
        let bytes = note.encode();
        prop_assert_eq!(&Note::decode(&bytes).unwrap(), &note);
        prop_assert_eq!(NoteView::new(&bytes).unwrap().items().count(), note.items.len());
    }

    #[test]
    fn flipped_bytes_never_panic(
        note in any_note(),
        flips in prop::collection::vec(any::<(usize, u8)>(), 1..6),
    ) {
        let mut bytes = note.encode();
        for (at, bits) in flips {
            let at = at % bytes.len();
            bytes[at] ^= bits;
        }
        if let Ok(changed) = Note::decode(&bytes) {
            prop_assert!(changed.tickets().len() <= bytes.len());
            prop_assert!(NoteView::new(&bytes).is_ok());
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut headed = vec![FORMAT];
        headed.extend_from_slice(&bytes);
        let whole = Note::decode(&headed);
        prop_assert!(whole.is_err() || NoteView::new(&headed).is_ok());
    }
}
