//! What a run came to in figures.

use super::Meters;
use super::recorder::Record;
use super::sources::{Counters, Sources};
use super::watch::{Between, MB, Seen};
use crate::outcome::{ActionLine, Figures, NotMeasured};

/// Share of its threads' time from which on the driver is saturated.
const DRIVER_CPU_MAX: f64 = 0.9;
/// Lag from which on the driver is saturated, if it also passes the mean response, in ms.
const LAG_MAX_MS: f64 = 50.0;

/// What a run came to in figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// The length of the window, in s.
    pub window_s: f64,
    /// All figures that were measured.
    pub figures: Figures,
    /// What was not.
    pub not_measured: Vec<NotMeasured>,
    /// Each action.
    pub actions: Vec<ActionLine>,
    /// Why the driver could not keep up, if it could not.
    pub saturated: Option<String>,
}

impl Meters {
    /// The figures of the window, which must be over. `threads` is how many the driver works with.
    pub(crate) fn summary(&self, seen: &Seen, sources: &Sources, threads: usize) -> Measured {
        let mut measured = Measured {
            window_s: self.window().unwrap_or_default().as_secs_f64(),
            ..Measured::default()
        };
        self.times(&mut measured);
        match &seen.ends {
            Some((from, to)) => {
                used(&mut measured.figures, Between { from, to });
                of_all_cores(&mut measured.figures, threads);
                state(&mut measured.figures, seen, to);
                measured.not_measured = missing(sources, seen, &measured.figures);
            }
            None => measured.not_measured.push(NotMeasured {
                what: "all figures".to_owned(),
                why: "the steady window did not begin and end".to_owned(),
            }),
        }
        measured.saturated = saturated(&measured.figures, threads);
        measured
    }

    fn times(&self, measured: &mut Measured) {
        let per_min = |count: u64| match measured.window_s {
            0.0 => 0.0,
            window_s => count as f64 / window_s * 60.0,
        };
        let records = self.recorder.actions();
        let mut all = Record::new();
        records.iter().for_each(|record| all.join(record));
        let line = |(name, record): (&String, &Record)| ActionLine {
            name: name.clone(),
            count: record.times.len(),
            errors: record.errors,
            per_min: per_min(record.times.len()),
            mean_ms: record.mean_ms(),
            p50_ms: record.quantile_ms(0.5),
            p95_ms: record.quantile_ms(0.95),
            p99_ms: record.quantile_ms(0.99),
            max_ms: record.max_ms(),
        };
        measured.actions = self.actions.iter().zip(&records).map(line).collect();
        let figures = &mut measured.figures;
        figures.put("transactions", all.times.len() as f64);
        figures.put("transactions_per_min", per_min(all.times.len()));
        figures.put("errors", all.errors as f64);
        if !all.times.is_empty() {
            figures.put("response_mean_ms", all.mean_ms());
            figures.put("response_p50_ms", all.quantile_ms(0.5));
            figures.put("response_p95_ms", all.quantile_ms(0.95));
            figures.put("response_p99_ms", all.quantile_ms(0.99));
            figures.put("response_max_ms", all.max_ms());
        }
        let lags = self.recorder.lags();
        if !lags.times.is_empty() {
            figures.put("driver_lag_p99_ms", lags.quantile_ms(0.99));
        }
    }
}

/// What was used between the ends of the window.
fn used(figures: &mut Figures, used: Between<'_>) {
    let s = used.seconds();
    let sent = used.sent();
    figures.put("requests", sent.requests as f64);
    figures.put("requests_per_s", sent.requests as f64 / s);
    let kbit = |octets: u64| octets as f64 * 8.0 / 1000.0 / s;
    figures.put("network_in_kbit_per_s", kbit(sent.octets_in));
    figures.put("network_out_kbit_per_s", kbit(sent.octets_out));
    figures.put("network_kbit_per_s", kbit(sent.octets_in + sent.octets_out));
    if let Some(cpu_s) = used.server_cpu_s() {
        let transactions = figures.get("transactions").unwrap_or_default();
        figures.put("server_cpu_s", cpu_s);
        figures.put("server_cpu_percent", cpu_s / s * 100.0);
        figures.put("server_cpu_ms_per_transaction", cpu_s * 1000.0 / transactions);
    }
    figures.put_some("driver_cpu_percent", used.driver_cpu_s().map(|cpu_s| cpu_s / s * 100.0));
    figures.put_some("machine_cpu_percent", used.machine_percent());
    if let Some(moved) = used.moved() {
        figures.put("server_read_mb_per_s", moved.read_bytes as f64 / MB / s);
        figures.put("server_write_mb_per_s", moved.write_bytes as f64 / MB / s);
        figures.put("server_write_bytes", moved.write_bytes as f64);
    }
    device(figures, used);
    if let Some(syncs) = used.syncs() {
        figures.put("syncs", syncs as f64);
        figures.put("syncs_per_s", syncs as f64 / s);
    }
    let written = figures.get("device_write_bytes").or(figures.get("server_write_bytes"));
    let written = written.filter(|_| sent.octets_out > 0);
    figures.put_some("written_per_logical", written.map(|b| b / sent.octets_out as f64));
}

