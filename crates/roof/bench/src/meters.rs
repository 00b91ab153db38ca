//! Response times, and what the server and the driver use meanwhile.
//!
//! People tell the [`Meters`] what they did; only what ends in the steady window counts. A
//! [`Watch`] looks once a second at the counters of the kernel, and exactly at both ends of the
//! window.

mod recorder;
mod sources;
mod space;
mod summary;
mod syncs;
#[cfg(test)]
mod tests;
mod texts;
mod watch;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use recorder::{Beat, Recorder};

pub use recorder::TOOK_US_MAX;
pub use sources::{Absent, Sources};
pub use space::space_bytes;
pub use summary::Measured;
pub use watch::{MB, ROWS_MAX, Row, Watch};

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// People join.
    Ramp,
    /// What ends now counts.
    Window,
    /// The window is over.
    After,
}

/// The beginning and the end of the window, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    start: Option<Instant>,
    end: Option<Instant>,
}

/// The processor of a machine and its memory in bytes, of `/proc/cpuinfo` and `/proc/meminfo`.
#[must_use]
pub fn machine_facts(cpuinfo: &str, meminfo: &str) -> (String, u64) {
    let cpu = texts::words(cpuinfo, "model name").unwrap_or("unknown").to_owned();
    (cpu, texts::field(meminfo, "MemTotal:").unwrap_or_default() * 1024)
}

/// What the clients sent and received.
#[derive(Debug, Default)]
struct Traffic {
    requests: AtomicU64,
    octets_in: AtomicU64,
    octets_out: AtomicU64,
}

/// What the clients sent and received since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Commands on the wire.
    pub requests: u64,
    /// Octets from the server.
    pub octets_in: u64,
    /// Octets to the server.
    pub octets_out: u64,
}

/// Takes down what people do. Shared by all of them.
#[derive(Debug)]
pub struct Meters {
    actions: Vec<String>,
    recorder: Recorder,
    traffic: Traffic,
    joined: AtomicU32,
    times: Mutex<Times>,
    turned: Condvar,
    phase: AtomicU32,
}

impl Meters {
    /// For these actions, which are told apart by their index.
    #[must_use]
    pub fn new(actions: &[String]) -> Self {
        Self {
            actions: actions.to_vec(),
            recorder: Recorder::new(actions.len()),
            traffic: Traffic::default(),
            joined: AtomicU32::new(0),
            times: Mutex::default(),
            turned: Condvar::new(),
            phase: AtomicU32::new(0),
        }
    }

    /// An action that began at `started` has ended, well or not.
    pub fn record(&self, index: usize, _started: Instant, took: Duration, ok: bool) {
        let counted = (self.phase() == Phase::Window).then_some(index);
        self.recorder.action(counted, took, ok);
    }

    /// What a client sent and received since it last told.
    pub fn traffic(&self, requests: u64, octets_in: u64, octets_out: u64) {
        self.traffic.requests.fetch_add(requests, Ordering::Relaxed);
        self.traffic.octets_in.fetch_add(octets_in, Ordering::Relaxed);
        self.traffic.octets_out.fetch_add(octets_out, Ordering::Relaxed);
    }

    /// A person woke up so much later than planned: the driver is behind.
    pub fn lag(&self, lag: Duration) {
        if self.phase() == Phase::Window {
            self.recorder.lag(lag);
        }
    }

    /// One more person has signed in.
    pub fn joined(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    /// The steady window begins. Only the first call counts.
    pub fn window_start(&self) {
        let mut times = self.locked();
        if times.start.is_none() {
            times.start = Some(Instant::now());
            self.phase.store(1, Ordering::Relaxed);
            self.turned.notify_all();
        }
    }

    /// The steady window ends, if it began. Only the first call counts.
    pub fn window_end(&self) {
        let mut times = self.locked();
        if times.end.is_none() {
            times.end = Some(Instant::now());
            self.phase.store(2, Ordering::Relaxed);
            self.turned.notify_all();
        }
    }

    /// Where the run is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Ramp,
            1 => Phase::Window,
            _ => Phase::After,
        }
    }

    /// How many people have signed in.
    #[must_use]
    pub fn people(&self) -> u32 {
        self.joined.load(Ordering::Relaxed)
    }

    /// What the clients sent and received so far.
    #[must_use]
    pub fn sent(&self) -> Sent {
        Sent {
            requests: self.traffic.requests.load(Ordering::Relaxed),
            octets_in: self.traffic.octets_in.load(Ordering::Relaxed),
            octets_out: self.traffic.octets_out.load(Ordering::Relaxed),
        }
    }

    /// The length of the window; none when it did not begin and end.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        let times = *self.locked();
        Some(times.end?.saturating_duration_since(times.start?))
    }

    /// What all people did since the last call.
    fn take_beat(&self) -> Beat {
        self.recorder.take_beat()
    }

    /// Waits for another phase than `known` or for `until`, and gives the phase. A window that
    /// began is never passed over, however short it was.
    fn wait_turn(&self, known: Phase, until: Instant) -> Phase {
        let times = self.locked();
        let wait = until.saturating_duration_since(Instant::now());
        if self.phase() == known && !wait.is_zero() {
            // Waking for nothing does no harm.
            drop(self.turned.wait_timeout(times, wait));
        } else {
            drop(times);
        }
        match (known, self.phase()) {
            (Phase::Ramp, Phase::After) if self.locked().start.is_some() => Phase::Window,
            (_, phase) => phase,
        }
    }

    /// Wakes whoever waits for a turn.
    fn wake(&self) {
        drop(self.locked());
        self.turned.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
