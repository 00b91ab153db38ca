//! A disk that is full and a disk that fails, under load.

mod disk;
mod each;
mod fault;
mod space;

use crate::crash::dice::Dice;
use crate::crash::load::Shared;
use crate::crash::look::Depth;
use crate::crash::server::{Place, Server};
use crate::crash::volume::Volume;
use crate::crash::{look, number, scratch, seed_of_the_clock, settle};
use std::path::Path;

/// People in the demo domain.
const USERS: usize = 12;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Rounds of each kind; for [`Kind::Each`] the most faults of one kind of call.
    pub rounds: u64,
    pub seed: u64,
    /// One kind of fault alone.
    pub kind: Option<Kind>,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No space.
    Space,
    /// Errors of the disk.
    Disk,
    /// An error of the disk at every write and sync of a scripted load.
    Each,
}

impl Options {
    /// Parses `--rounds N`, `--seed S`, `--kind space|disk|each`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { rounds: 5, seed: seed_of_the_clock(), kind: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--rounds" => options.rounds = number(argument, rest.next())?,
                "--seed" => options.seed = number(argument, rest.next())?,
                "--kind" => {
                    options.kind = match rest.next().map(String::as_str) {
                        Some("space") => Some(Kind::Space),
                        Some("disk") => Some(Kind::Disk),
                        Some("each") => Some(Kind::Each),
                        _ => return Err("--kind wants space, disk or each".to_owned()),
                    }
                }
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    fn line(self) -> String {
        let kind = match self.kind {
            None => "",
            Some(Kind::Space) => " --kind space",
            Some(Kind::Disk) => " --kind disk",
            Some(Kind::Each) => " --kind each",
        };
        format!("faults --rounds {} --seed {}{kind}", self.rounds, self.seed)
    }
}

/// Runs the rounds with a full disk, then those with a failing one; gives what is wrong.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    scratch::in_scratch(root, &options.line(), |scratch| {
        if options.kind == Some(Kind::Each) {
            return each::run(root, scratch, options);
        }
        let mut wrong = Vec::new();
        if options.kind != Some(Kind::Disk) {
            match Volume::impossible() {
                Some(reason) => println!("a full disk is skipped: {reason}"),
                None => {
                    wrong = space::run(root, scratch, options, &mut Dice::new(options.seed, 0))?
                }
            }
        }
        if wrong.is_empty() && options.kind != Some(Kind::Space) {
            wrong = disk::run(root, scratch, options, &mut Dice::new(options.seed, 1))?;
        }
        Ok(wrong)
    })
}

/// Kills what runs, starts anew, and compares everything with the model.
fn restart_and_compare(
    place: &Place,
    shared: &Shared,
    old: Option<Server>,
    rest: u64,
) -> Result<Server, String> {
    if let Some(old) = old {
        old.kill();
    }
    // what was logged so far was our doing
    let _ = std::fs::rename(&place.log, place.log.with_extension("before"));
    let (server, _) = Server::start(place)?;
    settle::wait_drained(place, Some(rest))?;
    look::check_everybody(shared, Depth::Everything);
    place.errors_logged().into_iter().for_each(|line| shared.complain(line));
    Ok(server)
}

/// Panics in the server's log: no fault of a disk excuses one.
fn panics(place: &Place) -> Vec<String> {
    let mut logged = place.errors_logged();
    logged.retain(|line| line.contains("BUG") || line.contains("panicked"));
    logged
}

#[cfg(test)]
mod tests {
    use super::{Kind, Options};

    #[test]
    fn the_command_line() {
        let words = ["--rounds", "3", "--seed", "7", "--kind", "disk"].map(str::to_owned);
        let options = Options::parse(&words).unwrap();
        assert_eq!(options, Options { rounds: 3, seed: 7, kind: Some(Kind::Disk) });
        assert_eq!(options.line(), "faults --rounds 3 --seed 7 --kind disk");
        assert!(Options::parse(&["--rounds".to_owned()]).is_err());
    }
}
