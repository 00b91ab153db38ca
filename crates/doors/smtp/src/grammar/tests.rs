//! Cases of the argument grammar.

use super::*;

fn path(text: &str) -> Result<Option<(String, String, String)>, PathError> {
    parse_path(text.as_bytes(), "FROM:")
        .map(|(address, _)| address.map(|a| (a.text, a.mailbox.local, a.mailbox.domain)))
}

#[test]
fn good_paths() {
    let cases = [
        ("FROM:<a@b.test>", "a@b.test", "a", "b.test"),
        ("from: <a@b.test> SIZE=1", "a@b.test", "a", "b.test"),
        ("FROM:<@relay.test,@two.test:a@b.test>", "a@b.test", "a", "b.test"),
        ("FROM:<\"night clerk\"@b.test>", "\"night clerk\"@b.test", "night clerk", "b.test"),
        ("FROM:<\"a\\\"b>c\"@b.test>", "\"a\\\"b>c\"@b.test", "a\"b>c", "b.test"),
        ("FROM:<a.b+c@[127.0.0.1]>", "a.b+c@[127.0.0.1]", "a.b+c", "[127.0.0.1]"),
        ("FROM:<Postmaster>", "Postmaster", "Postmaster", ""),
        ("FROM:<a@B.test.>", "a@B.test.", "a", "B.test"),
    ];
    for (text, written, local, domain) in cases {
        let wanted = (written.to_owned(), local.to_owned(), domain.to_owned());
        assert_eq!(path(text), Ok(Some(wanted)), "{text}");
    }
    assert_eq!(path("FROM:<>"), Ok(None));
}

#[test]
fn bad_paths() {
    let cases = [
        "FROM:a@b.test",
        "FROM:<a@b.test",
        "FROM:<>>>>>",
        "FROM:<a@b.test>>>",
        "FROM:<a@b.test>SIZE=10",
        "FROM:<a@b.test>!!",
        "FROM:<a b@c.test>",
        "FROM:<a..b@c.test>",
        "FROM:<@b.test>",
        "FROM:<a@>",
        "FROM:<a@-b.test>",
        "FROM:<nobody>",
        "FROM:<\"a@b.test>",
        "FROM:<a@b..test>",
        "TO:<a@b.test>",
        "FROM",
        "",
        "FROM:<a@b.test> =x",
        "FROM:<a@b.test> X=",
        "FROM:<a\r@b.test>",
        "FROM:<a\0@b.test>",
        "FROM:<@x:>",
        "FROM:<@x y:a@b.test>",
    ];
    for text in cases {
        assert_eq!(path(text), Err(PathError::Syntax), "{text}");
    }
    let long = format!("FROM:<{}@b.test>", "a".repeat(1_000));
    assert_eq!(path(&long), Err(PathError::Syntax));
    assert_eq!(parse_path(b"FROM:<\xff@b.test>", "FROM:"), Err(PathError::NotText));
    let (address, _) = parse_path("FROM:<ž@b.test>".as_bytes(), "FROM:").unwrap();
    assert!(address.unwrap().is_utf8());
}

#[test]
fn parameters_come_in_any_order_and_case() {
    let (_, parameters) = parse_path(b"FROM:<> body=8bitMIME  SIZE=120 SMTPUTF8", "FROM:").unwrap();
    let pairs: Vec<_> = parameters.iter().map(|one| (one.key.as_str(), one.value)).collect();
    assert_eq!(pairs, [("BODY", Some("8bitMIME")), ("SIZE", Some("120")), ("SMTPUTF8", None)]);
}

#[test]
fn xtext_is_decoded_or_refused() {
    let coded = "JOB:7+20[/PRMD+3DDemo/ADMD+3D+20/C+3DXX/;HOST-26030309";
    assert_eq!(
        decode_xtext(coded).as_deref(),
        Some("JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309")
    );
    for bad in ["a=b", "a+3d", "a+", "a+4", "a+0A", "ž"] {
        assert_eq!(decode_xtext(bad), None, "{bad}");
    }
}

#[test]
fn any_bytes_are_parsed_without_a_panic() {
    let mut seed = 7_u64;
    let alphabet = b"FROM:<>@\"\\. =+ab\xc5\xbe[]\r\n";
    for _ in 0..20_000 {
        let mut line = b"FROM:<".to_vec();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            line.push(alphabet[(seed >> 33) as usize % alphabet.len()]);
        }
        if let Ok((Some(address), _)) = parse_path(&line, "FROM:") {
            assert!(address.text.len() <= line.len(), "{line:?}");
        }
    }
}

#[test]
fn xtext_is_read_back_as_it_was_written() {
    for text in ["JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST+1", "a+b@x.test", "~!{}|", ""] {
        assert_eq!(decode_xtext(&encode_xtext(text)).as_deref(), Some(text));
    }
    assert_eq!(encode_xtext("a b\r\n+=ž"), "a+20b+0D+0A+2B+3D?");
}
