//! Who is connected, for `show users` and `drop USER`, and whose password is being checked.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Longest wait for the turn to have a password checked.
const TURN_WAIT: Duration = Duration::from_secs(30);

/// All sessions of the server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Seats>);

#[derive(Debug)]
struct Seats {
    next: AtomicU64,
    seats: Mutex<HashMap<u64, Arc<Place>>>,
    turns: Semaphore,
}

impl Default for Seats {
    fn default() -> Seats {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Seats {
            next: AtomicU64::default(),
            seats: Mutex::default(),
            turns: Semaphore::new(processors),
        }
    }
}

#[derive(Debug)]
struct Place {
    door: &'static str,
    peer: Option<SocketAddr>,
    since: Instant,
    user: Mutex<Option<String>>,
    state: Mutex<&'static str>,
    dropped: Notify,
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
    /// Enters a session; it is listed until the seat is dropped.
    pub fn enter(&self, door: &'static str, peer: Option<SocketAddr>) -> Seat {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Arc::new(Place {
            door,
            peer,
            since: Instant::now(),
            user: Mutex::new(None),
            state: Mutex::new("connected"),
            dropped: Notify::new(),
        });
        self.0.seats.lock().insert(id, place.clone());
        Seat { registry: self.clone(), id, place }
    }

    /// Waits for the turn to have a password checked. A check takes a processor for a while, so
    /// that as many run at once as there are processors; a flood of them waits here and not in the
    /// worker pool, where the work of everybody else would stand behind it. `None` when it took
    /// too long.
    pub async fn sign_in_turn(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(TURN_WAIT, self.0.turns.acquire()).await.ok()?.ok()
    }

    /// All sessions, oldest first.
    pub fn list(&self) -> Vec<SeatInfo> {
        let seats = self.0.seats.lock();
        let mut rows: Vec<SeatInfo> = seats.iter().map(|(id, place)| place.info(*id)).collect();
        rows.sort_by_key(|row| row.id);
        rows
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.0.seats.lock().len()
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends every session of a user (`"all"`: of everybody); how many were told.
    pub fn drop_user(&self, name: &str) -> usize {
        let seats = self.0.seats.lock();
        let meant = |place: &Place| {
            name.eq_ignore_ascii_case("all")
                || place.user.lock().as_deref().is_some_and(|user| user.eq_ignore_ascii_case(name))
        };
        seats.values().filter(|place| meant(place)).map(|place| place.dropped.notify_one()).count()
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

    /// Notes who signed in.
    pub fn set_user(&self, name: &str) {
        *self.place.user.lock() = Some(name.to_owned());
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
        self.registry.0.seats.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_of_sign_ins_waits_for_its_turn() {
        let registry = Registry::default();
        let processors = registry.0.turns.available_permits();
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
}
