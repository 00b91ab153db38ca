//! The UPDATE state: deletions happen at QUIT, are durable when that is answered, and not before.

use crate::fixture::{LETTER, Server};

#[tokio::test(flavor = "multi_thread")]
async fn deletions_are_durable_when_quit_is_answered() {
    let server = Server::start();
    server.fill(5);
    let mut client = server.alice().await;
    client.ok("DELE 2").await;
    client.ok("DELE 4").await;
    client.ok("QUIT").await;
    let log = server.store.log();
    assert!(log.durable_lsn() >= log.appended(), "QUIT was answered too early");
    assert_eq!(server.uids(), [1, 3, 5]);
    let server = server.crash();
    assert_eq!(server.uids(), [1, 3, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_deletes_nothing() {
    let server = Server::start();
    server.fill(3);
    let mut client = server.alice().await;
    client.long("RETR 1").await;
    client.ok("DELE 1").await;
    drop(client);
    // The session ends, and then the maildrop is free again.
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.uids(), [1, 2, 3]);
    let mut client = server.alice().await;
    assert_eq!(client.run("STAT").await, "+OK 3 54");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_the_update_state_takes_all_or_nothing() {
    let server = Server::start();
    server.fill(40);
    let mut client = server.alice().await;
    for number in 1..=30 {
        client.ok(&format!("DELE {number}")).await;
    }
    client.send("QUIT\r\n").await;
    // The connection is cut while the deletions are on their way, and the server with it.
    drop(client);
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
    let server = server.crash();
    let left = server.uids();
    assert!(left.len() == 40 || left == (31..=40).collect::<Vec<u32>>(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_delivered_is_durable_before_it_is_told() {
    let server = Server::start();
    for round in 1..=5 {
        // Nobody waits for this write to be synced.
        let file = server.file("alice");
        let marks = mailfile::Marks::default();
        let written = file.append("INBOX", LETTER, None, &marks).unwrap();
        let mut client = server.alice().await;
        assert!(server.store.log().durable_lsn() >= written.lsn);
        assert_eq!(client.run("STAT").await, format!("+OK {round} {}", round * LETTER.len()));
        client.ok("QUIT").await;
        client.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_ids_survive_a_crash() {
    let server = Server::start();
    server.fill(4);
    let mut client = server.alice().await;
    let before = client.lines("UIDL").await;
    client.ok("DELE 2").await;
    client.ok("QUIT").await;
    client.ends().await;
    drop(client);
    let server = server.crash();
    server.put(LETTER);
    let mut client = server.alice().await;
    let after = client.lines("UIDL").await;
    let id = |line: &String| line.split_once(' ').unwrap().1.to_owned();
    let (before, after): (Vec<_>, Vec<_>) =
        (before.iter().map(id).collect(), after.iter().map(id).collect());
    assert_eq!(after[..3], [before[0].clone(), before[2].clone(), before[3].clone()]);
    assert_eq!(after.len(), 4);
    assert!(!before.contains(&after[3]));
}
