//! The load: threads that send mail and threads that work in mailboxes, until the server is killed.

use super::dice::Dice;
use super::imap::{Imap, ImapError};
use super::letter::{Way, letter, message_id};
use super::model::{HOMES, Op, User};
use super::pop3::Pop3;
use super::server::Ports;
use super::smtp::{Smtp, SmtpError};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The password of everybody in the demo domain.
pub const PASSWORD: &str = "demo";

/// Threads that send mail.
const SENDERS: u64 = 3;
/// Threads that work in mailboxes; each has its own people.
pub const DESKS: usize = 4;
/// How long a client waits after a temporary refusal.
const AGAIN_AFTER: Duration = Duration::from_millis(30);

/// What the load makes of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Nothing is wrong with the world: a refusal is a fault of the server.
    Calm,
    /// Space is short: temporary refusals are right, and mean that nothing happened.
    Scarce,
    /// A disk fails: after a refusal or a broken connection nobody knows what happened.
    Dying,
}

/// What the threads of one run share.
pub struct Shared {
    pub seed: u64,
    pub ports: Ports,
    pub users: Vec<Mutex<User>>,
    /// The next number for a message, never used twice in a run.
    pub number: AtomicU64,
    /// Set before the kill: connections that break from now on break by our hand.
    pub killed: AtomicBool,
    pub wrong: Mutex<Vec<String>>,
    /// Messages sent, with the users they were for, of this round.
    pub letters: Mutex<Vec<(String, Vec<usize>)>>,
    pub acknowledged: AtomicU64,
    /// Refusals that fitted the mood.
    pub refused: AtomicU64,
    pub mood: Mutex<Mood>,
}

/// Locks even when another thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of user `index`.
pub fn address(index: usize) -> String {
    format!("u{:04}@demo.test", index + 1)
}

impl Shared {
    /// For `users` people of the demo domain whose server listens at these ports.
    pub fn new(seed: u64, ports: Ports, users: usize) -> Shared {
        let user = |index| Mutex::new(User { name: address(index), ..User::default() });
        Shared {
            seed,
            ports,
            users: (0..users).map(user).collect(),
            number: AtomicU64::new(1),
            killed: AtomicBool::new(false),
            wrong: Mutex::new(Vec::new()),
            letters: Mutex::new(Vec::new()),
            acknowledged: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            mood: Mutex::new(Mood::Calm),
        }
    }

    /// Runs all clients of round `round` while `meanwhile` does what it has to do; they end when
    /// it is done.
    pub fn under_load<T>(&self, round: u64, meanwhile: impl FnOnce() -> T) -> T {
        self.killed.store(false, Ordering::SeqCst);
        lock(&self.letters).clear();
        std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                scope.spawn(move || send_mail(self, round * 100 + 1 + sender));
            }
            for desk in 0..DESKS {
                let mine: Vec<usize> = (desk..self.users.len()).step_by(DESKS).collect();
                scope.spawn(move || use_mailboxes(self, round * 100 + 50 + desk as u64, &mine));
            }
            let outcome = meanwhile();
            self.killed.store(true, Ordering::SeqCst);
            outcome
        })
    }

    /// Operations acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// How the load takes refusals from now on.
    pub fn set_mood(&self, mood: Mood) {
        *lock(&self.mood) = mood;
    }

    /// How the load takes refusals now.
    pub fn mood(&self) -> Mood {
        *lock(&self.mood)
    }

    /// Writes down something that is wrong.
    pub fn complain(&self, text: String) {
        lock(&self.wrong).push(text);
    }

    fn stopping(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    fn broke(&self, who: &str, error: &std::io::Error) {
        if !self.stopping() && self.mood() != Mood::Dying {
            self.complain(format!("{who}: the connection broke before the kill: {error}"));
        }
    }

    /// A refusal: whether the client goes on.
    fn bears(&self, who: &str, text: &str, temporary: bool) -> bool {
        match self.mood() {
            Mood::Scarce if temporary => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(AGAIN_AFTER);
                true
            }
            Mood::Dying => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                false
            }
            _ => {
                self.complain(format!("{who}: {text}"));
                false
            }
        }
    }

    fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends messages until the server is gone.
