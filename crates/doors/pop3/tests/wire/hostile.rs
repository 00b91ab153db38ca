//! Input that is meant to do harm, and the ends of connections.

use std::time::Duration;

use pop3::Settings;

use crate::fixture::{Choices, Server};

/// A small generator of random numbers, so that a seed repeats a run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

const PIECES: &[&str] = &[
    "USER ",
    "PASS ",
    "AUTH ",
    "PLAIN",
    "=",
    "*",
    "STAT",
    "LIST ",
    "RETR ",
    "DELE ",
    "NOOP",
    "RSET",
    "TOP ",
    "UIDL ",
    "CAPA",
    "STLS",
    "alice",
    "pw alice 1",
    "1",
    "2",
    "0",
    "4294967296",
    " ",
    "-",
    "\0",
    "\r",
    "\t",
    "\u{e9}",
    "\n",
    "AGFsaWNlAHB3IGFsaWNlIDE=",
    "\r\n",
];

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_and_never_ends_the_server() {
    let server = Server::start();
    server.put(b"Subject: x\r\n\r\n.\r\n");
    for seed in 1..=60u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut client = server.guest().await;
        let mut bytes = Vec::new();
        if seed % 2 == 0 {
            bytes.extend_from_slice(b"USER alice\r\nPASS pw alice 1\r\n");
        }
        for _ in 0..30 {
            for _ in 0..1 + random.below(5) {
                bytes.extend_from_slice(PIECES[random.below(PIECES.len())].as_bytes());
            }
            bytes.extend_from_slice(b"\r\n");
        }
        // Whatever the garbage began, this ends it.
        bytes.extend_from_slice(b"\r\n*\r\nQUIT\r\nQUIT\r\n");
        client.send_until_closed(&bytes).await;
        while client.line_or_end().await.is_some() {}
    }
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
    let mut client = server.alice().await;
    client.ok("QUIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lines_are_refused_and_the_connection_lives() {
    let server = Server::start();
    let mut client = server.guest().await;
    for length in [1_025, 100_000] {
        let line = client.run(&format!("USER {}", "x".repeat(length))).await;
        assert!(line.starts_with("-ERR"), "{line}");
    }
    client.ok(&format!("USER {}", "x".repeat(1_000))).await;
    client.ok("USER alice").await;
    client.ok("PASS pw alice 1").await;
    let answer = format!("AUTH PLAIN\r\n{}", "x".repeat(20_000));
    assert!(client.run(&answer).await.starts_with("-ERR"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_end_ends_the_connection() {
    let server = Server::start();
    let mut client = server.guest().await;
    client.send_until_closed(&vec![b'x'; 3 << 20]).await;
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_broken_commands_ends_the_connection() {
    let server = Server::start();
    let mut client = server.guest().await;
    client.send_until_closed(&b"what\r\n".repeat(1_000)).await;
    let mut lines = 0;
    while let Some(line) = client.line_or_end().await {
        assert!(line.starts_with("-ERR"), "{line}");
        lines += 1;
    }
    assert!((20..30).contains(&lines), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sign_ins_are_counted() {
    let server = Server::start();
    let mut client = server.guest().await;
    for _ in 0..3 {
        client.ok("USER alice").await;
        assert!(client.run("PASS wrong").await.starts_with("-ERR [AUTH]"));
    }
    client.ends().await;
    let rows = server.door.stats().rows();
    assert!(rows.contains(&("POP3.Logins.Failed", 3)), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_clients_are_sent_away_without_a_word() {
    let short = Duration::from_millis(50);
    let settings = Settings { guest_wait: short, ..Settings::default() };
    let server = Server::with(Choices { settings, ..Choices::default() });
    let mut client = server.guest().await;
    client.ends().await;
    let settings = Settings { idle_wait: short, ..Settings::default() };
    let server = Server::with(Choices { settings, ..Choices::default() });
    server.put(b"Subject: x\r\n\r\nhi\r\n");
    let mut client = server.alice().await;
    client.send("DELE 1\r\n").await;
    assert!(client.line().await.starts_with("+OK"));
    client.ends().await;
    assert_eq!(server.uids(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_given_up() {
    let settings = Settings { write_wait: Duration::from_millis(50), ..Settings::default() };
    let server = Server::with(Choices { settings, ..Choices::default() });
    server.put(&b"a line of text that goes on for a while\r\n".repeat(40_000));
    let mut client = server.alice().await;
    client.send("RETR 1\r\n").await;
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
    // The maildrop is free again.
    server.alice().await.ok("QUIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_sessions_with_a_word_and_deletes_nothing() {
    let server = Server::start();
    server.put(b"Subject: x\r\n\r\nhi\r\n");
    let mut client = server.alice().await;
    client.ok("DELE 1").await;
    server.stopper.stop();
    assert!(client.line().await.starts_with("-ERR [SYS/TEMP]"));
    client.ends().await;
    assert_eq!(server.uids(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_can_end_a_session() {
    let server = Server::start();
    let mut client = server.alice().await;
    let user = server.registry.list()[0].user.clone().unwrap();
    assert_eq!(server.registry.drop_user(&user), 1);
    assert!(client.line().await.starts_with("-ERR"));
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_maildrop_of_many_messages() {
    let settings = Settings { messages_max: 1_200, ..Choices::default().settings };
    let server = Server::with(Choices { settings, ..Choices::default() });
    let file = server.file("alice");
    for number in 0..1_500 {
        let letter = format!("Subject: {number}\r\n\r\nhi\n");
        file.append("INBOX", letter.as_bytes(), None, &mailfile::Marks::default()).unwrap();
    }
    let mut client = server.alice().await;
    let list = client.lines("LIST").await;
    assert_eq!(list.len(), 1_200);
    assert_eq!(list[1_199], "1200 21");
    assert_eq!(client.long("RETR 1200").await, b"Subject: 1199\r\n\r\nhi\r\n");
    for number in 1..=1_200 {
        client.ok(&format!("DELE {number}")).await;
    }
    client.ok("QUIT").await;
    assert_eq!(server.uids(), (1_201..=1_500).collect::<Vec<u32>>());
}
