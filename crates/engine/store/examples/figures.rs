//! Measures what a change costs, and how long a start takes against the length of the log.
//!
//! `cargo run --release -p store --example figures change|start|steady|memory [directory [only]]`.
//! A change is a note of about 1 KiB put into a folder and waited for; `only` is one number of
//! databases, or MiB of log; `start` needs root for its cold figures. `steady` runs an hour of the
//! load of so many people (6,000) against a clock of its own, to see what the checkpoints write;
//! `memory` does so much for each of so many people (1,000) under several bounds of memory.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use note::{Item, ItemFlags, ItemValue, Note, NoteClass, Piece, Recipe, TimeDate};
use store::{
    Database, EntryFlags, FolderId, NewDatabase, PreparedNote, Store, StoreError, StoreOptions,
};
use txlog::ManualClock;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const MIB: u64 = 1 << 20;
/// How long each case of `change` is measured.
const MEASURE: Duration = Duration::from_secs(6);
/// Bytes of an object in a log as mail makes it.
const OBJECT_BYTES: usize = 48 << 10;

/// Something random enough, that does not shrink much.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state >> 40) as u8 % 90)
    };
    std::iter::repeat_with(&mut next).take(bytes).collect()
}

/// What the process has used: CPU in microseconds, bytes given to the device.
fn used() -> Outcome<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    let io = std::fs::read_to_string("/proc/self/io")?;
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).unwrap_or("0");
    Ok((ticks * 10_000.0, written.parse()?))
}

fn say(line: &str) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

fn complain(what: &str, error: &dyn Error) {
    drop(writeln!(std::io::stderr(), "{what}: {error}"));
}

fn open(dir: &Path, change: impl FnOnce(&mut StoreOptions)) -> Outcome<Arc<Store>> {
    let mut options = StoreOptions::new(dir);
    change(&mut options);
    Ok(Store::open(options)?.0)
}

fn databases(store: &Store, count: usize) -> Outcome<Vec<(Database, FolderId)>> {
    let mut made = Vec::with_capacity(count);
    for number in 0..count {
        let database = store.create(&format!("mail/u{number}.nsf"), NewDatabase::titled("mail"))?;
        let folder = store.write::<_, StoreError>(&[&database], |writer| {
            Ok(writer.create_folder(&database, "INBOX", None)?.id)
        })?;
        made.push((database, folder.value));
    }
    store.checkpoint_round()?;
    Ok(made)
}

/// A note, with an object when one is wanted, into a folder.
fn deliver(
    store: &Store,
    (database, folder): &(Database, FolderId),
    number: u64,
    object_bytes: usize,
) -> Outcome<txlog::Lsn> {
    let mut note = Note::new(store.new_unid(), NoteClass::DOCUMENT, TimeDate(number as i64));
    note.set("Subject", noise(number, 900));
    let pin = if object_bytes > 0 {
        Some(store.objects().put(noise(number, object_bytes).as_bytes())?)
    } else {
        None
    };
    if let Some(pin) = &pin {
        let piece = Piece::Object { ticket: pin.ticket, recipe: Recipe::Raw };
        note.put(Item::new("$Content", ItemValue::Pieces(vec![piece]), ItemFlags::NONE));
    }
    let prepared = PreparedNote::new(&note, 1_000, TimeDate(number as i64));
    let written = store.write::<_, StoreError>(&[database], |writer| {
        let put = writer.put_note(database, &prepared)?;
        writer.add_to_folder(database, *folder, put.id, EntryFlags::NONE, &[])
    })?;
    Ok(written.lsn)
}

/// Does `work` on a thread beside the ticks of a server.
fn with_ticks(store: &Store, work: impl FnOnce() -> Outcome) -> Outcome {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ticks = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                if let Err(error) = store.tick() {
                    complain("tick", &error);
                }
            }
        });
        let outcome = work();
        stop.store(true, Ordering::Relaxed);
        drop(ticks.join());
        outcome
    })
}

