use crate::{Kind, Limits, Part, parse};

fn part(header: &str) -> Part {
    let message = format!("{header}\r\n\r\nbody");
    parse(message.as_bytes(), &Limits::default()).parts.swap_remove(0)
}

#[test]
fn fields_of_a_part() {
    let part = part(
        "content-TYPE: Text/HTML; Charset=UTF-8\r\nContent-ID: <id@x>\r\n\
         Content-Description: a\r\n  text\r\nContent-MD5: Q2hlY2s=\r\n\
         Content-Language: de, (any) en-GB ,,\r\nContent-Location: http://a.b/\r\n c\r\n\
         Content-Transfer-Encoding: (x) quoted-printable ; y",
    );
    assert!(part.is("text", "html"));
    assert_eq!(part.charset(), "UTF-8");
    assert_eq!(part.content_id.as_deref(), Some(b"<id@x>".as_slice()));
    assert_eq!(part.description.as_deref(), Some(b"a  text".as_slice()));
    assert_eq!(part.md5.as_deref(), Some(b"Q2hlY2s=".as_slice()));
    assert_eq!(part.languages, ["de", "en-GB"]);
    assert_eq!(part.location.as_deref(), Some("http://a.b/c"));
    assert_eq!(part.encoding, "QUOTED-PRINTABLE");
}

#[test]
fn defaults_of_a_part() {
    let part = part("Subject: x");
    assert!(part.is("text", "plain") && part.kind == Kind::Leaf);
    assert_eq!((part.encoding.as_str(), part.charset()), ("7BIT", "us-ascii"));
    assert_eq!(part.languages, Vec::<String>::new());
}

#[test]
fn of_two_fields_the_first_counts() {
    let part =
        part("Content-Type: text/a\r\nContent-Type: text/b\r\nContent-ID: 1\r\nContent-ID: 2");
    assert_eq!((part.subtype.as_str(), part.content_id), ("a", Some(b"1".to_vec())));
}

#[test]
fn an_encoded_message_is_told_as_unknown_bytes() {
    let part = part("Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64");
    assert!(part.is("application", "octet-stream") && part.kind == Kind::Leaf);
}
