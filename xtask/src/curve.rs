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

/// Which curves, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    only: Option<Curve>,
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
    /// Parses `--only users|messages|recipients`, `--quick`, `--seed S`.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { only: None, is_quick: false, seed: 7 };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--quick" => options.is_quick = true,
                "--only" => {
                    options.only = Some(match rest.next().map(String::as_str) {
                        Some("users") => Curve::Users,
                        Some("messages") => Curve::Messages,
                        Some("recipients") => Curve::Recipients,
                        _ => return Err("--only users, messages or recipients".to_owned()),
                    });
                }
                "--seed" => {
                    let seed = rest.next().and_then(|seed| seed.parse().ok());
                    options.seed = seed.ok_or("--seed needs a number")?;
                }
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    fn asks(self, curve: Curve) -> bool {
        self.only.is_none_or(|only| only == curve)
    }

    /// The points that are measured: the first and the third for a quick look.
    fn points(self, all: [u32; 4]) -> Vec<u32> {
        if self.is_quick { all.into_iter().step_by(2).take(QUICK).collect() } else { all.to_vec() }
    }
}

/// Measures and prints. Gives the runs that failed.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
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
    options: Options,
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
        for wrong in ["--only", "--only all", "--seed x", "what"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
