//! What ENVELOPE, BODYSTRUCTURE and SEARCH say of odd messages, appended and delivered alike.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use tests::{Example, Node, Reply, Talk, demand_body, demand_envelope};

/// Loads `text` (lines ending as written here) by APPEND and by SMTP, and shows both to `check`.
fn both_ways(example: &Example, text: &str, check: impl Fn(&mut Talk, &str)) {
    let message = text.replace('\n', "\r\n");
    let mut talk = Talk::imap(example.0.imap(), "alice", Example::ALICE);
    let before = example.0.inbox_count("alice", Example::ALICE, 0);
    talk.append("INBOX", message.as_bytes());
    let mut smtp = Talk::smtp(example.0.smtp());
    smtp.deliver("a@example.org", &["alice@example.test"], message.as_bytes());
    let now = example.0.inbox_count("alice", Example::ALICE, before + 2);
    assert_eq!(now, before + 2);
    talk.say("SELECT INBOX");
    check(&mut talk, &(now - 1).to_string());
    check(&mut talk, &now.to_string());
    talk.say("NOOP");
}

fn structure(talk: &mut Talk, number: &str) -> Node {
    let reply = talk.say(&format!("FETCH {number} (BODY BODYSTRUCTURE)"));
    let line = reply.line_with("BODYSTRUCTURE").expect("a FETCH line").clone();
    demand_body(&Node::fetched(&line, "BODY"));
    let structure = Node::fetched(&line, "BODYSTRUCTURE");
    demand_body(&structure);
    structure
}

fn envelope(talk: &mut Talk, number: &str) -> Vec<Node> {
    let reply = talk.say(&format!("FETCH {number} ENVELOPE"));
    let envelope = Node::fetched(reply.line_with("ENVELOPE").expect("a FETCH line"), "ENVELOPE");
    demand_envelope(&envelope);
    envelope.list().to_vec()
}

fn section(talk: &mut Talk, number: &str, name: &str) -> Reply {
    talk.say(&format!("FETCH {number} BODY.PEEK[{name}]"))
}

/// S-IMAP-01
#[test]
fn a_part_whose_type_does_not_parse() {
    let text = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"mx1\"\n\n--mx1\n\
        Content-Type: text/plain; charset=us-ascii\n\nfirst part\n--mx1\n\
        Content-Type: X-PACKED; boundary=\"\"\nContent-Transfer-Encoding: base64\n\n\
        aGVsbG8gd29ybGQK\n--mx1--\n";
    both_ways(&Example::start(), text, |talk, number| {
        let structure = structure(talk, number);
        assert!(matches!(&structure.list()[..3], [Node::List(_), Node::List(_), Node::Text(_)]));
        let packed = structure.list()[1].list();
        assert_eq!(packed[5].text(), "BASE64");
        let type_ = (packed[0].text().to_lowercase(), packed[1].text().to_lowercase());
        let type_ = (type_.0.as_str(), type_.1.as_str());
        assert!(matches!(type_, ("text", "plain") | ("application", "octet-stream")), "{type_:?}");
        assert_eq!(section(talk, number, "2").literal(), b"aGVsbG8gd29ybGQK");
    });
}

/// S-IMAP-02
#[test]
fn a_disposition_that_is_a_sentence() {
    let text = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"mx2\"\n\
        Content-Disposition: Sealed / Registered Letter No 7\n\n--mx2\n\
        Content-Type: text/plain\nContent-Disposition: inline\n\ntext\n--mx2\n\
        Content-Type: application/octet-stream; name=\"a.bin\"\n\
        Content-Transfer-Encoding: base64\n\
        Content-Disposition: attachment; filename=\"a.bin\"\n\nAAECAwQ=\n--mx2--\n";
    both_ways(&Example::start(), text, |talk, number| {
        let structure = structure(talk, number);
        let [first, second, ..] = structure.list() else { panic!("{structure:?}") };
        let inline = first.list()[9].list();
        assert_eq!((inline[0].text().to_lowercase().as_str(), &inline[1]), ("inline", &Node::Nil));
        let attachment = second.list()[8].list();
        let parameters: Vec<_> = attachment[1].list().iter().map(Node::text).collect();
        assert_eq!(parameters[0].to_lowercase(), "filename");
        assert_eq!(parameters[1], "a.bin");
    });
}

