//! The nelumbo program: subcommands, their help, and how they end.
//!
//! Exit codes: 0 fine, 1 finding (or the answer to a question was no), 2 misuse, 3 trouble.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod args;
mod ask;
mod console;
mod manual;
mod memory;
mod password;
mod place;
mod progress;
mod reference;
mod run;
mod show;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a command that did not succeed ends.
#[derive(Debug)]
pub(crate) struct Ending {
    code: u8,
    text: String,
}

impl Ending {
    /// The asker is wrong.
    pub(crate) fn misuse(text: impl Into<String>) -> Self {
        Self { code: 2, text: text.into() }
    }

    /// The world is in the way.
    pub(crate) fn trouble(text: impl Into<String>) -> Self {
        Self { code: 3, text: text.into() }
    }

    /// Something was found; it has been shown already.
    pub(crate) fn finding() -> Self {
        Self { code: 1, text: String::new() }
    }
}

impl From<std::io::Error> for Ending {
    fn from(error: std::io::Error) -> Self {
        Self::trouble(error.to_string())
    }
}

fn main() -> ExitCode {
    let matches = args::Arguments::command().get_matches();
    let ended = match args::Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments.run(args::usage(&matches)),
        Err(error) => error.exit(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ending { code, text }) => {
            if !text.is_empty() {
                eprintln!("nelumbo: {text}");
            }
            ExitCode::from(code)
        }
    }
}
