//! A small, fixed play: letters are sent, kept, read, marked, moved and deleted, then all mailboxes
//! are checked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::ledger::{
    CheckOptions, Facts, Findings, Flagging, Key, Ledger, Options, Place, Sight, View, check,
    opening,
};
use bench::letters::{Kind, Letter, Letters, Order, PoolOptions, Profile};
use bench::target::Target;
use bench::wire::{Change, Error, Imap, Part, Pop3, Row, Smtp, Timeouts};

use super::server::Server;
use super::store::Fault;

/// Longest wait for an answer of a server that is slow on purpose.
pub const CALL_MAX: Duration = Duration::from_millis(400);
/// Longest wait for mail that does not come.
const SETTLE: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 4;

pub struct Played {
    pub findings: Findings,
    pub errors: Vec<String>,
    pub happened: u32,
}

struct Actor {
    number: u32,
    target: Target,
    ledger: Arc<Ledger>,
    letters: Arc<Letters>,
    timeouts: Timeouts,
    errors: Vec<String>,
}

fn timeouts(fault: Fault) -> Timeouts {
    match fault {
        Fault::ReplyLate(_) => Timeouts { connect: CALL_MAX, call: CALL_MAX, bulk: CALL_MAX },
        _ => Timeouts::default(),
    }
}

/// How people read their mail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    Imap,
    Pop3,
}

/// Plays before a server with this fault at each `every`th chance.
pub async fn play(people: u32, reading: Reading, (fault, every): (Fault, u32)) -> Played {
    let mut server = Server::start(people, fault, every).await;
    let mut target = server.target.clone();
    if reading == Reading::Pop3 {
        target.imap = None;
    }
    for number in 1..=people {
        // the first message of everybody is known from the beginning
        server.store.fill(&target.people.address(number), 1);
    }
    let (late_after, settle) = match fault {
        Fault::DeliverLate(wait) => (wait / 10, wait * 10),
        Fault::None => (Duration::from_secs(60), Duration::from_secs(60)),
        _ => (Duration::from_secs(60), SETTLE),
    };
    let options = Options { late_after, ..Options::default() };
    let ledger = Arc::new(Ledger::new(people, options));
    let profile = Profile::named("fixed:3000").unwrap();
    let pool = PoolOptions::default();
    let letters = Arc::new(Letters::new(7, "PLAY", &profile, pool).unwrap());
    let mut errors = Vec::new();
    if !matches!(fault, Fault::ReplyLate(_)) {
        opening(&ledger, &target, 4).await.unwrap();
    }
    let mut actors = Vec::new();
    for number in 1..=people {
        let (target, ledger, letters) = (target.clone(), ledger.clone(), letters.clone());
        let (timeouts, errors) = (timeouts(fault), Vec::new());
        let actor = Actor { number, target, ledger, letters, timeouts, errors };
        actors.push(tokio::spawn(actor.act(people)));
    }
    for actor in actors {
        errors.extend(actor.await.unwrap());
    }
    let options = CheckOptions { settle, connections: 4, ..CheckOptions::default() };
    let findings = match fault {
        Fault::ReplyLate(_) => ledger.findings(),
        _ => check(&ledger, &target, &options).await,
    };
    let happened = server.store.happened();
    server.stop().await;
    Played { findings, errors, happened }
}

