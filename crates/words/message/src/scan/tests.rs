use super::*;
use crate::corpus::{self, case, multi};
use crate::{Address, decode_words, encode_words, summary_decode, summary_encode};

fn parse_all(message: &[u8]) -> Parsed {
    parse(message, &Limits::default())
}

fn body<'a>(message: &'a [u8], part: &Part) -> &'a [u8] {
    &message[part.body.start as usize..part.body.end as usize]
}

/// The tree in short: `mixed(text/plain,application/pdf)`.
fn tree(parsed: &Parsed, at: usize) -> String {
    let part = &parsed.parts[at];
    let inner: Vec<String> = part.children.iter().map(|&c| tree(parsed, c as usize)).collect();
    match part.kind {
        Kind::Leaf => format!("{}/{}", part.media_type, part.subtype),
        Kind::Multipart => format!("{}({})", part.subtype, inner.join(",")),
        Kind::Message => format!("message[{}]", inner.join(",")),
    }
}

fn address(name: Option<&str>, mailbox: &str, host: &str) -> Address {
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    Address { name: name.and_then(bytes), route: None, mailbox: bytes(mailbox), host: bytes(host) }
}

/// What holds for every message: ranges lie in the message and in each other, parents come first.
fn check(name: &str, message: &[u8]) -> Parsed {
    let parsed = parse_all(message);
    let length = message.len() as u64;
    assert!(!parsed.parts.is_empty(), "{name}");
    assert_eq!(parsed.parts[0].header.start, 0, "{name}");
    assert_eq!(parsed.parts[0].body.end, length, "{name}");
    assert!(parsed.preview.chars().count() <= crate::PREVIEW_CHARS_MAX, "{name}");
    let mut behind = 0;
    for (index, part) in parsed.parts.iter().enumerate() {
        let place = format!("{name}, part {index}");
        assert!(part.header.start <= part.header.end, "{place}");
        assert_eq!(part.header.end, part.body.start, "{place}");
        assert!(part.body.start <= part.body.end && part.body.end <= length, "{place}");
        assert!(part.header.start >= behind, "{place}: overlaps its elder sister");
        assert!(!part.media_type.is_empty() && !part.subtype.is_empty(), "{place}");
        assert!(!part.encoding.is_empty(), "{place}");
        let children = match part.kind {
            Kind::Leaf => 0..=0,
            Kind::Message => 1..=1,
            Kind::Multipart => 1..=usize::MAX,
        };
        assert!(children.contains(&part.children.len()), "{place}: children");
        assert_eq!(part.envelope.is_some(), part.kind == Kind::Message, "{place}: envelope");
        if let Some(parent) = part.parent {
            assert!((parent as usize) < index, "{place}");
            let above = &parsed.parts[parent as usize];
            assert!(above.children.contains(&(index as u32)), "{place}");
            assert!(part.header.start >= above.body.start, "{place}");
            assert!(part.body.end <= above.body.end, "{place}");
        }
        behind = if part.kind == Kind::Leaf { part.body.end } else { part.body.start };
        let lines = body(message, part).split_inclusive(|&b| b == b'\n').count();
        assert_eq!(part.lines as usize, lines, "{place}: lines");
    }
    assert_eq!(summary_decode(&summary_encode(&parsed)).as_ref(), Ok(&parsed), "{name}: summary");
    parsed
}

#[test]
fn every_sample_has_a_sound_structure() {
    for (name, message) in corpus::all().iter().chain(&corpus::from_the_field()) {
        check(name, message);
        for cut in [1, message.len() / 3, message.len() * 2 / 3] {
            check(name, &message[..cut.min(message.len())]);
        }
    }
}

#[test]
fn mutated_samples_have_a_sound_structure() {
    corpus::each_mutation(2_500, |name, message| {
        let parsed = check(name, message);
        crate::note_items(&parsed, message);
    });
}

#[test]
fn type_without_subtype_counts_as_absent() {
    let message = case("S-IMAP-01.eml");
    let parsed = check("S-IMAP-01", &message);
    assert_eq!(tree(&parsed, 0), "mixed(text/plain,text/plain)");
    let part = &parsed.parts[2];
    assert_eq!(part.encoding, "BASE64");
    assert_eq!(part.params, [("charset".to_owned(), "us-ascii".to_owned())]);
    assert_eq!(body(&message, part), b"aGVsbG8gd29ybGQK");
    assert!(parsed.defects.contains(Defects::CONTENT_TYPE));
}

