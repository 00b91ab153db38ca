//! The same workload with the same seed on this server and on Postfix with Dovecot, in turns.

use std::path::{Path, PathBuf};

use super::spread::{Spread, short};
use crate::stage::{Kind, Run, Stage, peers};

const SERVERS: [Kind; 2] = [Kind::Nelumbo, Kind::Dovecot];
const ROUNDS_MAX: u32 = 20;

/// What is compared: words for the table, and the name of the figure in the driver's result.
const FIGURES: [(&str, &str); 17] = [
    ("transactions / min", "transactions_per_min"),
    ("response, mean ms", "response_mean_ms"),
    ("response, p50 ms", "response_p50_ms"),
    ("response, p95 ms", "response_p95_ms"),
    ("response, p99 ms", "response_p99_ms"),
    ("response, max ms", "response_max_ms"),
    ("CPU, % of one core", "server_cpu_percent"),
    ("CPU ms / transaction", "server_cpu_ms_per_transaction"),
    ("device writes / s", "device_writes_per_s"),
    ("device MB written / s", "device_write_mb_per_s"),
    ("device MB read / s", "device_read_mb_per_s"),
    ("bytes written / logical byte", "written_per_logical"),
    ("syncs / s", "syncs_per_s"),
    ("memory (PSS), MB", "server_pss_mb"),
    ("processes", "server_processes"),
    ("network, kbit/s", "network_kbit_per_s"),
    ("errors", "errors"),
];

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    workload: String,
    users: u32,
    rounds: u32,
    messages: u32,
    seed: u64,
    is_peak: bool,
    /// Handed on to the driver as they are.
    driver: Vec<String>,
}

/// The options that are the driver's own.
const DRIVER: [&str; 7] =
    ["--speed", "--ramp", "--steady", "--max-response", "--via", "--late-after", "--variant"];

impl Options {
    /// Parses `--workload W --users N [--rounds 3] [--messages M] [--seed S] [--peak]` and the
    /// driver's `--speed`, `--ramp`, `--steady`, `--max-response`, `--via`.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            workload: String::new(),
            users: 200,
            rounds: 3,
            messages: 20,
            seed: 7,
            is_peak: false,
            driver: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--peak" {
                options.is_peak = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--workload" => options.workload.clone_from(value),
                "--users" => options.users = number(argument, value)?,
                "--rounds" => options.rounds = number(argument, value)?,
                "--messages" => options.messages = number(argument, value)?,
                "--seed" => options.seed = number(argument, value)?,
                other if DRIVER.contains(&other) => {
                    options.driver.extend([argument.clone(), value.clone()]);
                }
                other => return Err(format!("what is {other}?")),
            }
        }
        if options.workload.is_empty() {
            return Err("--workload names a workload of `nelumbo bench list`".to_owned());
        }
        if options.users == 0 || !(1..=ROUNDS_MAX).contains(&options.rounds) {
            return Err(format!("there must be a user, and 1 to {ROUNDS_MAX} rounds"));
        }
        for (option, usual) in [("--speed", "30"), ("--ramp", "20s"), ("--steady", "60s")] {
            if !options.driver.iter().any(|word| word == option) {
                options.driver.extend([option.to_owned(), usual.to_owned()]);
            }
        }
        Ok(options)
    }

    fn verb(&self) -> &'static str {
        if self.is_peak { "peak" } else { "run" }
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![self.workload.clone(), "--seed".to_owned(), self.seed.to_string()];
        words.extend_from_slice(&self.driver);
        words
    }
}

fn number<N: std::str::FromStr>(option: &str, value: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("{option}: {value} is no number"))
}

/// Runs all rounds and prints the table. Gives the runs that failed.
pub fn run(root: &Path, options: &Options) -> Result<Vec<String>, String> {
    let mut runs: Vec<(Kind, Run)> = Vec::new();
    for round in 1..=options.rounds {
        let mut servers = SERVERS;
        if round % 2 == 0 {
            servers.reverse();
        }
        for kind in servers {
            let out = result(options, kind, round);
            println!("round {round} of {}: {}", options.rounds, kind.name());
            runs.push((kind, measure(root, options, kind, &out)?));
        }
    }
    print(options, &runs);
    Ok(failures(&runs))
}

