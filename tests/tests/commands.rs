//! The command line: what commands print, and how they end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::process::Command;
use tests::{Example, Server, Talk, nelumbo, run};

#[test]
fn people_come_change_and_go() {
    let example = Example::start();
    let server = &example.0;
    let list = || server.command(&["user", "list"], &["--json"]).json();
    let names = |list: &serde_json::Value| -> Vec<String> {
        let rows = list.as_array().expect("an array").iter();
        rows.map(|row| row["short_name"].as_str().unwrap().to_owned()).collect()
    };
    let people = list();
    for name in ["alice", "bob"] {
        assert!(names(&people).contains(&name.to_owned()), "{people}");
    }
    assert_eq!(names(&people).len(), 3, "the administrator is listed too: {people}");
    for row in people.as_array().unwrap() {
        for field in ["full_name", "short_name", "internet_address", "mail_file"] {
            assert!(row[field].is_string(), "{field} in {row}");
        }
    }
    let alice = people.as_array().unwrap().iter().find(|row| row["short_name"] == "alice");
    let alice = alice.unwrap();
    assert_eq!(alice["internet_address"], "alice@example.test");
    let mail_file = alice["mail_file"].as_str().unwrap().to_owned();

    let add = ["Carol Example", "--short-name", "carol", "--password-stdin"];
    server.command_with(&["user", "add"], &add, b"pw-carol-1\n").fine();
    Talk::imap(server.imap(), "carol", "pw-carol-1");
    let twice = server.command_with(&["user", "add"], &add, b"pw-carol-1\n");
    assert_eq!(twice.code, 2, "{}", twice.err);
    assert!(twice.err.to_lowercase().contains("carol"), "{}", twice.err);

    server.command_with(&["user", "passwd"], &["alice", "--password-stdin"], b"new-1\n").fine();
    Talk::imap(server.imap(), "alice", "new-1");
    let mut talk = Talk::connect(server.imap());
    talk.line();
    let old = talk.ask("LOGIN alice pw-alice-1");
    assert!(old.last().contains(" NO "), "the old password is over: {}", old.text());

    server.command(&["user", "remove"], &["carol"]).fine();
    assert!(!names(&list()).contains(&"carol".to_owned()));
    let gone = server.command(&["user", "remove"], &["carol"]);
    assert_eq!(gone.code, 2, "{}", gone.err);

    let info = server.command(&["db", "info"], &[&mail_file, "--json"]).json();
    for field in [
        "path",
        "title",
        "replica_id",
        "dbiid",
        "ods",
        "notes",
        "deleted",
        "size_bytes",
        "logical_bytes",
        "checkpointed_lsn",
        "applied_lsn",
    ] {
        assert!(!info[0][field].is_null(), "{field} in {info}");
    }
}

#[test]
fn commands_look_into_databases_objects_and_log() {
    let server = Server::demo(&["--no-mail"]);
    let body = "lotus ".repeat(20_000);
    let letter = format!("From: a@example.test\r\nSubject: Pond\r\n\r\n{body}\r\n");
    Talk::smtp(server.smtp()).deliver("a@example.test", &["ada@demo.test"], letter.as_bytes());
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);

    let all = server.command(&["db", "list"], &["--json"]).json();
    let paths: Vec<_> = all.as_array().unwrap().iter().map(|row| row["path"].clone()).collect();
    for path in ["names.nsf", "mail.box", "mail1.box", "mail/ada.nsf"] {
        assert!(paths.contains(&path.into()), "{path} in {paths:?}");
    }
    let cat = server.command(&["db", "cat"], &["mail/ada.nsf"]).fine();
    assert!(cat.contains("Pond"), "{cat}");
    let absent = server.command(&["db", "cat"], &["mail/nobody.nsf"]);
    assert_eq!(absent.code, 2, "{}", absent.err);
    assert!(absent.err.contains("mail/nobody.nsf"), "{}", absent.err);

    let objects = server.command(&["objects", "status"], &["--json"]).json();
    for field in
        ["objects", "references", "unreferenced", "logical_bytes", "stored_bytes", "segments"]
    {
        assert!(objects[field].is_u64(), "{field} in {objects}");
    }
    assert!(objects["objects"].as_u64().unwrap() >= 1, "{objects}");
    server.command(&["objects", "verify"], &[]).fine();
    server.command(&["objects", "resync"], &[]).fine();

    let log = server.command(&["log", "status"], &["--json"]).json();
    for field in ["style", "extents", "bytes", "durable_lsn", "oldest_needed_lsn"] {
        assert!(!log[field].is_null(), "{field} in {log}");
    }
}

#[test]
fn the_console_of_a_running_server() {
    let mut server = Server::demo(&["--no-mail"]);
    for (line, part) in [
        ("show server", "emo"),
        ("show tasks", "IMAP"),
        ("show users", ""),
        ("show stat", "Mail"),
        ("show database", "names.nsf"),
        ("dbcache flush", ""),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = server.command(&["console"], &words).fine();
        assert!(said.contains(part), "{line}: {said}");
    }
    let odd = server.command(&["console"], &["show", "nonsense"]);
    assert_eq!(odd.code, 2, "{} {}", odd.out, odd.err);
    server.command(&["status"], &[]).fine();
    server.command(&["check"], &[]).fine();
    server.stop();
    let late = server.command(&["console"], &["show", "server"]);
    assert!(matches!(late.code, 2 | 3), "{}: {}", late.code, late.err);
    assert!(late.err.contains("serve"), "says what to do: {}", late.err);
    // without a server a command opens the data itself
    let people = server.command(&["user", "list"], &["--json"]).json();
    assert_eq!(people.as_array().unwrap().len(), 13, "{people}");
}

#[test]
fn misuse_is_told_with_exit_code_2() {
    let home = tempfile::tempdir().unwrap();
    let absent = home.path().join("nothing-here");
    let absent = absent.to_str().unwrap();
    for (arguments, code) in [
        (vec!["frobnicate"], 2),
        (vec!["user", "list", absent], 2),
        (vec!["serve", absent], 2),
        (vec!["demo", "--port-offset", "many"], 2),
        (vec!["version"], 0),
        (vec!["--help"], 0),
    ] {
        let outcome = run(Command::new(nelumbo()).args(&arguments), b"");
        assert_eq!(outcome.code, code, "{arguments:?}: {} {}", outcome.out, outcome.err);
        let said = outcome.out.len() + outcome.err.len();
        assert!(said > 5, "{arguments:?} says nothing");
        assert!(!outcome.err.contains("panicked"), "{arguments:?}: {}", outcome.err);
    }
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::demo(&["--no-mail"]);
    let data = server.data();
    let outcome = run(Command::new(nelumbo()).arg("serve").arg(&data), b"");
    assert_ne!(outcome.code, 0);
    assert!(outcome.err.contains(data.to_str().unwrap()), "{}", outcome.err);
}

#[test]
fn metrics_are_served() {
    let server = Server::demo(&["--no-mail"]);
    let mut talk = Talk::connect(server.metrics());
    talk.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let status = talk.line().text;
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    loop {
        if talk.line().text.starts_with("nelumbo_") {
            break;
        }
    }
}