#[test]
fn disposition_that_is_a_sentence_is_none() {
    let parsed = check("S-IMAP-02", &case("S-IMAP-02.eml"));
    assert_eq!(parsed.parts[0].disposition, None);
    assert_eq!(parsed.parts[1].disposition, Some(("inline".to_owned(), vec![])));
    assert_eq!(parsed.parts[2].file_name().as_deref(), Some("a.bin"));
    assert!(parsed.parts[2].is_attachment());
}

#[test]
fn multipart_without_parts_has_an_empty_text() {
    let parsed = check("S-IMAP-03", &case("S-IMAP-03.eml"));
    assert_eq!(
        tree(&parsed, 0),
        "report(text/plain,message/delivery-status,message[alternative(text/plain)])"
    );
    let envelope = parsed.parts[3].envelope.as_ref().unwrap();
    assert_eq!(envelope.subject.as_deref(), Some(b"inner letter".as_slice()));
    assert!(parsed.parts[5].body.is_empty());
    assert!(parsed.defects.contains(Defects::NO_PARTS));
}

#[test]
fn related_whose_boundary_never_appears_shows_its_text() {
    let message = multi("absent", "text that would be lost\r\n").replace("/mixed", "/related");
    let parsed = check("I31", message.as_bytes());
    assert_eq!(tree(&parsed, 0), "related(text/plain)");
    assert_eq!(body(message.as_bytes(), &parsed.parts[1]), b"text that would be lost\r\n");
    assert!(parsed.parts[1].header.is_empty());
}

