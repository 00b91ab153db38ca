//! Input that is meant to do harm.

use crate::fixture::Server;
use crate::grammar::fetched;

/// A small generator of random numbers (xorshift64*), so that a seed repeats a run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "a1 ",
    "* ",
    "UID ",
    "FETCH ",
    "STORE ",
    "SEARCH ",
    "SELECT ",
    "LIST ",
    "APPEND ",
    "IDLE",
    "DONE",
    "INBOX",
    "\"\"",
    "\"",
    "\\",
    "(",
    ")",
    "1:*",
    "0",
    "4294967295",
    "BODY[",
    "]",
    "<0.1>",
    "HEADER",
    ".FIELDS (",
    "{5+}",
    "{0+}",
    "hello",
    "+FLAGS ",
    "(\\Seen)",
    "\\Recent",
    "NIL",
    "%",
    "&",
    "&-",
    "RETURN (",
    "CHARSET X ",
    "OR ",
    "NOT ",
    "\0",
    "\u{e9}",
    "ENABLE ",
    "STATUS ",
    "(MESSAGES)",
    "CREATE ",
    "x/y",
    "RENAME ",
    "COPY 1 ",
    "MOVE ",
    "EXPUNGE",
    "CLOSE",
    "NOOP",
    "\r",
    "\t",
    "SORT ",
    "(REVERSE SUBJECT) ",
    "THREAD ",
    "REFERENCES ",
    "UTF-8 ",
    "ALL ",
    "RETURN (SAVE MIN) ",
    "$",
    "MODSEQ ",
    " (CHANGEDSINCE 1 VANISHED)",
    " (UNCHANGEDSINCE 0) ",
    "CONDSTORE QRESYNC",
    " (QRESYNC (1 1 1:* (1 1)))",
    "(SUBSCRIBED RECURSIVEMATCH) ",
    " RETURN (STATUS (MESSAGES HIGHESTMODSEQ))",
    "OLDER 1 ",
];

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_and_never_ends_the_server() {
    let server = Server::start();
    for seed in 1..=120u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut client = server.alice().await;
        client.run("SELECT INBOX").await;
        let mut bytes = Vec::new();
        for _ in 0..30 {
            for _ in 0..1 + random.below(8) {
                bytes.extend_from_slice(PIECES[random.below(PIECES.len())].as_bytes());
            }
            bytes.extend_from_slice(b"\r\n");
        }
        // Whatever the garbage began, this ends it: literals, IDLE, a line.
        bytes.extend_from_slice(b"\r\nDONE\r\nDONE\r\nend LOGOUT\r\nend LOGOUT\r\n");
        client.send_until_closed(&bytes).await;
        let mut last = Vec::new();
        while let Some(unit) = client.unit_or_end().await {
            last = unit;
        }
        let last = String::from_utf8_lossy(&last).into_owned();
        let ended = last.starts_with("end OK") || last.starts_with("* BYE");
        assert!(ended, "seed {seed}: {last}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_parentheses_cost_nothing() {
    let server = Server::start();
    let mut client = server.connect();
    client.unit().await;
    client.send(format!("x SEARCH {}\r\n", "(".repeat(100_000))).await;
    assert!(client.line().await.starts_with("* BAD"));
    client.ok("LOGIN alice pw-alice-1").await;
    client.ok("SELECT INBOX").await;
    let replies = client.run(format!("SEARCH {}", "(".repeat(100_000))).await;
    assert!(replies.tagged.starts_with("BAD"), "{replies:?}");
    let replies = client.run(format!("FETCH 1 {}", "(".repeat(100_000))).await;
    assert!(replies.tagged.starts_with("BAD"), "{replies:?}");
}

fn nested(depth: usize) -> String {
    let mut message = String::new();
    for level in 0..depth {
        message.push_str(&format!("Subject: {level}\r\nContent-Type: message/rfc822\r\n\r\n"));
    }
    message.push_str("Subject: core\r\n\r\ncore\r\n");
    message
}

fn many_params() -> String {
    let params: String = (0..10_000).map(|n| format!(";\r\n name*{n}*=x{n}")).collect();
    format!("Subject: x\r\nContent-Type: text/plain{params}\r\n\r\nx\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_messages_have_a_bounded_structure() {
    let server = Server::start();
    let mut client = server.alice().await;
    let level = |n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n");
    let multiparts: String = (0..5_000).map(level).collect();
    for message in [nested(5_000), many_params(), multiparts] {
        client.append("INBOX", message.as_bytes()).await;
    }
    client.ok("SELECT INBOX").await;
    let replies = client.ok("FETCH 1:* (UID BODY BODYSTRUCTURE ENVELOPE BODY.PEEK[1.1.1])").await;
    assert_eq!(replies.untagged.len(), 3);
    for unit in &replies.untagged {
        assert!(unit.len() < 2_000_000);
        fetched(unit);
    }
}
