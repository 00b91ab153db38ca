//! Sessions that meet in one mailbox.

use crate::client::Client;
use crate::fixture::Server;

const LETTER: &[u8] = b"Subject: hello\r\n\r\nhi\r\n";

async fn two(server: &Server, letters: usize) -> (Client, Client) {
    let (mut one, mut two) = (server.alice().await, server.alice().await);
    for _ in 0..letters {
        one.append("INBOX", LETTER).await;
    }
    one.ok("SELECT INBOX").await;
    two.ok("SELECT INBOX").await;
    (one, two)
}

fn starting<'a>(lines: &'a [String], start: &str) -> Vec<&'a str> {
    lines.iter().filter(|line| line.starts_with(start)).map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn arrivals_flags_and_expunges_are_told() {
    let server = Server::start();
    let (mut one, mut two) = two(&server, 3).await;
    one.append("INBOX", LETTER).await;
    one.ok("STORE 2 +FLAGS (\\Flagged \\Deleted $Later)").await;
    let told = two.ok("NOOP").await.lines();
    assert!(told.contains(&String::from("* 4 EXISTS")), "{told:?}");
    let flags = "* 2 FETCH (UID 2 FLAGS (\\Flagged \\Deleted $Later";
    assert_eq!(starting(&told, flags).len(), 1, "{told:?}");
    assert_eq!(starting(&told, "* FLAGS ").len(), 1, "{told:?}");
    one.ok("EXPUNGE").await;
    assert_eq!(two.ok("NOOP").await.lines(), ["* 2 EXPUNGE"]);
    assert_eq!(two.ok("NOOP").await.lines(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_do_not_shift_under_fetch_store_and_search() {
    let server = Server::start();
    let (mut one, mut two) = two(&server, 4).await;
    one.ok("STORE 1:2 +FLAGS.SILENT (\\Deleted)").await;
    one.ok("EXPUNGE").await;
    one.append("INBOX", LETTER).await;
    for command in ["FETCH 4 (UID)", "STORE 4 +FLAGS (\\Seen)", "SEARCH ALL"] {
        let told = two.ok(command).await.lines();
        assert!(!told.iter().any(|line| line.contains("EXPUNGE")), "{command}: {told:?}");
        assert!(!told.iter().any(|line| line.starts_with("* 4 FETCH (UID 3")), "{told:?}");
    }
    let replies = two.run("FETCH 1:2 (UID FLAGS)").await;
    assert!(replies.tagged.starts_with("NO [EXPUNGEISSUED]"), "{replies:?}");
    let told = two.ok("NOOP").await.lines();
    assert_eq!(starting(&told, "* 2 EXPUNGE").len(), 1, "{told:?}");
    assert_eq!(starting(&told, "* 1 EXPUNGE").len(), 1, "{told:?}");
    assert_eq!(two.ok("FETCH 3 (UID)").await.lines(), ["* 3 FETCH (UID 5)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_not_told_of_its_own_silent_changes() {
    let server = Server::start();
    let (mut one, _) = two(&server, 3).await;
    assert_eq!(one.ok("STORE 1:3 +FLAGS.SILENT (\\Seen)").await.lines(), [""; 0]);
    assert_eq!(one.ok("NOOP").await.lines(), [""; 0]);
    let told = one.ok("STORE 1:2 -FLAGS (\\Seen)").await.lines();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(one.ok("NOOP").await.lines(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_hears_of_news_at_once() {
    let server = Server::start();
    let (mut one, mut two) = two(&server, 1).await;
    two.send("i IDLE\r\n").await;
    assert_eq!(two.line().await, "+ idling");
    one.append("INBOX", LETTER).await;
    assert_eq!(two.line().await, "* 2 EXISTS");
    // Which of the two sessions is the first to hear of it is open.
    assert!(two.line().await.ends_with(" RECENT"));
    one.ok("STORE 1 +FLAGS (\\Deleted)").await;
    assert!(two.line().await.starts_with("* 1 FETCH (UID 1 FLAGS (\\Deleted"));
    one.ok("EXPUNGE").await;
    assert_eq!(two.line().await, "* 1 EXPUNGE");
    two.send("DONE\r\nA5 NOOP\r\n").await;
    assert!(two.line().await.starts_with("i OK"));
    assert!(two.line().await.starts_with("A5 OK"));
}

#[tokio::test(flavor = "multi_thread")]
async fn recent_mail_is_recent_for_one_session() {
    let server = Server::start();
    let mut one = server.alice().await;
    one.append("INBOX", LETTER).await;
    let status = one.ok("STATUS INBOX (RECENT MESSAGES)").await.lines();
    assert_eq!(status, ["* STATUS \"INBOX\" (RECENT 1 MESSAGES 1)"]);
    let looked = one.ok("EXAMINE INBOX").await.lines();
    assert!(looked.contains(&String::from("* 1 RECENT")));
    let opened = one.ok("SELECT INBOX").await.lines();
    assert!(opened.contains(&String::from("* 1 RECENT")));
    assert_eq!(one.ok("SEARCH RECENT").await.lines(), ["* SEARCH 1"]);
    let mut two = server.alice().await;
    let opened = two.ok("SELECT INBOX").await.lines();
    assert!(opened.contains(&String::from("* 0 RECENT")));
    assert_eq!(two.ok("SEARCH NEW").await.lines(), ["* SEARCH"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_that_is_deleted_elsewhere_ends_the_session() {
    let server = Server::start();
    let (mut one, mut two) = (server.alice().await, server.alice().await);
    one.ok("CREATE Old").await;
    two.ok("SELECT Old").await;
    one.ok("DELETE Old").await;
    two.send("x NOOP\r\n").await;
    assert!(two.line().await.starts_with("* BYE"));
    two.ends().await;
    one.ok("CREATE Own").await;
    one.ok("SELECT Own").await;
    one.ok("DELETE Own").await;
    assert!(one.run("FETCH 1 FLAGS").await.tagged.starts_with("BAD"));
}

#[tokio::test(flavor = "multi_thread")]
async fn delivered_mail_is_heard_of() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.ok("SELECT INBOX").await;
    let store = &server.store;
    let facts =
        mailfile::intake::Facts { unid: store.new_unid(), date: store.now(), extra: Vec::new() };
    let taken = mailfile::intake::intake(store, LETTER, &facts).unwrap();
    let path = store.paths().into_iter().find(|path| path.contains("alice")).unwrap();
    let db = store.database(&path).unwrap();
    let inbox = mailfile::rules::Verdict::default();
    let first = mailfile::Outcome::Delivered { uid: 1, warn: None };
    for outcome in [first, mailfile::Outcome::Already] {
        let written = store.write::<_, store::StoreError>(&[&db], |w| {
            mailfile::deliver(w, &db, &taken.prepared, &inbox)
        });
        assert_eq!(written.unwrap().value, outcome);
    }
    assert!(client.ok("NOOP").await.lines().contains(&String::from("* 1 EXISTS")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_change_does_not_hide_what_somebody_else_changed() {
    for enable in ["NOOP", "ENABLE CONDSTORE", "ENABLE QRESYNC"] {
        let server = Server::start();
        let (mut one, mut two) = two(&server, 2).await;
        one.ok(enable).await;
        one.ok("STORE 1:2 FLAGS.SILENT (Green)").await;
        two.ok("NOOP").await;
        two.ok("STORE 1 +FLAGS (\\Seen)").await;
        // One has not heard of it yet.
        let mut told = one.ok("STORE 1:2 -FLAGS.SILENT (Green)").await.lines();
        told.extend(one.ok("NOOP").await.lines());
        let flags: Vec<_> = told.iter().filter(|line| line.contains("FLAGS (\\Seen")).collect();
        assert_eq!(flags.len(), 1, "{enable}: {told:?}");
    }
}
