//! The figures of a run by name: one table says what each is called, its unit, and which way is
//! better.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// It depends.
    Neither,
}

/// A figure that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is called in tables, with its unit.
    pub label: &'static str,
    /// Digits behind the point.
    pub digits: usize,
    /// Which way is better.
    pub better: Better,
}

/// The figures of a run; one that was not measured is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(pub BTreeMap<String, f64>);

impl Figures {
    /// A figure by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Enters a figure that is a number; what is infinite or no number at all is left out.
    pub fn put(&mut self, name: &str, value: f64) {
        debug_assert!(metric(name).is_some(), "{name} is not in the table");
        if value.is_finite() {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Enters a figure if it was measured.
    pub fn put_some(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

impl Metric {
    /// A value as it is shown.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        number(value, self.digits)
    }
}

/// The row of a name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// A number with thousands set apart by commas and so many digits behind the point.
#[must_use]
pub fn number(value: f64, digits: usize) -> String {
    let plain = format!("{value:.digits$}");
    let (sign, plain) = plain.strip_prefix('-').map_or(("", &*plain), |rest| ("-", rest));
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

macro_rules! metrics {
    ($($name:ident $label:literal $digits:literal $better:ident,)*) => {
        /// All figures, in the order of tables.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: stringify!($name),
            label: $label,
            digits: $digits,
            better: Better::$better,
        },)*];
    };
}

metrics! {
    users "Users" 0 More,
    local_replicas_percent "Local replicas %" 0 Neither,
    response_mean_ms "Response time ms, mean" 1 Less,
    response_p50_ms "Response time ms, median" 1 Less,
    response_p95_ms "Response time ms, 95 %" 1 Less,
    response_p99_ms "Response time ms, 99 %" 1 Less,
    response_max_ms "Response time ms, longest" 1 Less,
    transactions_per_min "Transactions/min" 0 More,
    transactions "Transactions" 0 Neither,
    transactions_per_day "Transactions per prime day" 0 More,
    errors "Errors" 0 Less,
    requests_per_s "Requests/s" 1 Neither,
    requests "Requests" 0 Neither,
    server_cpu_percent "CPU % (of one core)" 1 Less,
    server_cpu_machine_percent "CPU % (of all cores)" 1 Less,
    machine_cpu_percent "CPU % of everything, driver too" 1 Neither,
    server_cpu_s "CPU s" 2 Less,
    server_cpu_ms_per_transaction "CPU ms per transaction" 3 Less,
    device_ios_per_s "Disk I/O per s" 1 Less,
    device_reads_per_s "Disk reads/s" 1 Less,
    device_writes_per_s "Disk writes/s" 1 Less,
    device_mb_per_s "Disk MB/s" 2 Less,
    device_read_mb_per_s "Disk read MB/s" 2 Less,
    device_write_mb_per_s "Disk write MB/s" 2 Less,
    device_writes "Disk writes" 0 Less,
    device_write_bytes "Disk bytes written" 0 Less,
    device_flushes_per_s "Disk flushes/s" 1 Less,
    device_busy_percent "Disk busy %" 1 Less,
    syncs_per_s "Sync calls/s" 1 Less,
    syncs "Sync calls" 0 Less,
    server_read_mb_per_s "Processes read MB/s" 2 Less,
    server_write_mb_per_s "Processes write MB/s" 2 Less,
    server_write_bytes "Processes bytes written" 0 Less,
    written_per_logical "Bytes written per byte sent in" 2 Less,
    network_kbit_per_s "Network kbit/s" 0 Less,
    network_in_kbit_per_s "Network to clients kbit/s" 0 Neither,
    network_out_kbit_per_s "Network from clients kbit/s" 0 Neither,
    server_pss_mb "Memory MB (PSS)" 1 Less,
    server_rss_mb "Memory MB (resident)" 1 Less,
    server_virtual_mb "Memory MB (virtual)" 0 Less,
    server_threads "Threads" 0 Neither,
    server_processes "Processes" 0 Neither,
    space_before_mb "Disk space MB, before" 0 Less,
    space_after_mb "Disk space MB, after" 0 Less,
    driver_cpu_percent "Driver CPU % (of one core)" 1 Less,
    driver_lag_p99_ms "Driver lag ms, 99 %" 1 Less,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_set_apart() {
        let cases = [
            (0.0, 0, "0"),
            (999.0, 0, "999"),
            (1000.0, 0, "1,000"),
            (15342.0, 0, "15,342"),
            (-1234567.891, 2, "-1,234,567.89"),
            (0.126, 2, "0.13"),
        ];
        for (value, digits, shown) in cases {
            assert_eq!(number(value, digits), shown);
        }
    }

    #[test]
    fn names_are_there_once() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        assert_eq!(metric("errors").unwrap().label, "Errors");
        assert_eq!(metric("x"), None);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut figures = Figures::default();
        figures.put("errors", f64::NAN);
        figures.put("users", f64::INFINITY);
        figures.put_some("syncs", None);
        assert_eq!(figures, Figures::default());
    }
}
