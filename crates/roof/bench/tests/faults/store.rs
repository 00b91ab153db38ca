//! Mail in memory, and the faults of the server that keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// A message is lost after its 250.
    Lose,
    /// A message is delivered twice.
    Double,
    /// A message is delivered to the next person instead.
    Misdeliver,
    /// A new message takes the uid of the first one, which gets a new one.
    SwapUids,
    /// A new message takes the place and the uid of the first one.
    ReuseUid,
    /// A message arrives so long after its 250.
    DeliverLate(Duration),
    /// Every reply waits so long.
    ReplyLate(Duration),
    /// A byte of a message's body is another one.
    Damage,
    /// SELECT tells one message too many.
    WrongExists,
    /// STATUS tells one message too few.
    WrongStatus,
    /// The connection ends in the middle of a command.
    Drop,
    /// A message is refused for no reason.
    Refuse,
    /// STORE says OK and does nothing.
    LoseFlag,
    /// EXPUNGE says OK and removes nothing.
    LoseDeletion,
    /// APPEND says OK and keeps nothing.
    LoseAppend,
    /// A person is not in the directory.
    LoseEntry,
    /// The directory finds the next person instead.
    WrongEntry,
    /// The directory answers something that was not asked.
    WrongAnswer,
}

#[derive(Clone)]
pub struct Message {
    pub uid: u32,
    pub flags: BTreeSet<String>,
    pub bytes: Arc<Vec<u8>>,
    pub taken_s: i64,
}

#[derive(Clone)]
pub struct Folder {
    pub uid_next: u32,
    pub messages: Vec<Message>,
}

pub type Folders = BTreeMap<String, Folder>;

/// All mail, and what goes wrong with it.
pub struct Store {
    people: Mutex<BTreeMap<String, Folders>>,
    pub news: Notify,
    fault: Fault,
    /// The fault happens at each `every`th chance.
    every: u32,
    chances: AtomicU32,
    happened: AtomicU32,
}

impl Store {
    pub fn new(people: &[String], fault: Fault, every: u32) -> Self {
        let folders = || -> Folders {
            let names = ["INBOX", "Sent", "Trash", "NotesBench", "Calendar"];
            names.iter().map(|name| ((*name).to_owned(), Folder::new())).collect()
        };
        Self {
            people: Mutex::new(people.iter().map(|p| (p.clone(), folders())).collect()),
            news: Notify::new(),
            fault,
            every,
            chances: AtomicU32::new(0),
            happened: AtomicU32::new(0),
        }
    }

    /// Puts messages into an INBOX, before anything goes wrong.
    pub fn fill(&self, person: &str, messages: u32) {
        let mut people = self.people();
        let inbox = people.get_mut(person).unwrap().get_mut("INBOX").unwrap();
        for number in 1..=messages {
            let text = format!(
                "Message-ID: <OLD.{number}@bench.test>\r\nFrom: old@bench.test\r\n\
                 Subject: {number}\r\n\r\nold\r\n"
            );
            inbox.messages.push(Message {
                uid: number,
                flags: BTreeSet::new(),
                bytes: Arc::new(text.into_bytes()),
                taken_s: 1_000_000_000,
            });
        }
        inbox.uid_next = messages + 1;
    }

    /// Whether this fault happens now.
    pub fn fails(&self, fault: Fault) -> bool {
        if std::mem::discriminant(&fault) != std::mem::discriminant(&self.fault) {
            return false;
        }
        let fails = (self.chances.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every);
        self.happened.fetch_add(u32::from(fails), Ordering::Relaxed);
        fails
    }

    /// How often the fault happened.
    pub fn happened(&self) -> u32 {
        self.happened.load(Ordering::Relaxed)
    }

    /// Time that every reply waits.
    pub fn reply_wait(&self) -> Option<Duration> {
        match self.fault {
            Fault::ReplyLate(wait) => Some(wait),
            _ => None,
        }
    }

    pub fn people(&self) -> MutexGuard<'_, BTreeMap<String, Folders>> {
        self.people.lock().unwrap()
    }

    pub fn knows(&self, person: &str) -> bool {
        self.people().contains_key(person)
    }

    /// Takes a message for a person, as its server does after the 250.
    pub fn deliver(self: &Arc<Self>, person: &str, mut bytes: Vec<u8>) {
        if self.fails(Fault::Lose) {
            return;
        }
        if self.fails(Fault::Damage) {
            let at = bytes.len() - bytes.len() / 4;
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
        }
        let person = match self.fails(Fault::Misdeliver) {
            true => self.after(person),
            false => person.to_owned(),
        };
        let copies = if self.fails(Fault::Double) { 2 } else { 1 };
        if let Fault::DeliverLate(wait) = self.fault
            && self.fails(self.fault)
        {
            let store = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                store.put(&person, "INBOX", &[], bytes);
            });
            return;
        }
        for _ in 0..copies {
            self.put(&person, "INBOX", &[], bytes.clone());
        }
    }

    /// The next person.
    pub fn after(&self, person: &str) -> String {
        let people = self.people();
        let next = people.keys().skip_while(|p| *p != person).nth(1);
        next.or_else(|| people.keys().next()).cloned().unwrap()
    }

    /// Puts a message into a folder; gives its uid.
    pub fn put(&self, person: &str, folder: &str, flags: &[String], bytes: Vec<u8>) -> Option<u32> {
        let (swaps, reuses) = match folder {
            "INBOX" => (self.fails(Fault::SwapUids), self.fails(Fault::ReuseUid)),
            _ => (false, false),
        };
        let mut people = self.people();
        let folder = people.get_mut(person)?.get_mut(folder)?;
        let taken_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let flags: BTreeSet<String> = flags.iter().cloned().collect();
        let mut uid = folder.uid_next;
        folder.uid_next += 1;
        if swaps && let Some(first) = folder.messages.first_mut() {
            std::mem::swap(&mut first.uid, &mut uid);
        }
        if reuses && !folder.messages.is_empty() {
            uid = folder.messages.remove(0).uid;
        }
        let message = Message { uid, flags, bytes: Arc::new(bytes), taken_s };
        folder.messages.push(message);
        folder.messages.sort_by_key(|message| message.uid);
        drop(people);
        self.news.notify_waiters();
        Some(uid)
    }
}

impl Folder {
    pub fn new() -> Self {
        Self { uid_next: 1, messages: Vec::new() }
    }
}
