//! What came of a run: what was asked for, all figures, and whether it passed. Kept as JSON.

mod figures;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ledger::Findings;
use crate::meters::Row;
use crate::run::Done;
use crate::variant::Record;

pub use figures::{Better, Figures, METRICS, Metric, metric, number};

/// The version of the JSON form.
pub const VERSION: u32 = 1;
/// Bytes of a result that are read.
pub const OUTCOME_BYTES_MAX: u64 = 64 << 20;

/// What came of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of this form.
    pub version: u32,
    /// The driver and its version.
    pub driver: String,
    /// By which it is called in comparisons.
    pub name: String,
    /// Whether everything was in order.
    pub passed: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// What one should know, though it does not make the run fail.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// When it began, in UTC, as `2026-01-31T12:00:00Z`.
    pub began: String,
    /// What was asked for.
    pub asked: Asked,
    /// The machine of the driver.
    pub host: Host,
    /// The length of the steady window, in s; 0 when it did not begin.
    pub window_s: f64,
    /// All figures of the window that were measured.
    pub figures: Figures,
    /// What was not measured.
    pub not_measured: Vec<NotMeasured>,
    /// Each action in the window.
    pub actions: Vec<ActionLine>,
    /// What people did, from the first to the last.
    pub people: Attendance,
    /// What was found wrong with the mailboxes.
    pub findings: Findings,
    /// The switches of the server.
    #[serde(default)]
    pub variant: Vec<Record>,
    /// Of a search for the peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakFound>,
    /// What happened over time.
    #[serde(default)]
    pub series: Vec<Row>,
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// The workload.
    pub workload: String,
    /// What the workload was defined over.
    pub door: String,
    /// Over which door it was run: `imap` or `http`.
    pub via: String,
    /// The protocols that this means, in words.
    pub spoken: String,
    /// What that means, when the two are not the same.
    pub via_remark: String,
    /// People.
    pub users: u32,
    /// Time in which they join, in s.
    pub ramp_s: f64,
    /// Time that counts, in s.
    pub steady_s: f64,
    /// By what pauses and periods were divided.
    pub speed: f64,
    /// From which all lots were drawn.
    pub seed: u64,
    /// The name of the run in Message-IDs.
    pub run_id: String,
    /// The host of the server.
    pub target: String,
    /// Its doors and their ports.
    pub ports: Vec<(String, u16)>,
    /// `none`, `starttls` or `implicit`.
    pub tls: String,
    /// Sizes of messages.
    pub profile: String,
    /// Share of attachments that repeat, from 0 to 1.
    pub repeat_share: f64,
    /// Share of the people with local replicas, in %.
    pub replicas_percent: f64,
    /// A message that arrives later than so many s after its acceptance is late.
    pub late_after_s: f64,
    /// How long accepted mail could take to arrive at the end, in s.
    pub settle_s: f64,
    /// The limit of the mean response, in ms, when there was one.
    pub max_response_ms: Option<f64>,
    /// The processes of the server.
    pub server_pids: Vec<u32>,
    /// Its control groups.
    pub server_groups: Vec<String>,
    /// The device under its data.
    pub device: Option<String>,
    /// The directory of its data.
    pub server_data: Option<String>,
    /// Messages that lay in the mailboxes before the run.
    pub messages_before: u64,
}

/// The machine of the driver, which is that of the server when the server is on loopback.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its processor.
    pub cpu: String,
    /// Cores that the driver may use.
    pub cores: usize,
    /// Memory, in MB.
    pub memory_mb: f64,
    /// The kernel.
    pub kernel: String,
    /// Whether the figures are published ones, of other hardware.
    pub published: bool,
}

/// A figure that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMeasured {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// One action in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionLine {
    /// Its name.
    pub name: String,
    /// How many ended well.
    pub count: u64,
    /// How many failed.
    pub errors: u64,
    /// Those that ended well, per minute.
    pub per_min: f64,
    /// Mean time, in ms.
    pub mean_ms: f64,
    /// Half took no longer, in ms.
    pub p50_ms: f64,
    /// 95 % took no longer, in ms.
    pub p95_ms: f64,
    /// 99 % took no longer, in ms.
    pub p99_ms: f64,
    /// The longest, in ms.
    pub max_ms: f64,
}

