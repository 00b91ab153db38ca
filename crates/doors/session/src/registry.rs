//! Who is connected, for `show users`, `drop USER` and the limits, and whose password is checked.

use crate::limits::{Limits, Rate, Source, TooMany};
use crate::turns::{Turn, Turns};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::Notify;

/// All sessions of the server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Seats>);

#[derive(Debug)]
struct Seats {
    next: AtomicU64,
    seats: Mutex<Table>,
    limits: RwLock<Limits>,
    rates: Mutex<Rates>,
    turns: Arc<Turns>,
}

/// The sessions, and how many each address and each user has.
#[derive(Debug, Default)]
struct Table {
    places: HashMap<u64, Arc<Place>>,
    sources: HashMap<Source, usize>,
    users: HashMap<String, usize>,
}

#[derive(Debug, Default)]
struct Rates {
    sign_ins: Rate<Source>,
    messages: Rate<Payer>,
    recipients: Rate<Payer>,
}

/// On whose account a message goes.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Payer {
    User(String),
    Source(Source),
}

impl Default for Seats {
    fn default() -> Seats {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Seats {
            next: AtomicU64::default(),
            seats: Mutex::default(),
            limits: RwLock::default(),
            rates: Mutex::default(),
            turns: Turns::new(processors),
        }
    }
}

#[derive(Debug)]
struct Place {
    door: &'static str,
    peer: Option<SocketAddr>,
    /// As what it is counted; `None` without limits.
    source: Option<Source>,
    since: Instant,
    user: Mutex<Option<String>>,
    state: Mutex<&'static str>,
    notice: Mutex<Option<Arc<str>>>,
    dropped: Notify,
    noticed: Notify,
}

/// What a row of `show users` needs.
#[derive(Clone, Debug)]
pub struct SeatInfo {
    /// The session's number, never used twice in a run of the server.
    pub id: u64,
    /// The protocol: `imap`, `smtp` …
    pub door: &'static str,
    /// The client's address.
    pub peer: Option<SocketAddr>,
    /// Who signed in, if anybody did.
    pub user: Option<String>,
    /// What the session is doing.
    pub state: &'static str,
    /// Seconds since it was opened.
    pub age_s: u64,
}

impl Registry {
    /// A registry with these limits.
    pub fn with_limits(limits: Limits) -> Registry {
        let registry = Registry::default();
        registry.set_limits(limits);
        registry
    }

    /// Other limits from now on; sessions that are open stay.
    pub fn set_limits(&self, limits: Limits) {
        *self.0.limits.write() = limits;
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        *self.0.limits.read()
    }

    /// Enters a session whatever the limits; it is listed until the seat is dropped.
    pub fn enter(&self, door: &'static str, peer: Option<SocketAddr>) -> Seat {
        let source = Source::of(peer, &self.limits());
        self.seat(door, peer, source, &mut self.0.seats.lock())
    }

    /// Enters a session; it is listed until the seat is dropped.
    ///
    /// # Errors
    /// [`TooMany::FromAddress`]: say so and close the connection.
    pub fn try_enter(&self, door: &'static str, peer: Option<SocketAddr>) -> Result<Seat, TooMany> {
        let limits = self.limits();
        let source = Source::of(peer, &limits);
        let mut table = self.0.seats.lock();
        let open = source.and_then(|source| table.sources.get(&source)).copied().unwrap_or(0);
        let most = limits.connections_per_address;
        if most > 0 && source.is_some() && open >= most {
            return Err(TooMany::FromAddress);
        }
        Ok(self.seat(door, peer, source, &mut table))
    }

    fn seat(
        &self,
        door: &'static str,
        peer: Option<SocketAddr>,
        source: Option<Source>,
        table: &mut Table,
    ) -> Seat {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Arc::new(Place {
            door,
            peer,
            source,
            since: Instant::now(),
            user: Mutex::new(None),
            state: Mutex::new("connected"),
            notice: Mutex::new(None),
            dropped: Notify::new(),
            noticed: Notify::new(),
        });
        table.places.insert(id, place.clone());
        if let Some(source) = source {
            *table.sources.entry(source).or_insert(0) += 1;
        }
        Seat { registry: self.clone(), id, place }
    }

    /// Waits for the turn to have a password checked, see [`Registry::sign_in_turn_of`]; everybody
    /// who asks this way stands in one queue.
    pub async fn sign_in_turn(&self) -> Option<Turn> {
        self.0.turns.wait(None, "").await
    }

    /// Waits for the turn to have a password checked. A check takes a processor for a while, so
    /// that as many run at once as there are processors; a flood of them waits here and not in the
    /// worker pool, where the work of everybody else would stand behind it. Addresses, and names
    /// of one address, take turns. `None` when it took too long, too many wait, or the address had
    /// too many checked in this minute: answer temporarily.
    pub async fn sign_in_turn_of(&self, peer: Option<SocketAddr>, name: &str) -> Option<Turn> {
        let limits = self.limits();
        if let Some(source) = Source::of(peer, &limits) {
            let mut rates = self.0.rates.lock();
            if !rates.sign_ins.spend(source, limits.sign_ins_per_minute, Instant::now()) {
                return None;
            }
        }
        let source = peer.map(|peer| Source::from(peer.ip()));
        self.0.turns.wait(source, name).await
    }

