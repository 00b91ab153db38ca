//! One write or sync fails with EIO under load, by a library in front of the C library.

use super::{Options, USERS, panics, restart_and_compare};
use crate::crash::dice::Dice;
use crate::crash::load::{Mood, Shared, lock};
use crate::crash::server::{Place, Server};
use crate::crash::volume::run as system;
use crate::crash::{SMALL, settle};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// The library.
const SHIM: &str = include_str!("shim.c");
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
        let fault = Fault::choose(scratch, &shim, round, dice);
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

/// The library, compiled; `None`: there is no compiler.
fn build(scratch: &Path) -> Result<Option<PathBuf>, String> {
    if Command::new("gcc").arg("--version").output().is_err() {
        return Ok(None);
    }
    let (source, library) = (scratch.join("shim.c"), scratch.join("shim.so"));
    std::fs::write(&source, SHIM).map_err(|e| format!("{}: {e}", source.display()))?;
    let options = ["-shared", "-fPIC", "-O1", "-ldl", "-lpthread", "-o"];
    system("gcc", &options, &[&library, &source])?;
    Ok(Some(library))
}

/// One call that fails.
struct Fault {
    call: &'static str,
    part: &'static str,
    nth: u64,
    sticky: bool,
    arm: PathBuf,
    fired: PathBuf,
    shim: PathBuf,
}

impl Fault {
    fn choose(scratch: &Path, shim: &Path, round: u64, dice: &mut Dice) -> Fault {
        let (call, part) = FAULTS[((round - 1) % FAULTS.len() as u64) as usize];
        let often = matches!(call, "pwrite" | "fdatasync");
        let nth = 1 + dice.below(if often { 40 } else { 3 });
        let (arm, fired) = (scratch.join("arm"), scratch.join("fired"));
        let _ = std::fs::remove_file(&arm); // of the round before
        let _ = std::fs::remove_file(&fired);
        let (sticky, shim) = (dice.chance(50), shim.to_owned());
        Fault { call, part, nth, sticky, arm, fired, shim }
    }

    fn describe(&self) -> String {
        let Fault { call, part, nth, sticky, fired, .. } = self;
        let more = if *sticky { " and all later ones" } else { "" };
        let happened = if fired.exists() { "" } else { " (did not come to it)" };
        format!("{call} {nth}{more} in {part}{happened}")
    }

    fn environment(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", path(&self.shim)),
            ("LAB_CALL", self.call.to_owned()),
            ("LAB_PART", self.part.to_owned()),
            ("LAB_NTH", self.nth.to_string()),
            ("LAB_STICKY", u64::from(self.sticky).to_string()),
            ("LAB_ARM", path(&self.arm)),
            ("LAB_FIRED", path(&self.fired)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// What is wrong with the server having ended like this, or not at all.
    fn judge(&self, ended: Option<ExitStatus>) -> Option<String> {
        let must_end = matches!((self.call, self.part), ("fdatasync" | "pwrite", "/txlog/"));
        let what = self.describe();
        match ended {
            Some(status) if status.signal().is_some() => Some(format!("{what}: {status}")),
            Some(status) if status.code() != Some(3) => Some(format!("{what}: {status}")),
            Some(_) if !self.fired.exists() => Some(format!("{what}: ended without a reason")),
            None if must_end && self.fired.exists() => Some(format!("{what}: the server goes on")),
            _ => None,
        }
    }
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
        let armed = std::fs::write(&fault.arm, b"");
        armed.map_err(|e| format!("{}: {e}", fault.arm.display()))?;
        let began = Instant::now();
        while !fault.fired.exists() && began.elapsed() < FAULT_MAX {
            // checkpoints too write and sync
            let _ = place.ask(&["console"], &["dbcache", "flush"]); // it may fail by the fault
            std::thread::sleep(Duration::from_millis(100));
        }
        let ends = fault.part.starts_with("/txlog") && fault.fired.exists();
        let wait = if ends { STOP_MAX } else { Duration::from_secs(3) };
        Ok::<_, String>(server.ended_within(wait))
    })?;
    shared.set_mood(Mood::Calm);
    server.kill();
    Ok(ended)
}
