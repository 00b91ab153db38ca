//! No reply tells of anything that is not durable.

use crate::client::Client;
use crate::fixture::Server;

const LETTER: &[u8] = b"Subject: x\r\n\r\nhi\r\n";

/// Whether all that was written to the log so far is synced.
fn all_is_durable(server: &Server) -> bool {
    let log = server.store.log();
    log.durable_lsn() >= log.appended()
}

async fn runs(server: &Server, client: &mut Client, command: &str) {
    client.ok(command).await;
    assert!(all_is_durable(server), "{command} was answered too early");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_durable_when_it_is_answered() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.ok("SELECT INBOX").await;
    for _ in 0..3 {
        client.append("INBOX", LETTER).await;
        assert!(all_is_durable(&server));
    }
    for command in [
        "CREATE Work",
        "STORE 1:2 +FLAGS (\\Seen Later)",
        "STORE 2 +FLAGS.SILENT (\\Deleted)",
        "FETCH 3 BODY[]",
        "COPY 1:3 Work",
        "EXPUNGE",
        "MOVE 1 Trash",
        "SUBSCRIBE Work",
        "RENAME Work Play",
        "STORE 1 +FLAGS.SILENT (\\Deleted)",
        "CLOSE",
        "DELETE Play",
    ] {
        runs(&server, &mut client, command).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wrote_is_durable_before_it_is_shown() {
    let server = Server::start();
    let mut client = server.alice().await;
    client.ok("SELECT INBOX").await;
    let path = server.store.paths().into_iter().find(|path| path.contains("alice")).unwrap();
    let files = mailfile::MailFiles::new(server.store.clone());
    let file = files.open(&path).unwrap();
    for round in 1..=5 {
        // Nobody waits for this write to be synced.
        let written = file.append("INBOX", LETTER, None, &mailfile::Marks::default()).unwrap();
        let told = client.ok("NOOP").await.lines();
        assert!(told.contains(&format!("* {round} EXISTS")), "{told:?}");
        assert!(server.store.log().durable_lsn() >= written.lsn);
    }
}
