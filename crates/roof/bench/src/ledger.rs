//! The model of what every mailbox must hold. It is kept while a run lasts, by what the server said
//! to the people, and compared with the mailboxes at the end.
//!
//! Whatever is about to be handed in is entered **before** the first byte is sent and settled when
//! the server's answer is there, so that a message may be seen in its mailbox at any time. What
//! ended without an answer may be there or not. Uids are bound to messages as they are seen; from
//! then on they may not change. One lock for each person, so thousands of them do not meet.

mod book;
mod check;
mod finding;
mod judge;
mod look;
mod opening;
mod room;
mod terms;

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use book::Book;
use room::{Found, Origin, Room, State};

pub use check::{CheckOptions, check};
pub use finding::{Finding, Findings, Kind, Looked, TEXTS_MAX};
pub use opening::{Opening, Trouble, opening};
pub use terms::{Clock, Facts, Flagging, Key, Options, Place, Sight, Strangers, View};

/// Keywords that the model can tell apart, beside the five system flags.
pub const KEYWORDS_MAX: usize = 11;

const SYSTEM_FLAGS: [&str; 5] = ["\\seen", "\\answered", "\\flagged", "\\deleted", "\\draft"];

/// Something that is being handed in. It is given back with the server's answer; without one the
/// message may be there or not.
#[derive(Debug)]
#[must_use = "the answer of the server belongs to it"]
pub struct Token {
    key: Key,
    /// Person and number of the folder.
    places: Vec<(u32, u16)>,
}

