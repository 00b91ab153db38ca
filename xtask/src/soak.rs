//! Load and administration for a long time without a kill: what breaks, and what grows.

use crate::crash::chores::{Chores, is_announced};
use crate::crash::dice::Dice;
use crate::crash::load::{Mood, Shared, lock};
use crate::crash::look::{self, Depth};
use crate::crash::server::{Place, Server};
use crate::crash::{NO_REST, SMALL, number, scratch, seed_of_the_clock, settle};
use std::path::Path;
use std::time::Duration;

/// People in the demo domain.
const USERS: usize = 20;
/// Load between two looks at everything.
const STRETCH: Duration = Duration::from_secs(50);
/// Memory and open files may not be more than this many times what they were after the first
/// stretch, plus a fixed amount.
const GROWTH_MAX: u64 = 2;
const MEMORY_FREE_KIB: u64 = 100 << 10;
const FILES_FREE: u64 = 100;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub minutes: u64,
    pub seed: u64,
}

impl Options {
    /// Parses `--minutes N`, `--seed S`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { minutes: 10, seed: seed_of_the_clock() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--minutes" => options.minutes = number(argument, rest.next())?,
                "--seed" => options.seed = number(argument, rest.next())?,
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    fn line(self) -> String {
        format!("soak --minutes {} --seed {}", self.minutes, self.seed)
    }
}

/// What the server takes of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    memory_kib: u64,
    files: u64,
    threads: u64,
}

impl Use {
    fn of(process: u32) -> Use {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        let files = std::fs::read_dir(format!("/proc/{process}/fd"));
        let files = files.map_or(0, |entries| entries.count() as u64);
        Use { memory_kib: field("VmRSS:"), files, threads: field("Threads:") }
    }

    /// What has grown too much since `before`.
    fn growth(self, before: Use) -> Vec<String> {
        let mut wrong = Vec::new();
        let kinds = [
            ("KiB of memory", self.memory_kib, before.memory_kib, MEMORY_FREE_KIB),
            ("open files", self.files, before.files, FILES_FREE),
            ("threads", self.threads, before.threads, FILES_FREE),
        ];
        for (what, now, then, free) in kinds {
            if now > then * GROWTH_MAX + free {
                wrong.push(format!("{then} {what} have become {now}"));
            }
        }
        wrong
    }
}

/// Runs for as long as asked; gives what is wrong.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    scratch::in_scratch(root, &options.line(), |scratch| {
        let place = Place::new(root, scratch, scratch.join("data"), USERS)?;
        let shared = Shared::new(options.seed, place.ports(), USERS);
        Server::start(&place)?.0.stop(&place)?;
        place.tune(&SMALL)?;
        place.tune(&NO_REST)?;
        let (mut server, _) = Server::start(&place)?;
        let rest = settle::adopt(&place, &shared)?;
        let mut chores = Chores::new(&place)?;
        let mut first = None;
        for minute in 1..=options.minutes.max(1) {
            stretch(&place, &shared, &mut chores, minute);
            settle::wait_drained(&place, Some(rest))?;
            let last = minute == options.minutes;
            look::check_everybody(&shared, if last { Depth::Everything } else { Depth::Usual });
            let used = Use::of(server.id());
            let mut wrong = lock(&shared.wrong);
            wrong.extend(chores.check(&place)?);
            wrong.extend(place.errors_logged().into_iter().filter(|line| !is_announced(line)));
            wrong.extend(used.growth(*first.get_or_insert(used)));
            if server.ended() {
                wrong.push("the server ended by itself".to_owned());
            }
            println!(
                "minute {minute}: {} operations, {} chores, {} objects pruned so far; {} MiB, {} \
                 files, {} threads",
                shared.acknowledged(),
                chores.done(),
                chores.pruned(),
                used.memory_kib >> 10,
                used.files,
                used.threads
            );
            if !wrong.is_empty() {
                return Ok(std::mem::take(&mut *wrong));
            }
        }
        server.stop(&place)?;
        settle::check_objects(&place)
    })
}

fn stretch(place: &Place, shared: &Shared, chores: &mut Chores, minute: u64) {
    let mut dice = Dice::new(shared.seed, 20_000 + minute);
    std::thread::scope(|scope| {
        scope.spawn(move || chores.run(place, shared, &mut dice));
        shared.under_load(minute, || std::thread::sleep(STRETCH));
        shared.set_mood(Mood::Scarce); // tells the administrator to go home
    });
    shared.set_mood(Mood::Calm);
}

#[cfg(test)]
mod tests {
    use super::{Options, Use};

    #[test]
    fn the_command_line() {
        let words = ["--minutes", "3", "--seed", "7"].map(str::to_owned);
        let options = Options::parse(&words).unwrap();
        assert_eq!(options, Options { minutes: 3, seed: 7 });
        assert_eq!(options.line(), "soak --minutes 3 --seed 7");
    }

    #[test]
    fn growth_is_noticed() {
        let before = Use { memory_kib: 100_000, files: 50, threads: 10 };
        assert_eq!(before.growth(before), Vec::<String>::new());
        let now = Use { memory_kib: 310_000, files: 201, threads: 10 };
        assert_eq!(now.growth(before).len(), 2);
        assert!(Use::of(std::process::id()).files > 2);
    }
}
