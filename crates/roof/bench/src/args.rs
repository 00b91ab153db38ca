//! The commands of the driver and their options.
//!
//! Exit codes: 0 passed, 1 a run that failed, 2 misuse, 3 trouble.

mod comparing;
mod filling;
mod live;
mod options;
mod reporting;
mod running;
mod searching;
mod stopping;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod trial;
mod values;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use crate::outcome;
use crate::variant::Console;

pub use options::{Peak, Populate, Run};

/// Measure a mail server by people who read, write and delete mail.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The workloads and what people do in them
    List {
        /// Only this one
        #[arg(value_name = "WORKLOAD")]
        workload: Option<String>,
        /// Print the file of the workload, as a beginning for one's own
        #[arg(long, requires = "workload")]
        file: bool,
    },
    /// Let people work, measure, and check every mailbox at the end
    Run(Box<Run>),
    /// Find the most people whom the server bears within a response time
    Peak(Box<Peak>),
    /// Fill the mail files as a workload expects them
    Populate(Box<Populate>),
    /// Put two results side by side: metric, A, B, % change
    Compare {
        /// A result, or a published one such as published:N8Entmail-8.0
        a: String,
        /// A result, or a published one such as published:N85Entmail-8.5
        b: String,
    },
    /// Put results into one page with charts
    Report {
        /// Results of runs
        #[arg(required = true, value_name = "RESULT")]
        results: Vec<PathBuf>,
        /// The page to write
        #[arg(long, value_name = "FILE")]
        html: PathBuf,
    },
    /// The published tables, of other hardware
    Published {
        /// Only this table or result
        name: Option<String>,
    },
}

/// What surrounds a command.
#[derive(Default)]
pub struct Around {
    /// The console of the server under load, for `--variant`.
    pub console: Option<Box<dyn Console>>,
    /// Machine output where there is a table.
    pub json: bool,
}

impl std::fmt::Debug for Around {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { console, json } = self;
        f.debug_struct("Around").field("console", &console.is_some()).field("json", json).finish()
    }
}

/// How a command that did not succeed ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The asker is wrong.
    Misuse(String),
    /// The world is in the way.
    Trouble(String),
    /// The run failed; it has been shown.
    Failed,
}

impl From<io::Error> for Ending {
    fn from(error: io::Error) -> Self {
        Self::Trouble(error.to_string())
    }
}

impl From<outcome::Trouble> for Ending {
    fn from(trouble: outcome::Trouble) -> Self {
        match &trouble {
            outcome::Trouble::File { source, .. } if source.kind() != io::ErrorKind::NotFound => {
                Self::Trouble(trouble.to_string())
            }
            _ => Self::Misuse(trouble.to_string()),
        }
    }
}

impl From<crate::run::Trouble> for Ending {
    fn from(trouble: crate::run::Trouble) -> Self {
        use crate::run::Trouble;
        match &trouble {
            Trouble::Wire { .. } | Trouble::Unsettled { .. } => Self::Trouble(trouble.to_string()),
            _ => Self::Misuse(trouble.to_string()),
        }
    }
}

/// Carries out a command, shows what comes of it, and gives the exit code.
#[must_use]
pub fn execute(command: Bench, around: Around) -> ExitCode {
    ExitCode::from(exit_code(command, around))
}

/// As [`execute`], for programs that end in their own way.
#[must_use]
pub fn exit_code(command: Bench, around: Around) -> u8 {
    let (code, text) = match carry_out(command, &around) {
        Ok(()) => return 0,
        Err(Ending::Failed) => return 1,
        Err(Ending::Misuse(text)) => (2, text),
        Err(Ending::Trouble(text)) => (3, text),
    };
    eprintln!("bench: {text}");
    code
}

fn carry_out(command: Bench, around: &Around) -> Result<(), Ending> {
    match command {
        Bench::List { workload, file } => match (workload, file) {
            (Some(name), true) => reporting::file(&name),
            (name, _) => reporting::list(name.as_deref(), around.json),
        },
        Bench::Run(run) => running::run(&run, around),
        Bench::Peak(peak) => searching::peak(&peak, around),
        Bench::Populate(populate) => filling::populate(&populate, around),
        Bench::Compare { a, b } => comparing::compare(&a, &b, around.json),
        Bench::Report { results, html } => reporting::report(&results, &html),
        Bench::Published { name } => reporting::published(name.as_deref(), around.json),
    }
}

/// Two results as rows of label, A, B, % change.
pub(crate) fn changes(a: &outcome::Outcome, b: &outcome::Outcome) -> Vec<[String; 4]> {
    comparing::lines(a, b).iter().map(comparing::Line::cells).collect()
}

/// Prints on standard output; that the reader has gone away is not an error.
fn say(text: &str) -> Result<(), Ending> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
