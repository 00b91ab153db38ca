//! One thread that looks at all counters once a second, and exactly at both ends of the window.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::recorder::Record;
use super::sources::{Counters, Sources};
use super::syncs::Syncs;
use super::{Meters, Phase};

/// Looks between two readings of the memory that needs a walk over all pages.
const PSS_EVERY: u64 = 10;
/// Rows of a series; a longer run has rows of more than one second.
pub const ROWS_MAX: u64 = 3600;
/// The time between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes of a MB in figures.
pub const MB: f64 = 1e6;

/// One row of the series of a run: what happened since the row before. What is not there was not
/// measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Seconds since the run began.
    pub t_s: f64,
    /// Whether it lies in the steady window.
    pub steady: bool,
    /// People who have signed in.
    pub joined: u32,
    /// Actions that ended well.
    pub transactions: u64,
    /// Actions that failed.
    pub errors: u64,
    /// Actions that ended well, as a rate.
    pub per_min: f64,
    /// Mean time of an action, in ms.
    pub mean_ms: f64,
    /// Half of them took no longer, in ms.
    pub p50_ms: f64,
    /// 95 % of them took no longer, in ms.
    pub p95_ms: f64,
    /// 99 % of them took no longer, in ms.
    pub p99_ms: f64,
    /// The longest, in ms.
    pub max_ms: f64,
    /// CPU of the server, in % of one core.
    pub server_cpu_percent: Option<f64>,
    /// Reads of the device per second.
    pub device_reads_per_s: Option<f64>,
    /// Writes of the device per second.
    pub device_writes_per_s: Option<f64>,
    /// Read from the device, in MB/s.
    pub device_read_mb_per_s: Option<f64>,
    /// Written to the device, in MB/s.
    pub device_write_mb_per_s: Option<f64>,
    /// Time during which the device was busy, in %.
    pub device_busy_percent: Option<f64>,
    /// Calls of fsync and its kind per second.
    pub syncs_per_s: Option<f64>,
    /// Resident memory of the server, in MB.
    pub server_rss_mb: Option<f64>,
    /// Proportional memory of the server as last read, in MB.
    pub server_pss_mb: Option<f64>,
    /// From the server to the clients, in kbit/s.
    pub network_in_kbit_per_s: f64,
    /// From the clients to the server, in kbit/s.
    pub network_out_kbit_per_s: f64,
    /// CPU of the driver, in % of one core.
    pub driver_cpu_percent: Option<f64>,
}

/// What a watch saw.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The series.
    pub(crate) rows: Vec<Row>,
    /// Counters at the beginning of the window and at its end.
    pub(super) ends: Option<(Counters, Counters)>,
    /// The most memory in the window, in bytes.
    pub(super) pss_bytes: Option<u64>,
    /// Why syncs were not counted, when they should have been.
    pub(crate) syncs_refused: Option<String>,
}

/// A running watch.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    meters: Arc<Meters>,
    thread: JoinHandle<Seen>,
}

impl Watch {
    /// Begins to look. `length` is how long the run is to take; `told` gets a row every second.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        meters: Arc<Meters>,
        sources: Sources,
        length: Duration,
        told: impl FnMut(&Row) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let syncs = sources.syncs.then(|| Syncs::start(&sources));
        let (syncs, refused) = match syncs {
            Some(Err(why)) => (None, Some(why.to_string())),
            other => (other.and_then(Result::ok), None),
        };
        let look = Look::new(Arc::clone(&meters), sources, syncs, length);
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let mut seen = look.follow(&asked, told);
            seen.syncs_refused = refused;
            seen
        })?;
        Ok(Self { stop, meters, thread })
    }

    /// Ends it, and gives what it saw; `None` when its thread broke.
    pub(crate) fn finish(self) -> Option<Seen> {
        self.stop.store(true, Ordering::Relaxed);
        self.meters.wake();
        self.thread.join().ok()
    }
}