impl Actor {
    async fn act(mut self, people: u32) -> Vec<String> {
        let mut author = self.letters.author(self.number);
        for round in 0..ROUNDS {
            let from = self.target.people.address(self.number);
            let to: Vec<u32> = (1..=2).map(|n| (self.number + round + n) % people + 1).collect();
            let addresses: Vec<String> =
                to.iter().map(|n| self.target.people.address(*n)).collect();
            let order = Order::new(Kind::Memo, &from, &addresses);
            let letter = self.letters.letter(&mut author, &order);
            let sent = self.send(&letter, &from, &to, &addresses).await;
            self.note(sent);
            let worked = match self.target.imap {
                Some(_) => self.work(&letter).await,
                None => self.fetch(round).await,
            };
            self.note(worked);
        }
        self.errors
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.errors.push(error.to_string());
        }
    }

    async fn send(
        &self,
        letter: &Letter,
        from: &str,
        to: &[u32],
        addresses: &[String],
    ) -> Result<(), Error> {
        let endpoint = self.target.smtp.as_ref().unwrap();
        let mut smtp = Smtp::connect(endpoint, "driver.test", self.timeouts).await?;
        let token = self.ledger.sending(&Facts::of(letter), to);
        match smtp.send(from, addresses, letter).await {
            Ok(_) => self.ledger.accepted(token, Instant::now(), &[]),
            Err(error) if error.is_refusal() => {
                self.ledger.refused(token);
                return Err(error);
            }
            Err(error) => {
                self.ledger.unsure(token);
                return Err(error);
            }
        }
        smtp.quit().await
    }

    /// Everything is fetched, and in each second round also deleted.
    async fn fetch(&self, round: u32) -> Result<(), Error> {
        let mut pop3 = Pop3::connect(self.target.pop3.as_ref().unwrap(), self.timeouts).await?;
        pop3.login(&self.target.people.address(self.number), "secret").await?;
        let (messages, _) = pop3.stat().await?;
        let mut keys = Vec::new();
        for number in 1..=messages {
            let read = pop3.retrieve(number).await?;
            let key = Key::of(&read.message_id);
            let facts = Facts { key, octets: read.tail_octets, sum: read.tail_sum };
            self.ledger.fetched(self.number, &facts);
            if round % 2 == 1 {
                pop3.delete(number).await?;
                keys.push(key);
            }
        }
        match pop3.quit().await {
            Ok(()) => keys.iter().for_each(|key| self.ledger.fetched_away(self.number, *key)),
            Err(error) => {
                for key in keys {
                    self.ledger.unsure_fetched_away(self.number, key);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// A session of a mail reader.
    async fn work(&self, letter: &Letter) -> Result<(), Error> {
        let mut imap = Imap::connect(self.target.imap.as_ref().unwrap(), self.timeouts).await?;
        imap.login(&self.target.people.address(self.number), "secret").await?;
        self.keep(&mut imap, letter).await?;
        let inbox = Place::new(self.number, "INBOX");
        let selected = imap.select("INBOX").await?;
        let rows = imap.list_rows(1..=selected.exists).await?;
        let sights: Vec<Sight> =
            rows.iter().map(|row| Sight { uid: row.uid, key: Key::of(&row.message_id) }).collect();
        let exists = (rows.len() as u32 <= selected.exists).then_some(selected.exists);
        let view =
            View { uid_validity: selected.uid_validity, uid_next: selected.uid_next, exists };
        self.ledger.observed(inbox, &view, &sights);
        if let [read, marked, moved, deleted, ..] = &rows[..] {
            self.read(&mut imap, read).await?;
            self.mark(&mut imap, marked).await?;
            self.transfer(&mut imap, moved).await?;
            self.delete(&mut imap, deleted).await?;
        }
        self.ledger.counted(inbox, imap.noop().await?.exists);
        let counted = imap.status("NotesBench").await?;
        self.ledger.counted(Place::new(self.number, "NotesBench"), counted.messages);
        imap.logout().await
    }

    async fn keep(&self, imap: &mut Imap, letter: &Letter) -> Result<(), Error> {
        let token = self.ledger.appending(Place::new(self.number, "Sent"), &Facts::of(letter));
        match imap.append("Sent", &["\\Seen"], letter).await {
            Ok(uid) => self.ledger.appended(token, uid),
            Err(error) => {
                self.ledger.unsure(token);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn read(&self, imap: &mut Imap, row: &Row) -> Result<(), Error> {
        let inbox = Place::new(self.number, "INBOX");
        if let Some(read) = imap.read(row.uid, Part::Whole).await? {
            self.ledger.read_back(inbox, row.uid, read.tail_octets, read.tail_sum);
        }
        Ok(())
    }

    async fn mark(&self, imap: &mut Imap, row: &Row) -> Result<(), Error> {
        let (inbox, flags) = (Place::new(self.number, "INBOX"), ["\\Flagged", "Stamped"]);
        match imap.store_flags(&[row.uid], Change::Add, &flags).await {
            Ok(()) => self.ledger.flagged(inbox, row.uid, Flagging::Add, &flags),
            Err(error) => {
                self.ledger.unsure_flagged(inbox, row.uid, &flags);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn transfer(&self, imap: &mut Imap, row: &Row) -> Result<(), Error> {
        let inbox = Place::new(self.number, "INBOX");
        match imap.move_uids(&[row.uid], "NotesBench").await {
            Ok(pairs) => {
                let new = pairs.first().map(|(_, new)| *new);
                self.ledger.moved(inbox, row.uid, "NotesBench", new);
            }
            Err(error) => {
                self.ledger.unsure_moved(inbox, row.uid, "NotesBench");
                return Err(error);
            }
        }
        Ok(())
    }

    async fn delete(&self, imap: &mut Imap, row: &Row) -> Result<(), Error> {
        let inbox = Place::new(self.number, "INBOX");
        let mut deleted = imap.store_flags(&[row.uid], Change::Add, &["\\Deleted"]).await;
        if deleted.is_ok() {
            deleted = imap.expunge_uids(&[row.uid]).await;
        }
        match deleted {
            Ok(()) => self.ledger.deleted(inbox, row.uid),
            Err(_) => self.ledger.unsure_deleted(inbox, row.uid),
        }
        deleted
    }
}
