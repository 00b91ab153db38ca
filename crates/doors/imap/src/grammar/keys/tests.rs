use super::*;

fn parse(text: &str) -> Parse<SearchKey> {
    let mut cursor = Cursor::new(text.as_bytes());
    let key = SearchKey::parse_all(&mut cursor, "UTF-8")?;
    cursor.end()?;
    Ok(key)
}

#[test]
fn every_key_of_the_standard_is_known() {
    for text in [
        "ALL",
        "ANSWERED",
        "BCC x",
        "BEFORE 1-Feb-2026",
        "BODY x",
        "CC x",
        "DELETED",
        "DRAFT",
        "FLAGGED",
        "FROM \"a b\"",
        "HEADER Message-ID \"<10@x.test>\"",
        "KEYWORD $Junk",
        "LARGER 10",
        "NEW",
        "NOT SEEN",
        "OLD",
        "ON 1-Feb-2026",
        "OR SEEN DELETED",
        "RECENT",
        "SEEN",
        "SENTBEFORE 1-Feb-2026",
        "SENTON \"1-Feb-2026\"",
        "SENTSINCE 1-Feb-2026",
        "SINCE 1-Feb-2026",
        "SMALLER 10",
        "SUBJECT {3}\r\nabc",
        "TEXT x",
        "TO x",
        "UID 1:*",
        "UNANSWERED",
        "UNDELETED",
        "UNDRAFT",
        "UNFLAGGED",
        "UNKEYWORD x",
        "UNSEEN",
        "1,3:*",
        "$",
        "OLDER 10",
        "YOUNGER 10",
        "MODSEQ 10",
        "MODSEQ \"/flags/\\\\Seen\" all 0",
        "MODSEQ \"/flags/\\\\Seen\" SHARED 9223372036854775807",
        "(SEEN (NOT DELETED)) 1:3",
        "or (seen deleted) not (from x)",
    ] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn broken_keys_are_refused() {
    for text in [
        "",
        "FOO",
        "NOT",
        "OR SEEN",
        "(SEEN",
        "SEEN)",
        "()",
        "FROM",
        "BEFORE x",
        "LARGER -1",
        "UID",
        "UID 0",
        "HEADER x",
        "ON 31-Feb-2026",
        "SENT 1-Feb-2026",
        "OLDER 0",
        "YOUNGER x",
        "MODSEQ",
        "MODSEQ 9223372036854775808",
        "MODSEQ \"/flags/x\" none 1",
        "$1",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

/// The key without the list that holds all keys of a command together.
fn only(text: &str) -> SearchKey {
    parse(text).unwrap()
}

#[test]
fn chains_become_flat() {
    let or = only(&format!("{}ALL", "OR SEEN ".repeat(2_000)));
    let SearchKey::Or(keys) = or else { panic!("{or:?}") };
    assert_eq!(keys.len(), 2_001);
    let left = format!("{}SEEN{}", "OR ".repeat(300), " DELETED".repeat(300));
    assert!(matches!(only(&left), SearchKey::Or(keys) if keys.len() == 301));
    assert!(matches!(only(&format!("{}SEEN", "NOT ".repeat(2_000))), SearchKey::Plain(_)));
    assert!(matches!(only(&format!("{}SEEN", "NOT ".repeat(2_001))), SearchKey::Not(_)));
    let nested = format!("{}SEEN{}", "(".repeat(2_000), ")".repeat(2_000));
    assert!(matches!(only(&nested), SearchKey::Plain(_)));
    assert!(matches!(only("SEEN (DELETED (DRAFT))"), SearchKey::And(keys) if keys.len() == 3));
}

#[test]
fn searches_too_deep_or_too_long_are_refused() {
    assert!(parse(&"(".repeat(100_000)).is_err());
    assert!(parse(&"NOT ".repeat(100_000)).is_err());
    assert!(parse(&"OR ALL ".repeat(50_000)).is_err());
    assert!(parse(&"ALL ".repeat(10_000)).is_err());
    let real = |depth: usize| {
        let open = "NOT (SEEN OR DELETED ".repeat(depth);
        format!("{open}ALL{}", ")".repeat(depth))
    };
    assert!(parse(&real(10)).is_ok());
    assert!(parse(&real(100)).is_err());
}

#[test]
fn strings_are_read_in_their_charset() {
    let mut cursor = Cursor::new(b"SUBJECT {4}\r\ngr\xfc\xdf");
    let key = SearchKey::parse_all(&mut cursor, "ISO-8859-1").unwrap();
    let SearchKey::Plain(Key::Field(Field::Subject, needle)) = key else { panic!("{key:?}") };
    assert_eq!(needle, Needle::new("gr\u{fc}\u{df}"));
}
