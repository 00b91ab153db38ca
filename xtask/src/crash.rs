//! Kills the server under load, again and again, and looks for what is missing, double or half
//! there.

mod dice;
mod imap;
mod letter;
mod load;
mod look;
mod model;
mod server;
mod smtp;
mod volume;

use dice::Dice;
use load::{Shared, address, lock};
use look::Depth;
use model::User;
use server::{Place, Server};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use volume::Volume;

const USERS: usize = 20;
const SENDERS: u64 = 3;
const DESKS: usize = 4;
const DRAIN_MAX: Duration = Duration::from_secs(60);

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
    /// Parses `--rounds N`, `--seed S`, `--full`, `--power`. Without a seed the clock gives one.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = now.map_or(1, |d| d.as_secs());
        let mut options = Options { rounds: 10, seed, full: false, power: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || {
                let value = rest.next().and_then(|v| v.parse::<u64>().ok());
                value.ok_or_else(|| format!("{argument} wants a number"))
            };
            match argument.as_str() {
                "--rounds" => options.rounds = number()?,
                "--seed" => options.seed = number()?,
                "--full" => options.full = true,
                "--power" => options.power = true,
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    /// The command line that asks for the same.
    fn line(self) -> String {
        let Options { rounds, seed, full, power } = self;
        let full = if full { " --full" } else { "" };
        let power = if power { " --power" } else { "" };
        format!("--rounds {rounds} --seed {seed}{full}{power}")
    }
}

/// Runs the rounds; gives what is wrong. On a finding the data directory stays for a look.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    let scratch = format!("target/crash/{:x}-{}", options.seed, std::process::id());
    let scratch = root.join(scratch);
    std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let volume = if options.power { Some(Volume::create(&scratch)?) } else { None };
    let place = Place {
        program: server::program(root)?,
        data: volume.as_ref().map_or_else(|| scratch.join("data"), Volume::data),
        log: scratch.join("server.log"),
        offset: server::free_offset(std::process::id() as u16)?,
        users: USERS as u32,
    };
    let mut wrong = match rounds(&place, volume.as_ref(), options) {
        Ok(wrong) => wrong,
        Err(trouble) => vec![trouble],
    };
    drop(volume);
    if wrong.is_empty() {
        let _ = std::fs::remove_dir_all(&scratch); // may stay behind
    } else {
        wrong.truncate(60);
        wrong.push(format!("data and log are kept: {}", scratch.display()));
        wrong.push(format!("again: cargo xtask crash {}", options.line()));
    }
    Ok(wrong)
}

fn rounds(place: &Place, volume: Option<&Volume>, options: Options) -> Result<Vec<String>, String> {
    let user = |index| Mutex::new(User { name: address(index), ..User::default() });
    let shared = Shared {
        seed: options.seed,
        smtp_port: place.smtp(),
        imap_port: place.imap(),
        users: (0..USERS).map(user).collect(),
        number: AtomicU64::new(1),
        killed: AtomicBool::new(false),
        wrong: Mutex::new(Vec::new()),
        letters: Mutex::new(Vec::new()),
        acknowledged: AtomicU64::new(0),
    };
    let mut dice = Dice::new(options.seed, 0);
    let (mut server, _) = Server::start(place)?;
    let rest = wait_drained(place, None)?;
    for (index, user) in shared.users.iter().enumerate() {
        lock(user).adopt(look::find(&shared, index)?);
    }
    for round in 1..=options.rounds {
        let mut plan = Plan { round, dice: &mut dice, volume };
        server = one_round(place, &shared, server, &mut plan)?;
        wait_drained(place, Some(rest))?;
        let last = round == options.rounds;
        let depth = if options.full || last { Depth::Everything } else { Depth::Usual };
        look_at_everybody(&shared, depth);
        shared.wrong.lock().map_err(|_| "a thread panicked")?.extend(place.errors_logged());
        if !lock(&shared.wrong).is_empty() {
            break;
        }
    }
    let mut wrong = std::mem::take(&mut *lock(&shared.wrong));
    if wrong.is_empty() {
        server.stop(place)?;
        wrong.extend(check_objects(place)?);
    }
    Ok(wrong)
}

/// What is particular to one round.
struct Plan<'a> {
    round: u64,
    dice: &'a mut Dice,
    volume: Option<&'a Volume>,
}

/// Load, kill, restart; sometimes a second kill hits the recovery.
fn one_round(
    place: &Place,
    shared: &Shared,
    server: Server,
    plan: &mut Plan<'_>,
) -> Result<Server, String> {
    let before = shared.acknowledged.load(Ordering::Relaxed);
    let longest = if plan.dice.chance(15) { 8_000 } else { 2_200 };
    let kill_after = Duration::from_millis(200 + plan.dice.below(longest));
    load_until_killed(place, shared, server, (plan, kill_after))?;
    if let Some(volume) = plan.volume {
        volume.go_back()?;
    }
    let second = plan.dice.chance(33).then(|| Duration::from_millis(plan.dice.below(150)));
    if let Some(after) = second {
        let server = Server::launch(place)?;
        std::thread::sleep(after);
        server.kill();
    }
    let (server, took) = Server::start(place)?;
    let acknowledged = shared.acknowledged.load(Ordering::Relaxed) - before;
    let again = if second.is_some() { ", killed again in recovery" } else { "" };
    println!(
        "round {}: {acknowledged} operations acknowledged, killed after {} ms{again}, \
         ready in {} ms",
        plan.round,
        kill_after.as_millis(),
        took.as_millis()
    );
    Ok(server)
}