/// S-IMAP-03
#[test]
fn a_multipart_without_parts() {
    let text = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/report; report-type=delivery-status; boundary=\"mx3\"\n\n--mx3\n\
        Content-Type: text/plain\n\nYour letter came back.\n--mx3\n\
        Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.test\n\n\
        Action: failed\n--mx3\nContent-Type: message/rfc822\n\n\
        From: bob@example.test\nSubject: inner letter\nMIME-Version: 1.0\n\
        Content-Type: multipart/alternative; boundary=\"never-used\"\n\n--mx3--\n";
    both_ways(&Example::start(), text, |talk, number| {
        let structure = structure(talk, number);
        let members = structure.list();
        assert!(matches!(members[..3], [Node::List(_), Node::List(_), Node::List(_)]));
        assert_eq!(members[3].text().to_lowercase(), "report");
        let inner = &members[2].list()[7];
        assert_eq!(inner.list()[1].text(), "inner letter");
    });
}

/// S-IMAP-04
#[test]
fn quotation_marks_in_a_description() {
    let text = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"mx4\"\n\n--mx4\nContent-Type: text/plain\n\
        Content-Description: the \"final\" copy, folder \\2\n\ntext\n--mx4\n\
        Content-Type: application/octet-stream\nContent-Description: \"\"\n\
        Content-Transfer-Encoding: base64\n\nAAECAwQ=\n--mx4--\n";
    both_ways(&Example::start(), text, |talk, number| {
        let structure = structure(talk, number);
        let descriptions = structure.list()[..2].iter().map(|part| part.list()[4].text());
        let descriptions: Vec<_> = descriptions.collect();
        assert_eq!(descriptions, ["the \"final\" copy, folder \\2", "\"\""]);
    });
}

/// S-IMAP-05 and S-IMAP-06
#[test]
fn envelopes_with_absent_empty_and_group_fields() {
    let example = Example::start();
    let text = "From: Alice <alice@example.test>\nSubject: nobody in To\nCc:\n\nNo To.\n";
    both_ways(&example, text, |talk, number| {
        let members = envelope(talk, number);
        assert_eq!(members[5..8], [Node::Nil, Node::Nil, Node::Nil]);
        assert_eq!((&members[2], &members[2]), (&members[3], &members[4]));
        assert_eq!(members[8..], [Node::Nil, Node::Nil]);
    });
    let text = "From: alice@example.test\nTo: undisclosed-recipients:;\n\
        In-Reply-To: <parent-06@example.test>\n\nAn empty group.\n";
    both_ways(&example, text, |talk, number| {
        let members = envelope(talk, number);
        let group = Node::Text("undisclosed-recipients".into());
        let start = Node::List(vec![Node::Nil, Node::Nil, group, Node::Nil]);
        let end = Node::List(vec![Node::Nil; 4]);
        assert_eq!(members[5], Node::List(vec![start, end]));
        assert_eq!(members[8].text(), "<parent-06@example.test>");
        assert_eq!(members[9], Node::Nil);
    });
}

/// S-MIME-02 and S-MIME-03
#[test]
fn boundaries_that_begin_alike_or_never_close() {
    let example = Example::start();
    let alike = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"frame\"\n\n--frame\n\
        Content-Type: multipart/alternative; boundary=\"frame_inner\"\n\n--frame_inner\n\
        Content-Type: text/plain\n\nplain words\n--frame_inner\nContent-Type: text/html\n\n\
        <p>marked-up words</p>\n--frame_inner--\n\n--frame\n\
        Content-Type: text/csv; name=\"t.csv\"\n\na,b\n--frame--\n";
    let open = alike.replace("--frame_inner--\n\n", "").replace("--frame--\n", "");
    for text in [alike, &open] {
        both_ways(&example, text, |talk, number| {
            let structure = structure(talk, number);
            let [inner, csv, mixed, ..] = structure.list() else { panic!("{structure:?}") };
            assert_eq!(mixed.text().to_lowercase(), "mixed");
            assert_eq!(csv.list()[1].text().to_lowercase(), "csv");
            assert_eq!(inner.list()[2].text().to_lowercase(), "alternative");
            assert_eq!(section(talk, number, "1.1").literal(), b"plain words");
            let csv = section(talk, number, "2").literal().to_vec();
            assert_eq!(csv.trim_ascii_end(), b"a,b");
        });
    }
}

