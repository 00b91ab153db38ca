//! Structure and envelope answers of messages that broke other software, read by a parser that is
//! not the door's own.

use crate::client::Client;
use crate::dialogues::message;
use crate::fixture::Server;
use crate::grammar::{Address, Fetched, fetched};

/// Appends messages of the collection and opens INBOX.
async fn loaded(server: &Server, names: &[&str]) -> Client {
    let mut client = server.alice().await;
    for name in names {
        client.append("INBOX", &message(name)).await;
    }
    client.ok("SELECT INBOX").await;
    client
}

async fn fetch(client: &mut Client, command: &str) -> Vec<Fetched> {
    let replies = client.ok(command).await;
    replies.untagged.iter().map(|unit| fetched(unit)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_without_subtype_counts_as_absent() {
    let server = Server::start();
    let mut client = loaded(&server, &["part-without-subtype.eml"]).await;
    let found = fetch(&mut client, "FETCH 1 (BODY BODYSTRUCTURE)").await.remove(0);
    for body in [found.body.unwrap(), found.structure.unwrap()] {
        assert_eq!(body.children.len(), 2);
        let second = &body.children[1];
        let known = [("text", "plain"), ("application", "octet-stream")];
        assert!(known.contains(&(&second.kind, &second.subtype)), "{second:?}");
        assert_eq!(second.encoding, "base64");
    }
    let found = fetch(&mut client, "FETCH 1 (BODY.PEEK[2] BODY.PEEK[2.MIME])").await.remove(0);
    assert_eq!(found.section("BODY[2]").unwrap(), b"aGVsbG8gd29ybGQK");
    assert!(found.section("BODY[2.MIME]").unwrap().starts_with(b"Content-Type: X-PACKED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disposition_is_a_list_or_nil() {
    let server = Server::start();
    let mut client = loaded(&server, &["disposition-sentence.eml"]).await;
    let body = fetch(&mut client, "FETCH 1 BODYSTRUCTURE").await.remove(0).structure.unwrap();
    assert!(body.extended);
    assert_eq!(body.params, [(String::from("boundary"), b"mx2".to_vec())]);
    assert_eq!(body.children[0].disposition, Some((String::from("inline"), Vec::new())));
    let (kind, params) = body.children[1].disposition.clone().unwrap();
    assert_eq!(kind, "attachment");
    assert_eq!(params, [(String::from("filename"), b"a.bin".to_vec())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_multipart_without_parts_has_a_child_all_the_same() {
    let server = Server::start();
    let mut client = loaded(&server, &["multipart-without-parts.eml"]).await;
    let found = fetch(&mut client, "FETCH 1 (BODY BODYSTRUCTURE)").await.remove(0);
    for body in [found.body.unwrap(), found.structure.unwrap()] {
        assert_eq!(body.children.len(), 3);
        let letter = &body.children[2];
        let envelope = letter.envelope.as_ref().unwrap();
        assert_eq!(envelope.subject.as_deref(), Some(&b"inner letter"[..]));
        assert!(letter.lines.is_some());
        assert_eq!(letter.children.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quotes_in_a_description_are_escaped() {
    let server = Server::start();
    let mut client = loaded(&server, &["quotes-in-description.eml"]).await;
    let found = fetch(&mut client, "FETCH 1 (BODY BODYSTRUCTURE)").await.remove(0);
    for body in [found.body.unwrap(), found.structure.unwrap()] {
        let description = |at: usize| body.children[at].description.clone().unwrap();
        assert_eq!(description(0), br#"the "final" copy, folder \2"#);
        assert_eq!(description(1), br#""""#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn envelopes_have_ten_members_and_nil_for_nothing() {
    let server = Server::start();
    let names = ["no-recipients.eml", "empty-group.eml", "no-ids.eml", "reply-without-id.eml"];
    let mut client = loaded(&server, &names).await;
    let found = fetch(&mut client, "FETCH 1:4 ENVELOPE").await;
    let envelopes: Vec<_> = found.into_iter().map(|f| f.envelope.unwrap()).collect();
    let [from, sender, reply_to, to, cc, bcc] = envelopes[0].addresses.clone();
    assert_eq!((to, cc, bcc), (None, None, None));
    assert!(from.is_some() && from == sender && from == reply_to);
    let markers: Vec<Address> = vec![
        [None, None, Some(b"undisclosed-recipients".to_vec()), None],
        [None, None, None, None],
    ];
    assert_eq!(envelopes[1].addresses[3], Some(markers));
    assert_eq!((&envelopes[2].in_reply_to, &envelopes[2].message_id), (&None, &None));
    let parent = Some(b"<parent-06@example.test>".to_vec());
    assert_eq!((&envelopes[3].in_reply_to, &envelopes[3].message_id), (&parent, &None));
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_reads_end_where_the_message_does() {
    let server = Server::start();
    let mut client = loaded(&server, &["six-hundred-octets.eml"]).await;
    let whole = message("six-hundred-octets.eml");
    let cases = [
        ("0.393216", 0, 600),
        ("5.10", 5, 10),
        ("599.5", 599, 1),
        ("600.10", 600, 0),
        ("393216.393216", 393_216, 0),
    ];
    for prefix in ["FETCH 1", "UID FETCH 1"] {
        for (partial, origin, length) in cases {
            let command = format!("{prefix} (BODY.PEEK[]<{partial}> BODY.PEEK[TEXT]<{partial}>)");
            let found = fetch(&mut client, &command).await.remove(0);
            let bytes = found.section(&format!("BODY[]<{origin}>")).unwrap();
            assert_eq!(bytes.len(), length, "{command}");
            assert_eq!(bytes, &whole[origin.min(600)..origin.min(600) + length]);
            assert!(found.section(&format!("BODY[TEXT]<{origin}>")).is_some());
        }
    }
    let mut joined = Vec::new();
    for origin in (0..600).step_by(100) {
        let command = format!("UID FETCH 1 BODY.PEEK[]<{origin}.100>");
        let found = fetch(&mut client, &command).await.remove(0);
        joined.extend_from_slice(found.section(&format!("BODY[]<{origin}>")).unwrap());
    }
    assert_eq!(joined, whole);
}

/// A letter with a letter in it, which holds two parts.
const NESTED: &str = "From: a@x.test\r\nSubject: outer\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n\r\nfirst\r\n--o\r\n\
    Content-Type: message/rfc822\r\n\r\nFrom: b@x.test\r\nSubject: inner\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/alternative; boundary=i\r\n\r\n--i\r\n\r\nplain\r\n--i\r\n\
    Content-Type: text/html\r\n\r\n<p>html\r\n--i--\r\n--o--\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn numbered_parts_reach_into_enclosed_messages() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.append("INBOX", NESTED.as_bytes()).await;
    client.ok("SELECT INBOX").await;
    let wanted: &[(&str, Option<&str>)] = &[
        ("1", Some("first")),
        ("1.MIME", Some("\r\n")),
        ("2.MIME", Some("Content-Type: message/rfc822\r\n\r\n")),
        ("2.HEADER.FIELDS (SUBJECT)", Some("Subject: inner\r\n\r\n")),
        ("HEADER.FIELDS (SUBJECT X-NONE)", Some("Subject: outer\r\n\r\n")),
        ("HEADER.FIELDS.NOT (SUBJECT CONTENT-TYPE MIME-VERSION)", Some("From: a@x.test\r\n\r\n")),
        ("2.1", Some("plain")),
        ("2.2", Some("<p>html")),
        ("2.2.MIME", Some("Content-Type: text/html\r\n\r\n")),
        ("3", None),
        ("2.3", None),
        ("1.1", None),
        ("1.HEADER", None),
    ];
    for (section, text) in wanted {
        let command = format!("FETCH 1 BODY.PEEK[{section}]");
        let found = fetch(&mut client, &command).await.remove(0);
        let bytes = found.section(&format!("BODY[{section}]"));
        assert_eq!(bytes.map(|b| String::from_utf8_lossy(b).into_owned()).as_deref(), *text);
    }
    let found = fetch(&mut client, "FETCH 1 (BODY.PEEK[2] BODY.PEEK[2.HEADER] BODY.PEEK[2.TEXT])");
    let found = found.await.remove(0);
    let halves = [found.section("BODY[2.HEADER]"), found.section("BODY[2.TEXT]")];
    assert_eq!(halves.map(Option::unwrap).concat(), found.section("BODY[2]").unwrap());
    let found = fetch(&mut client, "FETCH 1 (RFC822 RFC822.HEADER RFC822.TEXT RFC822.SIZE)");
    let found = found.await.remove(0);
    assert_eq!(found.section("RFC822").unwrap(), NESTED.as_bytes());
    assert_eq!(found.size, Some(NESTED.len() as u64));
    let halves = [found.section("RFC822.HEADER"), found.section("RFC822.TEXT")];
    assert_eq!(halves.map(Option::unwrap).concat(), NESTED.as_bytes());
    let body = fetch(&mut client, "FETCH 1 BODYSTRUCTURE").await.remove(0).structure.unwrap();
    assert_eq!(body.children[1].children[0].children[1].subtype, "html");
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_bit_headers_are_never_sent_between_quotes() {
    let server = Server::start();
    let mut client = server.alice().await;
    let message = "From: Zo\u{eb} <zo\u{eb}@x.test>\r\nSubject: \u{1f4ec} Entw\u{fc}rfe\r\n\
        Content-Type: text/plain; name=\"\u{e9}.txt\"\r\nContent-Description: \u{e9}\r\n\r\nx\r\n";
    client.append("INBOX", message.as_bytes()).await;
    client.append("INBOX", b"Subject: \xff\xfe\x00broken\r\nFrom: \xe9 <a@b>\r\n\r\nx").await;
    client.ok("SELECT INBOX").await;
    // The parser of the tests fails on 8-bit bytes between quotes.
    let found = fetch(&mut client, "FETCH 1:2 (ENVELOPE BODY BODYSTRUCTURE)").await;
    let subject = found[0].envelope.clone().unwrap().subject.unwrap();
    assert!(subject.starts_with(b"=?"), "{}", String::from_utf8_lossy(&subject));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_content_comes_back_byte_for_byte() {
    let server = Server::start();
    let mut client = server.alice().await;
    let line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/0123456789AB\r\n";
    let mut message = String::from(
        "Subject: large\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\n\r\ntext\r\n--b\r\nContent-Type: application/octet-stream\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n",
    );
    message.push_str(&line.repeat(20_000));
    message.push_str("--b--\r\n");
    client.append("INBOX", message.as_bytes()).await;
    client.ok("SELECT INBOX").await;
    let found = fetch(&mut client, "FETCH 1 (UID BODY.PEEK[] FLAGS BODY.PEEK[1])").await.remove(0);
    assert_eq!(found.section("BODY[]").unwrap(), message.as_bytes());
    assert_eq!(found.section("BODY[1]").unwrap(), b"text");
    let mut joined = Vec::new();
    let part = line.repeat(20_000);
    let part = part.strip_suffix("\r\n").unwrap().as_bytes();
    for origin in (0..part.len()).step_by(393_216) {
        let command = format!("UID FETCH 1 (UID BODY.PEEK[2]<{origin}.393216>)");
        let found = fetch(&mut client, &command).await.remove(0);
        joined.extend_from_slice(found.section(&format!("BODY[2]<{origin}>")).unwrap());
    }
    assert_eq!(joined, part);
}