fn send_mail(shared: &Shared, stream: u64) {
    let mut dice = Dice::new(shared.seed, stream);
    while !shared.stopping() {
        let connected = Smtp::connect(shared.ports.smtp);
        let sent = connected
            .and_then(|mut smtp| (0..10).try_for_each(|_| send_one(shared, &mut dice, &mut smtp)));
        match sent {
            Ok(()) => {}
            Err(SmtpError::Broken(e)) => return shared.broke("SMTP", &e),
            Err(SmtpError::Refused(text)) => {
                if !shared.bears("SMTP", &text, text.starts_with('4')) {
                    return;
                }
            }
        }
    }
}

fn send_one(shared: &Shared, dice: &mut Dice, smtp: &mut Smtp) -> Result<(), SmtpError> {
    let mut recipients = BTreeSet::new();
    for _ in 0..1 + dice.below(5) {
        recipients.insert(dice.below(shared.users.len() as u64) as usize);
    }
    let recipients: Vec<usize> = recipients.into_iter().collect();
    let number = shared.number.fetch_add(1, Ordering::Relaxed);
    let way = Way::of_sent(number);
    let key = message_id(shared.seed, way, number);
    recipients.iter().for_each(|r| lock(&shared.users[*r]).sending(&key));
    lock(&shared.letters).push((key.clone(), recipients.clone()));
    let addresses: Vec<String> = recipients.iter().map(|r| address(*r)).collect();
    let outcome = smtp.send(&addresses, &letter(shared.seed, way, number));
    for recipient in &recipients {
        let mut user = lock(&shared.users[*recipient]);
        match &outcome {
            Ok(()) => user.sent(&key),
            Err(SmtpError::Refused(_)) if shared.mood() == Mood::Dying => {}
            Err(SmtpError::Refused(_)) => user.refused(&key),
            Err(SmtpError::Broken(_)) => {}
        }
    }
    if outcome.is_ok() {
        shared.acknowledge();
    }
    outcome
}

/// One thread's load in a fixed order: `steps` times a message and some work in mailboxes of the
/// first people. A person whose command was refused or broke off does nothing more.
pub fn scripted(shared: &Shared, stream: u64, steps: u64) {
    const PEOPLE: usize = 4;
    let mut dice = Dice::new(shared.seed, stream);
    let mut desks: HashMap<usize, Option<Desk<'_>>> = HashMap::new();
    let mut smtp = None;
    for step in 0..steps {
        if smtp.is_none() {
            smtp = Smtp::connect(shared.ports.smtp).ok();
        }
        let sent = smtp.as_mut().map(|smtp| send_one(shared, &mut dice, smtp));
        if !matches!(sent, Some(Ok(()))) {
            smtp = None;
        }
        for index in [step as usize % PEOPLE, (step as usize + 1) % PEOPLE] {
            let desk = desks.entry(index).or_insert_with(|| Desk::open(shared, index).ok());
            if let Some(open) = desk
                && open.step(&mut dice).is_err()
            {
                *desk = None;
            }
        }
    }
}

/// Works in the mailboxes of `mine` until the server is gone. No other thread works in them.
fn use_mailboxes(shared: &Shared, stream: u64, mine: &[usize]) {
    let mut dice = Dice::new(shared.seed, stream);
    let mut desks: HashMap<usize, Desk<'_>> = HashMap::new();
    while !shared.stopping() {
        let index = *dice.pick(mine);
        let outcome = match desks.get_mut(&index) {
            Some(desk) => desk.step(&mut dice),
            None => Desk::open(shared, index).map(|desk| {
                desks.insert(index, desk);
            }),
        };
        match outcome {
            Ok(()) => {}
            Err(ImapError::Broken(e)) => return shared.broke(&address(index), &e),
            Err(ImapError::Refused(text)) => {
                let name = address(index);
                let reading = ["SELECT", "UID FETCH"].iter().any(|verb| text.starts_with(verb));
                if !shared.bears(&name, &text, text.contains(" NO ") && !reading) {
                    return;
                }
                lock(&shared.users[index]).in_flight = None; // it did not happen
            }
        }
    }
}

