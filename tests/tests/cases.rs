//! Inputs that have broken other servers, with the answer the standards ask for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::time::Duration;
use tests::{Case, Example, Protocol, Reply, Talk};

fn case(name: &str, protocol: Protocol) -> Case {
    let folder = tests::cargo_folder().join("cases");
    Case::load(&folder.join(format!("{name}.wire")), protocol)
}

fn alice(example: &Example) -> Talk {
    Talk::imap(example.0.imap(), "alice@example.test", Example::ALICE)
}

fn bob(example: &Example) -> Talk {
    Talk::imap(example.0.imap(), "bob@example.test", Example::BOB)
}

#[test]
fn smtp_dialogues() {
    let example = Example::start();
    for name in ["S-SMTP-01", "S-SMTP-02", "S-SMTP-03", "S-SMTP-04", "S-SMTP-05"] {
        let mut talk = Talk::connect(example.0.smtp());
        talk.smtp_reply("220");
        case(name, Protocol::Smtp).play(&mut talk);
    }
}

#[test]
fn imap_dialogues() {
    let example = Example::start();
    case("S-IMAP-08", Protocol::Imap).play(&mut alice(&example));
    case("S-IMAP-09", Protocol::Imap).play(&mut alice(&example));
    case("S-IMAP-10", Protocol::Imap).play(&mut alice(&example));
    let mut talk = bob(&example);
    for number in 1..=3 {
        let text = format!("From: a@example.test\r\nSubject: {number}\r\n\r\n{number}\r\n");
        talk.append("INBOX", text.as_bytes());
    }
    case("S-IMAP-07", Protocol::Imap).play(&mut talk);
}

/// S-SMTP-05: the sender's quotes stay in the Return-Path.
#[test]
fn a_quoted_sender_keeps_its_quotes() {
    let example = Example::start();
    let mut talk = Talk::smtp(example.0.smtp());
    let text = b"From: n@example.org\r\nSubject: night\r\n\r\nx\r\n";
    talk.deliver("\"night clerk\"@example.org", &["bob@example.test"], text);
    assert_eq!(example.0.inbox_count("bob", Example::BOB, 1), 1);
    let message = fetch_last(&mut bob(&example), "BODY.PEEK[HEADER]");
    let header = String::from_utf8_lossy(message.literal()).into_owned();
    assert!(header.contains("Return-Path: <\"night clerk\"@example.org>"), "{header}");
}

fn fetch_last(talk: &mut Talk, item: &str) -> Reply {
    talk.say("SELECT INBOX");
    talk.say(&format!("FETCH * {item}"))
}

/// S-SMTP-06: dots at line beginnings, however the octets are cut into packets.
#[test]
fn dots_are_removed_wherever_the_stream_is_cut() {
    const LETTER: &[u8] = b"..first: a header whose name starts with a dot\r\n\
        Subject: dots\r\n\r\n\
        ..two on the wire, one stored\r\n\
        ...three on the wire, two stored\r\n\
        ..\r\nlast\r\n.\r\n";
    const STORED: &str = ".first: a header whose name starts with a dot\r\n\
        Subject: dots\r\n\r\n\
        .two on the wire, one stored\r\n\
        ..three on the wire, two stored\r\n\
        .\r\nlast\r\n";
    let example = Example::start();
    let mut cuts: Vec<Vec<&[u8]>> = vec![vec![LETTER], LETTER.chunks(1).collect()];
    for back in 1..=12 {
        let (before, after) = LETTER.split_at(LETTER.len() - back);
        cuts.push(vec![before, after]);
    }
    let mut talk = Talk::smtp(example.0.smtp());
    for pieces in &cuts {
        talk.tell("MAIL FROM:<alice@example.test>", "250");
        talk.tell("RCPT TO:<bob@example.test>", "250");
        talk.tell("DATA", "354");
        for piece in pieces {
            talk.send(piece);
            // lets the packet go out by itself
            std::thread::sleep(Duration::from_micros(200));
        }
        talk.smtp_reply("250");
    }
    assert_eq!(example.0.inbox_count("bob", Example::BOB, cuts.len()), cuts.len());
    let mut reader = bob(&example);
    reader.say("SELECT INBOX");
    for number in 1..=cuts.len() {
        let reply = reader.say(&format!("FETCH {number} BODY.PEEK[]"));
        let text = String::from_utf8_lossy(reply.literal()).into_owned();
        assert!(text.ends_with(STORED), "cut {number}: {text}");
    }
}

