//! One fault at every write and sync of a scripted load: the calls are counted in a run without a
//! fault, then each of them fails once.

use super::fault::{Fault, build};
use super::{Options, USERS, panics, restart_and_compare};
use crate::crash::load::{Mood, Shared, lock, scripted};
use crate::crash::server::{Place, Server, Started};
use crate::crash::{SMALL, settle};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// What fails where.
const CALLS: [(&str, &str); 9] = [
    ("pwrite", "/txlog/"),
    ("fdatasync", "/txlog/"),
    ("fsync", "/txlog"),
    ("fallocate", "/txlog/"),
    ("pwrite", "/data/data/"),
    ("fsync", "/data/data"),
    ("pwrite", "/objects/"),
    ("fsync", "/objects"),
    ("syncfs", "/data"),
];
/// Messages of the load; each is followed by two steps in mailboxes.
const STEPS: u64 = 6;
/// How long a stop may take.
const STOP_MAX: Duration = Duration::from_secs(60);
/// The number of a call that is never made.
const NEVER: u64 = 1 << 40;

/// Lets at most `options.rounds` calls of each kind fail, evenly spread; gives what is wrong.
pub fn run(root: &Path, scratch: &Path, options: Options) -> Result<Vec<String>, String> {
    let Some(shim) = build(scratch)? else {
        println!("a fault at every write is skipped: there is no gcc");
        return Ok(Vec::new());
    };
    let place = Place::new(root, scratch, scratch.join("data"), USERS)?;
    Server::start(&place)?.0.stop(&place)?;
    place.tune(&SMALL)?;
    let (server, _) = Server::start(&place)?;
    let shared = Shared::new(options.seed, place.ports(), USERS);
    let rest = settle::adopt(&place, &shared)?;
    server.stop(&place)?;
    let mut laboratory =
        Laboratory { place, shared, rest, scratch: scratch.to_owned(), shim, stream: 0, faults: 0 };
    for call in CALLS {
        let wrong = laboratory.sweep(call, options.rounds.max(1))?;
        if !wrong.is_empty() {
            return Ok(wrong);
        }
    }
    println!(
        "{} faults, {} operations acknowledged, 0 findings",
        laboratory.faults,
        laboratory.shared.acknowledged()
    );
    settle::check_objects(&laboratory.place)
}

struct Laboratory {
    place: Place,
    shared: Shared,
    /// Notes that mail.box holds at rest.
    rest: u64,
    scratch: PathBuf,
    shim: PathBuf,
    /// Of the dice, another one for each load.
    stream: u64,
    faults: u64,
}

impl Laboratory {
    fn sweep(
        &mut self,
        call: (&'static str, &'static str),
        most: u64,
    ) -> Result<Vec<String>, String> {
        let counting = Fault::new(&self.scratch, &self.shim, call, NEVER, false);
        self.load(&counting)?;
        let count = counting.counted();
        let step = count.div_ceil(most).max(1);
        let mut met = 0;
        for nth in (1..=count).step_by(step as usize) {
            let fault = Fault::new(&self.scratch, &self.shim, call, nth, nth % 2 == 0);
            let ended = self.load(&fault)?;
            fault.judge(ended).into_iter().for_each(|text| self.shared.complain(text));
            panics(&self.place).into_iter().for_each(|line| self.shared.complain(line));
            let server = restart_and_compare(&self.place, &self.shared, None, self.rest)?;
            met += u64::from(fault.happened());
            server.stop(&self.place)?;
            let wrong = std::mem::take(&mut *lock(&self.shared.wrong));
            if !wrong.is_empty() {
                println!("{}: {} findings", fault.describe(), wrong.len());
                return Ok(wrong);
            }
        }
        let (call, part) = call;
        println!("{call} in {part}: {count} calls, {met} faults met, nothing lost");
        self.faults += met;
        Ok(Vec::new())
    }

    /// Start, load, checkpoint, load, stop, with the fault somewhere behind the start; gives how
    /// the server ended by itself, if it did.
    fn load(&mut self, fault: &Fault) -> Result<Option<ExitStatus>, String> {
        let broken = Place { environment: fault.environment(), ..self.place.clone() };
        let mut server = match Server::try_start(&broken)? {
            Started::Ready(server, _) => server,
            _ => return Err(format!("does not start, see {}", self.place.log.display())),
        };
        self.shared.set_mood(Mood::Dying);
        fault.arm()?;
        for _ in 0..2 {
            self.stream += 1;
            scripted(&self.shared, 10_000 + self.stream, STEPS);
            let _ = self.place.ask(&["console"], &["dbcache", "flush"]); // it may fail by the fault
        }
        let _ = self.place.ask(&["stop"], &[])?; // the server may have ended before
        let ended = server.ended_within(STOP_MAX);
        self.shared.set_mood(Mood::Calm);
        match ended {
            Some(status) if status.success() => Ok(None),
            None => Err(format!("{}: the server does not end", fault.describe())),
            ended => Ok(ended),
        }
    }
}
