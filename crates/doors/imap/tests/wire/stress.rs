//! Several clients change one mailbox at once. Each keeps the numbers that it was told of, and
//! whatever a reply says of a number has to fit them.

use crate::client::Client;
use crate::fixture::Server;

const CLIENTS: u64 = 3;
const STEPS: u64 = 60;

/// A client's picture of the mailbox: the uid of each number, where it is known.
struct Picture {
    client: Client,
    uids: Vec<Option<u32>>,
    state: u64,
}

/// The number in front of `word` in `* number word`.
fn number(line: &str, word: &str) -> Option<usize> {
    line.strip_prefix("* ")?.strip_suffix(word)?.trim_end().parse().ok()
}

/// Number and uid of a FETCH.
fn fetched(line: &str) -> Option<(usize, u32)> {
    let (number, rest) = line.strip_prefix("* ")?.split_once(" FETCH (")?;
    let (_, uid) = rest.split_once("UID ")?;
    let digits = uid.find(|c: char| !c.is_ascii_digit()).unwrap_or(uid.len());
    Some((number.parse().ok()?, uid[..digits].parse().ok()?))
}

impl Picture {
    async fn open(server: &Server, seed: u64) -> Picture {
        let mut picture = Picture { client: server.alice().await, uids: Vec::new(), state: seed };
        picture.run("SELECT INBOX").await;
        picture
    }

    fn random(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 33) % below
    }

    async fn run(&mut self, command: &str) {
        let replies = self.client.run(command).await;
        let shifts = !["FETCH", "STORE", "SEARCH"].iter().any(|word| command.starts_with(word));
        for line in replies.lines() {
            if let Some(count) = number(&line, "EXISTS") {
                assert!(count >= self.uids.len(), "{command}: {line} shrinks {}", self.uids.len());
                self.uids.resize(count, None);
            } else if let Some(gone) = number(&line, "EXPUNGE") {
                assert!(shifts, "{command}: {line}");
                assert!(gone <= self.uids.len(), "{command}: {line} of {}", self.uids.len());
                self.uids.remove(gone - 1);
            } else if let Some((at, uid)) = fetched(&line) {
                let known =
                    self.uids.get_mut(at - 1).unwrap_or_else(|| panic!("{command}: {line}"));
                assert!(known.is_none_or(|known| known == uid), "{command}: {line}, was {known:?}");
                *known = Some(uid);
            }
        }
        let fine = replies.tagged.starts_with("OK") || replies.tagged.contains("EXPUNGEISSUED");
        assert!(fine, "{command}: {}", replies.tagged);
    }

    async fn step(&mut self) {
        let at = 1 + self.random(self.uids.len() as u64 + 1);
        match self.random(9) {
            0..3 => self.run("APPEND INBOX {20+}\r\nSubject: x\r\n\r\nhello\r").await,
            3 => self.run(&format!("STORE {at} +FLAGS (\\Deleted)")).await,
            4 => self.run(&format!("STORE {at}:* +FLAGS.SILENT (\\Seen K{at})")).await,
            5 => self.run("EXPUNGE").await,
            6 => self.run(&format!("FETCH {at}:* (UID FLAGS)")).await,
            7 => self.run(&format!("UID MOVE {at} INBOX")).await,
            _ => self.run("NOOP").await,
        }
    }

    async fn play(mut self) -> Picture {
        for _ in 0..STEPS {
            self.step().await;
        }
        self
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_stay_right_while_many_change_one_mailbox() {
    let server = Server::start();
    let mut tasks = Vec::new();
    for seed in 1..=CLIENTS {
        tasks.push(tokio::spawn(Picture::open(&server, seed).await.play()));
    }
    let mut pictures = Vec::new();
    for task in tasks {
        pictures.push(task.await.unwrap());
    }
    let mut seen = Vec::new();
    for picture in &mut pictures {
        picture.run("NOOP").await;
        picture.run("FETCH 1:* (UID)").await;
        assert!(picture.uids.is_sorted());
        seen.push(picture.uids.clone());
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "the clients see different mailboxes: {seen:?}");
    assert!(seen[0].iter().all(Option::is_some));
}
