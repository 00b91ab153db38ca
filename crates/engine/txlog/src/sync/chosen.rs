//! The locks of the tester, called as those of the system are, and a time that goes by when the
//! tester wants it to.

use std::cell::Cell;
use std::ops::{Add, Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::{sync, thread};

/// A lock for one at a time.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// Holds a [`Mutex`].
pub struct MutexGuard<'a, T> {
    lock: &'a sync::Mutex<T>,
    /// `None` only while its condition is waited for.
    guard: Option<sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { lock: &self.0, guard: Some(guard) }
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = self.0.try_lock().ok()?;
        Some(MutexGuard { lock: &self.0, guard: Some(guard) })
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[allow(clippy::expect_used)]
    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held but while waiting")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[allow(clippy::expect_used)]
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held but while waiting")
    }
}

/// Wakes those who wait for a condition.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Nobody waits.
    pub fn new() -> Condvar {
        Condvar::default()
    }

    /// Lets go of the lock until somebody notifies.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let Some(held) = guard.guard.take() else { return };
        guard.guard = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets go of the lock for a while; the time may have come afterwards. A time that is far off
    /// does not come: who forgets to notify is noticed then.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, at: Instant) {
        if at.0 > NOW.get() + FAR_MICROS {
            return self.wait(guard);
        }
        drop(guard.guard.take());
        thread::yield_now();
        if shuttle::rand::thread_rng().r#gen() {
            NOW.set(NOW.get().max(at.0));
        }
        guard.guard = Some(guard.lock.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Wakes one.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[derive(Debug, Default)]
struct Turns {
    readers: usize,
    is_written: bool,
    writers_waiting: usize,
}

/// A lock that many may share; who comes to share it lets a waiting writer go first.
#[derive(Debug, Default)]
pub struct RwLock<T> {
    turns: sync::Mutex<Turns>,
    changed: sync::Condvar,
    _value: T,
}

/// Shares a [`RwLock`].
pub struct RwLockReadGuard<'a, T>(&'a RwLock<T>);

/// Has a [`RwLock`] alone.
pub struct RwLockWriteGuard<'a, T>(&'a RwLock<T>);

impl RwLock<()> {
    /// Nobody has it.
    pub fn new(_value: ()) -> RwLock<()> {
        RwLock::default()
    }

    fn share(&self, may: impl Fn(&Turns) -> bool) -> RwLockReadGuard<'_, ()> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        while !may(&turns) {
            turns = self.changed.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns.readers += 1;
        RwLockReadGuard(self)
    }

    /// Waits until nobody has it alone, or waits to have it alone.
    pub fn read(&self) -> RwLockReadGuard<'_, ()> {
        self.share(|turns| !turns.is_written && turns.writers_waiting == 0)
    }

    /// Waits until nobody has it alone.
    pub fn read_recursive(&self) -> RwLockReadGuard<'_, ()> {
        self.share(|turns| !turns.is_written)
    }

    /// Waits until nobody has it.
    pub fn write(&self) -> RwLockWriteGuard<'_, ()> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.writers_waiting += 1;
        while turns.is_written || turns.readers > 0 {
            turns = self.changed.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns.writers_waiting -= 1;
        turns.is_written = true;
        RwLockWriteGuard(self)
    }
}

impl<T> RwLock<T> {
    fn leave(&self, change: impl FnOnce(&mut Turns)) {
        change(&mut self.turns.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.leave(|turns| turns.readers -= 1);
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.0.leave(|turns| turns.is_written = false);
    }
}

/// What is further away than this never comes.
const FAR_MICROS: u64 = 60_000_000;

std::thread_local! {
    /// All threads of a schedule run on one thread of the system.
    static NOW: Cell<u64> = const { Cell::new(1) };
}

/// A moment, in microseconds; time goes by in [`Condvar::wait_until`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// The moment now.
    pub fn now() -> Instant {
        Instant(NOW.get())
    }

    /// The time from an earlier moment to this one; nothing when that was later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration.as_micros() as u64))
    }
}
