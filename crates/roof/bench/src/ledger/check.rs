//! At the end of a run: every mailbox of everybody is compared with the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::judge::Shelf;
use super::look::{Depth, Visit};
use super::{Findings, Key, Kind, Ledger, Looked, Place, locked};
use crate::target::Target;
use crate::wire::{Error, Timeouts};

/// Pause between two looks for mail that has not come yet.
const POLL: Duration = Duration::from_millis(250);
/// Times that a mailbox is tried.
const TRIES_MAX: u32 = 3;

/// How the mailboxes are checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckOptions {
    /// Longest wait for accepted mail to arrive.
    pub settle: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Messages of the run that nobody read whole are read and compared, up to so many octets.
    pub read_octets_max: u64,
    /// Limits of the connections.
    pub timeouts: Timeouts,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(120),
            connections: 32,
            read_octets_max: 2 << 30,
            timeouts: Timeouts::default(),
        }
    }
}

struct Check {
    ledger: Arc<Ledger>,
    target: Target,
    options: CheckOptions,
    /// Octets that may still be read.
    octets_left: AtomicU64,
}

/// Waits until accepted mail has arrived, then compares every mailbox of everybody with the model.
/// Gives all findings: those of the run and those of the check.
pub async fn check(ledger: &Arc<Ledger>, target: &Target, options: &CheckOptions) -> Findings {
    let check = Arc::new(Check {
        ledger: ledger.clone(),
        target: target.clone(),
        options: *options,
        octets_left: AtomicU64::new(options.read_octets_max),
    });
    let settled_ms = settle(&check).await;
    let everybody: Vec<u32> = (1..=ledger.people()).collect();
    let looked = each(&check, everybody, judge).await;
    let mut findings = ledger.findings();
    findings.looked = looked.into_iter().fold(Looked::default(), |sum, one| sum.plus(&one));
    findings.looked.settled_ms = settled_ms;
    findings
}

impl Looked {
    fn plus(self, other: &Self) -> Self {
        Self {
            people: self.people + other.people,
            folders: self.folders + other.folders,
            messages: self.messages + other.messages,
            expected: self.expected + other.expected,
            compared: self.compared + other.compared,
            unsure_there: self.unsure_there + other.unsure_there,
            unsure_absent: self.unsure_absent + other.unsure_absent,
            settled_ms: self.settled_ms.max(other.settled_ms),
        }
    }
}

/// Does something for many people over the connections that are allowed.
async fn each<F, R>(check: &Arc<Check>, people: Vec<u32>, work: fn(Arc<Check>, u32) -> F) -> Vec<R>
where
    F: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let (people, next) = (Arc::new(people), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..check.options.connections.clamp(1, people.len().max(1)) {
        let (check, people, next) = (check.clone(), people.clone(), next.clone());
        tasks.spawn(async move {
            let mut results = Vec::new();
            while let Some(&person) = people.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                results.push(work(check.clone(), person).await);
            }
            results
        });
    }
    let mut results = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        results.extend(ended.unwrap_or_default());
    }
    results
}

/// Looks into every INBOX that mail was accepted for and has not been seen in, until all has come
/// or the time is over. Gives how long that took, in ms.
async fn settle(check: &Arc<Check>) -> u64 {
    let started = Instant::now();
    loop {
        let awaited = |&person: &u32| {
            let inbox = Place::new(person, "INBOX");
            check.ledger.room(inbox, |room, _| room.awaited()).unwrap_or(0) > 0
        };
        let waiting: Vec<u32> = (1..=check.ledger.people()).filter(awaited).collect();
        let settled_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if waiting.is_empty() || started.elapsed() > check.options.settle {
            return settled_ms;
        }
        each(check, waiting.clone(), news).await;
        if waiting.iter().any(awaited) {
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn news(check: Arc<Check>, person: u32) {
    // what cannot be read now is tried again, and told by the comparison at the latest
    let Ok(mut visit) = Visit::begin(&check.target, person, check.options.timeouts).await else {
        return;
    };
    if visit.news(&check.ledger, person).await.is_ok() {
        visit.end().await;
    }
}

async fn judge(check: Arc<Check>, person: u32) -> Looked {
    let mut tries = 0;
    loop {
        tries += 1;
        let shelves = match visit(&check, person).await {
            Ok(shelves) => shelves,
            Err(_) if tries < TRIES_MAX => continue,
            Err(trouble) => {
                let address = check.target.people.address(person);
                check.ledger.add(Kind::Unreadable, || format!("{address}: {trouble}"));
                return Looked::default();
            }
        };
        return compare(&check.ledger, person, &shelves);
    }
}

/// Reads all folders of a person, and whole messages that nobody has read.
async fn visit(check: &Check, person: u32) -> Result<Vec<(String, Shelf)>, Error> {
    let ledger = &check.ledger;
    let mut visit = Visit::begin(&check.target, person, check.options.timeouts).await?;
    let mut shelves = Vec::new();
    for folder in visit.folders().await? {
        let place = Place::new(person, &folder);
        let shelf = visit.look(ledger, place, Depth::Check).await?;
        ledger.room(place, |room, found| room.absorb(&shelf, found));
        let unread = ledger.room(place, |room, _| room.unread()).unwrap_or_default();
        for (uid, octets) in unread {
            let take = |left: u64| left.checked_sub(octets);
            let order = Ordering::Relaxed;
            if check.octets_left.fetch_update(order, order, take).is_err() {
                break;
            }
            if let Some((octets, sum)) = visit.read(uid).await? {
                ledger.read_back(place, uid, octets, sum);
            }
        }
        shelves.push((folder, shelf));
    }
    visit.end().await;
    Ok(shelves)
}

fn compare(ledger: &Ledger, person: u32, shelves: &[(String, Shelf)]) -> Looked {
    let mut sum = Looked { people: 1, ..Looked::default() };
    for (folder, shelf) in shelves {
        let place = Place::new(person, folder);
        let looked = ledger.room(place, |room, found| room.judge(shelf, found));
        sum = sum.plus(&looked.unwrap_or_default());
    }
    let mut out: Vec<(String, Key)> = Vec::new();
    for folder in ledger.folders_of(person) {
        let place = Place::new(person, &folder);
        let shelf = shelves.iter().find(|(name, _)| super::same_folder(name, &folder));
        let shelf = shelf.map(|(_, shelf)| shelf);
        if shelf.is_none() {
            let none = Shelf::default();
            let looked = ledger.room(place, |room, found| room.judge(&none, found));
            sum = sum.plus(&Looked { folders: 0, ..looked.unwrap_or_default() });
        }
        let moved = ledger.room(place, |room, _| room.moved_out(shelf)).unwrap_or_default();
        out.extend(moved.into_iter().map(|key| (folder.clone(), key)));
    }
    let there = |key: &Key| {
        shelves.iter().any(|(_, shelf)| shelf.marks.iter().any(|mark| mark.sight.key == *key))
    };
    for (folder, key) in out.iter().filter(|(_, key)| !there(key)) {
        let text = || format!("person {person}, {folder}: {key} was being moved and is gone");
        ledger.add(Kind::Missing, text);
    }
    sum
}

impl Ledger {
    /// Names of the folders that something is known of.
    fn folders_of(&self, person: u32) -> Vec<String> {
        let book = (person as usize).checked_sub(1).and_then(|at| self.people.get(at));
        let numbers: Vec<u16> = book.map_or_else(Vec::new, |book| {
            locked(book).rooms().iter().map(|(number, _)| *number).collect()
        });
        numbers.into_iter().map(|number| self.folder_name(number)).collect()
    }
}
