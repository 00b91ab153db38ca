//! The kernel's texts about processes, groups and devices, read as facts. Nothing here opens a
//! file; whatever cannot be read is `None`.

/// Bytes of a sector in `/proc/diskstats`, whatever the device.
const SECTOR_BYTES: u64 = 512;

/// Of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// The parent.
    pub(super) parent: u32,
    /// CPU of the process and of its children that ended and were waited for, in ticks.
    pub(super) cpu_ticks: u64,
    /// Threads.
    pub(super) threads: u64,
    /// Memory in pages.
    pub(super) rss_pages: u64,
    /// When it started, in ticks since the machine did: tells a pid from its next use.
    pub(super) started_ticks: u64,
}

/// Reads `/proc/PID/stat`; the name in brackets may hold anything.
pub(super) fn stat(text: &str) -> Option<Stat> {
    let (_, behind) = text.rsplit_once(')')?;
    let words: Vec<&str> = behind.split_ascii_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        cpu_ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        threads: number(17)?,
        rss_pages: number(21)?,
        started_ticks: number(19)?,
    })
}

/// Bytes that went to and came from devices, of `/proc/PID/io`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
}

/// Reads `/proc/PID/io`.
pub(super) fn io(text: &str) -> Option<Moved> {
    let read_bytes = field(text, "read_bytes:")?;
    Some(Moved { read_bytes, write_bytes: field(text, "write_bytes:")? })
}

/// The proportional memory of `/proc/PID/smaps_rollup`, in bytes.
pub(super) fn pss(text: &str) -> Option<u64> {
    Some(field(text, "Pss:")? * 1024)
}

/// CPU seconds of a group's `cpu.stat` (cgroup v2).
pub(super) fn cpu_stat(text: &str) -> Option<f64> {
    Some(field(text, "usage_usec")? as f64 / 1e6)
}

/// CPU seconds of a group's `cpuacct.usage` (cgroup v1).
pub(super) fn cpuacct(text: &str) -> Option<f64> {
    Some(text.trim().parse::<u64>().ok()? as f64 / 1e9)
}

/// Process ids, one a line, of `cgroup.procs`.
pub(super) fn pids(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// What a block device did, of `/proc/diskstats`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Disk {
    pub(super) reads: u64,
    pub(super) read_bytes: u64,
    pub(super) writes: u64,
    pub(super) write_bytes: u64,
    /// Time during which something was to do, in ms.
    pub(super) busy_ms: u64,
    /// Orders to bring everything to the medium; kernels before 5.5 do not count them.
    pub(super) flushes: Option<u64>,
}

/// Reads the line of one device.
pub(super) fn disk(text: &str, device: &str) -> Option<Disk> {
    let words: Vec<&str> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .find(|words| words.get(2) == Some(&device))?;
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    Some(Disk {
        reads: number(3)?,
        read_bytes: number(5)? * SECTOR_BYTES,
        writes: number(7)?,
        write_bytes: number(9)? * SECTOR_BYTES,
        busy_ms: number(12)?,
        flushes: number(18),
    })
}

/// The names of all devices.
pub(super) fn devices(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)).collect()
}

/// What all processors did, of `/proc/stat`, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) busy_ticks: u64,
    pub(super) all_ticks: u64,
}

/// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
pub(super) fn machine(text: &str) -> Option<Machine> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let words: Vec<u64> =
        line.split_ascii_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
    let all_ticks = words.iter().sum();
    let idle = words.get(3)? + words.get(4)?;
    Some(Machine { busy_ticks: all_ticks - idle, all_ticks })
}

/// The first number behind a name at the beginning of a line.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// The words behind `name` and a colon, as in `/proc/cpuinfo`.
pub(super) fn words<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let of = |line: &'a str| {
        let (known, value) = line.split_once(':')?;
        (known.trim() == name).then(|| value.trim())
    };
    text.lines().find_map(of).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_read() {
        let text = "4711 (we) (ird) S 17 4711 4711 0 -1 4194560 2900 31 0 0 120 30 7 3 20 0 12 0 \
                    889900 181932032 3131 18446744073709551615 1 1 0 0 0 0 0 4096 17479 0 0 0 17 0";
        let read = stat(text).unwrap();
        let wanted = Stat {
            parent: 17,
            cpu_ticks: 160,
            threads: 12,
            rss_pages: 3131,
            started_ticks: 889_900,
        };
        assert_eq!(read, wanted);
        for wrong in ["", "1 (x", "1 (x) S", "1 (x) S 1 2 3", "1 (x) S a b c d e f g h i j k l m"] {
            assert_eq!(stat(wrong), None, "{wrong}");
        }
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 5\n";
        assert_eq!(io(text), Some(Moved { read_bytes: 4096, write_bytes: 8192 }));
        assert_eq!(io("read_bytes: many"), None);
        let text = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\nPss:  5120 kB\n\
                    Pss_Anon:  1 kB\n";
        assert_eq!(pss(text), Some(5120 * 1024));
    }

    #[test]
    fn groups_are_read() {
        let text = "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n";
        assert_eq!(cpu_stat(text), Some(2.5));
        assert_eq!(cpuacct("1500000000\n"), Some(1.5));
        assert_eq!(cpuacct("x"), None);
        assert_eq!(pids("12\n13\n\nx\n"), [12, 13]);
    }

    #[test]
    fn devices_are_read() {
        let text = "   7       0 loop0 10 0 80 3 20 1 160 9 0 44 12 0 0 0 0 5 2\n \
                    254       0 vda 1 2 3 4 5 6 7 8 9 10 11\n   8 0 sda 1 2\n";
        let wanted = Disk {
            reads: 10,
            read_bytes: 80 * 512,
            writes: 20,
            write_bytes: 160 * 512,
            busy_ms: 44,
            flushes: Some(5),
        };
        assert_eq!(disk(text, "loop0"), Some(wanted));
        assert_eq!(disk(text, "vda").unwrap().flushes, None);
        assert_eq!(disk(text, "sda"), None);
        assert_eq!(disk(text, "loop"), None);
        assert_eq!(devices(text), ["loop0", "vda", "sda"]);
    }

    #[test]
    fn the_machine_is_read() {
        let text = "cpu  100 5 50 800 20 1 4 20 0 0\ncpu0 1 2 3\n";
        assert_eq!(machine(text), Some(Machine { busy_ticks: 180, all_ticks: 1000 }));
        assert_eq!(machine("intr 1"), None);
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.0\n";
        assert_eq!(words(text, "model name"), Some("Some CPU @ 2.0"));
        assert_eq!(words(text, "model"), None);
    }
}
