//! Statistics: collected from every part of the server, under the names administrators know.

mod families;
mod prometheus;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use note::TimeDate;
use parking_lot::Mutex;

pub use prometheus::{families, print as print_prometheus};

use crate::minutes::Peak;
use crate::process;
use crate::server::Running;
use crate::settings::Key;

/// Time for which the totals of the object store are remembered; counting reads its catalog.
const OBJECTS_KEPT: Duration = Duration::from_secs(30);

/// The value of a statistic.
#[derive(Clone, Debug, PartialEq)]
pub enum StatValue {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A point in time.
    Time(TimeDate),
}

impl std::fmt::Display for StatValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) if number.fract() == 0.0 => write!(f, "{number:.0}"),
            Self::Number(number) => write!(f, "{number:.3}"),
            Self::Text(text) => f.write_str(text),
            Self::Time(time) => write!(f, "{time}"),
        }
    }
}

/// One statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    /// Name with dots, the group in front.
    pub name: String,
    /// Value.
    pub value: StatValue,
}

/// Gathers statistics.
#[derive(Default)]
pub(crate) struct Rows(Vec<Stat>);

impl Rows {
    fn number(&mut self, name: &str, value: u64) {
        self.float(name, value as f64);
    }

    fn float(&mut self, name: &str, value: f64) {
        self.0.push(Stat { name: name.to_owned(), value: StatValue::Number(value) });
    }

    /// A peak, and when it was reached.
    fn peak(&mut self, name: &str, peak: Peak) {
        self.number(name, peak.number);
        if let Some(at) = peak.at {
            let value = StatValue::Time(at);
            self.0.push(Stat { name: format!("{name}.Time"), value });
        }
    }

    fn text(&mut self, name: &str, value: &str) {
        self.0.push(Stat { name: name.to_owned(), value: StatValue::Text(value.to_owned()) });
    }
}

/// Totals of the object store, counted now and then.
#[derive(Default)]
pub(crate) struct ObjectTotals(Mutex<Option<(Instant, ::objects::ObjectsStatus)>>);

impl ObjectTotals {
    fn get(&self, objects: &::objects::Objects) -> Option<::objects::ObjectsStatus> {
        let mut kept = self.0.lock();
        if let Some((counted, status)) = &*kept
            && counted.elapsed() < OBJECTS_KEPT
        {
            return Some(*status);
        }
        let status = objects.status().ok()?;
        *kept = Some((Instant::now(), status));
        Some(status)
    }
}

/// All statistics of a server, sorted by name.
pub fn collect(running: &Running) -> Vec<Stat> {
    let mut rows = Rows::default();
    server(running, &mut rows);
    machine(running, &mut rows);
    doors(running, &mut rows);
    log(running, &mut rows);
    objects(running, &mut rows);
    for (name, value) in running.router.stats().rows() {
        rows.float(name, value);
    }
    // A directory in trouble has no statistics; the trouble is told elsewhere.
    for (name, value) in running.site.directory.rows().unwrap_or_default() {
        rows.number(name, value);
    }
    for (name, value) in running.trash.rows() {
        rows.number(name, value);
    }
    databases(running, &mut rows);
    let mut stats = rows.0;
    stats.sort_by(|a, b| a.name.cmp(&b.name));
    stats.dedup_by(|a, b| a.name == b.name);
    stats
}

fn server(running: &Running, rows: &mut Rows) {
    let settings = running.site.settings();
    rows.text("Server.Name", settings.text(Key::ServerName));
    rows.text("Server.Version", env!("CARGO_PKG_VERSION"));
    rows.text("Server.Path.Data", &running.site.dir.absolute());
    rows.0.push(Stat {
        name: "Server.Monitor.Start".to_owned(),
        value: StatValue::Time(running.started_at),
    });
    rows.number("Server.ElapsedTime", running.started.elapsed().as_secs());
    rows.number("Server.CPU.Count", process::processors() as u64);
    rows.number("Server.Mailboxes", settings.number(Key::Mailboxes));
    let seats = running.registry.list();
    let users = seats.iter().filter(|seat| seat.user.is_some()).count();
    rows.number("Server.Users", users as u64);
    rows.number("Server.Sessions", seats.len() as u64);
    rows.number("Server.Sessions.Refused", running.gate.refused());
    {
        let minutes = running.minutes.lock();
        rows.peak("Server.Users.Peak", minutes.users);
        rows.peak("Server.Trans.PerMinute.Peak", minutes.transactions);
        rows.peak("Mail.PeakMessagesDelivered", minutes.delivered);
        let last = minutes.last().next_back();
        rows.number("Server.Trans.PerMinute", last.map_or(0, |minute| minute.transactions));
    }
    rows.number("Server.Tasks", running.tasks.list().len() as u64);
    let pool = running.pool.status();
    rows.number("Server.Sessions.Dropped", pool.panics + running.gate.broken());
    rows.number("Server.Trans.Total", pool.done);
    rows.number("Server.WorkThreads", pool.threads);
    rows.number("Server.ConcurrentTasks", pool.busy);
    rows.number("Server.ConcurrentTasks.Peak", pool.busy_peak);
    rows.number("Server.ConcurrentTasks.Waiting", pool.waiting);
    rows.number("Server.ConcurrentTasks.Refused", pool.refused);
    rows.number("Server.BytesInFlight", running.budget.used());
    rows.number("Server.BytesInFlight.Limit", running.budget.limit());
}

