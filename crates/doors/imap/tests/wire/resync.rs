//! A client that comes back catches up (RFC 7162): what it kept, with what it is told, is what is
//! there.

use std::collections::BTreeMap;

use crate::client::{Client, Replies};
use crate::fixture::Server;
use crate::grammar::fetched;

/// What a client kept of a mailbox.
#[derive(Clone, Debug, Default)]
struct Kept {
    uidvalidity: u64,
    modseq: u64,
    flags: BTreeMap<u32, Vec<String>>,
}

/// The number behind a response code.
fn code(replies: &Replies, name: &str) -> Option<u64> {
    let lines = replies.lines().into_iter().chain([format!("* {}", replies.tagged)]);
    let prefix = format!("[{name} ");
    let mut numbers = lines.filter_map(|line| {
        let (_, rest) = line.split_once(&prefix)?;
        rest.split(']').next()?.parse().ok()
    });
    numbers.next_back()
}

/// The uids of `1:3,7`.
fn uids(set: &str) -> Vec<u32> {
    let ranges = set.split(',').map(|range| {
        let (from, to) = range.split_once(':').unwrap_or((range, range));
        from.parse::<u32>().unwrap()..=to.parse().unwrap()
    });
    ranges.flatten().collect()
}

impl Kept {
    /// Takes in what replies tell.
    fn hear(&mut self, replies: &Replies) {
        for unit in &replies.untagged {
            let line = String::from_utf8_lossy(unit).into_owned();
            let gone = line.strip_prefix("* VANISHED ");
            if let Some(gone) = gone {
                let gone = gone.strip_prefix("(EARLIER) ").unwrap_or(gone);
                uids(gone).iter().for_each(|uid| drop(self.flags.remove(uid)));
            } else if line.contains(" FETCH (") {
                let found = fetched(unit);
                let mut flags = found.flags.clone().unwrap_or_default();
                flags.retain(|flag| flag != "\\Recent");
                flags.sort();
                self.flags.insert(found.uid.unwrap(), flags);
                // Modseqs are told with all flags once they are switched on.
                self.modseq = self.modseq.max(found.modseq.unwrap());
            }
        }
        self.modseq = code(replies, "HIGHESTMODSEQ").unwrap_or(0).max(self.modseq);
    }
}

async fn all(client: &mut Client) -> Kept {
    let opened = client.ok("SELECT INBOX").await;
    let mut kept = Kept { uidvalidity: code(&opened, "UIDVALIDITY").unwrap(), ..Kept::default() };
    kept.hear(&opened);
    kept.hear(&client.ok("UID FETCH 1:* (FLAGS MODSEQ)").await);
    kept
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % below
    }
}

async fn change(client: &mut Client, random: &mut Random) {
    let uid = 1 + random.below(30);
    match random.below(6) {
        0 | 1 => drop(client.append("INBOX", b"Subject: x\r\n\r\nhi\r\n").await),
        2 => drop(client.run(format!("UID STORE {uid} +FLAGS (\\Seen)")).await),
        3 => drop(client.run(format!("UID STORE {uid} FLAGS.SILENT (\\Flagged K{uid})")).await),
        4 => {
            client.run(format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)")).await;
            client.run(format!("UID EXPUNGE {uid}")).await;
        }
        _ => drop(client.run(format!("UID MOVE {uid} INBOX")).await),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_catches_up() {
    for seed in 1..=6 {
        let server = Server::start();
        let mut random = Random(seed);
        let mut writer = server.alice().await;
        writer.ok("SELECT INBOX").await;
        let mut reader = server.alice().await;
        reader.ok("ENABLE QRESYNC").await;
        let mut olds: Vec<Kept> = vec![all(&mut reader).await];
        for round in 0..12 {
            for _ in 0..random.below(6) {
                change(&mut writer, &mut random).await;
            }
            // What it kept from any earlier time is brought up, in either way.
            let mut kept = olds[random.below(olds.len() as u64) as usize].clone();
            let (uidvalidity, modseq) = (kept.uidvalidity, kept.modseq);
            if random.below(2) == 0 {
                let command = format!("SELECT INBOX (QRESYNC ({uidvalidity} {modseq}))");
                kept.hear(&reader.ok(command).await);
            } else {
                reader.ok("SELECT INBOX").await;
                let command = format!("UID FETCH 1:* (FLAGS) (CHANGEDSINCE {modseq} VANISHED)");
                kept.hear(&reader.ok(command).await);
            }
            let now = all(&mut reader).await;
            assert_eq!(kept.flags, now.flags, "seed {seed}, round {round}");
            assert!(kept.modseq <= now.modseq);
            olds.push(now);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_stays_may_come_back_with_the_last_modseq_it_heard_of() {
    for seed in 1..=4 {
        let server = Server::start();
        let mut random = Random(seed);
        let (mut one, mut two) = (server.alice().await, server.alice().await);
        one.ok("ENABLE QRESYNC").await;
        let mut kept = all(&mut one).await;
        two.ok("SELECT INBOX").await;
        for _ in 0..10 {
            change(&mut two, &mut random).await;
            kept.hear(&one.ok("NOOP").await);
            kept.hear(&one.run("UID STORE 1:9 +FLAGS.SILENT (Mine)").await);
            kept.hear(&one.run("EXPUNGE").await);
        }
        let modseq = kept.modseq;
        // A silent change of its own it knows without being told.
        kept.flags.clear();
        let mut caught_up = kept.clone();
        kept.hear(&one.ok("UID FETCH 1:* (FLAGS MODSEQ)").await);
        let command = format!("SELECT INBOX (QRESYNC ({} {modseq}))", kept.uidvalidity);
        caught_up.hear(&one.ok(command).await);
        assert!(caught_up.flags.is_empty(), "seed {seed}: {caught_up:?} was told before");
    }
}