/// As published results tell it.
fn of_all_cores(figures: &mut Figures, cores: usize) {
    let percent = figures.get("server_cpu_percent").map(|percent| percent / cores as f64);
    figures.put_some("server_cpu_machine_percent", percent);
}

fn device(figures: &mut Figures, used: Between<'_>) {
    let Some(disk) = used.disk() else { return };
    let s = used.seconds();
    figures.put("device_reads_per_s", disk.reads as f64 / s);
    figures.put("device_writes_per_s", disk.writes as f64 / s);
    figures.put("device_writes", disk.writes as f64);
    figures.put("device_ios_per_s", (disk.reads + disk.writes) as f64 / s);
    figures.put("device_read_mb_per_s", disk.read_bytes as f64 / MB / s);
    figures.put("device_write_mb_per_s", disk.write_bytes as f64 / MB / s);
    figures.put("device_write_bytes", disk.write_bytes as f64);
    figures.put("device_mb_per_s", (disk.read_bytes + disk.write_bytes) as f64 / MB / s);
    figures.put_some("device_flushes_per_s", disk.flushes.map(|flushes| flushes as f64 / s));
    figures.put("device_busy_percent", (disk.busy_ms as f64 / 10.0 / s).min(100.0));
}

/// How things stood at the end of the window.
fn state(figures: &mut Figures, seen: &Seen, end: &Counters) {
    figures.put_some("server_pss_mb", seen.pss_bytes.map(|bytes| bytes as f64 / MB));
    if let Some(server) = end.server {
        figures.put("server_rss_mb", server.rss_bytes as f64 / MB);
        figures.put("server_threads", server.threads as f64);
        figures.put("server_processes", server.processes as f64);
    }
}

/// What was not measured, and why.
fn missing(sources: &Sources, seen: &Seen, figures: &Figures) -> Vec<NotMeasured> {
    let knows = sources.knows_server();
    let refused = seen.syncs_refused.clone();
    let syncs = match (sources.syncs, refused) {
        (false, _) => "not asked for (--sync-count)".to_owned(),
        (true, Some(why)) => why,
        (true, None) => "bpftrace ended during the run".to_owned(),
    };
    let or = |asked: bool, otherwise: &str, option: &str| match asked {
        true => otherwise.to_owned(),
        false => format!("not asked for ({option})"),
    };
    let server = "--server-pid or --server-cgroup";
    let rows = [
        ("server_cpu_s", "CPU of the server", or(knows, "its processes ended", server)),
        ("server_write_bytes", "bytes of the server's processes", or(knows, "they ended", server)),
        ("server_pss_mb", "memory of the server (PSS)", or(knows, "may not be read", server)),
        (
            "device_writes",
            "reads and writes of the device",
            or(sources.device.is_some(), "the device went away", "--device"),
        ),
        ("syncs", "sync calls", syncs),
    ];
    let absent = rows.into_iter().filter(|(name, ..)| figures.get(name).is_none());
    absent.map(|(_, what, why)| NotMeasured { what: what.to_owned(), why }).collect()
}

/// Why the driver could not keep up, if it could not.
pub(super) fn saturated(figures: &Figures, threads: usize) -> Option<String> {
    let lag_ms = figures.get("driver_lag_p99_ms").unwrap_or_default();
    let most_ms = figures.get("response_mean_ms").unwrap_or_default().max(LAG_MAX_MS);
    if lag_ms > most_ms {
        return Some(format!(
            "the driver was saturated: 1 % of its actions began more than {lag_ms:.0} ms late \
             (limit {most_ms:.0} ms)"
        ));
    }
    let cpu = figures.get("driver_cpu_percent").unwrap_or_default();
    let most = threads as f64 * 100.0;
    (cpu > most * DRIVER_CPU_MAX).then(|| {
        format!("the driver was saturated: {cpu:.0} % CPU of the {most:.0} % that its threads have")
    })
}