fn measure(root: &Path, options: &Options, kind: Kind, out: &Path) -> Result<Run, String> {
    let stage = Stage::new(root, kind, options.users)?;
    stage.start()?;
    let measured = (|| {
        let mut words = vec![options.workload.clone()];
        words.extend(["--messages".to_owned(), options.messages.to_string()]);
        words.extend(["--seed".to_owned(), options.seed.to_string()]);
        stage.populate(&words)?;
        stage.settle()?;
        stage.drive(options.verb(), &options.words(), out)
    })();
    let stopped = stage.stop();
    let run = measured?;
    stopped.map(|()| run)
}

fn result(options: &Options, kind: Kind, round: u32) -> PathBuf {
    let Options { workload, users, .. } = options;
    let name = format!("{workload}-{users}-{}-{}-{round}.json", options.verb(), kind.name());
    peers().join("results").join(name)
}

fn failures(runs: &[(Kind, Run)]) -> Vec<String> {
    let failed = runs.iter().filter(|(_, run)| !run.passed).map(|(kind, run)| {
        let reasons = run.json["reasons"].as_array().cloned().unwrap_or_default();
        let reasons: Vec<&str> = reasons.iter().filter_map(|reason| reason.as_str()).collect();
        format!("a run on {} failed: {}", kind.name(), reasons.join("; "))
    });
    failed.collect()
}

fn print(options: &Options, runs: &[(Kind, Run)]) {
    println!();
    println!(
        "{}, {} people, {} messages in each INBOX at the start, seed {}, {}: {} rounds in turns",
        options.workload,
        options.users,
        options.messages,
        options.seed,
        options.driver.join(" "),
        options.rounds
    );
    println!();
    for kind in SERVERS {
        println!("- {} {}", kind.name(), kind.promise());
    }
    println!("- middle value (least..greatest); the ratio is taken within each round");
    println!();
    println!("| | {} | {} | ratio |", Kind::Dovecot.name(), Kind::Nelumbo.name());
    println!("|---|---:|---:|---:|");
    if options.is_peak {
        row("users at the peak", &|run| run.json["peak"]["users"].as_f64(), runs);
        return;
    }
    for (words, name) in FIGURES {
        row(words, &|run| run.json["figures"][name].as_f64(), runs);
    }
}

fn row(words: &str, figure: &dyn Fn(&Run) -> Option<f64>, runs: &[(Kind, Run)]) {
    let of = |kind: Kind| -> Vec<f64> {
        runs.iter().filter(|(k, _)| *k == kind).filter_map(|(_, run)| figure(run)).collect()
    };
    let (ours, theirs) = (of(Kind::Nelumbo), of(Kind::Dovecot));
    let told = |values: &[f64]| match Spread::of(values) {
        Some(spread) if values.len() > 1 => spread.to_string(),
        Some(spread) => short(spread.middle),
        None => "not measured".to_owned(),
    };
    println!(
        "| {words} | {} | {} | {} |",
        told(&theirs),
        told(&ours),
        told(&ratios(&ours, &theirs))
    );
}

/// Ours by theirs, round by round; nothing where a round is missing on one side.
fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    if ours.len() != theirs.len() {
        return Vec::new();
    }
    let pairs = ours.iter().zip(theirs).filter(|(_, theirs)| **theirs != 0.0);
    pairs.map(|(ours, theirs)| ours / theirs).collect()
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
        let options = parse("--workload N85Entmail --users 300 --rounds 2 --speed 60").unwrap();
        assert_eq!((options.users, options.rounds, options.is_peak), (300, 2, false));
        let driver = ["--speed", "60", "--ramp", "20s", "--steady", "60s"];
        assert_eq!(options.driver, driver);
        assert!(parse("--workload R6IMAP --peak --max-response 1s").unwrap().is_peak);
    }

    #[test]
    fn wrong_options_are_refused() {
        for line in [
            "",
            "--users 5",
            "--workload",
            "--workload W --users none",
            "--workload W --users 0",
            "--workload W --rounds 0",
            "--workload W --rounds 21",
            "--workload W --what 3",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        assert_eq!(ratios(&[1.0, 2.0], &[2.0, 8.0]), [0.5, 0.25]);
        assert_eq!(ratios(&[1.0], &[0.0]), [0.0; 0]);
        assert_eq!(ratios(&[1.0], &[]), [0.0; 0]);
    }

    #[test]
    fn failed_runs_are_told_with_their_reasons() {
        let json = serde_json::json!({"passed": false, "reasons": ["3 missing", "late"]});
        let runs = [
            (Kind::Nelumbo, Run { json: json.clone(), passed: false }),
            (Kind::Dovecot, Run { json, passed: true }),
        ];
        assert_eq!(failures(&runs), ["a run on nelumbo failed: 3 missing; late"]);
    }
}
