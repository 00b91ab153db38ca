//! Measures what it costs to store and to read the contents of ordinary messages.
//!
//! `cargo run --release -p objects --example contents put|share|read|slices [directory [level]]`;
//! the CPU time is of everything, the making of the texts and the first storing too: `none` shows
//! how much that is.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use note::Ticket;
use objects::{Objects, ObjectsOptions};
use txlog::faults::Dice;
use txlog::{Disk, Log, LogOptions, RealDisk, SystemClock};

/// Contents, and how often each is read.
const CONTENTS: usize = 400;
const TIMES: usize = 8;
/// Bytes of a slice when a long content is read in turns, as 128 KiB of base64 need it.
const SLICE_BYTES: usize = 95_748;
const WORDS: u64 = 3_000;

/// Text of words of which few are frequent.
fn text(dice: &mut Dice, bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 16);
    while out.len() < bytes {
        let word = dice.below(WORDS).min(dice.below(WORDS)).min(dice.below(WORDS));
        let mut letters = Dice::new(word);
        let length = 2 + letters.below(8);
        out.extend((0..length).map(|_| b'a' + letters.below(26).min(letters.below(26)) as u8));
        let is_end = out.len() % 74 > 64;
        out.extend_from_slice(if is_end { b"\r\n" } else { b" " });
    }
    out.truncate(bytes);
    out
}

fn content(dice: &mut Dice, number: usize) -> Vec<u8> {
    match number % 10 {
        0..3 => text(dice, 10_000),
        3..8 => text(dice, 50_000),
        8 => text(dice, 150_000),
        _ if dice.chance(50) => dice.bytes(390_000),
        _ => text(dice, 390_000),
    }
}

fn read_in_turns(objects: &Objects, ticket: &Ticket) -> Result<(), Box<dyn Error>> {
    let mut from = 0;
    while from < ticket.length {
        let to = ticket.length.min(from + SLICE_BYTES as u64);
        let mut out = Vec::new();
        objects.read(ticket, from..to, &mut out)?;
        from = to;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap_or_default();
    let dir = args.next().map_or_else(|| std::env::temp_dir().join("contents"), PathBuf::from);
    std::fs::create_dir_all(&dir)?;
    let (disk, clock): (Arc<dyn Disk>, _) = (Arc::new(RealDisk), Arc::new(SystemClock));
    let (log, _) = Log::open(LogOptions::new(dir.join("txlog")), Arc::clone(&disk), clock.clone())?;
    let mut options = ObjectsOptions::new(dir.join("objects"));
    options.level = args.next().map_or(Ok(options.level), |level| level.parse())?;
    let objects = Objects::open(options, Arc::clone(&log), disk, clock)?;
    let mut dice = Dice::new(log.appended().0);
    let contents: Vec<_> = (0..CONTENTS).map(|number| content(&mut dice, number)).collect();
    let before = log.appended();
    let (mut tickets, mut bytes) = (Vec::new(), 0);
    for content in contents.iter().filter(|_| what != "none") {
        tickets.push(objects.put(content)?.ticket);
        bytes += content.len();
    }
    log.durable(log.appended()).wait()?;
    let stored = log.appended().0 - before.0;
    writeln!(io::stdout(), "{bytes} bytes of content take {stored} bytes of the log")?;
    for content in contents.iter().filter(|_| what == "share") {
        objects.put(content)?;
    }
    for ticket in tickets.iter().cycle().take(TIMES * CONTENTS) {
        match &*what {
            "read" => objects.read(ticket, 0..ticket.length, &mut Vec::new())?,
            "slices" => read_in_turns(&objects, ticket)?,
            _ => break,
        }
    }
    log.stop();
    Ok(())
}