/// One user at work over one connection.
struct Desk<'a> {
    shared: &'a Shared,
    index: usize,
    imap: Imap,
    selected: String,
    /// The highest uid that was looked at, of each mailbox into which mail comes.
    looked_to: HashMap<&'static str, u32>,
}

impl<'a> Desk<'a> {
    fn open(shared: &'a Shared, index: usize) -> Result<Desk<'a>, ImapError> {
        let imap = Imap::connect(shared.ports.imap, &address(index), PASSWORD)?;
        Ok(Desk { shared, index, imap, selected: String::new(), looked_to: HashMap::new() })
    }

    fn user(&self) -> MutexGuard<'a, User> {
        lock(&self.shared.users[self.index])
    }

    fn step(&mut self, dice: &mut Dice) -> Result<(), ImapError> {
        let names: Vec<String> = self.user().mailboxes.keys().cloned().collect();
        let to = dice.pick(&names).clone();
        match dice.below(100) {
            0..25 => return self.append(&to),
            25..28 => return self.create(dice),
            28..31 => return self.take_away(dice),
            _ => {}
        }
        let from = if dice.chance(60) { "INBOX".to_owned() } else { dice.pick(&names).clone() };
        self.select(&from)?;
        let copies: Vec<(u32, String)> = {
            let user = self.user();
            let mailbox = user.mailboxes.get(&from);
            mailbox.into_iter().flat_map(|m| &m.copies).map(|(u, c)| (*u, c.key.clone())).collect()
        };
        if copies.is_empty() {
            return Ok(());
        }
        let (uid, key) = dice.pick(&copies).clone();
        match dice.below(100) {
            0..35 => self.flag(uid, dice),
            35..50 => self.run(Op::Seen { key }, &format!("UID STORE {uid} +FLAGS (\\Seen)")),
            50..70 if to != from => self.transfer("COPY", uid, &to),
            70..85 if to != from => self.transfer("MOVE", uid, &to),
            85.. => self.expunge(uid),
            _ => Ok(()),
        }
    }

    /// SELECTs a mailbox and takes note of the mail that has come into it.
    fn select(&mut self, mailbox: &str) -> Result<(), ImapError> {
        if self.selected != mailbox {
            let validity = self.imap.select(mailbox)?;
            self.selected = mailbox.to_owned();
            let mut user = self.user();
            let known = user.mailboxes.entry(mailbox.to_owned()).or_default();
            if known.validity != 0 && known.validity != validity {
                let text = format!("{mailbox}: UIDVALIDITY changed while the server ran");
                self.shared.complain(text);
            }
            known.validity = validity;
        }
        match HOMES.iter().find(|home| **home == mailbox) {
            Some(home) => self.see_arrivals(home),
            None => Ok(()),
        }
    }

    fn see_arrivals(&mut self, home: &'static str) -> Result<(), ImapError> {
        let mut looked_to = self.looked_to.get(home).copied().unwrap_or(0);
        let set = format!("{}:*", looked_to + 1);
        for message in self.imap.fetch(&set, "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]")? {
            looked_to = looked_to.max(message.uid);
            let mut user = self.user();
            let known = user.mailboxes.get(home);
            if known.is_some_and(|m| m.ever.contains_key(&message.uid)) {
                continue;
            }
            let outcome = user.arrive(home, message.uid, &header_value(&message.literal));
            outcome.unwrap_or_else(|text| self.shared.complain(text));
        }
        self.looked_to.insert(home, looked_to);
        Ok(())
    }