#[test]
fn descriptions_stand_as_they_are() {
    let parsed = check("S-IMAP-04", &case("S-IMAP-04.eml"));
    let description = |at: usize| parsed.parts[at].description.clone().unwrap();
    assert_eq!(description(1), br#"the "final" copy, folder \2"#);
    assert_eq!(description(2), br#""""#);
}

#[test]
fn absent_empty_and_group_address_fields() {
    let alice = [address(Some("Alice Example"), "alice", "example.test")];
    let envelope = check("S-IMAP-05a", &case("S-IMAP-05a.eml")).envelope;
    assert_eq!((&envelope.to, &envelope.cc, &envelope.bcc), (&vec![], &vec![], &vec![]));
    assert_eq!(envelope.from, alice);
    assert_eq!((&envelope.sender, &envelope.reply_to), (&envelope.from, &envelope.from));
    let envelope = check("S-IMAP-05b", &case("S-IMAP-05b.eml")).envelope;
    let start = Address { mailbox: Some(b"undisclosed-recipients".to_vec()), ..Address::default() };
    assert_eq!(envelope.to, [start, Address::default()]);
}

#[test]
fn absent_ids_are_none() {
    let envelope = check("S-IMAP-06a", &case("S-IMAP-06a.eml")).envelope;
    assert_eq!((envelope.in_reply_to, envelope.message_id), (None, None));
    let envelope = check("S-IMAP-06b", &case("S-IMAP-06b.eml")).envelope;
    assert_eq!(envelope.in_reply_to.as_deref(), Some(b"<parent-06@example.test>".as_slice()));
    assert_eq!(envelope.message_id, None);
}

#[test]
fn file_name_in_three_pieces() {
    let parsed = check("S-MIME-01", &case("S-MIME-01.eml"));
    assert_eq!(parsed.parts[2].file_name().as_deref(), Some("žluť report (final).pdf"));
}

#[test]
fn boundary_that_begins_another_and_multiparts_never_closed() {
    for name in ["S-MIME-02.eml", "S-MIME-03.eml"] {
        let message = case(name);
        let parsed = check(name, &message);
        assert_eq!(tree(&parsed, 0), "mixed(alternative(text/plain,text/html),text/csv)", "{name}");
        assert_eq!(body(&message, &parsed.parts[2]), b"plain words", "{name}");
        assert_eq!(parsed.parts[4].file_name().as_deref(), Some("t.csv"), "{name}");
        assert_eq!(body(&message, &parsed.parts[4]).trim_ascii_end(), b"a,b", "{name}");
        assert_eq!(parsed.parts[4].lines, 1, "{name}");
    }
}

#[test]
fn words_that_cut_a_character_and_words_of_a_stateful_charset() {
    let envelope = check("S-MIME-04", &case("S-MIME-04.eml")).envelope;
    assert_eq!(decode_words(&envelope.subject.unwrap()), "Příliš žluťoučký kůň");
    assert_eq!(decode_words(envelope.from[0].name.as_ref().unwrap()), "Žofie Černá");
    let envelope = check("S-MIME-06", &case("S-MIME-06.eml")).envelope;
    assert_eq!(decode_words(&envelope.subject.unwrap()), "日本語の件名テスト");
}

#[test]
fn three_ways_to_write_one_date() {
    for name in ["S-MIME-05a.eml", "S-MIME-05b.eml", "S-MIME-05c.eml"] {
        assert_eq!(check(name, &case(name)).envelope.sent, Some(1_772_529_300), "{name}");
    }
}

#[test]
fn raw_utf8_headers_can_be_told_in_ascii() {
    let message = "From: Zoë Ünal <zoe@example.test>\r\nSubject: žluťoučký kůň\r\n\r\n";
    let parsed = check("I26", message.as_bytes());
    assert!(parsed.defects.contains(Defects::EIGHT_BIT_HEADER));
    let subject = parsed.envelope.subject.unwrap();
    assert_eq!(subject, "žluťoučký kůň".as_bytes());
    let told = encode_words(&subject);
    assert!(told.is_ascii());
    assert_eq!(decode_words(&told), "žluťoučký kůň");
}

#[test]
fn depth_is_bounded() {
    for message in [corpus::nested_mixed(100_000, "\n"), corpus::enclosed(100_000)] {
        let parsed = parse_all(message.as_bytes());
        assert_eq!(parsed.parts.len(), 101);
        assert!(parsed.defects.contains(Defects::LIMIT));
        let deepest = parsed.parts.last().unwrap();
        assert!(deepest.is("application", "octet-stream") && deepest.kind == Kind::Leaf);
    }
}

#[test]
fn number_of_parts_is_bounded() {
    let message = multi("b", &"--b\r\n\r\nx\r\n".repeat(30_000));
    let parsed = parse_all(message.as_bytes());
    assert_eq!(parsed.parts.len(), 10_000);
    assert_eq!(parsed.parts[0].body.end, message.len() as u64);
    let nested = "--b\nContent-Type: multipart/mixed; boundary=c\n\n".repeat(30_000);
    assert!(parse_all(multi("b", &nested).as_bytes()).parts.len() <= 10_000);
}

#[test]
fn number_of_parameters_and_addresses_is_bounded() {
    let mut field = "Content-Type: text/plain".to_owned();
    for i in 0..10_000 {
        field += &format!(";\r\n name*{i}*=x");
    }
    let many: String = (0..10_000).map(|i| format!(";\r\n p{i}=v")).collect();
    let to = "a,".repeat(300_000);
    let message = format!("{field}\r\nContent-Disposition: inline{many}\r\nTo: {to}\r\n\r\n");
    let parsed = check("I49", message.as_bytes());
    assert_eq!(parsed.parts[0].param("name").map(str::len), Some(1_000));
    assert_eq!(parsed.parts[0].disposition.as_ref().unwrap().1.len(), 1_000);
    assert_eq!(parsed.envelope.to.len(), 100_000);
    assert!(parsed.defects.contains(Defects::LIMIT));
}

/// Inputs made to cost more than their length. Each is a megabyte and takes some milliseconds; it
/// would take minutes if anything were quadratic.
#[test]
fn hostile_inputs_take_linear_time() {
    let million = |text: &str| text.repeat(1_000_000 / text.len());
    for text in [
        "(",
        "\\(",
        "\"",
        "<",
        "a <",
        "a@b,<",
        "=?",
        "=?a?B?",
        "=?a?Q?x?=",
        "a:",
        ";",
        "a;b=",
        "[",
        "a\"<,(",
        "%41",
        "*0*=",
        "x y=",
        "--",
        "\r\n",
        "\r\n ",
        ",",
    ] {
        for field in
            ["To", "Subject", "Content-Type: a/b; x", "References", "Content-Disposition: a;"]
        {
            parse_quickly(&format!("{field}: {}\r\n\r\n", million(text)));
        }
    }
    for html in ["<style", "<!--", "</", "<style></x", "&", "&#", "<"] {
        parse_quickly(&format!("Content-Type: text/html\r\n\r\n{}", million(html)));
    }
    let head = corpus::nested_mixed(99, "\n");
    let opened = &head[..head.find("\ndeep").unwrap()];
    for line in ["--\n", "--n1x\n", "\n--n98", "--n98--x\n"] {
        parse_quickly(&format!("{opened}{}", million(line)));
    }
}

fn parse_quickly(message: &str) {
    let begun = std::time::Instant::now();
    let parsed = parse_all(message.as_bytes());
    crate::note_items(&parsed, message.as_bytes());
    let told = &message[..message.len().min(60)];
    assert!(begun.elapsed().as_secs() < 10, "{told}: {:?}", begun.elapsed());
}

#[test]
fn sections_are_numbered_as_imap_does() {
    let message = multi(
        "o",
        "--o\r\n\r\none\r\n--o\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\r\n\
         Content-Type: multipart/mixed; boundary=i\r\n\r\n\
         --i\r\n\r\nfirst\r\n--i\r\n\r\nsecond\r\n--i--\r\n\
         --o\r\nContent-Type: message/rfc822\r\n\r\nSubject: leaf\r\n\r\nbody\r\n--o--\r\n",
    );
    let parsed = check("sections", message.as_bytes());
    let text = |path: &[u32]| {
        let at = parsed.section(path)?;
        Some(String::from_utf8_lossy(body(message.as_bytes(), &parsed.parts[at as usize])))
    };
    assert_eq!(parsed.section(&[]), Some(0));
    assert_eq!(text(&[1]).as_deref(), Some("one"));
    assert_eq!(text(&[2, 1]).as_deref(), Some("first"));
    assert_eq!(text(&[2, 2]).as_deref(), Some("second"));
    assert_eq!(text(&[3, 1]).as_deref(), Some("body"));
    for absent in [[0].as_slice(), &[4], &[1, 1], &[2, 3], &[3, 2], &[3, 1, 1], &[2, 1, 1]] {
        assert_eq!(parsed.section(absent), None, "{absent:?}");
    }
    let plain = parse_all(b"Subject: x\n\nbody");
    assert_eq!(plain.section(&[1]), Some(0));
    assert_eq!((plain.section(&[2]), plain.section(&[1, 1])), (None, None));
}

/// Structure as another parser sees it, on messages that leave no choice.
#[test]
fn another_parser_sees_the_same_structure() {
    for (name, message) in corpus::well_formed() {
        let ours = parse_all(&message);
        let theirs = mail_parser::MessageParser::default().parse(&message).unwrap();
        assert_eq!(tree(&ours, 0), foreign_tree(&theirs, 0), "{name}");
        assert_eq!(ours.envelope.sent, theirs.date().map(|d| d.to_timestamp()), "{name}");
        let subject = ours.envelope.subject.as_deref().map(decode_words);
        assert_eq!(subject.as_deref(), theirs.subject(), "{name}");
    }
}

fn foreign_tree(message: &mail_parser::Message<'_>, at: usize) -> String {
    use mail_parser::{MimeHeaders as _, PartType};
    let part = &message.parts[at];
    let media = part.content_type().map_or(("text".into(), "plain".into()), |t| {
        (t.ctype().to_lowercase(), t.subtype().unwrap_or("").to_lowercase())
    });
    match &part.body {
        PartType::Multipart(children) => {
            let inner: Vec<_> =
                children.iter().map(|&c| foreign_tree(message, c as usize)).collect();
            format!("{}({})", media.1, inner.join(","))
        }
        PartType::Message(inner) => format!("message[{}]", foreign_tree(inner, 0)),
        _ => format!("{}/{}", media.0, media.1),
    }
}
