//! What programs that fetch mail over POP3 meet.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use tests::{Example, Talk};

fn example(letters: &[&str]) -> Example {
    let example = Example::start();
    let mut talk = Talk::imap(example.0.imap(), "bob@example.test", Example::BOB);
    for letter in letters {
        talk.append("INBOX", letter.as_bytes());
    }
    example
}

fn bob(example: &Example) -> Talk {
    Talk::pop3(example.0.pop3(), "bob@example.test", Example::BOB)
}

const THREE: [&str; 3] = [
    "From: a@example.test\r\nSubject: one\r\n\r\n1\r\n",
    "From: a@example.test\r\nSubject: two\r\n\r\n22\r\n",
    "From: a@example.test\r\nSubject: three\r\n\r\n333\r\n",
];

/// S-POP-01: dots at the beginnings of lines, in the whole message and in its top.
#[test]
fn dots_get_one_more_on_the_wire_and_do_not_count() {
    let letter = "From: alice@example.test\r\nSubject: dots over POP\r\n\r\nline one\r\n\
        .02 begins with a dot\r\n.\r\n..\r\nlast line\r\n";
    let example = example(&[letter]);
    let mut talk = bob(&example);
    let wire = talk.pop_lines("RETR 1");
    let stuffed = ["..02 begins with a dot", "..", "..."];
    assert_eq!(wire[4..7], stuffed);
    let plain: Vec<&str> = wire.iter().map(|line| line.strip_prefix('.').unwrap_or(line)).collect();
    assert_eq!(plain.join("\r\n") + "\r\n", letter);
    assert_eq!(talk.pop_lines("TOP 1 2"), wire[..5]);
    assert_eq!(talk.pop_lines("TOP 1 0"), wire[..3]);
    let size = format!("+OK 1 {}", letter.len());
    assert_eq!(talk.pop("LIST 1", "+OK"), size);
    let mut imap = Talk::imap(example.0.imap(), "bob", Example::BOB);
    imap.say("SELECT INBOX");
    assert_eq!(imap.say("FETCH 1 BODY.PEEK[]").literal(), letter.as_bytes());
}

/// S-POP-02: what is marked as deleted is neither listed nor counted, until RSET.
#[test]
fn deleted_messages_are_not_listed() {
    let example = example(&THREE);
    let mut talk = bob(&example);
    let sum = |which: &[usize]| which.iter().map(|i| THREE[*i].len()).sum::<usize>();
    assert_eq!(talk.pop("STAT", "+OK"), format!("+OK 3 {}", sum(&[0, 1, 2])));
    talk.pop("DELE 2", "+OK");
    assert_eq!(talk.pop("STAT", "+OK"), format!("+OK 2 {}", sum(&[0, 2])));
    let numbers = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect()
    };
    assert_eq!(numbers(talk.pop_lines("LIST")), ["1", "3"]);
    assert_eq!(numbers(talk.pop_lines("UIDL")), ["1", "3"]);
    for command in ["LIST 2", "UIDL 2", "RETR 2", "TOP 2 0", "DELE 2"] {
        talk.pop(command, "-ERR");
    }
    talk.pop("RSET", "+OK");
    talk.pop("LIST 2", "+OK 2 ");
    talk.pop("QUIT", "+OK");
    assert_eq!(example.0.inbox_count("bob", Example::BOB, 3), 3);
}

/// S-POP-02, second half: only QUIT removes anything; unique ids stay over sessions and restarts.
#[test]
fn a_lost_connection_deletes_nothing() {
    let mut example = example(&THREE);
    let mut talk = bob(&example);
    let before = talk.pop_lines("UIDL");
    talk.pop("DELE 1", "+OK");
    talk.pop("DELE 3", "+OK");
    drop(talk);
    // the mail file is free again as soon as the server has seen the end
    let began = std::time::Instant::now();
    let mut talk = loop {
        let mut talk = Talk::connect(example.0.pop3());
        talk.line();
        talk.pop("USER bob@example.test", "+OK");
        talk.send(format!("PASS {}\r\n", Example::BOB).as_bytes());
        let answer = talk.line().text;
        if answer.starts_with("+OK") {
            break talk;
        }
        assert!(answer.starts_with("-ERR [IN-USE]"), "{answer}");
        assert!(began.elapsed().as_secs() < 10, "{answer}");
    };
    assert_eq!(talk.pop_lines("UIDL"), before);
    talk.pop("DELE 1", "+OK");
    talk.pop("QUIT", "+OK");
    example.0.kill();
    example.0.restart();
    let mut talk = bob(&example);
    let after = talk.pop_lines("UIDL");
    let id = |line: &String| line.split_once(' ').unwrap().1.to_owned();
    let expected: Vec<String> = before[1..].iter().map(id).collect();
    assert_eq!(after.iter().map(id).collect::<Vec<_>>(), expected);
}

/// Two sessions at once would delete under each other's numbers.
#[test]
fn one_session_for_each_mail_file() {
    let example = example(&THREE);
    let first = bob(&example);
    let mut second = Talk::connect(example.0.pop3());
    second.line();
    second.pop("USER bob@example.test", "+OK");
    second.pop(&format!("PASS {}", Example::BOB), "-ERR [IN-USE]");
    drop(first);
    let mut alice = Talk::pop3(example.0.pop3(), "alice@example.test", Example::ALICE);
    alice.pop("STAT", "+OK 0 0");
    alice.pop("QUIT", "+OK");
}

/// Commands sent at once are answered in order; nonsense gets an error and no more.
#[test]
fn pipelined_and_malformed_commands() {
    let example = example(&THREE);
    let mut talk = bob(&example);
    let capabilities = talk.pop_lines("CAPA");
    for name in ["TOP", "UIDL", "USER", "RESP-CODES", "PIPELINING"] {
        assert!(capabilities.iter().any(|line| line == name), "{name}: {capabilities:?}");
    }
    talk.send(
        b"NOOP\r\nLIST 1\r\nLIST 4\r\nRETR\r\nTOP 1\r\nTOP 1 -1\r\nDELE 0\r\nFROB\r\n\r\nSTAT\r\n",
    );
    for wanted in
        ["+OK", "+OK 1 ", "-ERR", "-ERR", "-ERR", "-ERR", "-ERR", "-ERR", "-ERR", "+OK 3 "]
    {
        let answer = talk.line().text;
        assert!(answer.starts_with(wanted), "{wanted}: {answer}");
    }
    talk.send(format!("NOOP {}\r\n", "x".repeat(20_000)).as_bytes());
    let answer = talk.line().text;
    assert!(answer.starts_with("-ERR"), "{answer}");
}