    /// Asks for `op` by `command`, and tells the model when it is acknowledged.
    fn run(&mut self, op: Op, command: &str) -> Result<(), ImapError> {
        self.user().in_flight = Some(op);
        self.imap.command(command)?;
        self.acknowledged(None);
        Ok(())
    }

    fn acknowledged(&mut self, uid: Option<u32>) {
        let outcome = self.user().done(uid);
        outcome.unwrap_or_else(|text| self.shared.complain(text));
        self.shared.acknowledge();
    }

    fn append(&mut self, mailbox: &str) -> Result<(), ImapError> {
        let number = self.shared.number.fetch_add(1, Ordering::Relaxed);
        let key = message_id(self.shared.seed, Way::Append, number);
        let message = letter(self.shared.seed, Way::Append, number);
        self.user().in_flight = Some(Op::Append { mailbox: mailbox.to_owned(), key });
        let (_, uid) = self.imap.append(mailbox, &message)?;
        self.acknowledged(Some(uid));
        Ok(())
    }

    fn create(&mut self, dice: &mut Dice) -> Result<(), ImapError> {
        let mailbox = format!("Made{}", dice.below(6));
        if self.user().mailboxes.contains_key(&mailbox) {
            return Ok(());
        }
        let command = format!("CREATE {mailbox}");
        self.run(Op::Create { mailbox }, &command)
    }

    /// Deletes a message of the INBOX over POP3.
    fn take_away(&mut self, dice: &mut Dice) -> Result<(), ImapError> {
        self.select("INBOX")?;
        let inbox =
            |user: &User| Some(user.mailboxes.get("INBOX")?.copies.keys().copied().collect());
        let uids: Vec<u32> = inbox(&self.user()).unwrap_or_default();
        let name = address(self.index);
        if uids.is_empty() {
            return Ok(());
        }
        let Some(mut pop) = Pop3::connect(self.shared.ports.pop3, &name, PASSWORD)? else {
            return Ok(());
        };
        let uid = *dice.pick(&uids);
        let Some(number) = pop.number_of(uid)? else {
            self.shared.complain(format!("{name}: uid {uid} of the INBOX is not shown over POP3"));
            return Ok(());
        };
        self.user().in_flight = Some(Op::Expunge { mailbox: "INBOX".to_owned(), uid });
        pop.delete(number)?;
        self.acknowledged(None);
        self.imap.command("NOOP")?; // the session hears of it
        Ok(())
    }

    fn flag(&mut self, uid: u32, dice: &mut Dice) -> Result<(), ImapError> {
        let flag = *dice.pick(&["\\Flagged", "\\Answered", "\\Draft"]);
        let op = Op::Flag { mailbox: self.selected.clone(), uid, flag: flag.to_owned() };
        self.run(op, &format!("UID STORE {uid} +FLAGS ({flag})"))
    }

    fn transfer(&mut self, verb: &str, uid: u32, to: &str) -> Result<(), ImapError> {
        let (mailbox, to) = (self.selected.clone(), to.to_owned());
        let op = match verb {
            "COPY" => Op::Copy { mailbox, uid, to: to.clone() },
            _ => Op::Move { mailbox, uid, to: to.clone() },
        };
        self.user().in_flight = Some(op);
        let new = self.imap.transfer(verb, uid, &to)?;
        self.acknowledged(Some(new));
        Ok(())
    }

    fn expunge(&mut self, uid: u32) -> Result<(), ImapError> {
        let (mailbox, flag) = (self.selected.clone(), "\\Deleted".to_owned());
        let op = Op::Flag { mailbox: mailbox.clone(), uid, flag };
        self.run(op, &format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)"))?;
        self.run(Op::Expunge { mailbox, uid }, &format!("UID EXPUNGE {uid}"))
    }
}

/// The value of the one header field in `block`.
pub fn header_value(block: &[u8]) -> String {
    let text = String::from_utf8_lossy(block);
    text.split_once(':').map_or("", |(_, value)| value).trim().to_owned()
}