fn write_for(
    store: &Store,
    databases: &[(Database, FolderId)],
    writers: usize,
    time: Duration,
) -> Outcome<u64> {
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let begun = Instant::now();
    let write = || {
        while begun.elapsed() < time {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let at = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % databases.len();
            let delivered = deliver(store, &databases[at], number, 0)
                .and_then(|lsn| Ok(store.durable(lsn).wait()?));
            if let Err(error) = delivered {
                complain("write", &*error);
                return failed.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..writers).for_each(|_| drop(scope.spawn(write))));
    if failed.load(Ordering::Relaxed) {
        return Err("a write failed".into());
    }
    Ok(next.load(Ordering::Relaxed) - 1)
}

fn change(dir: &Path, only: Option<usize>) -> Outcome {
    say("| databases | writers | changes/s | CPU us | log bytes | device bytes | syncs |")?;
    say("|---:|---:|---:|---:|---:|---:|---:|")?;
    for count in [10, 500, 5_000] {
        if only.is_some_and(|only| only != count) {
            continue;
        }
        let dir = dir.join(format!("change-{count}"));
        let store = open(&dir, |_| {})?;
        let databases = databases(&store, count)?;
        for writers in [1, 8, 64] {
            store.flush()?;
            let (log, (cpu, device)) = (store.log().status(), used()?);
            let mut changes = 0.0;
            let begun = Instant::now();
            with_ticks(&store, || {
                changes = write_for(&store, &databases, writers, MEASURE)? as f64;
                Ok(())
            })?;
            let rate = changes / begun.elapsed().as_secs_f64();
            store.flush()?;
            let (log_after, (cpu_after, device_after)) = (store.log().status(), used()?);
            let bytes = (log_after.bytes_written - log.bytes_written) as f64;
            let syncs = (log_after.syncs - log.syncs) as f64;
            say(&format!(
                "| {count} | {writers} | {rate:.0} | {:.0} | {:.0} | {:.0} | {:.3} |",
                (cpu_after - cpu) / changes,
                bytes / changes,
                (device_after - device) / changes,
                syncs / changes
            ))?;
        }
        store.close()?;
        drop((databases, store));
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

/// Fills a log of `bytes` that nothing of is checkpointed; the process ends as a crash does.
fn fill(dir: &Path, bytes: u64, object_bytes: usize) -> Outcome<u64> {
    let store = open(dir, keep_all)?;
    let databases = databases(&store, 200)?;
    let begun = store.log().status().bytes_written;
    let mut number = 0;
    while store.log().status().bytes_written - begun < bytes {
        number += 1;
        deliver(&store, &databases[number as usize % databases.len()], number, object_bytes)?;
    }
    store.durable(store.log().appended()).wait()?;
    Ok(number)
}

/// Nothing is checkpointed by itself.
fn keep_all(options: &mut StoreOptions) {
    options.log.bytes_max = 16 << 30;
    options.unwritten_bytes_max = 8 << 30;
}

/// What a person's mail file meets in the steady load, for each of a hundred happenings.
#[derive(Clone, Copy)]
enum Happening {
    /// A note comes in.
    Delivered,
    /// A note is marked as read.
    Read,
    /// A note is flagged, and another one removed.
    Removed,
}

/// Of what happens in a second to 6,000 people: 26 deliveries, 14 copies of what was sent, 33
/// notes read for the first or another time, 14 removed.
const SHARES: [(Happening, u64); 3] =
    [(Happening::Delivered, 40), (Happening::Read, 20), (Happening::Removed, 14)];
/// Bytes that the body of each message adds to the log, on average.
const BODY_BYTES: usize = 8 << 10;
/// Notes in each mail file at the beginning.
const NOTES: u64 = 50;
/// Seconds that are simulated, and those before that are not counted.
const SIMULATED_S: u64 = 3_600;
const SETTLING_S: u64 = 2_400;

fn happen(
    store: &Store,
    mail: &(Database, FolderId),
    happening: Happening,
    number: u64,
) -> Outcome {
    let (database, folder) = mail;
    let of = |entries: Vec<store::Entry>| entries.into_iter().nth(number as usize % 40);
    let chosen = store.read(database, |reader| {
        reader.entries(*folder, 1..=u32::MAX, 40 + number as usize % 9).map(of)
    })?;
    match (happening, chosen.value) {
        (Happening::Read, Some(entry)) => {
            store
                .write::<_, StoreError>(&[database], |w| w.set_seen(database, entry.note, true))?;
        }
        (Happening::Removed, Some(entry)) => {
            store.write::<_, StoreError>(&[database], |writer| {
                writer.set_flags(database, *folder, entry.uid, EntryFlags::DELETED, &[])
            })?;
            store.write::<_, StoreError>(&[database], |writer| {
                writer.remove_from_folder(database, *folder, entry.uid)
            })?;
        }
        _ => {
            let body = if number.is_multiple_of(2) { BODY_BYTES } else { 0 };
            deliver(store, mail, number, body)?;
        }
    }
    Ok(())
}

fn figure(store: &Store, name: &str) -> u64 {
    store.statistics().iter().find(|row| row.0 == name).map_or(0, |row| row.1)
}

fn steady(dir: &Path, only: Option<usize>) -> Outcome {
    let count = only.unwrap_or(6_000);
    let clock = Arc::new(ManualClock::new(TimeDate(1_800_000_000_000_000)));
    let store = open(&dir.join("steady"), |options| {
        options.clock = clock.clone();
        options.open_databases_max = count;
    })?;
    let databases = databases(&store, count)?;
    for number in 0..count as u64 * NOTES {
        deliver(&store, &databases[number as usize % count], number, 0)?;
    }
    store.flush()?;
    say("| minute | changes/s | log B/s | other B/s | commits/s | rounds/min | CPU us/change |")?;
    say("|---:|---:|---:|---:|---:|---:|---:|")?;
    let per_second = SHARES.iter().map(|(_, share)| share).sum::<u64>() * count as u64 / 6_000;
    let (mut number, mut before) = (count as u64 * NOTES, None);
    for second in 0..SETTLING_S + SIMULATED_S {
        for at in 0..per_second {
            let mut rest = at * SHARES.iter().map(|(_, share)| share).sum::<u64>() / per_second;
            let happening = SHARES.iter().find(|(_, share)| {
                let is_it = rest < *share;
                rest = rest.saturating_sub(*share);
                is_it
            });
            number += 1;
            let place = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let kind = happening.map_or(Happening::Read, |one| one.0);
            happen(&store, &databases[place as usize % count], kind, number)?;
        }
        clock.advance(1_000_000);
        store.tick()?;
        if second < SETTLING_S || !(second - SETTLING_S).is_multiple_of(600) {
            continue;
        }
        let (cpu, device) = used()?;
        let log = store.log().status().bytes_written as f64;
        let (commits, rounds) = (
            figure(&store, "Database.Checkpoint.Commits") as f64,
            figure(&store, "Database.Checkpoint.Rounds") as f64,
        );
        if let Some((cpu0, device0, log0, commits0, rounds0)) = before {
            let changes = (per_second * 600) as f64;
            let (log_s, all_s) = ((log - log0) / 600.0, (device - device0) / 600.0);
            say(&format!(
                "| {} | {per_second} | {log_s:.0} | {:.0} | {:.1} | {:.1} | {:.0} |",
                second / 60,
                all_s - log_s,
                (commits - commits0) / 600.0,
                (rounds - rounds0) / 10.0,
                (cpu - cpu0) / changes,
            ))?;
        }
        before = Some((cpu, device, log, commits, rounds));
    }
    store.close()?;
    Ok(())
}

/// What happens in `memory` for each database.
const HAPPENINGS: u64 = 30;
/// Bounds of memory for each database, in KiB; the last is none.
const BOUNDS_KIB: [u64; 4] = [48, 96, 192, 1 << 20];

/// Resident memory of the process, in bytes.
fn resident() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1_024.0)
}

fn memory(dir: &Path, only: Option<usize>) -> Outcome {
    let count = only.unwrap_or(1_000);
    let begun = resident()?;
    say("| bound KiB/database | used KiB | resident KiB | gave back | commits | CPU us/change |")?;
    say("|---:|---:|---:|---:|---:|---:|")?;
    for bound in BOUNDS_KIB {
        let dir = dir.join(format!("memory-{bound}"));
        let store = open(&dir, |options| {
            options.open_databases_max = count;
            options.buffer_pool_bytes = bound * 1_024 * count as u64;
        })?;
        let databases = databases(&store, count)?;
        for number in 0..count as u64 * NOTES {
            deliver(&store, &databases[number as usize % count], number, 0)?;
        }
        store.checkpoint_round()?;
        let (all, cpu) = (count as u64 * HAPPENINGS, used()?.0);
        for number in 0..all {
            let place = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let happening = SHARES[number as usize % SHARES.len()].0;
            happen(&store, &databases[place as usize % count], happening, number)?;
        }
        let cpu = (used()?.0 - cpu) / all as f64;
        let each = |bytes: f64| bytes / 1_024.0 / count as f64;
        let (pool, resident) = (store.buffer_pool_used() as f64, resident()? - begun);
        say(&format!(
            "| {bound} | {:.0} | {:.0} | {} | {} | {cpu:.0} |",
            each(pool),
            each(resident),
            figure(&store, "Database.BufferPool.Eased"),
            figure(&store, "Database.Checkpoint.Commits"),
        ))?;
        store.close()?;
        drop((databases, store));
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

/// Lets the page cache forget everything; false when that is not permitted.
fn forget_pages() -> bool {
    let synced = std::process::Command::new("sync").status().is_ok_and(|status| status.success());
    synced && std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

fn start(dir: &Path, only: Option<usize>) -> Outcome {
    say("| log | kind | changes | pages | open ms | replay ms | CPU ms |")?;
    say("|---:|---|---:|---|---:|---:|---:|")?;
    for (kind, object_bytes) in [("small changes", 0), ("mail, 48 KiB each", OBJECT_BYTES)] {
        for mib in [64, 256, 1_024] {
            if only.is_some_and(|only| only != mib) {
                continue;
            }
            let dir = dir.join(format!("start-{mib}-{object_bytes}"));
            let changes = fill(&dir, mib as u64 * MIB, object_bytes)?;
            for pages in ["warm", "cold"] {
                if pages == "cold" && !forget_pages() {
                    continue;
                }
                let (begun, (cpu, _)) = (Instant::now(), used()?);
                let store = open(&dir, keep_all)?;
                let opened = begun.elapsed();
                while store.replay_pending(Duration::MAX)?.left > 0 {}
                let replayed = begun.elapsed() - opened;
                let cpu = (used()?.0 - cpu) / 1_000.0;
                let times = format!("{} | {}", opened.as_millis(), replayed.as_millis());
                say(&format!("| {mib} MiB | {kind} | {changes} | {pages} | {times} | {cpu:.0} |"))?;
            }
            std::fs::remove_dir_all(&dir)?;
        }
    }
    Ok(())
}

fn main() -> Outcome {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let dir = words.next().map_or_else(std::env::temp_dir, PathBuf::from).join("store-figures");
    let only = words.next().map(|word| word.parse()).transpose()?;
    drop(std::fs::remove_dir_all(&dir));
    match what.as_str() {
        "change" => change(&dir, only),
        "start" => start(&dir, only),
        "steady" => steady(&dir, only),
        "memory" => memory(&dir, only),
        other => Err(format!("{other:?}: say change, start, steady or memory").into()),
    }
}