/// The model. All methods may be called from many tasks at once; none waits for anything but the
/// lock of one person.
pub struct Ledger {
    options: Options,
    started: Instant,
    started_s: i64,
    people: Vec<Mutex<Book>>,
    folders: Mutex<Vec<String>>,
    keywords: Mutex<Vec<String>>,
    sent: Mutex<HashSet<Key>>,
    findings: Mutex<Findings>,
    faults: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// An empty model for people 1 to `people`.
    #[must_use]
    pub fn new(people: u32, options: Options) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            options,
            started: Instant::now(),
            started_s: now.as_secs() as i64,
            people: (0..people).map(|_| Mutex::default()).collect(),
            folders: Mutex::new(vec!["INBOX".to_owned()]),
            keywords: Mutex::default(),
            sent: Mutex::default(),
            findings: Mutex::default(),
            faults: AtomicU64::new(0),
        }
    }

    /// How many people it is for.
    #[must_use]
    pub fn people(&self) -> u32 {
        self.people.len() as u32
    }

    /// How many things were found wrong so far.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn findings(&self) -> Findings {
        locked(&self.findings).clone()
    }

    /// What lies in a folder before the run, in the order of uids.
    pub fn baseline(&self, place: Place<'_>, view: &View, sights: &[Sight]) {
        self.room(place, |room, _| room.begin(view, sights));
    }

    /// A letter is about to be sent to the INBOX of each of these people.
    pub fn sending(&self, facts: &Facts, to: &[u32]) -> Token {
        let mut people: Vec<u32> = to.to_vec();
        people.sort_unstable();
        people.dedup();
        self.enter(facts, people.into_iter().map(|person| (person, 0)).collect(), Origin::Mail)
    }

    /// A letter is about to be put into a folder by its owner.
    pub fn appending(&self, place: Place<'_>, facts: &Facts) -> Token {
        let folder = self.folder(place.folder);
        self.enter(facts, vec![(place.person, folder)], Origin::Owner)
    }

    /// The server accepted the letter at `at`, but for `refused` of its recipients.
    pub fn accepted(&self, token: Token, at: Instant, refused: &[u32]) {
        let at_ms = self.ms(at);
        for (person, folder) in token.places {
            let state = if refused.contains(&person) { State::Refused } else { State::There };
            self.settle((person, folder), token.key, |entry| {
                entry.state = state;
                entry.at_ms = at_ms;
            });
        }
    }

    /// The server said OK to an APPEND; `uid` when it told it (RFC 4315).
    pub fn appended(&self, token: Token, uid: Option<u32>) {
        let at_ms = self.ms(Instant::now());
        for &place in &token.places {
            self.settle(place, token.key, |entry| {
                entry.state = State::There;
                entry.at_ms = at_ms;
            });
            if let Some(uid) = uid {
                let folder = self.folder_name(place.1);
                let sight = Sight { uid, key: token.key };
                self.observed(Place::new(place.0, &folder), &View::default(), &[sight]);
            }
        }
    }

    /// No answer came: the message may be there or not.
    pub fn unsure(&self, token: Token) {
        for place in token.places {
            self.settle(place, token.key, |entry| entry.state = State::Maybe);
        }
    }

    /// The server refused it: it may not be there.
    pub fn refused(&self, token: Token) {
        for place in token.places {
            self.settle(place, token.key, |entry| entry.state = State::Refused);
        }
    }

    /// A message was moved; `new_uid` when the server told it.
    pub fn moved(&self, place: Place<'_>, uid: u32, to: &str, new_uid: Option<u32>) {
        self.transfer(place, uid, to, (State::Gone, State::There));
        let key = self.room(place, |room, _| room.key_of(uid)).flatten();
        if let (Some(uid), Some(key)) = (new_uid, key) {
            let to = Place::new(place.person, to);
            self.observed(to, &View::default(), &[Sight { uid, key }]);
        }
    }

    /// A move ended without an answer: the message is in one of the folders, or in both.
    pub fn unsure_moved(&self, place: Place<'_>, uid: u32, to: &str) {
        self.transfer(place, uid, to, (State::MaybeMoved, State::Maybe));
    }

    /// A message was deleted and expunged.
    pub fn deleted(&self, place: Place<'_>, uid: u32) {
        self.change(place, uid, |entry| entry.state = State::Gone);
    }

    /// A deletion ended without an answer.
    pub fn unsure_deleted(&self, place: Place<'_>, uid: u32) {
        self.change(place, uid, |entry| entry.state = State::MaybeGone);
    }

    /// A message was taken out of the maildrop (DELE, and QUIT was answered).
    pub fn fetched_away(&self, person: u32, key: Key) {
        self.room(Place::new(person, "INBOX"), |room, found| room.take(key, State::Gone, found));
    }

    /// The same, but QUIT was not answered.
    pub fn unsure_fetched_away(&self, person: u32, key: Key) {
        let inbox = Place::new(person, "INBOX");
        self.room(inbox, |room, found| room.take(key, State::MaybeGone, found));
    }

    /// A message was fetched from the maildrop: what it was. As [`Ledger::read_back`], where there
    /// are no uids.
    pub fn fetched(&self, person: u32, read: &Facts) {
        self.room(Place::new(person, "INBOX"), |room, found| room.fetch(read, found));
    }

    /// Flags were set or taken off, and the server said OK.
    pub fn flagged(&self, place: Place<'_>, uid: u32, way: Flagging, flags: &[&str]) {
        let bits = self.bits(flags);
        self.change(place, uid, |entry| match way {
            Flagging::Add => (entry.on, entry.off) = (entry.on | bits, entry.off & !bits),
            Flagging::Remove => (entry.on, entry.off) = (entry.on & !bits, entry.off | bits),
        });
    }

    /// A STORE ended without an answer: these flags may be set or not.
    pub fn unsure_flagged(&self, place: Place<'_>, uid: u32, flags: &[&str]) {
        let bits = self.bits(flags);
        self.change(place, uid, |entry| {
            (entry.on, entry.off) = (entry.on & !bits, entry.off & !bits);
        });
    }

    /// What a client was shown of a folder.
    pub fn observed(&self, place: Place<'_>, view: &View, sights: &[Sight]) {
        self.room(place, |room, found| room.observe(view, sights, found));
    }

    /// The server said how many messages are in a folder.
    pub fn counted(&self, place: Place<'_>, exists: u32) {
        self.room(place, |room, found| room.count(exists, found));
    }

    /// What a message must be when it is read whole; `None` when the model does not know its bytes.
    #[must_use]
    pub fn facts(&self, place: Place<'_>, uid: u32) -> Option<Facts> {
        self.room(place, |room, _| room.facts(uid)).flatten()
    }

    /// A message was read whole: how many octets it has from its Message-ID on, and the crc32 over
    /// them. What stands in front of that line is the server's.
    pub fn read_back(&self, place: Place<'_>, uid: u32, octets: u64, tail_sum: u32) {
        self.room(place, |room, found| room.compare(uid, octets, tail_sum, found));
    }
}

impl Ledger {
    fn ms(&self, at: Instant) -> u32 {
        let ms = at.saturating_duration_since(self.started).as_millis();
        u32::try_from(ms).unwrap_or(u32::MAX)
    }

