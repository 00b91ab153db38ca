//! Many sessions change the same mailboxes with random commands. Each has a model of what it was
//! told, which whatever it hears has to fit; and in the end nothing is lost, doubled or forgotten.
//!
//! `IMAP_STRESS_SEEDS` and `IMAP_STRESS_STEPS` make the runs longer, `IMAP_STRESS_SEED` repeats
//! one, `IMAP_STRESS_TAIL` shows more of the end of a run that failed.

mod deleter;
mod player;
mod script;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use crate::client::Client;
use crate::fixture::Server;
use crate::grammar::fetched;

use deleter::Deleter;
use player::Player;
use view::{Flags, Mode, flags_of};

/// The mailboxes.
const MAILBOXES: [&str; 2] = ["INBOX", "Work"];
/// Sessions of each run.
const MODES: [Mode; 5] = [Mode::Plain, Mode::Condstore, Mode::Qresync, Mode::Plain, Mode::Qresync];
/// Lines of a run that are shown when it fails.
const TAIL: u64 = 80;

/// Random numbers that a seed repeats.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// What was said, of which the end is shown when the run fails.
#[derive(Clone)]
pub struct Tape(Arc<Mutex<VecDeque<String>>>, u64);

impl Tape {
    fn new(seed: u64) -> Tape {
        Tape(Arc::default(), seed)
    }

    pub fn note(&self, line: String) {
        let mut lines = self.0.lock().unwrap();
        if lines.len() == setting("IMAP_STRESS_TAIL", TAIL) as usize {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Shows the tape when its run panics.
struct Shown(Tape);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.0.0.lock().unwrap();
            let all: Vec<&str> = lines.iter().map(String::as_str).collect();
            eprintln!("IMAP_STRESS_SEED={} ended with:\n{}", self.0.1, all.join("\n"));
        }
    }
}

/// A message whose fate its owner knows.
#[derive(Clone, Debug)]
pub struct Mine {
    pub id: String,
    pub mailbox: &'static str,
    pub uid: u32,
    /// It was marked deleted at some time, so that others may have removed it.
    pub may_be_gone: bool,
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// The seeds of a test: the usual number, more, or just one.
fn seeds(usual: u64) -> Vec<u64> {
    match setting("IMAP_STRESS_SEED", 0) {
        0 => (1..=setting("IMAP_STRESS_SEEDS", usual)).collect(),
        one => vec![one],
    }
}

/// What is in a mailbox: uid to id, flags and modseq.
type Truth = BTreeMap<u32, (String, Flags, u64)>;

async fn truth(server: &Server) -> BTreeMap<&'static str, Truth> {
    let mut client = server.alice().await;
    client.ok("ENABLE CONDSTORE").await;
    let mut all = BTreeMap::new();
    for mailbox in MAILBOXES {
        client.ok(format!("EXAMINE {mailbox}")).await;
        let fetch = "UID FETCH 1:* (UID FLAGS MODSEQ BODY.PEEK[HEADER.FIELDS (SUBJECT)])";
        let mut found = Truth::new();
        let replies = client.ok(fetch).await.untagged;
        for unit in replies.iter().filter(|unit| !unit.starts_with(b"* FLAGS")) {
            let row = fetched(unit);
            let (uid, modseq) = (row.uid.unwrap(), row.modseq.unwrap());
            let header = row.sections[0].1.clone().unwrap();
            let text = String::from_utf8(header).unwrap();
            let id = text.trim().strip_prefix("Subject: ").unwrap().to_owned();
            let before = found.insert(uid, (id, flags_of(&row), modseq));
            assert!(before.is_none(), "uid {uid} is told twice in {mailbox}");
        }
        all.insert(mailbox, found);
    }
    all
}

/// Nothing that has to be there is lost, and nothing is there that nobody put there.
fn account(mine: &[Mine], truth: &BTreeMap<&'static str, Truth>) {
    let mut expected = BTreeSet::new();
    for one in mine {
        let there = truth[one.mailbox].get(&one.uid);
        match there {
            Some((id, ..)) => assert_eq!(*id, one.id, "another message: {one:?}"),
            None => assert!(one.may_be_gone, "lost: {one:?}"),
        }
        assert!(expected.insert((one.mailbox, one.uid)), "given twice: {one:?}");
    }
    for (mailbox, rows) in truth {
        for (uid, (id, ..)) in rows {
            assert!(expected.contains(&(*mailbox, *uid)), "{mailbox} {uid} {id} is nobody's");
        }
    }
}

async fn finish(server: &Server, mut players: Vec<Player>, deleter: Deleter) {
    for player in &mut players {
        player.settle().await;
    }
    let truth = truth(server).await;
    let mut mine = deleter.mine;
    for player in players {
        player.check(&truth);
        mine.extend(player.mine);
    }
    account(&mine, &truth);
}

async fn start(server: &Server, seed: u64, tape: &Tape) -> Vec<Player> {
    let mut client = server.alice().await;
    client.ok("CREATE Work").await;
    let mut players = Vec::new();
    for (number, mode) in MODES.into_iter().enumerate() {
        let client: Client = server.alice().await;
        let random = Random::new(seed * 100 + number as u64);
        players.push(Player::open(client, (number, mode), random, tape.clone()).await);
    }
    players
}

/// One command after the other, so that the seed repeats the run.
async fn in_turns(seed: u64, steps: u64) {
    let tape = Tape::new(seed);
    let _shown = Shown(tape.clone());
    let server = Server::start();
    let mut players = start(&server, seed, &tape).await;
    let mut deleter = Deleter::open(&server, Random::new(seed), tape.clone());
    let mut random = Random::new(seed ^ 0xabcd);
    for _ in 0..steps {
        match random.below(players.len() + 1) {
            at if at < players.len() => players[at].step().await,
            _ => deleter.step(),
        }
    }
    finish(&server, players, deleter).await;
}

/// All sessions at once: the seed only repeats what each of them asks for.
async fn at_once(seed: u64, steps: u64) {
    let server = Server::start();
    let whole = Tape::new(seed);
    let players = start(&server, seed, &whole).await;
    let mut tasks = Vec::new();
    for mut player in players {
        let tape = Tape::new(seed);
        player.tape = tape.clone();
        tasks.push(tokio::spawn(async move {
            let _shown = Shown(tape);
            for _ in 0..steps {
                player.step().await;
            }
            player
        }));
    }
    let mut deleter = Deleter::open(&server, Random::new(seed), whole);
    for _ in 0..steps {
        deleter.step();
        tokio::task::yield_now().await;
    }
    let mut players = Vec::new();
    for task in tasks {
        players.push(task.await.unwrap());
    }
    finish(&server, players, deleter).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_flags_stay_right_in_turns() {
    for seed in seeds(6) {
        in_turns(seed, setting("IMAP_STRESS_STEPS", 250)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_flags_stay_right_while_all_change_at_once() {
    for seed in seeds(2) {
        at_once(seed, setting("IMAP_STRESS_STEPS", 80)).await;
    }
}
