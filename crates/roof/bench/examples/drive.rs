//! The commands of the driver alone, for those who work on it. It has no way to a server's console,
//! so `--variant` sets nothing.

use std::process::ExitCode;

use bench::args::{Around, Bench, execute};
use clap::Parser;

/// The load driver alone.
#[derive(Debug, Parser)]
struct Arguments {
    /// Machine output where a command prints a table
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Bench,
}

fn main() -> ExitCode {
    let Arguments { json, command } = Arguments::parse();
    execute(command, Around { console: None, json })
}
