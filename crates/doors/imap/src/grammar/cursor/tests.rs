use super::*;

fn astring(text: &str) -> Parse<Vec<u8>> {
    let mut cursor = Cursor::new(text.as_bytes());
    let value = cursor.astring()?.into_owned();
    cursor.end()?;
    Ok(value)
}

#[test]
fn strings_of_every_kind() {
    let good: &[(&str, &[u8])] = &[
        ("abc", b"abc"),
        ("a]b", b"a]b"),
        ("\"\"", b""),
        ("\"a b\"", b"a b"),
        (r#""a\"b\\c""#, br#"a"b\c"#),
        ("{3}\r\na\rc", b"a\rc"),
        ("{0+}\r\n", b""),
        ("\"caf\u{e9}\"", "caf\u{e9}".as_bytes()),
    ];
    for (text, wanted) in good {
        assert_eq!(astring(text).as_deref(), Ok(*wanted), "{text}");
    }
    let bad = [
        "",
        "(",
        "\"abc",
        "\"a\\nb\"",
        "{3}\r\nab",
        "{+3}\r\nabc",
        "{3++}\r\nabc",
        "{3 }\r\nabc",
        "{3}\r\na\0c",
        "{3}abc",
        "{-1}\r\n",
        "{99999999999999999999}\r\n",
        "a\"b",
        "a b",
        "\"a\r\nb\"",
    ];
    for text in bad {
        assert!(astring(text).is_err(), "{text}");
    }
}

#[test]
fn numbers_have_limits() {
    let number = |text: &str| Cursor::new(text.as_bytes()).nz_number();
    assert_eq!(number("4294967295"), Ok(u32::MAX));
    for bad in ["0", "4294967296", "x", "", "99999999999999999999999"] {
        assert!(number(bad).is_err(), "{bad}");
    }
}

#[test]
fn words_end_where_atoms_end() {
    let mut cursor = Cursor::new(b"Not(x)");
    assert!(!cursor.eat_word("NO"));
    assert!(cursor.eat_word("NOT"));
    assert_eq!(cursor.rest(), b"(x)");
}
