//! Kills the server under load or cuts the power of its file system, again and again, and looks for
//! what is missing, double or half there.

pub mod chores;
pub mod dice;
pub mod imap;
pub mod letter;
pub mod load;
pub mod look;
pub mod model;
pub mod pop3;
pub mod scratch;
pub mod server;
pub mod settle;
pub mod smtp;
pub mod volume;

use chores::{Chores, is_announced};
use dice::Dice;
use load::{Mood, Shared, lock};
use look::Depth;
use server::{Place, Server, Setting};
use std::path::Path;
use std::time::Duration;
use volume::Volume;

const USERS: usize = 20;
/// Size of the file system whose power is cut.
const VOLUME_SIZE: &str = "4G";
/// Small bounds, so that segments change, checkpoints and adoptions happen within a round.
pub const SMALL: [Setting; 2] =
    [("log", "segment_bytes", 2 << 20), ("log", "redo_bytes_max", 16 << 20)];
/// Nothing that was deleted is kept, and segments with little live data are written anew at once,
/// so that prune and rewriting are always under way.
pub const NO_REST: [Setting; 5] = [
    ("database", "deleted_keep_h", 0),
    ("objects", "defer_s", 0),
    ("objects", "care_interval_s", 3), // with 1 there is no second left between for rewriting
    ("objects", "rewrite_live_percent", 90),
    ("objects", "rewrite_segments_min", 1),
];
/// Ways to mount the file system: late journal commits lose most, early ones mix old and new;
/// without delayed allocation files get their length before their content.
const MOUNTS: [&str; 4] = [
    "noatime,commit=300",
    "noatime,commit=1",
    "noatime,commit=300,data=writeback",
    "noatime,nodelalloc,commit=300",
];
/// Rounds between two looks at all objects, when power is cut.
const OBJECTS_EVERY: u64 = 10;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub rounds: u64,
    pub seed: u64,
    /// Fetches every body in every round, not only new ones.
    pub full: bool,
    /// Cuts the power of a file system instead of killing the process alone. Needs root.
    pub power: bool,
}

impl Options {
    /// Parses `--rounds N`, `--seed S`, `--full`. Without a seed the clock gives one.
    pub fn parse(power: bool, arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { rounds: 10, seed: seed_of_the_clock(), full: false, power };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--rounds" => options.rounds = number(argument, rest.next())?,
                "--seed" => options.seed = number(argument, rest.next())?,
                "--full" => options.full = true,
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    /// The command line that asks for the same.
    fn line(self) -> String {
        let Options { rounds, seed, full, power } = self;
        let task = if power { "powerloss" } else { "crash" };
        let full = if full { " --full" } else { "" };
        format!("{task} --rounds {rounds} --seed {seed}{full}")
    }
}

/// The number behind an option.
pub fn number(option: &str, value: Option<&String>) -> Result<u64, String> {
    let value = value.and_then(|v| v.parse::<u64>().ok());
    value.ok_or_else(|| format!("{option} wants a number"))
}

/// A seed for those who give none.
pub fn seed_of_the_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |d| d.as_secs())
}

/// Runs the rounds; gives what is wrong. On a finding the data directory stays for a look.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    if let Some(reason) = Volume::impossible().filter(|_| options.power) {
        println!("powerloss is skipped: {reason}");
        return Ok(Vec::new());
    }
    scratch::in_scratch(root, &options.line(), |scratch| {
        let volume = match options.power {
            true => Some(Volume::create(scratch, VOLUME_SIZE)?),
            false => None,
        };
        let data = volume.as_ref().map_or_else(|| scratch.join("data"), Volume::data);
        let place = Place::new(root, scratch, data, USERS)?;
        rounds(&place, volume.as_ref(), options)
    })
}

fn rounds(place: &Place, volume: Option<&Volume>, options: Options) -> Result<Vec<String>, String> {
    let shared = Shared::new(options.seed, place.ports(), USERS);
    let mut dice = Dice::new(options.seed, 0);
    let (server, _) = Server::start(place)?;
    let mut server = retune(place, server, &NO_REST)?;
    if volume.is_some() {
        server = retune(place, server, &SMALL)?;
    }
    let rest = settle::adopt(place, &shared)?;
    settle::add_rules(place, &shared)?;
    let mut chores = Chores::new(place)?;
    for round in 1..=options.rounds {
        if volume.is_none() && round == options.rounds / 2 + 1 {
            server = retune(place, server, &SMALL)?; // the first half had segments of full size
        }
        let mut plan = Plan { round, dice: &mut dice, volume, chores: &mut chores };
        server = one_round(place, &shared, server, &mut plan)?;
        settle::wait_drained(place, Some(rest))?;
        let last = round == options.rounds;
        let depth = if options.full || last { Depth::Everything } else { Depth::Usual };
        look::check_everybody(&shared, depth);
        let mut wrong = lock(&shared.wrong);
        wrong.extend(chores.check(place)?);
        wrong.extend(place.errors_logged().into_iter().filter(|line| !is_announced(line)));
        if volume.is_some() && round % OBJECTS_EVERY == 0 {
            wrong.extend(settle::check_objects(place)?);
        }
        if !wrong.is_empty() {
            break;
        }
    }
    let mut wrong = std::mem::take(&mut *lock(&shared.wrong));
    if wrong.is_empty() {
        server.stop(place)?;
        wrong.extend(settle::check_objects(place)?);
    }
    println!(
        "{} rounds, {} operations and {} chores acknowledged, {} objects pruned, {} findings",
        options.rounds,
        shared.acknowledged(),
        chores.done(),
        chores.pruned(),
        wrong.len()
    );
    Ok(wrong)
}

