//! What the system knows and allows about this process: limits, memory, time, its user.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use note::TimeDate;

/// Figures of the process from `/proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Memory in use (resident), in bytes.
    pub memory_bytes: u64,
    /// Most memory that was in use, in bytes.
    pub memory_peak_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Processor time used, in seconds.
    pub cpu_s: f64,
}

/// Reads the figures; zero where the system gives none.
pub fn figures() -> Figures {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |name: &str| field(&status, name).saturating_mul(1024);
    Figures {
        memory_bytes: kib("VmRSS:"),
        memory_peak_bytes: kib("VmHWM:"),
        threads: field(&status, "Threads:"),
        descriptors: std::fs::read_dir("/proc/self/fd").map_or(0, |list| list.count() as u64),
        cpu_s: cpu_seconds(),
    }
}

/// Memory of the machine in bytes.
pub fn physical_memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    field(&text, "MemTotal:").saturating_mul(1024)
}

/// Memory of the machine that programs can have without others giving way, in bytes.
pub fn free_memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    field(&text, "MemAvailable:").saturating_mul(1024)
}

/// Name and release of the system; empty where it tells neither.
pub fn system_name() -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    let both = ["ostype", "osrelease"].map(|name| read(name).unwrap_or_default());
    both.map(|text| text.trim().to_owned()).join(" ").trim().to_owned()
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Processors of the machine.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[allow(unsafe_code)]
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec that the call fills.
    let outcome = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if outcome == 0 { time.tv_sec as f64 + time.tv_nsec as f64 / 1e9 } else { 0.0 }
}

/// Hour of the day in the time zone of the machine at a time; `None` when the system does not know
/// it.
#[allow(unsafe_code)]
pub fn local_hour(now: TimeDate) -> Option<u8> {
    let now: libc::time_t = now.unix_seconds();
    // SAFETY: the call is given pointers to live values of the types it reads and fills; the zeroed
    // broken-down time is plain old data and its zone is not looked at.
    unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&raw const now, &raw mut local).is_null() {
            return None;
        }
        u8::try_from(local.tm_hour).ok()
    }
}

/// Descriptors this process may have open.
#[allow(unsafe_code)]
pub fn descriptors_max() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live rlimit that the call fills.
    let outcome = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if outcome == 0 { limit.rlim_cur } else { 1024 }
}

/// Raises the limit of open descriptors as far as the system lets an ordinary process.
#[allow(unsafe_code)]
pub fn raise_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointers are to a live rlimit.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Whether the process runs as root.
#[allow(unsafe_code)]
pub fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Becomes another system user for good, all groups included.
///
/// # Errors
/// The user is not in `/etc/passwd`, or the system refuses.
pub fn become_user(name: &str) -> io::Result<()> {
    let passwd = std::fs::read_to_string("/etc/passwd")?;
    let (user, group) = ids(&passwd, name).ok_or_else(|| {
        let problem = format!("server.user = {name}: there is no such user in /etc/passwd");
        io::Error::new(io::ErrorKind::NotFound, problem)
    })?;
    change_ids(user, group)
}

#[allow(unsafe_code)]
fn change_ids(user: u32, group: u32) -> io::Result<()> {
    // SAFETY: setgroups reads no element of an empty list; the others take plain numbers.
    let outcome = unsafe {
        if libc::setgroups(0, std::ptr::null()) != 0 || libc::setgid(group) != 0 {
            -1
        } else {
            libc::setuid(user)
        }
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn ids(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let row = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut cells = row.split(':').skip(2);
    Some((cells.next()?.parse().ok()?, cells.next()?.parse().ok()?))
}

/// Tells the service supervisor a state such as `READY=1`, when there is one (`NOTIFY_SOCKET`).
pub fn notify_supervisor(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = notify(&path, state) {
        tracing::warn!(%error, "the service supervisor could not be told {state}");
    }
}

/// Sends a state to a datagram socket; `@` in front names an abstract one.
fn notify(path: &OsStr, state: &str) -> io::Result<()> {
    let address = match path.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_there() {
        let figures = figures();
        assert!(figures.memory_bytes > 0 && figures.threads > 0 && figures.descriptors > 0);
        assert!(descriptors_max() > 0 && processors() > 0 && physical_memory_bytes() > 0);
    }

    #[test]
    fn the_hour_is_one_of_a_day() {
        assert!(local_hour(TimeDate(0)).is_some_and(|hour| hour < 24));
    }

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nmail:x:8:12:mail:/var/mail:/bin/false\nbad\n";
        assert_eq!(ids(passwd, "mail"), Some((8, 12)));
        assert_eq!(ids(passwd, "mai"), None);
        assert_eq!(ids(passwd, "bad"), None);
    }

    #[test]
    fn the_supervisor_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let supervisor = UnixDatagram::bind(&path).unwrap();
        notify(path.as_os_str(), "READY=1").unwrap();
        let mut bytes = [0_u8; 32];
        let count = supervisor.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"READY=1");
        assert!(notify(OsStr::new("/nowhere/notify"), "READY=1").is_err());
    }
}
