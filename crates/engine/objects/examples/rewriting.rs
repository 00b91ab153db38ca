//! Measures what rewriting costs: CPU and bytes per live megabyte against the share that is dead.
//!
//! `cargo run --release -p objects --example rewriting [directory]`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use note::{Dbiid, ObjectHash};
use objects::{Objects, ObjectsOptions, PruneOrder, TicketDelta};
use txlog::{Disk, Log, LogOptions, RealDisk, RecordKind, Space, SystemClock};

const MIB: u64 = 1 << 20;
const SEGMENTS: u32 = 4;
const OBJECT_BYTES: usize = 48 << 10;

struct Bench {
    log: Arc<Log>,
    objects: Arc<Objects>,
}

/// CPU time of this process in milliseconds, all threads.
fn cpu_ms() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks * 10.0)
}

/// Content that does not shrink.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut word).flatten().take(bytes).collect()
}

impl Bench {
    fn open(dir: &Path) -> Result<Bench, Box<dyn Error>> {
        let (disk, clock): (Arc<dyn Disk>, _) = (Arc::new(RealDisk), Arc::new(SystemClock));
        let options = LogOptions::new(dir.join("txlog"));
        let (log, _) = Log::open(options, Arc::clone(&disk), clock.clone())?;
        let options = ObjectsOptions {
            rewrite_live_percent: 100,
            rewrite_segments_min: 1,
            rewrite_log_bytes_max: u64::MAX,
            ..ObjectsOptions::new(dir.join("objects"))
        };
        let objects = Objects::open(options, Arc::clone(&log), disk, clock)?;
        Ok(Bench { log, objects })
    }

    fn count(&self, hash: ObjectHash, count: i64) -> Result<(), Box<dyn Error>> {
        let entered = self.objects.enter();
        let head = self.log.append(RecordKind::Change, Dbiid(1), &hash.0, Space::Ordinary)?;
        self.objects.counted(&entered, head.lsn, Dbiid(1), &[TicketDelta { hash, count }]);
        Ok(())
    }

    /// A checkpoint and what follows it; the test disk needs no sync to be measured.
    fn round(&self) -> Result<u64, Box<dyn Error>> {
        let oldest = self.objects.checkpoint()?;
        let removed = self.objects.synced(oldest)?;
        let keep = |id| self.objects.is_live_segment(id).then(|| self.objects.adopted_path(id));
        for segment in self.log.release(oldest, &keep)? {
            self.objects.adopted(segment);
        }
        Ok(removed)
    }
}

fn measure(dir: &Path, dead_percent: u64) -> Result<(), Box<dyn Error>> {
    let bench = Bench::open(dir)?;
    let (first, mut number) = (bench.log.appended().segment(), 0);
    while bench.log.appended().segment() < first + SEGMENTS {
        let pin = bench.objects.put(&noise(number + 1, OBJECT_BYTES))?;
        bench.count(pin.ticket.hash, 1)?;
        if number * 37 % 100 < dead_percent {
            bench.count(pin.ticket.hash, -1)?;
        }
        number += 1;
    }
    bench.round()?;
    let order = PruneOrder { defer_s: 0, ..bench.objects.prune_order() };
    let (pruning, start) = (cpu_ms()?, Instant::now());
    let pruned = bench.objects.prune(&order)?;
    let (pruning, prune_time) = (cpu_ms()? - pruning, start.elapsed());
    bench.round()?;
    let (cpu, written, start) = (cpu_ms()?, bench.log.status().bytes_written, Instant::now());
    let report = bench.objects.rewrite(u64::MAX)?;
    bench.log.durable(bench.log.appended()).wait()?;
    let moved = start.elapsed();
    let removed = bench.round()?;
    let (cpu, written) = (cpu_ms()? - cpu, bench.log.status().bytes_written - written);
    let live = report.bytes as f64 / MIB as f64;
    writeln!(
        std::io::stdout(),
        "{dead_percent:>3} % dead: {:>5.1} MiB moved in {:>4} ms, {:.2} ms CPU and {:.3} MiB \
         written per live MiB, {:.2} ms CPU per MiB freed; {removed} files removed; pruned {} \
         objects in {} ms ({pruning:.0} ms CPU)",
        live,
        moved.as_millis(),
        cpu / live,
        written as f64 / MIB as f64 / live,
        cpu / (removed as f64 * 64.0 - live),
        pruned.objects,
        prune_time.as_millis(),
    )?;
    bench.log.stop();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "/tmp/rewriting".into());
    for dead_percent in [20, 50, 80, 95] {
        let dir = Path::new(&dir).join(dead_percent.to_string());
        measure(&dir, dead_percent)?;
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}