/// What people did, from the first to the last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attendance {
    /// People who signed in.
    pub joined: u32,
    /// Iterations that were begun.
    pub iterations: u64,
    /// Iterations that began late, because what came before took long.
    pub late: u64,
    /// The most that one began late, in ms.
    pub lateness_max_ms: f64,
    /// Iterations that were left out, because the person was a whole one behind.
    pub missed: u64,
    /// Errors, those outside the window included.
    pub errors: u64,
    /// The first of them.
    pub first_errors: Vec<String>,
    /// What was not done, and why.
    pub left_out: Vec<String>,
    /// Whether the run was ended early.
    pub stopped: bool,
}

/// What a search for the peak found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeakFound {
    /// The most people that the server bore.
    pub users: u32,
    /// Whether that was as many as there are, so that it may bear more.
    pub at_most: bool,
    /// All probes.
    pub probes: Vec<ProbeLine>,
}

/// One probe of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeLine {
    /// People.
    pub users: u32,
    /// Whether the server bore them.
    pub held: bool,
    /// Why not.
    pub why: String,
    /// The figures.
    pub figures: Figures,
}

/// A result that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is longer than a result can be.
    #[error("{path}: longer than 64 MiB; this is no result of a run")]
    Long {
        /// Which.
        path: String,
    },
    /// It is not a result.
    #[error("{path}: this is no result of a run: {source}")]
    Form {
        /// Which.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
    /// It is one of another version.
    #[error("{path}: a result of form {version}; this program reads form {VERSION}")]
    Version {
        /// Which.
        path: String,
        /// Its version.
        version: u64,
    },
}

impl Outcome {
    /// Reads a result.
    ///
    /// # Errors
    /// The file cannot be read, or is no result of this version.
    pub fn load(path: &Path) -> Result<Self, Trouble> {
        let name = path.display().to_string();
        let file = |source| Trouble::File { path: name.clone(), source };
        if fs::metadata(path).map_err(file)?.len() > OUTCOME_BYTES_MAX {
            return Err(Trouble::Long { path: name });
        }
        let text = fs::read_to_string(path).map_err(file)?;
        Self::parse(&text, &name)
    }

    /// Reads the text of a result; `name` is for errors.
    ///
    /// # Errors
    /// It is no result of this version.
    pub fn parse(text: &str, name: &str) -> Result<Self, Trouble> {
        let form = |source| Trouble::Form { path: name.to_owned(), source };
        let value: serde_json::Value = serde_json::from_str(text).map_err(form)?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|version| *version != u64::from(VERSION)) {
            return Err(Trouble::Version { path: name.to_owned(), version });
        }
        serde_json::from_value(value).map_err(form)
    }

    /// Writes it as JSON, so that the file is whole or not there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Trouble> {
        write_whole(path, &(self.json() + "\n"))
    }

    /// It as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        // All keys are texts and all numbers are finite, so this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A heading: workload, people, speed.
    #[must_use]
    pub fn heading(&self) -> String {
        let Asked { workload, users, spoken, speed, .. } = &self.asked;
        let speed =
            if *speed == 1.0 || *speed == 0.0 { String::new() } else { format!(", speed {speed}") };
        let over = if spoken.is_empty() { String::new() } else { format!(" over {spoken}") };
        format!("{workload}, {} users{over}{speed}", number(f64::from(*users), 0))
    }
}

/// Writes a file beside its place, then moves it there.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Trouble> {
    let file = |source| Trouble::File { path: path.display().to_string(), source };
    // A device or a pipe is written to as it is.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, text).map_err(file);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text).map_err(file)?;
    fs::rename(&beside, path).map_err(|error| {
        // The half-made file is of no use to anybody.
        let _ = fs::remove_file(&beside);
        file(error)
    })
}

impl From<&Done> for Attendance {
    fn from(done: &Done) -> Self {
        Self {
            joined: done.joined,
            iterations: done.iterations,
            late: done.late,
            lateness_max_ms: done.lateness_max.as_secs_f64() * 1000.0,
            missed: done.missed,
            errors: done.errors,
            first_errors: done.first_errors.clone(),
            left_out: done.left_out.clone(),
            stopped: done.stopped,
        }
    }
}
