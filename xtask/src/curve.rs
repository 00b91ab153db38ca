//! What this server costs: by users, by messages in a mailbox, by recipients of a message. Each
//! point is a fresh server on a volume of its own. Prints the tables of `docs/performance.md`.

mod point;

use std::path::Path;

use crate::peers::short;
use point::{Messages, Point, Recipients, Users};

/// Users of the points of the first curve.
const USERS: [u32; 4] = [100, 1_000, 3_000, 6_000];
/// Messages in each INBOX of the second.
const MESSAGES: [u32; 4] = [100, 1_000, 10_000, 100_000];
/// Recipients of each message of the third.
const RECIPIENTS: [u32; 4] = [1, 10, 100, 1_000];
/// Points of a quick look.
const QUICK: usize = 2;
/// Points that may be asked for at the most.
const POINTS_MAX: usize = 16;

/// Which curves, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    only: Option<Curve>,
    /// Points in place of the usual ones.
    points: Vec<u32>,
    is_quick: bool,
    seed: u64,
}

/// A curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    Users,
    Messages,
    Recipients,
}

impl Options {
    /// Parses `--only users|messages|recipients`, `--points N,N…` (of that curve), `--quick`,
    /// `--seed S`.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { only: None, points: Vec::new(), is_quick: false, seed: 7 };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--quick" {
                options.is_quick = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--only" => options.only = Some(curve(value)?),
                "--points" => options.points = points(value)?,
                "--seed" => options.seed = value.parse().map_err(|_| "--seed needs a number")?,
                other => return Err(format!("what is {other}?")),
            }
        }
        if !options.points.is_empty() && options.only.is_none() {
            return Err("--points needs --only: they are those of one curve".to_owned());
        }
        let most =
            if options.only == Some(Curve::Recipients) { Recipients::MOST } else { u32::MAX };
        if options.points.iter().any(|point| *point > most) {
            return Err(format!("--points: there are {most} recipients at the most"));
        }
        Ok(options)
    }

    fn asks(&self, curve: Curve) -> bool {
        self.only.is_none_or(|only| only == curve)
    }

    /// The points that are measured: of the usual ones the first and the third for a quick look.
    fn points(&self, usual: [u32; 4]) -> Vec<u32> {
        match (self.points.is_empty(), self.is_quick) {
            (false, _) => self.points.clone(),
            (true, true) => usual.into_iter().step_by(2).take(QUICK).collect(),
            (true, false) => usual.to_vec(),
        }
    }
}

fn curve(name: &str) -> Result<Curve, String> {
    match name {
        "users" => Ok(Curve::Users),
        "messages" => Ok(Curve::Messages),
        "recipients" => Ok(Curve::Recipients),
        _ => Err("--only users, messages or recipients".to_owned()),
    }
}

fn points(list: &str) -> Result<Vec<u32>, String> {
    let points: Result<Vec<u32>, _> = list.split(',').map(str::parse).collect();
    match points {
        Ok(points) if points.len() <= POINTS_MAX && points.iter().all(|point| *point > 0) => {
            Ok(points)
        }
        _ => Err(format!("--points: up to {POINTS_MAX} numbers with commas between, not {list}")),
    }
}

/// Measures and prints. Gives the runs that failed.
pub fn run(root: &Path, options: &Options) -> Result<Vec<String>, String> {
    let mut failed = Vec::new();
    if options.asks(Curve::Users) {
        let points = options.points(USERS).into_iter().map(Users);
        table(root, options, &points.collect::<Vec<_>>(), &mut failed)?;
    }
    if options.asks(Curve::Messages) {
        let points = options.points(MESSAGES).into_iter().map(Messages);
        table(root, options, &points.collect::<Vec<_>>(), &mut failed)?;
    }
    if options.asks(Curve::Recipients) {
        let points = options.points(RECIPIENTS).into_iter().map(Recipients);
        table(root, options, &points.collect::<Vec<_>>(), &mut failed)?;
    }
    Ok(failed)
}

fn table<P: Point>(
    root: &Path,
    options: &Options,
    points: &[P],
    failed: &mut Vec<String>,
) -> Result<(), String> {
    let mut rows = Vec::new();
    for point in points {
        eprintln!("curve: {}", point.label());
        let run = point::measure(root, point, (options.seed, options.is_quick))?;
        if !run.passed {
            let reasons = run.json["reasons"].to_string();
            failed.push(format!("{} failed: {reasons}", point.label()));
        }
        let told = |value: Option<f64>| value.map_or_else(|| "not measured".into(), short);
        let cells: Vec<String> =
            P::COLUMNS.iter().map(|(_, figure)| told(figure(point, &run.json))).collect();
        rows.push(format!("| {} | {} |", point.label(), cells.join(" | ")));
    }
    let names: Vec<&str> = P::COLUMNS.iter().map(|(name, _)| *name).collect();
    println!("\n| {} | {} |", P::WHAT, names.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    rows.iter().for_each(|row| println!("{row}"));
    println!("\n{}", P::NOTE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_are_read() {
        let all = parse("").unwrap();
        assert!(
            [Curve::Users, Curve::Messages, Curve::Recipients].map(|c| all.asks(c)) == [true; 3]
        );
        let one = parse("--only messages --quick --seed 9").unwrap();
        assert_eq!((one.asks(Curve::Messages), one.asks(Curve::Users), one.seed), (true, false, 9));
        assert_eq!(one.points(MESSAGES), [100, 10_000]);
        let chosen = parse("--only users --points 100,2500").unwrap();
        assert_eq!((chosen.points(USERS), all.points(USERS)), (vec![100, 2_500], USERS.to_vec()));
        let wrong = ["--only", "--only all", "--seed x", "what", "--points 100"];
        let lists = [
            "--only users --points 1,,2",
            "--only users --points 0",
            "--points",
            "--only recipients --points 1001",
        ];
        for wrong in wrong.into_iter().chain(lists) {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
