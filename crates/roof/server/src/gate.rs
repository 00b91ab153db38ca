//! The gate of all listeners: how many connections there may be, in all, from one address, and for
//! lack of descriptors.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Counts connections.
pub(crate) struct Gate {
    max: AtomicUsize,
    per_address_max: AtomicUsize,
    /// Connections there are descriptors for.
    room: AtomicUsize,
    open: Mutex<Open>,
    empty: Notify,
    refused: AtomicU64,
    broken: AtomicU64,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Gate {
    /// A gate for `max` connections, `per_address_max` from one address; loopback is exempt from
    /// the latter.
    pub(crate) fn new(max: usize, per_address_max: usize) -> Arc<Self> {
        Arc::new(Self {
            max: AtomicUsize::new(max),
            per_address_max: AtomicUsize::new(per_address_max),
            room: AtomicUsize::new(usize::MAX),
            open: Mutex::default(),
            empty: Notify::new(),
            refused: AtomicU64::new(0),
            broken: AtomicU64::new(0),
        })
    }

    /// Changes both bounds; who is in stays.
    pub(crate) fn set_limits(&self, max: usize, per_address_max: usize) {
        self.max.store(max, Ordering::Relaxed);
        self.per_address_max.store(per_address_max, Ordering::Relaxed);
    }

    /// Says how many connections there are descriptors for; who is in stays.
    pub(crate) fn set_room(&self, room: usize) {
        self.room.store(room, Ordering::Relaxed);
    }

    /// Connections that are in.
    pub(crate) fn open(&self) -> usize {
        self.open.lock().all
    }

    /// Lets a connection in until the pass is dropped; `None` when there are too many.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Pass> {
        let address = address.to_canonical();
        let counted = (!address.is_loopback()).then_some(address);
        let mut open = self.open.lock();
        let here = counted.and_then(|address| open.by_address.get(&address)).copied();
        let max = self.max.load(Ordering::Relaxed).min(self.room.load(Ordering::Relaxed));
        let full = open.all >= max;
        if full || here.unwrap_or(0) >= self.per_address_max.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        open.all += 1;
        if let Some(address) = counted {
            *open.by_address.entry(address).or_insert(0) += 1;
        }
        Some(Pass { gate: self.clone(), counted })
    }

    /// Waits until no connection is open.
    pub(crate) async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            if self.open.lock().all == 0 {
                return;
            }
            empty.await;
        }
    }

    /// Connections turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Connections that ended in a bug.
    pub(crate) fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }
}

/// A connection that was let in.
pub(crate) struct Pass {
    gate: Arc<Gate>,
    counted: Option<IpAddr>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.gate.broken.fetch_add(1, Ordering::Relaxed);
        }
        let mut open = self.gate.open.lock();
        open.all -= 1;
        if let Some(address) = self.counted
            && let Some(count) = open.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&address);
            }
        }
        if open.all == 0 {
            self.gate.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn both_bounds_hold_and_passes_come_back() {
        let gate = Gate::new(5, 2);
        let first = gate.enter(ip("192.0.2.1")).unwrap();
        let _second = gate.enter(ip("::ffff:192.0.2.1")).unwrap();
        assert!(gate.enter(ip("192.0.2.1")).is_none());
        let local: Vec<Pass> = (0..3).filter_map(|_| gate.enter(ip("127.0.0.1"))).collect();
        assert_eq!(local.len(), 3);
        assert!(gate.enter(ip("192.0.2.2")).is_none());
        drop(local);
        drop(first);
        assert!(gate.enter(ip("192.0.2.1")).is_some());
        assert_eq!(gate.refused(), 2);
    }

    #[test]
    fn without_descriptors_nobody_comes_in() {
        let gate = Gate::new(5, 5);
        let _in = [gate.enter(ip("127.0.0.1")).unwrap(), gate.enter(ip("127.0.0.1")).unwrap()];
        for (room, comes_in) in [(1, false), (2, false), (3, true), (usize::MAX, true)] {
            gate.set_room(room);
            assert_eq!(gate.enter(ip("192.0.2.1")).is_some(), comes_in, "{room}");
        }
        assert_eq!(gate.open(), 2);
    }

    #[tokio::test]
    async fn an_empty_gate_is_waited_for() {
        let gate = Gate::new(2, 2);
        gate.emptied().await;
        let pass = gate.enter(ip("192.0.2.1")).unwrap();
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.emptied().await }
        });
        tokio::task::yield_now().await;
        drop(pass);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_counted_and_gives_the_pass_back() {
        let gate = Gate::new(1, 1);
        let pass = gate.enter(ip("192.0.2.1")).unwrap();
        let task = tokio::spawn(async move {
            let _pass = pass;
            panic!("announced by the test")
        });
        assert!(task.await.is_err());
        assert_eq!(gate.broken(), 1);
        assert!(gate.enter(ip("192.0.2.1")).is_some());
    }
}
