//! Locks, threads and time of the engine.
//!
//! Those of the system, unless the feature `schedules` is on: then those of a tester, which runs
//! one thread at a time and chooses who goes on at every step, so that a test meets many
//! schedules and can repeat the one that failed. What has to do with schedules comes from here.

#[cfg(not(feature = "schedules"))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
#[cfg(not(feature = "schedules"))]
pub use std::{sync::atomic, thread, thread_local, time::Instant};

#[cfg(feature = "schedules")]
pub use chosen::{Condvar, Instant, Mutex, MutexGuard, RwLock, RwLockReadGuard};
#[cfg(feature = "schedules")]
pub use shuttle::{sync::atomic, thread, thread_local};

#[cfg(feature = "schedules")]
mod chosen;
#[cfg(feature = "schedules")]
pub mod explore;
