//! Tasks of the workspace: `cargo xtask tidy | crash | peers`.
#![allow(clippy::print_stdout, reason = "the tasks report on standard output")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod crash;
mod peers;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy                                 the rules of the house
cargo xtask crash [--rounds N] [--seed S] [--full] [--power]
                                                 kill -9 under load, then look for what is missing
cargo xtask peers [options of bench.py]          measure beside Postfix and Dovecot
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, [])) if task == "tidy" => report(task, tidy::check(&workspace())),
        Some((task, rest)) if task == "crash" => match crash::Options::parse(rest) {
            Ok(options) => report(task, crash::run(&workspace(), options)),
            Err(misuse) => {
                eprint!("{misuse}\n\n{USAGE}");
                ExitCode::from(2)
            }
        },
        Some((task, rest)) if task == "peers" => {
            report(task, peers::run(&workspace(), rest).map(|()| Vec::new()))
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The root of the workspace that this task was built from.
fn workspace() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

fn report(task: &str, outcome: Result<Vec<String>, String>) -> ExitCode {
    match outcome {
        Ok(complaints) if complaints.is_empty() => {
            println!("{task}: fine");
            ExitCode::SUCCESS
        }
        Ok(complaints) => {
            complaints.iter().for_each(|c| println!("{c}"));
            println!("{} findings", complaints.len());
            ExitCode::from(1)
        }
        Err(trouble) => {
            eprintln!("{trouble}");
            ExitCode::from(3)
        }
    }
}