struct Look {
    meters: Arc<Meters>,
    sources: Sources,
    syncs: Option<Syncs>,
    begun: Instant,
    last: Counters,
    looks: u64,
    /// Looks that make one row.
    looks_per_row: u64,
    gathered: Record,
    row_begin: Counters,
    pss_bytes: Option<u64>,
    seen: Seen,
    starts: Option<Counters>,
}

impl Look {
    fn new(meters: Arc<Meters>, sources: Sources, syncs: Option<Syncs>, length: Duration) -> Self {
        let now = sources.counters(&meters, syncs.as_ref());
        let pss_bytes = sources.pss_bytes();
        let seen = Seen { rows: Vec::new(), ends: None, pss_bytes: None, syncs_refused: None };
        let looks_per_row = length.as_secs().div_ceil(ROWS_MAX).max(1);
        Self {
            meters,
            sources,
            syncs,
            begun: now.at,
            last: now,
            looks: 0,
            looks_per_row,
            gathered: Record::beat(),
            row_begin: now,
            pss_bytes,
            seen,
            starts: None,
        }
    }

    fn follow(mut self, stop: &AtomicBool, mut told: impl FnMut(&Row)) -> Seen {
        let mut phase = Phase::Ramp;
        let mut next = self.begun + LOOK;
        while !stop.load(Ordering::Relaxed) {
            phase = self.follow_turn(phase, next);
            if Instant::now() >= next {
                self.look(&mut told);
                next += LOOK;
                // After a pause of the whole machine nothing is made up for.
                next = next.max(Instant::now());
            }
        }
        // It may have been ended before both ends of the window were looked at.
        phase = self.follow_turn(phase, self.begun);
        self.follow_turn(phase, self.begun);
        if self.last.at.elapsed() > LOOK / 2 {
            self.look(&mut told);
        }
        self.seen
    }

    /// Waits for the next phase, or until a moment, and looks when there is one.
    fn follow_turn(&mut self, phase: Phase, until: Instant) -> Phase {
        let turned = self.meters.wait_turn(phase, until);
        if turned != phase {
            self.turn(turned);
        }
        turned
    }

    fn turn(&mut self, phase: Phase) {
        let now = self.sources.counters(&self.meters, self.syncs.as_ref());
        match phase {
            Phase::Ramp => {}
            Phase::Window => {
                self.starts = Some(now);
                self.read_pss(true);
            }
            Phase::After => {
                self.read_pss(true);
                self.seen.ends = self.starts.map(|start| (start, now));
            }
        }
    }

    fn read_pss(&mut self, steady: bool) {
        self.pss_bytes = self.sources.pss_bytes();
        if steady {
            self.seen.pss_bytes = self.seen.pss_bytes.max(self.pss_bytes);
        }
    }

    fn look(&mut self, told: &mut impl FnMut(&Row)) {
        let now = self.sources.counters(&self.meters, self.syncs.as_ref());
        let steady = self.meters.phase() == Phase::Window;
        self.looks += 1;
        if self.looks.is_multiple_of(PSS_EVERY) {
            self.read_pss(steady);
        }
        let beat = self.meters.take_beat();
        told(&self.row(&beat, (&self.last, &now), steady));
        self.gathered.join(&beat);
        self.last = now;
        if self.looks.is_multiple_of(self.looks_per_row) {
            let gathered = std::mem::replace(&mut self.gathered, Record::beat());
            let row = self.row(&gathered, (&self.row_begin, &now), steady);
            self.seen.rows.push(row);
            self.row_begin = now;
        }
    }

