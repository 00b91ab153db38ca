//! The load: threads that send mail and threads that work in mailboxes, until the server is killed.

use super::dice::Dice;
use super::imap::{Imap, ImapError};
use super::letter::{Way, letter, message_id};
use super::model::{Op, User};
use super::smtp::{Smtp, SmtpError};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The password of everybody in the demo domain.
pub const PASSWORD: &str = "demo";

/// What the threads of one run share.
pub struct Shared {
    pub seed: u64,
    pub smtp_port: u16,
    pub imap_port: u16,
    pub users: Vec<Mutex<User>>,
    /// The next number for a message, never used twice in a run.
    pub number: AtomicU64,
    /// Set before the kill: connections that break from now on break by our hand.
    pub killed: AtomicBool,
    pub wrong: Mutex<Vec<String>>,
    /// Messages sent, with the users they were for, of this round.
    pub letters: Mutex<Vec<(String, Vec<usize>)>>,
    pub acknowledged: AtomicU64,
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
    /// Writes down something that is wrong.
    pub fn complain(&self, text: String) {
        lock(&self.wrong).push(text);
    }

    fn stopping(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    fn broke(&self, who: &str, error: &std::io::Error) {
        if !self.stopping() {
            self.complain(format!("{who}: the connection broke before the kill: {error}"));
        }
    }

    fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends messages until the server is gone.
pub fn send_mail(shared: &Shared, stream: u64) {
    let mut dice = Dice::new(shared.seed, stream);
    while !shared.stopping() {
        let mut smtp = match Smtp::connect(shared.smtp_port) {
            Ok(smtp) => smtp,
            Err(SmtpError::Broken(e)) => return shared.broke("SMTP", &e),
            Err(SmtpError::Refused(text)) => return shared.complain(format!("SMTP: {text}")),
        };
        for _ in 0..10 {
            if let Err(error) = send_one(shared, &mut dice, &mut smtp) {
                match error {
                    SmtpError::Broken(e) => return shared.broke("SMTP", &e),
                    SmtpError::Refused(text) => return shared.complain(format!("SMTP: {text}")),
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
    let key = message_id(shared.seed, Way::Smtp, number);
    recipients.iter().for_each(|r| lock(&shared.users[*r]).sending(&key));
    lock(&shared.letters).push((key.clone(), recipients.clone()));
    let addresses: Vec<String> = recipients.iter().map(|r| address(*r)).collect();
    let outcome = smtp.send(&addresses, &letter(shared.seed, Way::Smtp, number));
    for recipient in &recipients {
        let mut user = lock(&shared.users[*recipient]);
        match &outcome {
            Ok(()) => user.sent(&key),
            Err(SmtpError::Refused(_)) => user.refused(&key),
            Err(SmtpError::Broken(_)) => {}
        }
    }
    if outcome.is_ok() {
        shared.acknowledge();
    }
    outcome
}

/// Works in the mailboxes of `mine` until the server is gone. No other thread works in them.
pub fn use_mailboxes(shared: &Shared, stream: u64, mine: &[usize]) {
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
                return shared.complain(format!("{}: {text}", address(index)));
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
    /// The highest uid of the INBOX that was looked at.
    looked_to: u32,
}

impl<'a> Desk<'a> {
    fn open(shared: &'a Shared, index: usize) -> Result<Desk<'a>, ImapError> {
        let imap = Imap::connect(shared.imap_port, &address(index), PASSWORD)?;
        Ok(Desk { shared, index, imap, selected: String::new(), looked_to: 0 })
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

    /// SELECTs a mailbox and takes note of the mail that has come into the INBOX.
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
        if mailbox == "INBOX" {
            self.see_arrivals()?;
        }
        Ok(())
    }

    fn see_arrivals(&mut self) -> Result<(), ImapError> {
        let set = format!("{}:*", self.looked_to + 1);
        for message in self.imap.fetch(&set, "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]")? {
            self.looked_to = self.looked_to.max(message.uid);
            let mut user = self.user();
            let inbox = user.mailboxes.get("INBOX");
            if inbox.is_some_and(|m| m.ever.contains_key(&message.uid)) {
                continue;
            }
            let outcome = user.arrive(message.uid, &header_value(&message.literal));
            outcome.unwrap_or_else(|text| self.shared.complain(text));
        }
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
