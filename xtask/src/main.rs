//! Tasks of the workspace: `cargo xtask tidy | crash | powerloss | flip | faults | soak | restart |
//! peers | curve`.
#![allow(clippy::print_stdout, reason = "the tasks report on standard output")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod crash;
mod curve;
mod faults;
mod flip;
mod peers;
mod restart;
mod soak;
mod stage;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy                                 the rules of the house
cargo xtask crash [--rounds N] [--seed S] [--full]
                                                 kill -9 under load, then look for what is missing;
                                                 --full: all of the laboratory
cargo xtask powerloss [--rounds N] [--seed S] [--full]
                                                 the same with the power of the disk cut (as root)
cargo xtask flip [--count N] [--seed S] [--only START]
                                                 flip bits in all kinds of files, then look
cargo xtask faults [--rounds N] [--seed S] [--kind space|disk|each]
                                                 a full disk and a failing one under load; each: one
                                                 fault at every write of a scripted load
cargo xtask soak [--minutes N] [--seed S]        load and administration without a kill: faults,
                                                 memory and open files that grow
cargo xtask restart [--databases N] [--megabytes M]
                                                 time until a killed server with a long log answers
cargo xtask peers [options of bench.py]          measure beside Postfix and Dovecot
cargo xtask peers --workload W --users N [--rounds N] [--messages M] [--seed S] [--peak]
            [--speed S] [--ramp T] [--steady T] [--max-response T] [--via WAY]
                                                 the same with a workload of `nelumbo bench`, in
                                                 turns; --peak: the most users of each
cargo xtask curve [--only users|messages|recipients [--points N,N…]] [--quick] [--seed S]
                                                 what users, messages and recipients cost this
                                                 server
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, [])) if task == "tidy" => report(task, tidy::check(&workspace())),
        Some((task, rest)) if task == "crash" || task == "powerloss" => {
            let options = crash::Options::parse(task == "powerloss", rest);
            let whole = task == "crash" && options.as_ref().is_ok_and(|options| options.full);
            run(task, options, if whole { laboratory } else { crash::run })
        }
        Some((task, rest)) if task == "flip" => run(task, flip::Options::parse(rest), flip::run),
        Some((task, rest)) if task == "faults" => {
            run(task, faults::Options::parse(rest), faults::run)
        }
        Some((task, rest)) if task == "soak" => run(task, soak::Options::parse(rest), soak::run),
        Some((task, rest)) if task == "restart" => {
            run(task, restart::Options::parse(rest), restart::run)
        }
        Some((task, rest)) if task == "peers" => run(task, peers::Options::parse(rest), peers::run),
        Some((task, rest)) if task == "curve" => {
            run(task, curve::Options::parse(rest), |root, options| curve::run(root, &options))
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Everything: N rounds with kills and N with power cuts that read every body, 10 N flips, and the
/// faults of disks.
fn laboratory(root: &Path, options: crash::Options) -> Result<Vec<String>, String> {
    let crash::Options { rounds, seed, .. } = options;
    let mut wrong = crash::run(root, options)?;
    wrong.extend(crash::run(root, crash::Options { power: true, ..options })?);
    wrong.extend(flip::run(root, flip::Options { count: 10 * rounds, seed, only: 0 })?);
    let faults = faults::Options { rounds: rounds.div_ceil(10).max(8), seed, kind: None };
    wrong.extend(faults::run(root, faults)?);
    let each = faults::Options { rounds, seed, kind: Some(faults::Kind::Each) };
    wrong.extend(faults::run(root, each)?);
    Ok(wrong)
}

fn run<O>(
    task: &str,
    options: Result<O, String>,
    work: impl FnOnce(&Path, O) -> Result<Vec<String>, String>,
) -> ExitCode {
    match options {
        Ok(options) => report(task, work(&workspace(), options)),
        Err(misuse) => {
            eprint!("{misuse}\n\n{USAGE}");
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
