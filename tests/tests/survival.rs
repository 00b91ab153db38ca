//! What a server keeps when it is killed, stopped and started again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::time::{Duration, Instant};
use tests::{Server, Talk};

const LETTER: &[u8] = b"From: a@example.test\r\nSubject: kept\r\n\r\nStill here.\r\n";

#[test]
fn acknowledged_mail_is_there_after_a_kill() {
    let mut server = Server::demo(&["--no-mail"]);
    Talk::smtp(server.smtp()).deliver(
        "a@example.test",
        &["ada@demo.test", "ben@demo.test"],
        LETTER,
    );
    let mut talk = Talk::imap(server.imap(), "ada@demo.test", "demo");
    talk.append("Drafts", LETTER);
    talk.say("SELECT Drafts");
    talk.say("STORE 1 +FLAGS (\\Flagged)");
    server.kill();
    server.restart();
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);
    assert_eq!(server.inbox_count("ben", "demo", 1), 1);
    let mut talk = Talk::imap(server.imap(), "ada@demo.test", "demo");
    talk.say("SELECT Drafts");
    let reply = talk.say("FETCH 1 (FLAGS BODY.PEEK[])");
    assert_eq!(reply.literal(), LETTER);
    assert!(reply.text().contains("\\Flagged"), "{}", reply.text());
}

#[test]
fn an_orderly_stop_loses_nothing_and_says_goodbye() {
    let mut server = Server::demo(&["--no-mail"]);
    Talk::smtp(server.smtp()).deliver("a@example.test", &["ada@demo.test"], LETTER);
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);
    let mut idler = Talk::imap(server.imap(), "ada", "demo");
    idler.say("SELECT INBOX");
    idler.ask("IDLE");
    server.stop();
    assert!(idler.line().text.starts_with("* BYE"), "an idling session is told");
    server.restart();
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);
    let log = server.log();
    assert!(!log.contains(" ERROR ") && !log.contains(" failure "), "{log}");
}

#[test]
fn sigterm_is_an_orderly_stop() {
    let mut server = Server::demo(&["--no-mail"]);
    let mut kill = std::process::Command::new("kill");
    tests::run(kill.args(["-TERM", &server.pid().to_string()]), b"").fine();
    assert_eq!(server.wait(), 0, "{}", server.log());
}

#[test]
fn the_demo_has_mail_and_starts_quickly_the_second_time() {
    let mut server = Server::demo(&[]);
    let mut talk = Talk::imap(server.imap(), "ada@demo.test", "demo");
    let reply = talk.say("SELECT INBOX");
    let exists = reply.line_with(" EXISTS").expect("EXISTS").text.clone();
    let count: u32 = exists.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(count > 3, "the demo's people have mail: {exists}");
    drop(talk);
    server.stop();
    let took = server.restart();
    assert!(took < Duration::from_secs(5), "the second start took {took:?}");
    let again = Talk::imap(server.imap(), "ada", "demo").say("SELECT INBOX");
    assert_eq!(again.line_with(" EXISTS").expect("EXISTS").text, exists);
}

#[test]
fn what_another_session_does_is_seen() {
    let server = Server::demo(&["--no-mail"]);
    let mut one = Talk::imap(server.imap(), "ada", "demo");
    let mut two = Talk::imap(server.imap(), "ada", "demo");
    one.append("INBOX", LETTER);
    one.say("SELECT INBOX");
    two.say("SELECT INBOX");
    one.say("STORE 1 +FLAGS (\\Answered)");
    assert!(two.say("NOOP").text().contains("\\Answered"));
    one.say("STORE 1 +FLAGS (\\Deleted)");
    one.say("EXPUNGE");
    assert!(two.say("NOOP").line_with("* 1 EXPUNGE").is_some());
}

#[test]
fn a_message_of_ten_megabytes_comes_back_byte_for_byte() {
    let server = Server::demo(&["--no-mail"]);
    let mut letter = b"From: a@example.test\r\nSubject: big\r\n\r\n".to_vec();
    while letter.len() < 10_000_000 {
        let number = letter.len();
        letter.extend_from_slice(format!("{number} {}\r\n", "lotus ".repeat(10)).as_bytes());
    }
    Talk::smtp(server.smtp()).deliver("a@example.test", &["ada@demo.test"], &letter);
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.say("SELECT INBOX");
    let began = Instant::now();
    let reply = talk.say("FETCH 1 BODY.PEEK[]");
    assert!(reply.literal().ends_with(&letter));
    assert!(began.elapsed() < Duration::from_secs(10));
}