    fn row(&self, beat: &Record, (from, to): (&Counters, &Counters), steady: bool) -> Row {
        let used = Between { from, to };
        let s = used.seconds();
        let disk = used.disk();
        Row {
            t_s: to.at.saturating_duration_since(self.begun).as_secs_f64(),
            steady,
            joined: self.meters.people(),
            transactions: beat.times.len(),
            errors: beat.errors,
            per_min: beat.times.len() as f64 / s * 60.0,
            mean_ms: beat.mean_ms(),
            p50_ms: beat.quantile_ms(0.5),
            p95_ms: beat.quantile_ms(0.95),
            p99_ms: beat.quantile_ms(0.99),
            max_ms: beat.max_ms(),
            server_cpu_percent: used.server_cpu_s().map(|cpu_s| cpu_s / s * 100.0),
            device_reads_per_s: disk.map(|d| d.reads as f64 / s),
            device_writes_per_s: disk.map(|d| d.writes as f64 / s),
            device_read_mb_per_s: disk.map(|d| d.read_bytes as f64 / MB / s),
            device_write_mb_per_s: disk.map(|d| d.write_bytes as f64 / MB / s),
            device_busy_percent: disk.map(|d| (d.busy_ms as f64 / 10.0 / s).min(100.0)),
            syncs_per_s: used.syncs().map(|syncs| syncs as f64 / s),
            server_rss_mb: to.server.map(|server| server.rss_bytes as f64 / MB),
            server_pss_mb: self.pss_bytes.map(|bytes| bytes as f64 / MB),
            network_in_kbit_per_s: used.sent().octets_in as f64 * 8.0 / 1000.0 / s,
            network_out_kbit_per_s: used.sent().octets_out as f64 * 8.0 / 1000.0 / s,
            driver_cpu_percent: used.driver_cpu_s().map(|cpu_s| cpu_s / s * 100.0),
        }
    }
}

/// What was used between two looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between<'a> {
    pub(super) from: &'a Counters,
    pub(super) to: &'a Counters,
}

impl Between<'_> {
    pub(super) fn seconds(self) -> f64 {
        self.to.at.saturating_duration_since(self.from.at).as_secs_f64().max(1e-3)
    }

    /// Not below 0: a process that ended takes its time along.
    pub(super) fn server_cpu_s(self) -> Option<f64> {
        Some((self.to.server?.cpu_s - self.from.server?.cpu_s).max(0.0))
    }

    pub(super) fn moved(self) -> Option<super::texts::Moved> {
        let (from, to) = (self.from.server?.moved, self.to.server?.moved);
        Some(super::texts::Moved {
            read_bytes: to.read_bytes.saturating_sub(from.read_bytes),
            write_bytes: to.write_bytes.saturating_sub(from.write_bytes),
        })
    }

    pub(super) fn disk(self) -> Option<super::texts::Disk> {
        let (from, to) = (self.from.disk?, self.to.disk?);
        Some(super::texts::Disk {
            reads: to.reads.saturating_sub(from.reads),
            read_bytes: to.read_bytes.saturating_sub(from.read_bytes),
            writes: to.writes.saturating_sub(from.writes),
            write_bytes: to.write_bytes.saturating_sub(from.write_bytes),
            busy_ms: to.busy_ms.saturating_sub(from.busy_ms),
            flushes: to.flushes.zip(from.flushes).map(|(to, from)| to.saturating_sub(from)),
        })
    }

    pub(super) fn syncs(self) -> Option<u64> {
        Some(self.to.syncs?.saturating_sub(self.from.syncs?))
    }

    pub(super) fn sent(self) -> super::Sent {
        let (from, to) = (self.from.sent, self.to.sent);
        super::Sent {
            requests: to.requests.saturating_sub(from.requests),
            octets_in: to.octets_in.saturating_sub(from.octets_in),
            octets_out: to.octets_out.saturating_sub(from.octets_out),
        }
    }

    pub(super) fn driver_cpu_s(self) -> Option<f64> {
        Some((self.to.driver_cpu_s? - self.from.driver_cpu_s?).max(0.0))
    }

    /// How busy all processors of the machine were, in %.
    pub(super) fn machine_percent(self) -> Option<f64> {
        let (from, to) = (self.from.machine?, self.to.machine?);
        let all = to.all_ticks.saturating_sub(from.all_ticks);
        let busy = to.busy_ticks.saturating_sub(from.busy_ticks);
        (all > 0).then(|| busy as f64 / all as f64 * 100.0)
    }
}