fn load_until_killed(
    place: &Place,
    shared: &Shared,
    mut server: Server,
    (plan, kill_after): (&mut Plan<'_>, Duration),
) -> Result<(), String> {
    let (round, percent) = (plan.round, plan.dice.below(100));
    let flush_after = plan.dice.chance(50).then(|| kill_after.mul_f64(percent as f64 / 100.0));
    shared.killed.store(false, Ordering::SeqCst);
    lock(&shared.letters).clear();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            scope.spawn(move || load::send_mail(shared, round * 100 + 1 + sender));
        }
        for desk in 0..DESKS {
            let mine: Vec<usize> = (desk..USERS).step_by(DESKS).collect();
            scope.spawn(move || load::use_mailboxes(shared, round * 100 + 50 + desk as u64, &mine));
        }
        if let Some(flush_after) = flush_after {
            scope.spawn(move || {
                std::thread::sleep(flush_after);
                // a checkpoint of everything; the kill may cut it off, and its answer with it
                let _ = place.ask(&["console"], &["dbcache", "flush"]);
            });
        }
        std::thread::sleep(kill_after);
        if server.ended() {
            shared.complain("the server ended by itself".to_owned());
        }
        shared.killed.store(true, Ordering::SeqCst);
        let photographed = match plan.volume {
            Some(volume) => server.pause().and_then(|()| volume.photograph()),
            None => Ok(()),
        };
        server.kill();
        photographed
    })
}

fn look_at_everybody(shared: &Shared, depth: Depth) {
    std::thread::scope(|scope| {
        for part in 0..DESKS {
            scope.spawn(move || {
                for index in (part..USERS).step_by(DESKS) {
                    let wrong = look::check(shared, index, depth);
                    lock(&shared.wrong).extend(wrong);
                }
            });
        }
    });
    // one note in mail.box carries a message to all of its recipients
    for (key, recipients) in lock(&shared.letters).iter() {
        let has = |index: &&usize| lock(&shared.users[**index]).arrived.contains(key);
        let arrived = recipients.iter().filter(has).count();
        if arrived != 0 && arrived != recipients.len() {
            let all = recipients.len();
            shared.complain(format!("{key} reached {arrived} of {all} recipients"));
        }
    }
}

/// Waits until mail.box and its sisters hold what they hold at rest; gives that number of notes.
fn wait_drained(place: &Place, rest: Option<u64>) -> Result<u64, String> {
    let began = Instant::now();
    let mut before = None;
    loop {
        let waiting = mail_box_notes(place)?;
        let done = match rest {
            Some(rest) => waiting <= rest,
            None => before == Some(waiting), // twice the same: nothing is on its way
        };
        if done {
            return Ok(waiting);
        }
        before = Some(waiting);
        if began.elapsed() > DRAIN_MAX {
            return Err(format!("mail.box still holds {waiting} notes after {DRAIN_MAX:?}"));
        }
        std::thread::sleep(Duration::from_millis(if rest.is_some() { 50 } else { 500 }));
    }
}

fn mail_box_notes(place: &Place) -> Result<u64, String> {
    let mut notes = 0;
    for path in ["mail.box", "mail1.box"] {
        let (fine, text) = place.ask(&["db", "info"], &[path, "--json"])?;
        let rows: Result<serde_json::Value, _> = serde_json::from_str(&text);
        let count = rows.ok().and_then(|rows| rows.get(0)?.get("notes")?.as_u64());
        match count {
            Some(count) if fine => notes += count,
            _ => return Err(format!("db info {path}: {text}")),
        }
    }
    Ok(notes)
}

fn check_objects(place: &Place) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for verb in ["verify", "resync"] {
        let (fine, text) = place.ask(&["objects", verb], &["--json"])?;
        if !fine {
            wrong.push(format!("objects {verb}: {}", text.trim()));
        }
        println!("objects {verb}: {}", text.trim().replace('\n', " "));
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn the_command_line() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words)
        };
        let options = parse("--seed 7 --rounds 50 --full").unwrap();
        assert_eq!(options, Options { rounds: 50, seed: 7, full: true, power: false });
        assert_eq!(options.line(), "--rounds 50 --seed 7 --full");
        assert_eq!(parse("").unwrap().rounds, 10);
        assert!(parse("--rounds many").is_err());
        assert!(parse("--fast").is_err());
    }
}
