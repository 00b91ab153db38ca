//! Limits: lines, literals, sign-ins, sets; and the end of connections.

use std::time::Duration;

use imap::Settings;

use crate::client::Client;
use crate::fixture::{Choices, Server};

async fn guest(server: &Server) -> Client {
    let mut client = server.connect();
    client.unit().await;
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_that_do_not_wait_are_taken_before_sign_in() {
    let server = Server::start();
    let mut client = guest(&server).await;
    client.send("a1 LOGIN {18+}\r\nalice@example.test {10+}\r\npw-alice-1\r\na2 NOOP\r\n").await;
    assert!(client.line().await.starts_with("a1 OK"));
    assert!(client.line().await.starts_with("a2 OK"));
    let mut client = guest(&server).await;
    client.send("a1 LOGIN {18}\r\n").await;
    assert!(client.line().await.starts_with("+ "));
    client.send("alice@example.test {10}\r\n").await;
    assert!(client.line().await.starts_with("+ "));
    client.send("pw-alice-1\r\n").await;
    assert!(client.line().await.starts_with("a1 OK"));
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_and_enormous_literals_are_refused() {
    let server = Server::start();
    let mut client = guest(&server).await;
    for literal in ["{+10}", "{10++}", "{10 }", "{}"] {
        client.send(format!("x LOGIN {literal}\r\n")).await;
        let line = client.line().await;
        assert!(line.starts_with("x BAD"), "{literal}: {line}");
    }
    for literal in ["{4294967296}", "{99999999999999999999}", "{9000}"] {
        client.send(format!("x LOGIN {literal}\r\n")).await;
        assert!(client.line().await.starts_with("x BAD"), "{literal}");
    }
    client.ok("NOOP").await;
    client.send("x LOGIN {4294967296+}\r\n").await;
    assert!(client.line().await.starts_with("x BAD"));
    assert!(client.line().await.starts_with("* BYE"));
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_literals_are_bounded_together() {
    let server = Server::start();
    let mut client = guest(&server).await;
    let literal = format!(" {{8000+}}\r\n{}", "y".repeat(8_000));
    client.send_until_closed(format!("x LOGIN{}\r\n", literal.repeat(5)).as_bytes()).await;
    assert!(client.line().await.starts_with("* BYE"));
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_message_is_refused_before_it_is_sent() {
    let settings = Settings { append_bytes_max: 100_000, ..Settings::default() };
    let server = Server::with(Choices { settings, budget: 99_000, ..Choices::default() });
    let mut client = server.alice().await;
    client.send("x APPEND INBOX {100001}\r\n").await;
    assert!(client.line().await.starts_with("x NO [TOOBIG]"));
    // Within the limit for one message, but the server has no room for it now.
    client.send("x APPEND INBOX {99001}\r\n").await;
    assert!(client.line().await.starts_with("x NO [UNAVAILABLE]"));
    client.ok("NOOP").await;
    client.append("INBOX", &vec![b'x'; 80_000]).await;
    client.append("INBOX", &vec![b'x'; 80_000]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sign_ins_are_counted() {
    let server = Server::start();
    let mut client = guest(&server).await;
    for _ in 0..2 {
        let replies = client.run("LOGIN alice wrong").await;
        assert!(replies.tagged.starts_with("NO [AUTHENTICATIONFAILED]"), "{replies:?}");
    }
    client.send("x LOGIN nobody wrong\r\n").await;
    assert!(client.line().await.starts_with("x NO [AUTHENTICATIONFAILED]"));
    assert!(client.line().await.starts_with("* BYE"));
    client.ends().await;
    let rows = server.door.stats().rows();
    assert!(rows.contains(&("IMAP.Logins.Failed", 3)), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lines_are_refused_and_the_connection_lives() {
    let server = Server::start();
    let mut client = guest(&server).await;
    client.send(format!("x NOOP {}\r\n", "y".repeat(9_000))).await;
    assert!(client.line().await.starts_with("* BAD"));
    client.ok("LOGIN alice pw-alice-1").await;
    client.ok("SELECT INBOX").await;
    let set = (1..=10_000).map(|n| (n * 3).to_string()).collect::<Vec<_>>().join(",");
    assert!(set.len() > 32_000);
    client.ok(format!("UID FETCH {set} (FLAGS)")).await;
    client.ok(format!("UID STORE {set} +FLAGS (\\Seen)")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_out_of_date_are_not_an_error() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.ok("SELECT INBOX").await;
    for command in
        ["FETCH 1:90 (FLAGS)", "FETCH 7 (UID)", "UID FETCH 1:* (FLAGS)", "STORE 5 FLAGS ()"]
    {
        assert_eq!(client.ok(command).await.lines(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_guests_are_sent_away() {
    let settings = Settings { guest_wait: Duration::from_millis(50), ..Settings::default() };
    let server = Server::with(Choices { settings, ..Choices::default() });
    let mut client = guest(&server).await;
    assert!(client.line().await.starts_with("* BYE"));
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_sessions_with_a_word() {
    let server = Server::start();
    let (mut waiting, mut idling) = (server.alice().await, server.alice().await);
    idling.send("i IDLE\r\n").await;
    assert_eq!(idling.line().await, "+ idling");
    server.stopper.stop();
    for client in [&mut waiting, &mut idling] {
        assert!(client.line().await.starts_with("* BYE"));
        client.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_can_end_a_session() {
    let server = Server::start();
    let mut client = server.alice().await;
    let user = server.registry.list()[0].user.clone().unwrap();
    assert_eq!(server.registry.drop_user(&user), 1);
    assert!(client.line().await.starts_with("* BYE"));
    client.ends().await;
    // The connection is counted until its task has ended.
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_commands_are_answered_in_order() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.append("INBOX", b"Subject: x\r\n\r\ny\r\n").await;
    client.send("a SELECT INBOX\r\nb FETCH 1 (FLAGS)\r\nc STATUS Sent (MESSAGES)\r\n").await;
    client.send("d SEARCH ALL\r\ne APPEND INBOX {3+}\r\nabc\r\nf NOOP\r\n").await;
    let mut tags = String::new();
    while !tags.ends_with('f') {
        let line = client.line().await;
        if !line.starts_with('*') {
            assert!(line[1..].starts_with(" OK"), "{line}");
            tags.push_str(&line[..1]);
        }
    }
    assert_eq!(tags, "abcdef");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_up_nobody() {
    let server = Server::start();
    let mut slow = server.alice().await;
    let letter = [b"Subject: x\r\n\r\n".to_vec(), vec![b'x'; 300_000]].concat();
    for _ in 0..8 {
        slow.append("INBOX", &letter).await;
    }
    slow.ok("SELECT INBOX").await;
    // Far more than the pipe between the two takes; nothing of it is read until later.
    slow.send("s FETCH 1:* (BODY.PEEK[])\r\n").await;
    let mut other = server.alice().await;
    other.append("INBOX", &letter).await;
    other.ok("SELECT INBOX").await;
    other.ok("STORE 1:* +FLAGS (\\Seen)").await;
    let mut fetched = 0;
    loop {
        let unit = slow.unit().await;
        if unit.starts_with(b"s OK") {
            break;
        }
        fetched += usize::from(unit.len() > letter.len());
    }
    assert_eq!(fetched, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mail_file_takes_no_more_and_can_be_emptied() {
    let server = Server::start();
    let mut client = server.alice().await;
    let letter = format!("Subject: x\r\n\r\n{}\r\n", "y".repeat(1_000));
    client.append("INBOX", letter.as_bytes()).await;
    let (db, quota) = (server.mail_file(), store::Quota { limit_bytes: 1_500, warn_bytes: 0 });
    server.store.write::<_, store::StoreError>(&[&db], |w| w.set_quota(&db, quota)).unwrap();
    let command = format!("APPEND INBOX {{{}+}}\r\n{letter}", letter.len());
    let refused = client.run(&command).await;
    assert!(refused.tagged.starts_with("NO [OVERQUOTA]"), "{refused:?}");
    // A large one is refused before it is sent.
    let refused = client.run("APPEND INBOX {1000000}").await;
    assert!(refused.tagged.starts_with("NO [OVERQUOTA]"), "{refused:?}");
    client.ok("SELECT INBOX").await;
    client.ok("COPY 1 Sent").await;
    client.ok("MOVE 1 Trash").await;
    client.ok("SELECT Sent").await;
    client.ok("STORE 1 +FLAGS (\\Deleted)").await;
    client.ok("EXPUNGE").await;
    client.ok("SELECT Trash").await;
    client.ok("STORE 1 +FLAGS (\\Deleted)").await;
    client.ok("EXPUNGE").await;
    client.ok(&command).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_ends_when_nobody_waits_for_it() {
    let server = Server::start();
    let mut client = server.alice().await;
    let line = "nothing to be found in here, however long one looks for it\r\n";
    let letter = format!("Subject: x\r\n\r\n{}", line.repeat(2_000));
    for _ in 0..5 {
        client.append("INBOX", letter.as_bytes()).await;
    }
    client.ok("SELECT INBOX").await;
    for _ in 0..8 {
        client.ok("COPY 1:* INBOX").await;
    }
    let before = server.jobs.load(std::sync::atomic::Ordering::SeqCst);
    client.ok("SEARCH BODY needle").await;
    let whole = server.jobs.load(std::sync::atomic::Ordering::SeqCst) - before;
    client.send("x SEARCH BODY needle\r\n").await;
    drop(client);
    while !server.registry.is_empty() {
        tokio::task::yield_now().await;
    }
    let broken_off = server.jobs.load(std::sync::atomic::Ordering::SeqCst) - before - whole;
    assert!(whole >= 3, "the search was too short to be broken off: {whole}");
    assert!(broken_off < whole, "{broken_off} of {whole} slices were done for nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_that_went_is_not_to_be_created() {
    let server = Server::start();
    let (mut one, mut two) = (server.alice().await, server.alice().await);
    one.ok("CREATE Old").await;
    one.append("Old", b"Subject: x\r\n\r\nhi\r\n").await;
    two.ok("SELECT Old").await;
    one.ok("DELETE Old").await;
    // The target exists, the mailbox that is open does not.
    two.send("x COPY 1 INBOX\r\n").await;
    let line = two.line().await;
    assert!(line.starts_with("x NO [NONEXISTENT]"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_messages_in_one_command_are_taken() {
    let server = Server::start();
    let mut client = server.alice().await;
    let letter = format!("Subject: x\r\n\r\n{}\r\n", "y".repeat(4_000));
    let literal = format!(" {{{}+}}\r\n{letter}", letter.len());
    client.ok(format!("APPEND INBOX{}", literal.repeat(300))).await;
    let status = client.ok("STATUS INBOX (MESSAGES)").await.lines();
    assert_eq!(status, ["* STATUS \"INBOX\" (MESSAGES 300)"]);
}