fn machine(running: &Running, rows: &mut Rows) {
    let figures = process::figures();
    rows.number("Mem.Allocated.Process", figures.memory_bytes);
    rows.number("Mem.Allocated.Process.Peak", figures.memory_peak_bytes);
    rows.number("Mem.PhysicalRAM", process::physical_memory_bytes());
    rows.number("Mem.Free", process::free_memory_bytes());
    rows.text("Server.Version.OS", &process::system_name());
    let times = [
        ("Stats.Time.Start", running.started_at),
        ("Stats.Time.Current", running.site.store.now()),
    ];
    for (name, time) in times {
        rows.0.push(Stat { name: name.to_owned(), value: StatValue::Time(time) });
    }
    rows.float("Platform.Process.CpuSeconds", figures.cpu_s);
    rows.number("Platform.Process.Threads", figures.threads);
    rows.number("Platform.Process.Descriptors", figures.descriptors);
    rows.number("Platform.Process.Descriptors.Limit", process::descriptors_max());
    if let Ok(free) = txlog::free_bytes(&running.site.dir.data()) {
        rows.number("Disk.Data.Free", free);
    }
}

/// Databases, and their cache: deliveries use the one of everybody.
fn databases(running: &Running, rows: &mut Rows) {
    let all = running.site.store.statistics();
    let find = |name| all.iter().find(|row| row.0 == name).map_or(0, |row| row.1);
    let (hits, opens) = (find("Database.DbCache.Hits"), find("Database.DbCache.InitialDbOpens"));
    rows.number("Database.DbCache.Lookups", hits + opens);
    rows.number("Mail.DBCacheEntries", find("Database.DbCache.CurrentEntries"));
    rows.number("Mail.DBCacheHits", hits);
    rows.number("Mail.DBCacheReads", hits + opens);
    for (name, value) in all {
        rows.number(name, value);
    }
}

fn doors(running: &Running, rows: &mut Rows) {
    let all = running.smtp.stats().rows().into_iter().chain(running.imap.stats().rows());
    let all = all.chain(running.pop3.stats().rows());
    for (name, value) in all {
        rows.number(name, value);
    }
}

fn log(running: &Running, rows: &mut Rows) {
    let status = running.site.store.log().status();
    rows.number("Translog.Segments", status.segments);
    rows.number("Translog.Size", status.bytes);
    rows.number("Translog.SpareSize", status.spare_bytes);
    rows.number("Translog.Groups", status.groups);
    rows.number("Translog.Syncs", status.syncs);
    rows.number("Translog.BytesWritten", status.bytes_written);
    rows.number("Translog.Records", status.records);
    rows.number("Translog.Full", u64::from(status.full));
    rows.number("Translog.Stopped", u64::from(status.stopped.is_some()));
    if let Some(archive) = status.archive {
        rows.number("Translog.Archive.Segments", archive.archived);
        rows.number("Translog.Archive.Size", archive.bytes);
        rows.number("Translog.Archive.Waiting", archive.waiting);
        rows.number("Translog.Archive.Trouble", u64::from(archive.trouble.is_some()));
    }
    rows.text("Translog.DurableLSN", &status.durable_lsn.to_string());
    rows.text("Translog.OldestNeededLSN", &status.oldest_needed_lsn.to_string());
}

fn objects(running: &Running, rows: &mut Rows) {
    let Some(status) = running.object_totals.get(running.site.store.objects()) else { return };
    rows.number("DAOS.Objects", status.objects);
    rows.float("DAOS.References", status.references as f64);
    rows.number("DAOS.Unreferenced", status.unreferenced);
    rows.number("DAOS.LogicalSize", status.logical_bytes);
    rows.number("DAOS.StoredSize", status.stored_bytes);
    rows.number("DAOS.Segments", status.segments);
    rows.number("DAOS.Segments.Adopted", status.adopted);
}
