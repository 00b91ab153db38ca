//! One write or sync fails with EIO under load, by a library in front of the C library.

use super::fault::{Fault, build};
use super::{Options, USERS, panics, restart_and_compare};
use crate::crash::dice::Dice;
use crate::crash::load::{Mood, Shared, lock};
use crate::crash::server::{Place, Server};
use crate::crash::{SMALL, settle};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// What fails where; in the log it ends the server, elsewhere it may.
const FAULTS: [(&str, &str); 8] = [
    ("fdatasync", "/txlog/"),
    ("pwrite", "/txlog/"),
    ("pwrite", "/data/data/"),
    ("fdatasync", "/txlog/"),
    ("pwrite", "/objects/"),
    ("syncfs", "/data"),
    ("fallocate", "/txlog/"),
    ("fsync", "/txlog"),
];
/// How long the load waits for the fault.
const FAULT_MAX: Duration = Duration::from_secs(6);
/// How long the server may take to stop by itself.
const STOP_MAX: Duration = Duration::from_secs(90);

/// Runs the rounds; gives what is wrong.
pub fn run(
    root: &Path,
    scratch: &Path,
    options: Options,
    dice: &mut Dice,
) -> Result<Vec<String>, String> {
    let Some(shim) = build(scratch)? else {
        println!("a failing disk is skipped: there is no gcc");
        return Ok(Vec::new());
    };
    let place = Place::new(root, scratch, scratch.join("data"), USERS)?;
    let shared = Shared::new(options.seed, place.ports(), USERS);
    Server::start(&place)?.0.stop(&place)?;
    place.tune(&SMALL)?;
    let (mut server, _) = Server::start(&place)?;
    let rest = settle::adopt(&place, &shared)?;
    for round in 1..=options.rounds {
        server.stop(&place)?;
        let fault = choose(scratch, &shim, round, dice);
        let ended = one_round(&place, &shared, round, &fault)?;
        fault.judge(ended).into_iter().for_each(|text| shared.complain(text));
        panics(&place).into_iter().for_each(|line| shared.complain(line));
        server = restart_and_compare(&place, &shared, None, rest)?;
        let wrong = std::mem::take(&mut *lock(&shared.wrong));
        println!(
            "failing disk {round}: {}, {}, {} operations acknowledged so far, {} findings",
            fault.describe(),
            ended.map_or("the server went on".to_owned(), |s| s.to_string()),
            shared.acknowledged(),
            wrong.len()
        );
        if !wrong.is_empty() {
            return Ok(wrong);
        }
    }
    server.stop(&place)?;
    settle::check_objects(&place)
}

/// The fault of a round.
fn choose(scratch: &Path, shim: &Path, round: u64, dice: &mut Dice) -> Fault {
    let (call, part) = FAULTS[((round - 1) % FAULTS.len() as u64) as usize];
    let often = matches!(call, "pwrite" | "fdatasync");
    let nth = 1 + dice.below(if often { 40 } else { 3 });
    Fault::new(scratch, shim, (call, part), nth, dice.chance(50))
}

/// Load with the fault in it; gives how the server ended, if it did.
fn one_round(
    place: &Place,
    shared: &Shared,
    round: u64,
    fault: &Fault,
) -> Result<Option<ExitStatus>, String> {
    let broken = Place { environment: fault.environment(), ..place.clone() };
    let (mut server, _) = Server::start(&broken)?;
    let ended = shared.under_load(1_000 + round, || {
        std::thread::sleep(Duration::from_millis(300));
        shared.set_mood(Mood::Dying);
        fault.arm()?;
        let began = Instant::now();
        while !fault.happened() && began.elapsed() < FAULT_MAX {
            // checkpoints too write and sync
            let _ = place.ask(&["console"], &["dbcache", "flush"]); // it may fail by the fault
            std::thread::sleep(Duration::from_millis(100));
        }
        let ends = fault.part.starts_with("/txlog") && fault.happened();
        let wait = if ends { STOP_MAX } else { Duration::from_secs(3) };
        Ok::<_, String>(server.ended_within(wait))
    })?;
    shared.set_mood(Mood::Calm);
    server.kill();
    Ok(ended)
}