    fn folder(&self, name: &str) -> u16 {
        let mut folders = locked(&self.folders);
        let known = folders.iter().position(|f| same_folder(f, name));
        let number = known.unwrap_or_else(|| {
            folders.push(name.to_owned());
            folders.len() - 1
        });
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    fn folder_name(&self, number: u16) -> String {
        locked(&self.folders).get(usize::from(number)).cloned().unwrap_or_default()
    }

    /// The bits of these flags; keywords beyond [`KEYWORDS_MAX`] are not watched.
    fn bits(&self, flags: &[&str]) -> u16 {
        let mut keywords = locked(&self.keywords);
        for flag in flags.iter().map(|flag| flag.to_ascii_lowercase()) {
            let known = SYSTEM_FLAGS.contains(&flag.as_str()) || keywords.contains(&flag);
            if !known && keywords.len() < KEYWORDS_MAX {
                keywords.push(flag);
            }
        }
        drop(keywords);
        self.known_bits(flags)
    }

    /// The bits of those of these flags that are watched.
    fn known_bits(&self, flags: &[&str]) -> u16 {
        let keywords = locked(&self.keywords);
        let watched = || SYSTEM_FLAGS.into_iter().chain(keywords.iter().map(String::as_str));
        let bit = |flag: &&str| watched().position(|other| other.eq_ignore_ascii_case(flag));
        flags.iter().filter_map(bit).fold(0, |bits, at| bits | 1 << at)
    }

    /// The names of these bits.
    fn flag_names(&self, bits: u16) -> String {
        let keywords = locked(&self.keywords);
        let names = SYSTEM_FLAGS.iter().copied().chain(keywords.iter().map(String::as_str));
        let set = names.enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|(_, name)| name);
        set.collect::<Vec<_>>().join(" ")
    }

    /// Works on one folder of one person; `None` when there is no such person.
    fn room<R>(
        &self,
        place: Place<'_>,
        work: impl FnOnce(&mut Room, &mut Found<'_>) -> R,
    ) -> Option<R> {
        let folder = self.folder(place.folder);
        let book = self.people.get((place.person as usize).checked_sub(1)?)?;
        let mut found = Found::new(self, place);
        let result = work(locked(book).room(folder), &mut found);
        Some(result)
    }

    fn enter(&self, facts: &Facts, places: Vec<(u32, u16)>, origin: Origin) -> Token {
        locked(&self.sent).insert(facts.key);
        for &(person, folder) in &places {
            if let Some(book) = (person as usize).checked_sub(1).and_then(|at| self.people.get(at))
            {
                locked(book).room(folder).enter(facts, origin);
            }
        }
        Token { key: facts.key, places }
    }

    fn settle(&self, place: (u32, u16), key: Key, work: impl FnOnce(&mut room::Entry)) {
        let book = (place.0 as usize).checked_sub(1).and_then(|at| self.people.get(at));
        if let Some(book) = book
            && let Some(entry) = locked(book).room(place.1).sending(key)
        {
            work(entry);
        }
    }

    /// Changes what is known of a message; one that the model never saw is a finding, since the
    /// client named a uid that nobody had shown it.
    fn change(&self, place: Place<'_>, uid: u32, work: impl FnOnce(&mut room::Entry)) {
        self.room(place, |room, found| match room.entry(uid) {
            Some(entry) => work(entry),
            None => found.add(Kind::Unexpected, format_args!("uid {uid} was changed unseen")),
        });
    }

    fn transfer(&self, place: Place<'_>, uid: u32, to: &str, states: (State, State)) {
        let mut moving = None;
        self.change(place, uid, |entry| {
            entry.state = states.0;
            moving = Some(*entry);
        });
        if let Some(mut entry) = moving {
            entry.state = states.1;
            self.room(Place::new(place.person, to), |room, _| room.receive(entry));
        }
    }

    fn add(&self, kind: Kind, text: impl FnOnce() -> String) {
        locked(&self.findings).add(kind, text);
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    fn is_sent(&self, key: Key) -> bool {
        locked(&self.sent).contains(&key)
    }
}

fn same_folder(one: &str, other: &str) -> bool {
    one == other || one.eq_ignore_ascii_case("INBOX") && other.eq_ignore_ascii_case("INBOX")
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("people", &self.people.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