/// S-MIME-04, S-MIME-05 and S-MIME-06
#[test]
fn dates_and_encoded_words_are_searched_by_meaning() {
    let example = Example::start();
    for (date, subject, word) in [
        (
            "Tue, 3 Mar 2026 11:15:00 +0200 (GMT+02:00)",
            "=?UTF-8?Q?P=C5=99=C3=ADli=C5=A1_=C5=BElu=C5?=\n =?UTF-8?Q?=A5ou=C4=8Dk=C3=BD?=",
            "žluťoučký",
        ),
        (
            "Tue, 03 Mar 2026 09:15:00 UT",
            "=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=\n =?ISO-2022-JP?B?GyRCOGwkTjdvTD4bKEI=?=",
            "日本語の件名",
        ),
        ("3 Mar 26 09:15 GMT", "date form c", "form c"),
    ] {
        let text = format!("From: a@example.test\nDate: {date}\nSubject: {subject}\n\ntext\n");
        both_ways(&example, &text, |talk, number| {
            let on = talk.say(&format!("SEARCH {number} SENTON 3-Mar-2026"));
            assert_eq!(on.0[0].text, format!("* SEARCH {number}"), "{date}");
            talk.send(format!("x SEARCH CHARSET UTF-8 {number} SUBJECT ").as_bytes());
            talk.send(format!("{{{}+}}\r\n{word}\r\n", word.len()).as_bytes());
            let found = talk.imap_reply("x");
            assert_eq!(found.0[0].text, format!("* SEARCH {number}"), "{word}");
        });
    }
}

/// S-MIME-01: pieces of a name are put together by number, and only those with a star are decoded.
#[test]
fn a_name_in_three_pieces() {
    let text = "From: a@example.test\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"pp1\"\n\n--pp1\nContent-Type: text/plain\n\n\
        see attachment\n--pp1\nContent-Type: application/pdf\n\
        Content-Transfer-Encoding: base64\nContent-Disposition: attachment;\n \
        filename*0*=UTF-8''%C5%BElu%C5%A5;\n filename*1*=%20report%20;\n \
        filename*2=\"(final).pdf\"\n\nJVBERi0xLjQK\n--pp1--\n";
    both_ways(&Example::start(), text, |talk, number| {
        let structure = structure(talk, number);
        let disposition = structure.list()[1].list()[8].list();
        let parameters: Vec<&str> = disposition[1].list().iter().map(Node::text).collect();
        assert_eq!(name_of(&parameters), "žluť report (final).pdf", "{parameters:?}");
    });
}

/// The file name that parameters in the form of RFC 2231 stand for, or the plain one.
fn name_of(parameters: &[&str]) -> String {
    let named = |name: &str| name.to_ascii_lowercase().strip_prefix("filename").map(str::to_owned);
    let mut pieces: Vec<(String, &str)> =
        parameters.chunks(2).filter_map(|pair| Some((named(pair[0])?, pair[1]))).collect();
    pieces.sort_unstable();
    let mut bytes = Vec::new();
    for (piece, value) in pieces {
        let value = value.strip_prefix("UTF-8''").unwrap_or(value);
        let mut rest = value.as_bytes();
        while let [first, behind @ ..] = rest {
            match (first, behind) {
                (b'%', [high, low, more @ ..]) if piece.ends_with('*') => {
                    let digits = [*high, *low];
                    let digits = std::str::from_utf8(&digits).unwrap();
                    bytes.push(u8::from_str_radix(digits, 16).unwrap());
                    rest = more;
                }
                _ => {
                    bytes.push(*first);
                    rest = behind;
                }
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
