//! Where the figures of the server and its device come from, and one look at all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::syncs::Syncs;
use super::{Meters, Sent, texts};

/// Groups within a group that are looked into.
const GROUPS_MAX: usize = 1000;

/// What is to be looked at.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Processes of the server; their children are found.
    pub pids: Vec<u32>,
    /// Directories of control groups that hold the server. The first that tells CPU time is used
    /// for it, so that ended processes count too.
    pub groups: Vec<PathBuf>,
    /// The block device under the server's data.
    pub device: Option<String>,
    /// Whether the server's calls of fsync and its kind are counted.
    pub syncs: bool,
}

/// Something that was named is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// No such process.
    #[error("--server-pid {0}: there is no such process")]
    Process(u32),
    /// No such group, or nobody in it.
    #[error("--server-cgroup {0}: this is no control group with processes in it")]
    Group(String),
    /// No such device.
    #[error("--device {name}: there is no such device in /proc/diskstats; there are {known}")]
    Device {
        /// What was asked for.
        name: String,
        /// What is there.
        known: String,
    },
}

/// What the server used since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ServerUse {
    pub(super) cpu_s: f64,
    pub(super) moved: texts::Moved,
    pub(super) rss_bytes: u64,
    pub(super) threads: u64,
    pub(super) processes: u64,
}

/// All counters at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    pub(super) at: Instant,
    pub(super) server: Option<ServerUse>,
    pub(super) disk: Option<texts::Disk>,
    pub(super) syncs: Option<u64>,
    pub(super) sent: Sent,
    pub(super) driver_cpu_s: Option<f64>,
    pub(super) machine: Option<texts::Machine>,
}

impl Sources {
    /// That everything named is there.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self) -> Result<(), Absent> {
        for &pid in &self.pids {
            read_stat(pid).ok_or(Absent::Process(pid))?;
        }
        for group in &self.groups {
            if group_pids(group).is_empty() {
                return Err(Absent::Group(group.display().to_string()));
            }
        }
        if let Some(name) = &self.device {
            let text = read("/proc/diskstats").unwrap_or_default();
            if texts::disk(&text, name).is_none() {
                let known = texts::devices(&text).join(", ");
                return Err(Absent::Device { name: name.clone(), known });
            }
        }
        Ok(())
    }

    /// Whether any process of the server is named.
    #[must_use]
    pub fn knows_server(&self) -> bool {
        !self.pids.is_empty() || !self.groups.is_empty()
    }

    /// The named processes that have ended.
    #[must_use]
    pub fn ended(&self) -> Vec<u32> {
        self.pids.iter().copied().filter(|pid| read_stat(*pid).is_none()).collect()
    }

    /// All processes of the server now.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut found: BTreeSet<u32> = self.pids.iter().copied().collect();
        found.extend(self.groups.iter().flat_map(|group| group_pids(group)));
        if !self.pids.is_empty() {
            add_children(&mut found, &parents());
        }
        found.into_iter().collect()
    }

    pub(super) fn counters(&self, meters: &Meters, syncs: Option<&Syncs>) -> Counters {
        let tick_s = 1.0 / ticks_per_s();
        let own = read_stat(std::process::id());
        Counters {
            at: Instant::now(),
            server: self.knows_server().then(|| self.server()).flatten(),
            disk: self
                .device
                .as_ref()
                .and_then(|name| texts::disk(&read("/proc/diskstats")?, name)),
            syncs: syncs.and_then(Syncs::count),
            sent: meters.sent(),
            driver_cpu_s: own.map(|stat| stat.cpu_ticks as f64 * tick_s),
            machine: read("/proc/stat").and_then(|text| texts::machine(&text)),
        }
    }

    fn server(&self) -> Option<ServerUse> {
        let mut sum = ServerUse::default();
        let tick_s = 1.0 / ticks_per_s();
        for pid in self.processes() {
            let Some(stat) = read_stat(pid) else { continue };
            sum.cpu_s += stat.cpu_ticks as f64 * tick_s;
            sum.rss_bytes += stat.rss_pages * page_bytes();
            sum.threads += stat.threads;
            sum.processes += 1;
            let moved = read(format!("/proc/{pid}/io")).and_then(|text| texts::io(&text));
            let moved = moved.unwrap_or_default();
            sum.moved.read_bytes += moved.read_bytes;
            sum.moved.write_bytes += moved.write_bytes;
        }
        if let Some(cpu_s) = self.groups.iter().find_map(|group| group_cpu_s(group)) {
            sum.cpu_s = cpu_s;
        }
        (sum.processes > 0).then_some(sum)
    }

    /// The memory of all processes of the server, shared pages divided among those who share
    /// them, in bytes; `None` when it may not be read.
    pub(super) fn pss_bytes(&self) -> Option<u64> {
        let of = |pid: u32| texts::pss(&read(format!("/proc/{pid}/smaps_rollup"))?);
        let all: Vec<u64> = self.processes().into_iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }
}

