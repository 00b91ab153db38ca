//! How often the server asks the kernel to bring data to the medium, counted by bpftrace.

use std::io::{BufRead, BufReader};
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::sources::Sources;

/// How long bpftrace may take to begin.
const BEGIN_WAIT: Duration = Duration::from_secs(15);
/// Processes that a program may name.
const PIDS_MAX: usize = 64;
/// Octets of an error of bpftrace that are told.
const ERROR_OCTETS_MAX: usize = 300;

/// The calls that are counted.
const CALLS: [&str; 5] = ["fsync", "fdatasync", "msync", "sync_file_range", "syncfs"];

/// A running count.
#[derive(Debug)]
pub(super) struct Syncs {
    child: Child,
    count: Arc<AtomicU64>,
}

/// Why syncs cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("neither --server-pid nor a cgroup v2 directory as --server-cgroup names the server")]
    Nobody,
    #[error("the server has more than {PIDS_MAX} processes; give its cgroup v2 directory")]
    Processes,
    #[error("bpftrace cannot be started: {0}")]
    Absent(String),
    #[error("bpftrace did not begin: {0}")]
    Begin(String),
}

impl Syncs {
    /// Begins to count.
    pub(super) fn start(sources: &Sources) -> Result<Self, Refusal> {
        let filter = filter(sources)?;
        let mut child = Command::new("bpftrace")
            .args(["-B", "none", "-e", &program(&filter)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Refusal::Absent(error.to_string()))?;
        let count = Arc::new(AtomicU64::new(0));
        let (begun, heard) = channel();
        if let Some(stdout) = child.stdout.take() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || listen(BufReader::new(stdout), &count, &begun));
        }
        let mut syncs = Self { child, count };
        match await_begin(&heard) {
            true => Ok(syncs),
            false => Err(Refusal::Begin(syncs.error())),
        }
    }

    /// Calls since the beginning, as of the last second; none when bpftrace has ended.
    pub(super) fn count(&self) -> Option<u64> {
        (Arc::strong_count(&self.count) > 1).then(|| self.count.load(Ordering::Relaxed))
    }

    fn error(&mut self) -> String {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        let mut text = String::new();
        if let Some(stderr) = self.child.stderr.take() {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            text = lines.take(5).collect::<Vec<_>>().join(" ");
        }
        if text.is_empty() {
            text = format!("{ended:?}");
        }
        text.chars().take(ERROR_OCTETS_MAX).collect()
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn await_begin(heard: &Receiver<()>) -> bool {
    !matches!(
        heard.recv_timeout(BEGIN_WAIT),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)
    )
}

/// Follows what bpftrace prints; it ends with it.
fn listen(lines: impl BufRead, count: &Arc<AtomicU64>, begun: &Sender<()>) {
    for line in lines.lines().map_while(Result::ok) {
        match reading(&line) {
            Some(Line::Begun) => drop(begun.send(())),
            Some(Line::Count(calls)) => count.store(calls, Ordering::Relaxed),
            None => {}
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Begun,
    Count(u64),
}

fn reading(line: &str) -> Option<Line> {
    match line.trim() {
        "begun" => Some(Line::Begun),
        line => Some(Line::Count(line.strip_prefix("@calls: ")?.parse().ok()?)),
    }
}

/// The condition of the server's processes.
fn filter(sources: &Sources) -> Result<String, Refusal> {
    let unified = |group: &&std::path::PathBuf| group.join("cgroup.events").exists();
    if let Some(group) = sources.groups.iter().find(unified) {
        return group_id(group).map(|id| format!("cgroup == {id}")).ok_or(Refusal::Nobody);
    }
    if sources.pids.is_empty() {
        return Err(Refusal::Nobody);
    }
    let pids = sources.processes();
    if pids.len() > PIDS_MAX {
        return Err(Refusal::Processes);
    }
    let each: Vec<String> = pids.iter().map(|pid| format!("pid == {pid}")).collect();
    Ok(each.join(" || "))
}

/// A group is known to the kernel by the inode of its directory.
fn group_id(group: &Path) -> Option<u64> {
    Some(std::fs::metadata(group).ok()?.st_ino())
}

fn program(filter: &str) -> String {
    let probes: Vec<String> =
        CALLS.iter().map(|call| format!("tracepoint:syscalls:sys_enter_{call}")).collect();
    format!(
        "BEGIN {{ printf(\"begun\\n\"); }} {} /{filter}/ {{ @calls = count(); }} \
         interval:s:1 {{ print(@calls); }}",
        probes.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_counts_the_calls_of_the_server() {
        let text = program("pid == 7 || pid == 8");
        assert!(text.contains("sys_enter_fdatasync,tracepoint:syscalls:sys_enter_msync"));
        assert!(text.contains("/pid == 7 || pid == 8/"), "{text}");
    }

    #[test]
    fn what_it_prints_is_followed() {
        let printed = "Attaching 7 probes...\nbegun\n@calls: 5\n\n@calls: x\n@calls: 12\n";
        let count = Arc::new(AtomicU64::new(0));
        let (begun, heard) = channel();
        listen(printed.as_bytes(), &count, &begun);
        assert_eq!((count.load(Ordering::Relaxed), heard.try_recv()), (12, Ok(())));
    }

    #[test]
    fn somebody_must_be_named() {
        assert_eq!(filter(&Sources::default()), Err(Refusal::Nobody));
        let v1 = Sources { groups: vec!["/nowhere".into()], ..Sources::default() };
        assert_eq!(filter(&v1), Err(Refusal::Nobody));
        let own = Sources { pids: vec![std::process::id()], ..Sources::default() };
        assert!(filter(&own).unwrap().starts_with("pid == "));
    }
}
