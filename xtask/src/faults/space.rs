//! A small file system is filled up under load: temporary refusals, reads go on, and work resumes
//! by itself when there is space again.

use super::{Options, USERS, panics, restart_and_compare};
use crate::crash::dice::Dice;
use crate::crash::load::{Mood, Shared, lock};
use crate::crash::look::{self, Depth};
use crate::crash::server::{Place, Server, Setting};
use crate::crash::volume::Volume;
use crate::crash::{SMALL, settle};
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Size of the file system.
const VOLUME_SIZE: &str = "2400M";
/// Most that is left free, in bytes.
const LEFT_MAX: u64 = 4 << 20;
/// Refusals that show that space is short.
const REFUSALS: u64 = 30;
/// How long the load may find space somewhere.
const FILLING_MAX: Duration = Duration::from_secs(60);
/// How long it may take until work goes on when there is space again.
const RESUME_MAX: Duration = Duration::from_secs(20);
/// Tries of reading one person's mail.
const READS_MAX: u32 = 10;
/// Acknowledgements that show that work goes on.
const RESUMED: u64 = 50;

/// Sizes of log segments: with large ones the databases meet the full disk, with small ones the
/// log does.
const SIZES: [(&str, &[Setting]); 2] = [("64 MiB", &[]), ("2 MiB", &SMALL)];

/// Runs half of the rounds with each size of segments; gives what is wrong.
pub fn run(
    root: &Path,
    scratch: &Path,
    options: Options,
    dice: &mut Dice,
) -> Result<Vec<String>, String> {
    let first = options.rounds.div_ceil(2);
    for ((name, settings), rounds) in SIZES.iter().zip([1..=first, first + 1..=options.rounds]) {
        if rounds.is_empty() {
            continue;
        }
        println!("full disk, log segments of {name}");
        let scratch = scratch.join(name.replace(' ', ""));
        let volume = Volume::create(&scratch, VOLUME_SIZE)?;
        let place = Place::new(root, &scratch, volume.data(), USERS)?;
        let wrong = with_size((&place, &volume), settings, (options.seed, rounds), dice)?;
        if !wrong.is_empty() {
            return Ok(wrong);
        }
    }
    Ok(Vec::new())
}

fn with_size(
    (place, volume): (&Place, &Volume),
    settings: &[Setting],
    (seed, rounds): (u64, RangeInclusive<u64>),
    dice: &mut Dice,
) -> Result<Vec<String>, String> {
    let shared = Shared::new(seed, place.ports(), USERS);
    Server::start(place)?.0.stop(place)?;
    place.tune(settings)?;
    let (mut server, _) = Server::start(place)?;
    let rest = settle::adopt(place, &shared)?;
    for round in rounds {
        let left = dice.below(LEFT_MAX);
        let refused = one_round(&shared, volume, &mut server, (round, left))?;
        settle::wait_drained(place, Some(rest))?;
        look::check_everybody(&shared, Depth::Usual);
        panics(place).into_iter().for_each(|line| shared.complain(line));
        if lock(&shared.wrong).is_empty() {
            server = restart_and_compare(place, &shared, Some(server), rest)?;
        }
        let wrong = std::mem::take(&mut *lock(&shared.wrong));
        println!(
            "full disk {round}: {left} bytes left, {refused} refusals, {} operations acknowledged \
             so far, {} findings",
            shared.acknowledged(),
            wrong.len()
        );
        if !wrong.is_empty() {
            return Ok(wrong);
        }
    }
    server.stop(place)?;
    settle::check_objects(place)
}

fn one_round(
    shared: &Shared,
    volume: &Volume,
    server: &mut Server,
    (round, left): (u64, u64),
) -> Result<u64, String> {
    let before = shared.refused.load(Ordering::Relaxed);
    let refused = || shared.refused.load(Ordering::Relaxed) - before;
    let ballast = volume.folder().join("ballast");
    let outcome = shared.under_load(round, || {
        std::thread::sleep(Duration::from_millis(300));
        shared.set_mood(Mood::Scarce);
        fill(&ballast, left)?;
        let began = Instant::now();
        while refused() < REFUSALS && began.elapsed() < FILLING_MAX {
            std::thread::sleep(Duration::from_millis(200));
            fill(&ballast, 0)?;
        }
        for index in 0..shared.users.len() {
            if let Err(trouble) = read(shared, index) {
                shared.complain(format!("reading: {trouble}"));
            }
        }
        std::fs::remove_file(&ballast).map_err(|e| format!("{}: {e}", ballast.display()))?;
        resumes(shared, server);
        Ok(())
    });
    shared.set_mood(Mood::Calm);
    outcome.map(|()| refused())
}

/// Reads the mail of user `index` beside the load, which may expunge what is being read.
fn read(shared: &Shared, index: usize) -> Result<(), String> {
    for _ in 0..READS_MAX {
        match look::find(shared, index) {
            Err(trouble) if trouble.contains("[EXPUNGEISSUED]") => {}
            outcome => return outcome.map(|_| ()),
        }
    }
    Err(format!("user {}: messages vanish again and again", index + 1))
}

/// Whether the same server works again: first with single refusals, then without any.
fn resumes(shared: &Shared, server: &mut Server) {
    let (before, began) = (shared.acknowledged(), Instant::now());
    while shared.acknowledged() < before + RESUMED {
        if began.elapsed() > RESUME_MAX || server.ended() {
            let more = shared.acknowledged() - before;
            shared.complain(format!("{more} operations within {RESUME_MAX:?} of new space"));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    shared.set_mood(Mood::Calm);
    std::thread::sleep(Duration::from_millis(500));
}

/// Lets a file grow until the file system is full, then gives `left` bytes back.
fn fill(ballast: &Path, left: u64) -> Result<(), String> {
    let words = |e: std::io::Error| format!("{}: {e}", ballast.display());
    let mut file = File::options().create(true).append(true).open(ballast).map_err(words)?;
    for piece in [vec![0_u8; 1 << 20], vec![0_u8; 4096]] {
        while file.write_all(&piece).is_ok() {}
    }
    if left > 0 {
        let length = file.metadata().map_err(words)?.len();
        file.set_len(length.saturating_sub(left)).map_err(words)?;
    }
    Ok(())
}