pub(super) fn read(path: impl AsRef<Path>) -> Option<String> {
    // A process may have any bytes in its name.
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read_stat(pid: u32) -> Option<texts::Stat> {
    texts::stat(&read(format!("/proc/{pid}/stat"))?)
}

/// The parent of every process of the machine.
fn parents() -> BTreeMap<u32, u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, read_stat(pid)?.parent))).collect()
}

/// Adds children and their children until nothing is new.
fn add_children(found: &mut BTreeSet<u32>, parents: &BTreeMap<u32, u32>) {
    loop {
        let before = found.len();
        for (&child, parent) in parents {
            if found.contains(parent) {
                found.insert(child);
            }
        }
        if found.len() == before {
            return;
        }
    }
}

fn group_pids(group: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    let mut groups = vec![group.to_owned()];
    let mut seen = 0;
    while let Some(group) = groups.pop().filter(|_| seen < GROUPS_MAX) {
        seen += 1;
        pids.extend(texts::pids(&read(group.join("cgroup.procs")).unwrap_or_default()));
        let Ok(entries) = fs::read_dir(&group) else { continue };
        let inner = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
        groups.extend(inner.map(|entry| entry.path()));
    }
    pids
}

fn group_cpu_s(group: &Path) -> Option<f64> {
    let v1 = read(group.join("cpuacct.usage")).and_then(|text| texts::cpuacct(&text));
    v1.or_else(|| texts::cpu_stat(&read(group.join("cpu.stat"))?))
}

#[allow(unsafe_code)]
fn configured(name: libc::c_int, otherwise: i64) -> i64 {
    // SAFETY: sysconf only reads a number of the system.
    let value = unsafe { libc::sysconf(name) };
    if value > 0 { value } else { otherwise }
}

fn ticks_per_s() -> f64 {
    configured(libc::_SC_CLK_TCK, 100) as f64
}

fn page_bytes() -> u64 {
    configured(libc::_SC_PAGESIZE, 4096) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_found() {
        let parents = [(2, 1), (3, 2), (10, 3), (4, 9), (5, 4)].into_iter().collect();
        let mut found = BTreeSet::from([2]);
        add_children(&mut found, &parents);
        assert_eq!(found, BTreeSet::from([2, 3, 10]));
    }

    #[test]
    fn groups_of_both_kinds_tell_their_cpu_and_processes() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("part");
        fs::create_dir(&part).unwrap();
        fs::write(dir.path().join("cgroup.procs"), "7\n").unwrap();
        fs::write(part.join("cgroup.procs"), "8\n9\n").unwrap();
        assert_eq!(group_pids(dir.path()), [7, 8, 9]);
        assert_eq!(group_cpu_s(dir.path()), None);
        fs::write(dir.path().join("cpu.stat"), "usage_usec 1000000\n").unwrap();
        assert_eq!(group_cpu_s(dir.path()), Some(1.0));
        fs::write(dir.path().join("cpuacct.usage"), "3000000000\n").unwrap();
        assert_eq!(group_cpu_s(dir.path()), Some(3.0));
    }

    #[test]
    fn what_is_named_must_be_there() {
        let absent = |sources: Sources| sources.check().unwrap_err().to_string();
        let group = Sources { groups: vec!["/nowhere/at/all".into()], ..Sources::default() };
        assert!(absent(group).contains("--server-cgroup /nowhere/at/all"));
        let device = Sources { device: Some("no-such-disk".into()), ..Sources::default() };
        assert!(absent(device).contains("--device no-such-disk"));
        let pid = Sources { pids: vec![u32::MAX], ..Sources::default() };
        assert!(absent(pid).contains("--server-pid 4294967295"));
        let own = Sources { pids: vec![std::process::id()], ..Sources::default() };
        assert_eq!(own.check(), Ok(()));
        assert!(own.server().unwrap().threads > 0);
        assert!(own.ended().is_empty());
    }
}