/// Stops the server and starts it with other settings.
fn retune(place: &Place, server: Server, settings: &[Setting]) -> Result<Server, String> {
    server.stop(place)?;
    place.tune(settings)?;
    Server::start(place).map(|(server, _)| server)
}

/// What is particular to one round.
struct Plan<'a> {
    round: u64,
    dice: &'a mut Dice,
    volume: Option<&'a Volume>,
    chores: &'a mut Chores,
}

/// Load, kill, restart; sometimes a second kill hits the recovery.
fn one_round(
    place: &Place,
    shared: &Shared,
    server: Server,
    plan: &mut Plan<'_>,
) -> Result<Server, String> {
    let before = shared.acknowledged();
    let longest = if plan.dice.chance(15) { 8_000 } else { 2_200 };
    let kill_after = Duration::from_millis(200 + plan.dice.below(longest));
    load_until_killed(place, shared, server, (plan, kill_after))?;
    let second = plan.dice.chance(33).then(|| Duration::from_millis(plan.dice.below(150)));
    if let Some(after) = second {
        let server = Server::launch(place)?;
        std::thread::sleep(after);
        end(server, plan.dice, plan.volume)?;
    }
    let (server, took) = Server::start(place)?;
    let acknowledged = shared.acknowledged() - before;
    let again = if second.is_some() { ", again in recovery" } else { "" };
    println!(
        "round {}: {acknowledged} operations acknowledged, {} after {} ms{again}, ready in {} ms",
        plan.round,
        if plan.volume.is_some() { "power cut" } else { "killed" },
        kill_after.as_millis(),
        took.as_millis()
    );
    Ok(server)
}

/// Ends the server by our hand: a kill, or a power cut. It must not live to see the cut: beside it,
/// ext4 may answer 0 to an fdatasync whose data it did not keep.
fn end(server: Server, dice: &mut Dice, volume: Option<&Volume>) -> Result<(), String> {
    let Some(volume) = volume else {
        server.kill();
        return Ok(());
    };
    server.pause()?;
    volume.cut()?;
    server.kill();
    let options = *dice.pick(&MOUNTS);
    volume.restore(options)
}

fn load_until_killed(
    place: &Place,
    shared: &Shared,
    mut server: Server,
    (plan, kill_after): (&mut Plan<'_>, Duration),
) -> Result<(), String> {
    let flushing = Flushing::choose(plan, kill_after);
    let round = plan.round;
    let mut dice = Dice::new(plan.dice.next(), round);
    let works = plan.dice.chance(60);
    std::thread::scope(|scope| {
        scope.spawn(move || flushing.run(place, kill_after));
        let Plan { dice: steps, volume, chores, .. } = plan;
        if works {
            scope.spawn(move || chores.run(place, shared, &mut dice));
        }
        shared.under_load(round, || {
            std::thread::sleep(kill_after);
            if server.ended() {
                shared.complain("the server ended by itself".to_owned());
            }
            let logged = place.errors_logged().into_iter().filter(|line| !is_announced(line));
            logged.for_each(|line| shared.complain(line));
            shared.set_mood(Mood::Dying);
            end(server, steps, *volume)
        })
    })?;
    shared.set_mood(Mood::Calm);
    Ok(())
}

/// Checkpoints of everything that fall into a round.
#[derive(Debug, Clone, Copy)]
enum Flushing {
    Never,
    Once(Duration),
    Always,
}

impl Flushing {
    fn choose(plan: &mut Plan<'_>, kill_after: Duration) -> Flushing {
        let (kind, percent) = (plan.dice.below(100), plan.dice.below(100));
        match kind {
            0..40 => Flushing::Never,
            40..75 => Flushing::Once(kill_after.mul_f64(percent as f64 / 100.0)),
            _ => Flushing::Always,
        }
    }

    fn run(self, place: &Place, kill_after: Duration) {
        // the end of the server may cut a flush off, and its answer with it
        let flush = || place.ask(&["console"], &["dbcache", "flush"]).is_ok_and(|(fine, _)| fine);
        let began = std::time::Instant::now();
        match self {
            Flushing::Never => {}
            Flushing::Once(after) => {
                std::thread::sleep(after);
                flush();
            }
            Flushing::Always => while began.elapsed() < kill_after && flush() {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn the_command_line() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(false, &words)
        };
        let options = parse("--seed 7 --rounds 50 --full").unwrap();
        assert_eq!(options, Options { rounds: 50, seed: 7, full: true, power: false });
        assert_eq!(options.line(), "crash --rounds 50 --seed 7 --full");
        let power = Options { power: true, full: false, ..options };
        assert_eq!(power.line(), "powerloss --rounds 50 --seed 7");
        assert_eq!(parse("").unwrap().rounds, 10);
        assert!(parse("--rounds many").is_err());
        assert!(parse("--fast").is_err());
    }
}