    /// All sessions, oldest first.
    pub fn list(&self) -> Vec<SeatInfo> {
        let table = self.0.seats.lock();
        let places = table.places.iter();
        let mut rows: Vec<SeatInfo> = places.map(|(id, place)| place.info(*id)).collect();
        rows.sort_by_key(|row| row.id);
        rows
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.0.seats.lock().places.len()
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends every session of a user (`"all"`: of everybody); how many were told.
    pub fn drop_user(&self, name: &str) -> usize {
        let table = self.0.seats.lock();
        let meant = |place: &Place| {
            name.eq_ignore_ascii_case("all")
                || place.user.lock().as_deref().is_some_and(|user| user.eq_ignore_ascii_case(name))
        };
        let places = table.places.values().filter(|place| meant(place));
        places.map(|place| place.dropped.notify_one()).count()
    }

    /// Leaves a word for everybody; one that was not taken yet is replaced. How many sessions
    /// there are.
    pub fn broadcast(&self, text: &str) -> usize {
        let text: Arc<str> = text.into();
        let table = self.0.seats.lock();
        for place in table.places.values() {
            *place.notice.lock() = Some(text.clone());
            place.noticed.notify_one();
        }
        table.places.len()
    }
}

impl Place {
    fn info(&self, id: u64) -> SeatInfo {
        SeatInfo {
            id,
            door: self.door,
            peer: self.peer,
            user: self.user.lock().clone(),
            state: *self.state.lock(),
            age_s: self.since.elapsed().as_secs(),
        }
    }
}

/// A session's entry in the [`Registry`].
#[derive(Debug)]
pub struct Seat {
    registry: Registry,
    id: u64,
    place: Arc<Place>,
}

impl Seat {
    /// The session's number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Notes who signed in, whatever the limits.
    pub fn set_user(&self, name: &str) {
        self.note_user(name, usize::MAX);
    }

    /// Notes who signed in.
    ///
    /// # Errors
    /// [`TooMany::OfUser`]: refuse the sign-in for now.
    pub fn try_set_user(&self, name: &str) -> Result<(), TooMany> {
        let limits = self.registry.limits();
        let most = match limits.connections_per_user {
            0 => usize::MAX,
            _ if self.place.source.is_none() => usize::MAX,
            most => most,
        };
        if self.note_user(name, most) { Ok(()) } else { Err(TooMany::OfUser) }
    }

    fn note_user(&self, name: &str, most: usize) -> bool {
        let mut table = self.registry.0.seats.lock();
        let key = name.to_lowercase();
        let mut user = self.place.user.lock();
        let before = user.as_deref().map(str::to_lowercase);
        if before.as_ref() == Some(&key) {
            return true;
        }
        if table.users.get(&key).copied().unwrap_or(0) >= most {
            return false;
        }
        if let Some(before) = before {
            less(&mut table.users, &before);
        }
        *table.users.entry(key).or_insert(0) += 1;
        *user = Some(name.to_owned());
        true
    }

    /// Counts a message.
    ///
    /// # Errors
    /// [`TooMany::Messages`]: refuse it for now.
    pub fn spend_message(&self) -> Result<(), TooMany> {
        let Some(payer) = self.payer() else { return Ok(()) };
        let most = self.registry.limits().messages_per_minute;
        let mut rates = self.registry.0.rates.lock();
        let paid = rates.messages.spend(payer, most, Instant::now());
        if paid { Ok(()) } else { Err(TooMany::Messages) }
    }

    /// Counts a recipient.
    ///
    /// # Errors
    /// [`TooMany::Recipients`]: refuse it for now.
    pub fn spend_recipient(&self) -> Result<(), TooMany> {
        let Some(payer) = self.payer() else { return Ok(()) };
        let most = self.registry.limits().recipients_per_minute;
        let mut rates = self.registry.0.rates.lock();
        let paid = rates.recipients.spend(payer, most, Instant::now());
        if paid { Ok(()) } else { Err(TooMany::Recipients) }
    }

    fn payer(&self) -> Option<Payer> {
        let source = self.place.source?;
        let user = self.place.user.lock().as_deref().map(str::to_lowercase);
        Some(user.map_or(Payer::Source(source), Payer::User))
    }

    /// Takes the word that was left for this session.
    pub fn take_notice(&self) -> Option<Arc<str>> {
        self.place.notice.lock().take()
    }

    /// Resolves when a word was left for this session.
    pub async fn noticed(&self) {
        self.place.noticed.notified().await;
    }

    /// Notes what the session is doing.
    pub fn set_state(&self, state: &'static str) {
        *self.place.state.lock() = state;
    }

