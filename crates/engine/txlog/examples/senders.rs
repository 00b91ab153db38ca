//! Measures how many syncs those share who append and wait, and how long they wait.
//!
//! `cargo run --release -p txlog --example senders PEOPLE PAUSE_MICROS GATHER_MS ABOVE_PER_S
//! [directory]`: for ten seconds each of them pauses, for half to one and a half of that time,
//! appends 2 KiB, and waits until that is durable.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use note::Dbiid;
use txlog::faults::Dice;
use txlog::{Log, LogOptions, RealDisk, RecordKind, Space, SystemClock};

const RUN: Duration = Duration::from_secs(10);
const PAYLOAD_BYTES: usize = 2 << 10;

/// Requests that one has made, and how long they waited in all.
fn send(log: &Log, pause_micros: u64, mut dice: Dice) -> Result<(u32, Duration), String> {
    let (start, mut count, mut waited) = (Instant::now(), 0, Duration::ZERO);
    std::thread::sleep(Duration::from_micros(dice.below(pause_micros)));
    while start.elapsed() < RUN {
        let payload = dice.bytes(PAYLOAD_BYTES);
        let asked = Instant::now();
        let head = log.append(RecordKind::Change, Dbiid(1), &payload, Space::Ordinary);
        let head = head.map_err(|error| error.to_string())?;
        log.durable(head.end).wait().map_err(|error| error.to_string())?;
        waited += asked.elapsed();
        count += 1;
        let pause = pause_micros / 2 + dice.below(pause_micros.max(1));
        std::thread::sleep(Duration::from_micros(pause));
    }
    Ok((count, waited))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().unwrap_or_default().parse::<u64>();
    let (people, pause_micros, gather_ms, gather_above_per_s) =
        (number()?, number()?, number()?, number()?);
    let dir = args.next().map_or_else(|| std::env::temp_dir().join("senders"), PathBuf::from);
    let options = LogOptions { gather_ms, gather_above_per_s, ..LogOptions::new(dir) };
    let (log, _) = Log::open(options, Arc::new(RealDisk), Arc::new(SystemClock))?;
    let senders: Vec<_> = (0..people)
        .map(|number| {
            let log = Arc::clone(&log);
            std::thread::spawn(move || send(&log, pause_micros, Dice::new(number)))
        })
        .collect();
    let (mut count, mut waited) = (0, Duration::ZERO);
    for sender in senders {
        let (more, longer) = sender.join().map_err(|_| "a sender has panicked")??;
        (count, waited) = (count + more, waited + longer);
    }
    let (syncs, requests) = (log.status().syncs as f64, f64::from(count.max(1)));
    let seconds = RUN.as_secs_f64();
    writeln!(
        io::stdout(),
        "{:.0} requests / s, {:.0} syncs / s, {:.3} syncs / request, {:.2} ms mean wait",
        requests / seconds,
        syncs / seconds,
        syncs / requests,
        waited.as_secs_f64() * 1e3 / requests,
    )?;
    log.stop();
    Ok(())
}
