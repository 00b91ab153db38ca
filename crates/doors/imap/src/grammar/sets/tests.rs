use super::*;

fn set(text: &str) -> Parse<SequenceSet> {
    let mut cursor = Cursor::new(text.as_bytes());
    let set = SequenceSet::parse(&mut cursor)?;
    cursor.end()?;
    Ok(set)
}

/// (set, sequence numbers it selects, uids it selects) in a list of the uids 2, 4, 6, 8, 10.
const CASES: &[(&str, &[u32], &[u32])] = &[
    ("1", &[1], &[]),
    ("2:4", &[2, 3, 4], &[2, 4]),
    ("4:2", &[2, 3, 4], &[2, 4]),
    ("*", &[5], &[10]),
    ("4:*", &[4, 5], &[4, 6, 8, 10]),
    ("*:4", &[4, 5], &[4, 6, 8, 10]),
    ("559:*", &[5], &[10]),
    ("1:3,2:5,5", &[1, 2, 3, 4, 5], &[2, 4]),
    ("90:100", &[], &[]),
    ("3,1,3", &[1, 3], &[]),
    ("1:4294967295", &[1, 2, 3, 4, 5], &[2, 4, 6, 8, 10]),
];

#[test]
fn sets_select_numbers_and_uids() {
    let list = UidList::from_sorted(&[2, 4, 6, 8, 10]);
    for (text, numbers, uids) in CASES {
        let set = set(text).unwrap();
        let numbers: Vec<u32> = numbers.iter().map(|n| n * 2).collect();
        let found = set.by_sequence(&list);
        assert_eq!(found.uids(&list), numbers, "{text}");
        assert_eq!(found.len() as usize, numbers.len(), "{text}");
        assert_eq!(set.by_uid(&list).uids(&list), *uids, "UID {text}");
    }
}

#[test]
fn nothing_is_selected_in_an_empty_list() {
    let list = UidList::default();
    for text in ["1", "*", "1:*", "4294967295"] {
        let set = set(text).unwrap();
        assert!(set.by_sequence(&list).is_empty(), "{text}");
        assert!(set.by_uid(&list).is_empty(), "{text}");
    }
}

#[test]
fn broken_sets_are_refused() {
    for text in ["", "0", "1:", ":1", "1,", ",1", "1;2", "1:2:3", "a", "4294967296", "1-2"] {
        assert!(set(text).is_err(), "{text}");
    }
    let long = vec!["1"; MEMBERS_MAX + 1].join(",");
    assert!(set(&long).is_err());
    let many = (1..=10_000).map(|n| (n * 2).to_string()).collect::<Vec<_>>().join(",");
    assert!(set(&many).is_ok());
}

#[test]
fn a_selection_is_taken_in_pieces() {
    let list = UidList::from_sorted(&[2, 4, 6, 8, 10]);
    let mut selection = set("1:3,5").unwrap().by_sequence(&list);
    assert_eq!(selection.uid_ranges(&list), [(2, 6), (10, 10)]);
    let mut pieces = Vec::new();
    while let Some(piece) = selection.take(2) {
        pieces.push(piece);
    }
    assert_eq!(pieces, [(0, 2), (2, 3), (4, 5)]);
}