    /// Resolves when an administrator dropped this session.
    pub async fn dropped(&self) {
        self.place.dropped.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut table = self.registry.0.seats.lock();
        table.places.remove(&self.id);
        if let Some(source) = &self.place.source {
            less(&mut table.sources, source);
        }
        if let Some(user) = self.place.user.lock().take() {
            less(&mut table.users, &user.to_lowercase());
        }
    }
}

/// One less of a key; none is no entry.
fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_flood_of_sign_ins_waits_for_its_turn() {
        let registry = Registry::default();
        let processors = registry.0.turns.free();
        let mut turns = Vec::new();
        for _ in 0..processors {
            turns.push(registry.sign_in_turn().await.unwrap());
        }
        let none = tokio::time::timeout(Duration::ZERO, registry.sign_in_turn()).await;
        assert!(none.is_err());
        turns.pop();
        assert!(registry.sign_in_turn().await.is_some());
    }

    #[tokio::test]
    async fn users_are_listed_and_dropped_by_name() {
        let registry = Registry::default();
        let ada = registry.enter("imap", None);
        let guest = registry.enter("smtp", None);
        ada.set_user("CN=Ada Lovelace/O=Demo");
        ada.set_state("idle");
        let rows = registry.list();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].door, rows[0].state), ("imap", "idle"));
        assert_eq!(registry.drop_user("cn=ada lovelace/o=demo"), 1);
        ada.dropped().await;
        drop(ada);
        drop(guest);
        assert!(registry.is_empty());
    }

    fn peer(last: u8) -> Option<SocketAddr> {
        Some(SocketAddr::from(([192, 0, 2, last], 1_000)))
    }

    #[test]
    fn connections_of_an_address_are_limited_and_given_back() {
        let limits = Limits { connections_per_address: 2, ..Limits::default() };
        let registry = Registry::with_limits(limits);
        let first = registry.try_enter("smtp", peer(1)).unwrap();
        let second = registry.enter("imap", peer(1));
        let third = registry.try_enter("pop3", peer(1));
        assert_eq!(third.err(), Some(TooMany::FromAddress));
        assert!(registry.try_enter("smtp", peer(2)).is_ok());
        drop(first);
        assert!(registry.try_enter("smtp", peer(1)).is_ok());
        drop(second);
        let local = Some(SocketAddr::from(([127, 0, 0, 1], 1)));
        let many: Vec<_> = (0..9).map(|_| registry.try_enter("smtp", local).unwrap()).collect();
        registry.set_limits(Limits { exempt_loopback: false, ..limits });
        let mut open = vec![registry.try_enter("smtp", local).unwrap()];
        open.push(registry.try_enter("smtp", local).unwrap());
        assert!(registry.try_enter("smtp", local).is_err());
        drop((many, open));
        assert_eq!((registry.len(), registry.0.seats.lock().sources.len()), (0, 0));
    }

    #[test]
    fn connections_of_a_user_are_limited_over_all_doors() {
        let limits = Limits { connections_per_user: 1, ..Limits::default() };
        let registry = Registry::with_limits(limits);
        let (imap, pop3) = (registry.enter("imap", peer(1)), registry.enter("pop3", peer(2)));
        imap.try_set_user("CN=Ada/O=Demo").unwrap();
        imap.try_set_user("CN=Ada/O=Demo").unwrap();
        assert_eq!(pop3.try_set_user("cn=ada/o=demo"), Err(TooMany::OfUser));
        pop3.try_set_user("CN=Bob/O=Demo").unwrap();
        drop(imap);
        pop3.try_set_user("CN=Ada/O=Demo").unwrap();
        assert_eq!(registry.0.seats.lock().users.len(), 1);
        drop(pop3);
        assert!(registry.0.seats.lock().users.is_empty());
    }

    #[test]
    fn messages_are_counted_for_the_user_or_the_address() {
        let limits =
            Limits { messages_per_minute: 2, recipients_per_minute: 1, ..Limits::default() };
        let registry = Registry::with_limits(limits);
        let (one, two) = (registry.enter("smtp", peer(1)), registry.enter("smtp", peer(1)));
        assert_eq!((one.spend_message(), two.spend_message()), (Ok(()), Ok(())));
        assert_eq!(one.spend_message(), Err(TooMany::Messages));
        one.set_user("ada");
        assert_eq!(one.spend_message(), Ok(()));
        assert_eq!(one.spend_recipient(), Ok(()));
        assert_eq!(one.spend_recipient(), Err(TooMany::Recipients));
        let within = registry.enter("smtp", None);
        assert!((0..100).all(|_| within.spend_message().is_ok()));
    }

    #[tokio::test]
    async fn an_address_has_so_many_passwords_checked_in_a_minute() {
        let limits = Limits { sign_ins_per_minute: 2, ..Limits::default() };
        let registry = Registry::with_limits(limits);
        for wanted in [true, true, false] {
            assert_eq!(registry.sign_in_turn_of(peer(1), "ada").await.is_some(), wanted);
        }
        assert!(registry.sign_in_turn_of(peer(2), "ada").await.is_some());
    }

    #[tokio::test]
    async fn a_word_for_everybody_is_taken_once() {
        let registry = Registry::default();
        let seat = registry.enter("imap", None);
        assert_eq!((registry.broadcast("first"), registry.broadcast("second")), (1, 1));
        seat.noticed().await;
        assert_eq!(seat.take_notice().as_deref(), Some("second"));
        assert_eq!(seat.take_notice(), None);
    }
}
