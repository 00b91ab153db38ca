//! Measures this server and Postfix + Dovecot one after the other, and prints the tables: a fixed
//! load, or with `--workload` one of the load driver's.

mod spread;
mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;

const SERVERS: [&str; 2] = ["nelumbo", "dovecot-sdbox"];

/// What is measured: a name for the results, and the driver's options.
const PARTS: [(&str, &[&str]); 3] = [
    ("", &[]),
    ("-64", &["--phases", "deliver", "--senders", "64"]),
    // on a server that has just started: freed memory of other work would hide the growth
    ("-idle", &["--phases", "idle"]),
];

pub use spread::short;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Options {
    /// The fixed load, with options for its driver.
    Fixed(Vec<String>),
    /// A workload of the load driver.
    Workload(workload::Options),
}

impl Options {
    /// Parses the arguments: with `--workload` those of a workload.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        match arguments.iter().any(|argument| argument == "--workload") {
            true => workload::Options::parse(arguments).map(Self::Workload),
            false => Ok(Self::Fixed(arguments.to_vec())),
        }
    }
}

/// Measures what is asked for. Gives what went wrong.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    match options {
        Options::Fixed(arguments) => fixed(root, &arguments).map(|()| Vec::new()),
        Options::Workload(options) => workload::run(root, &options),
    }
}

/// Runs the scripts of `xtask/peers`; `arguments` go to the load driver of both. With arguments
/// only the first part runs, with what they ask for.
fn fixed(root: &Path, arguments: &[String]) -> Result<(), String> {
    let scripts = root.join("xtask/peers");
    let parts = if arguments.is_empty() { &PARTS[..] } else { &PARTS[..1] };
    for (name, options) in parts {
        for server in SERVERS {
            let mut command = Command::new(scripts.join("run-peer.sh"));
            command.arg(server).args(*options).args(arguments).env("OUT", result(server, name));
            finish("run-peer.sh", &mut command)?;
        }
    }
    for (name, _) in parts {
        let mut command = Command::new("python3");
        command.arg(scripts.join("load/report.py"));
        finish("report.py", command.args(SERVERS.map(|server| result(server, name))))?;
    }
    Ok(())
}

fn finish(name: &str, command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

fn result(server: &str, part: &str) -> PathBuf {
    let peers = std::env::var_os("PEERS").map_or_else(|| "/tmp/peers".into(), PathBuf::from);
    peers.join("results").join(format!("{server}{part}.json"))
}
