//! Flips single bits in the files of a stopped server and looks whether damage is noticed, told and
//! confined: wrong bytes are never served as right ones, and other people's mail stays.

mod judge;
mod picture;
mod specimen;
mod target;

use crate::crash::dice::Dice;
use crate::crash::server::{Place, Server, Started};
use crate::crash::volume::run as system;
use crate::crash::{number, scratch, seed_of_the_clock};
use judge::{Tally, Verdict};
use specimen::Specimen;
use std::path::Path;
use target::{Flip, Kind};

/// Starts between two that end with a stop in order and the commands for checking.
const CHECK_EVERY: u64 = 5;
/// Most findings before the run ends.
const FINDINGS_MAX: usize = 25;
/// Most flips in databases of different people for one start.
const TOGETHER_MAX: u64 = 3;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub count: u64,
    pub seed: u64,
    /// The number of the start to do alone, counted from 1; 0: all.
    pub only: u64,
}

impl Options {
    /// Parses `--count N`, `--seed S`, `--only START`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { count: 100, seed: seed_of_the_clock(), only: 0 };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--count" => options.count = number(argument, rest.next())?,
                "--seed" => options.seed = number(argument, rest.next())?,
                "--only" => options.only = number(argument, rest.next())?,
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    fn line(self) -> String {
        format!("flip --count {} --seed {}", self.count, self.seed)
    }
}

/// Makes data directories with mail and damages copies of them; gives what went wrong.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    scratch::in_scratch(root, &options.line(), |scratch| {
        let specimens = specimen::make(root, scratch, options.seed)?;
        let mut tally = Tally::default();
        let mut wrong = Vec::new();
        let (mut flipped, mut start) = (0, 0);
        while flipped < options.count && wrong.len() < FINDINGS_MAX {
            start += 1;
            let specimen = &specimens[(start % specimens.len() as u64) as usize];
            let mut dice = Dice::new(options.seed, start);
            let flips =
                target::choose(specimen, &mut dice, TOGETHER_MAX.min(options.count - flipped))?;
            flipped += flips.len() as u64;
            if options.only != 0 && options.only != start {
                continue;
            }
            let found = one_start(scratch, specimen, (start, &flips), &mut tally)?;
            let again = format!("again: cargo xtask {} --only {start}", options.line());
            wrong.extend(found.into_iter().map(|text| format!("{text}\n  {again}")));
        }
        print!("{}", tally.table());
        Ok(wrong)
    })
}

/// Damages a copy of `specimen`, runs the server on it and judges what it does. A copy that shows a
/// fault is kept.
fn one_start(
    scratch: &Path,
    specimen: &Specimen,
    (start, flips): (u64, &[Flip]),
    tally: &mut Tally,
) -> Result<Vec<String>, String> {
    let folder = scratch.join("flipped");
    let _ = std::fs::remove_dir_all(&folder); // of the start before
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let data = folder.join("data");
    system("cp", &["-a", "--sparse=always"], &[&specimen.data, &data])?;
    for flip in flips {
        flip.apply(&data)?;
    }
    let place = Place { data, log: folder.join("server.log"), ..specimen.place.clone() };
    let verdicts = match Server::try_start(&place)? {
        Started::Silent => vec![Verdict::Wrong("the server neither starts nor ends".to_owned())],
        Started::Ended(status) => vec![judge::refusal(&place, status, flips)],
        Started::Ready(server, _) => {
            let (server, mut verdicts) = judge::running(&place, server, specimen, flips)?;
            if start.is_multiple_of(CHECK_EVERY) {
                verdicts.extend(judge::stopping(&place, server));
            } else {
                server.kill();
            }
            verdicts
        }
    };
    tally.add(flips, &verdicts);
    let told: Vec<String> = flips.iter().map(Flip::to_string).collect();
    let mut wrong = Vec::new();
    for verdict in verdicts {
        if let Verdict::Wrong(text) = verdict {
            wrong.push(format!("start {start}, {}: {text}", told.join(" and ")));
        }
    }
    if !wrong.is_empty() {
        let kept = scratch.join(format!("start-{start}"));
        std::fs::rename(&folder, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    }
    Ok(wrong)
}

/// People whose mail is watched.
const USERS: usize = 8;

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn the_command_line() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words)
        };
        let options = parse("--count 20 --seed 7 --only 3").unwrap();
        assert_eq!(options, Options { count: 20, seed: 7, only: 3 });
        assert_eq!(options.line(), "flip --count 20 --seed 7");
        assert!(parse("--count few").is_err());
    }
}