/// S-SMTP-07 and the report of S-SMTP-03: a group that leads nowhere, after acceptance.
#[test]
fn a_report_goes_out_once_and_never_about_a_report() {
    let example = Example::start();
    let group = ["Ghosts", "--address", "ghosts@example.test", "--member", "no-such@example.test"];
    example.0.command(&["group", "add"], &group).fine();
    let text = b"From: alice@example.test\r\nSubject: lost\r\n\r\nsecret body\r\n";
    let mut talk = Talk::smtp(example.0.smtp());
    let sender = "MAIL FROM:<alice@example.test> RET=HDRS ENVID=JOB:7+20[/PRMD+3DDemo/C+3DXX/;H-1";
    talk.tell(sender, "250");
    talk.tell("RCPT TO:<ghosts@example.test>", "250");
    talk.tell("DATA", "354");
    talk.send(text);
    talk.send(b".\r\n");
    talk.smtp_reply("250");
    assert_eq!(example.0.inbox_count("alice", Example::ALICE, 1), 1);
    let report = fetch_last(&mut alice(&example), "BODY.PEEK[]");
    let report = String::from_utf8_lossy(report.literal()).into_owned();
    for part in [
        "Return-Path: <>",
        "multipart/report",
        "Original-Envelope-Id: JOB:7 [/PRMD=Demo/C=XX/;H-1",
        "Subject: lost",
    ] {
        assert!(report.contains(part), "no {part:?} in\n{report}");
    }
    assert!(!report.contains("secret body"), "RET=HDRS returns the header alone:\n{report}");

    // nobody is told about a message that came from nobody
    talk.deliver("", &["ghosts@example.test"], text);
    talk.deliver("bob@example.test", &["alice@example.test"], text);
    assert_eq!(example.0.inbox_count("alice", Example::ALICE, 2), 2);
    assert_eq!(example.0.inbox_count("bob", Example::BOB, 0), 0);
}

/// S-IMAP-10, second half: a session that idles hears of the new message.
#[test]
fn an_idling_session_hears_of_an_append() {
    let example = Example::start();
    let mut idler = alice(&example);
    idler.say("SELECT INBOX");
    let go = idler.ask("IDLE");
    assert!(go.last().starts_with('+'), "{}", go.text());
    alice(&example).append("INBOX", b"From: a@example.test\r\nSubject: x\r\n\r\nhi\r\n");
    loop {
        let line = idler.line().text;
        if line == "* 1 EXISTS" {
            break;
        }
        assert!(line.starts_with("* "), "{line}");
    }
    idler.send(b"DONE\r\n");
    let tag = "t3";
    assert!(idler.imap_reply(tag).last().starts_with("t3 OK"));
}

/// S-IMAP-11: windows that reach past the end, appended and delivered.
#[test]
fn partial_reads_past_the_end() {
    let head = "From: a@example.test\r\nTo: b@example.test\r\nSubject: small\r\n\r\n";
    let line = format!("{}\r\n", "x".repeat(600 - head.len() - 2));
    let whole = format!("{head}{line}").into_bytes();
    assert_eq!(whole.len(), 600);
    let example = Example::start();
    let mut talk = alice(&example);
    talk.append("INBOX", &whole);
    talk.say("SELECT INBOX");
    for (window, name, length) in [
        ("0.393216", "<0>", 600),
        ("5.10", "<5>", 10),
        ("599.5", "<599>", 1),
        ("600.10", "<600>", 0),
        ("393216.393216", "<393216>", 0),
    ] {
        for (section, section_length) in [("", 600), ("TEXT", line.len()), ("1", line.len())] {
            let reply = talk.say(&format!("FETCH 1 BODY.PEEK[{section}]<{window}>"));
            let fetched = reply.line_with("FETCH").expect("a FETCH line");
            assert!(fetched.text.contains(&format!("BODY[{section}]{name}")), "{fetched:?}");
            let got = fetched.literals.first().map_or(0, Vec::len);
            let from: usize = window.split('.').next().unwrap().parse().unwrap();
            let asked: usize = window.split('.').nth(1).unwrap().parse().unwrap();
            let wanted = asked.min(section_length.saturating_sub(from));
            assert_eq!(got, wanted, "BODY[{section}]<{window}>");
            if section.is_empty() {
                assert_eq!(got, length);
            }
        }
    }
    let mut joined = Vec::new();
    for from in (0..600).step_by(100) {
        let reply = talk.say(&format!("UID FETCH 1 BODY.PEEK[]<{from}.100>"));
        joined.extend_from_slice(reply.literal());
    }
    assert_eq!(joined, whole);
}

/// S-IMAP-12: literals that do not wait, those that do, and those that are none.
#[test]
fn sign_in_with_literals() {
    let example = Example::start();
    let mut talk = Talk::connect(example.0.imap());
    talk.line();
    talk.send(b"a1 LOGIN {18+}\r\nalice@example.test {10+}\r\npw-alice-1\r\na2 NOOP\r\n");
    assert!(talk.imap_reply("a1").last().starts_with("a1 OK"), "no continuation request comes");
    assert!(talk.imap_reply("a2").last().starts_with("a2 OK"));

    let mut talk = Talk::connect(example.0.imap());
    talk.line();
    for (part, answer) in
        [("a1 LOGIN {18}", "+"), ("alice@example.test {10}", "+"), ("pw-alice-1", "a1 OK")]
    {
        talk.send(format!("{part}\r\n").as_bytes());
        let reply = talk.imap_reply("a1");
        assert!(reply.last().starts_with(answer), "{part}: {}", reply.text());
    }

    for broken in ["{+10}", "{10++}", "{10 }"] {
        let mut talk = Talk::connect(example.0.imap());
        talk.line();
        talk.send(format!("a1 LOGIN {broken}\r\n").as_bytes());
        assert!(talk.imap_reply("a1").last().starts_with("a1 BAD"), "{broken}");
    }
    let mut talk = Talk::connect(example.0.imap());
    talk.line();
    talk.send(b"a1 LOGIN {4294967296}\r\n");
    let answer = talk.line().text;
    let refused = ["a1 BAD", "a1 NO", "* BYE"].iter().any(|start| answer.starts_with(start));
    assert!(refused, "{answer}");
}
