//! Another door works on the same mail file meanwhile.

use mailfile::{FlagChange, FlagMode, Marks};
use store::EntryFlags;

use crate::fixture::{Choices, LETTER, Server};

fn seen(server: &Server) -> Vec<bool> {
    let file = server.file("alice");
    let inbox = file.open_folder("INBOX").unwrap().value;
    let uids: Vec<u32> = inbox.uids.iter().collect();
    let entries = file.entries(inbox.folder.id, &uids).unwrap().value;
    entries.iter().map(|entry| entry.flags.contains(EntryFlags::SEEN)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_removed_elsewhere_keep_their_numbers() {
    let server = Server::start();
    server.fill(4);
    let mut client = server.alice().await;
    let file = server.file("alice");
    let inbox = file.open_folder("INBOX").unwrap().value.folder.id;
    let marks = Marks { flags: EntryFlags::DELETED, keywords: Vec::new() };
    file.change_flags(inbox, &[2], &FlagChange::new(FlagMode::Add, marks)).unwrap();
    file.expunge(inbox, None).unwrap();
    server.put(LETTER);
    assert_eq!(client.run("STAT").await, "+OK 4 72");
    assert!(client.run("RETR 2").await.starts_with("-ERR"));
    assert!(client.run("TOP 2 0").await.starts_with("-ERR"));
    assert_eq!(client.long("RETR 3").await, LETTER);
    client.ok("DELE 2").await;
    client.ok("DELE 4").await;
    client.ok("QUIT").await;
    assert_eq!(server.uids(), [1, 3, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn retrieved_messages_are_read_after_quit() {
    let server = Server::start();
    server.fill(3);
    let mut client = server.alice().await;
    client.long("RETR 2").await;
    client.long("TOP 3 1").await;
    client.long("RETR 1").await;
    client.ok("DELE 1").await;
    assert_eq!(seen(&server), [false, false, false]);
    client.ok("QUIT").await;
    assert_eq!(seen(&server), [true, false]);
    let settings = pop3::Settings { mark_seen: false, ..Choices::default().settings };
    let server = Server::with(Choices { settings, tls: None });
    server.put(LETTER);
    let mut client = server.alice().await;
    client.long("RETR 1").await;
    client.ok("QUIT").await;
    assert_eq!(seen(&server), [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_messages_are_sent_whole_and_a_slow_reader_holds_up_nobody() {
    let server = Server::start();
    let line = b".dots and some more text to fill the line\r\n";
    let letter = [b"Subject: large\r\n\r\n".to_vec(), line.repeat(60_000)].concat();
    server.put(&letter);
    let mut slow = server.alice().await;
    assert_eq!(slow.run("LIST 1").await, format!("+OK 1 {}", letter.len()));
    slow.send("RETR 1\r\n").await;
    // Far more than the pipe between the two takes; nothing of it is read until later.
    for _ in 0..3 {
        server.put(&letter);
    }
    let mut other = server.guest().await;
    other.ok("USER bob").await;
    other.ok("PASS pw-bob-1").await;
    other.ok("QUIT").await;
    assert_eq!(slow.line().await, format!("+OK {} octets", letter.len()));
    assert!(slow.rest().await == letter);
    assert_eq!(slow.long("TOP 1 1").await, letter[..18 + line.len()].to_vec());
}

#[tokio::test(flavor = "multi_thread")]
async fn base64_of_any_line_end_is_counted_as_it_is_sent() {
    let server = Server::start();
    let head = "MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n\
                Content-Transfer-Encoding: base64\r\n\r\n";
    let lines = |eol: &str| format!("{}{eol}", "QUJD".repeat(19)).repeat(400);
    let crlf = format!("{head}{}", lines("\r\n"));
    let lf = format!("{head}{}", lines("\n"));
    let open = format!("{head}{}", lines("\r\n").trim_end());
    for message in [&crlf, &lf, &open] {
        server.put(message.as_bytes());
    }
    for _ in 0..2 {
        let mut client = server.alice().await;
        for number in 1..=3 {
            assert_eq!(
                client.run(&format!("LIST {number}")).await,
                format!("+OK {number} {}", crlf.len())
            );
            assert_eq!(client.long(&format!("RETR {number}")).await, crlf.as_bytes());
        }
        client.ok("QUIT").await;
        client.ends().await;
    }
}
