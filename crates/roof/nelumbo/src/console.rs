//! The console of a running server: one command, or line after line with history and completion.

mod line;

use std::io::{self, IsTerminal};

use server::{DataDir, Reached, Reply, Request};

use self::line::Lines;
use crate::ask::{must_be_a_server, not_running, reach_with};
use crate::progress::Bar;
use crate::{Ending, show};

/// Runs one command, or without one whatever is typed until `exit` or Ctrl-D.
pub(crate) fn run(dir: &DataDir, command: &str) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    let is_terminal = io::stdin().is_terminal();
    if !command.is_empty() {
        return match may_go_on(command, is_terminal)? {
            true => say(ask(dir, command)?),
            false => Ok(()),
        };
    }
    if is_terminal {
        show::line("Console of a running server; help lists the verbs, exit leaves.")?;
    }
    let mut lines = Lines::open(dir, is_terminal)?;
    let mut last = Ok(());
    while let Some(line) = lines.next("> ")? {
        let line = line.trim();
        if line.eq_ignore_ascii_case("exit") {
            break;
        }
        lines.remember(line);
        if line.is_empty() || !lines.may_go_on(line)? {
            continue;
        }
        last = say(ask(dir, line)?);
        if let Err(ending) = &last
            && is_terminal
        {
            eprintln!("{}", ending.text);
        }
        if is_quit(line) && last.is_ok() {
            break;
        }
    }
    if is_terminal { Ok(()) } else { last }
}

impl Lines {
    /// Whether a line may be carried out: `quit` without `-y` is asked for, on a terminal as well
    /// as from a pipe, where the next line is the answer.
    fn may_go_on(&mut self, line: &str) -> Result<bool, Ending> {
        if !is_quit(line) || is_sure(line) {
            return Ok(true);
        }
        let answer = self.next("Stop the server? (yes/no) ")?.unwrap_or_default();
        match ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
            true => Ok(true),
            false => {
                eprintln!("the server goes on; quit -y stops it without a question");
                Ok(false)
            }
        }
    }
}

/// The same for a command of the command line.
fn may_go_on(command: &str, is_terminal: bool) -> Result<bool, Ending> {
    match is_quit(command) && !is_sure(command) {
        false => Ok(true),
        true if !is_terminal => {
            Err(Ending::misuse("quit stops the server; say so with quit -y, or use nelumbo stop"))
        }
        true => Lines::plain().may_go_on(command),
    }
}

fn is_quit(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("quit"))
}

fn is_sure(line: &str) -> bool {
    line.split_whitespace().any(|word| word == "-y")
}

fn ask(dir: &DataDir, line: &str) -> Result<Reply, Ending> {
    let request = Request::Console { line: line.to_owned() };
    match reach_with(dir, &request, &mut Bar::begin())? {
        Reached::Server(reply) => Ok(reply),
        Reached::Owned(_) => Err(not_running(dir)),
    }
}

fn say(reply: Reply) -> Result<(), Ending> {
    match reply {
        Reply::Done { value } => match value["text"].as_str() {
            Some("") => Ok(()),
            Some(text) => show::line(text),
            None => show::line(&value.to_string()),
        },
        other => show::reply(other, &[], false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quit_is_told_from_other_lines() {
        let cases = [
            ("quit", true, false),
            (" QUIT  -y ", true, true),
            ("quitting", false, false),
            ("show server", false, false),
            ("", false, false),
        ];
        for (line, quits, sure) in cases {
            assert_eq!((is_quit(line), is_sure(line)), (quits, sure), "{line}");
        }
    }

    #[test]
    fn a_pipe_must_say_that_it_is_sure() {
        assert_eq!(may_go_on("quit", false).unwrap_err().code, 2);
        assert!(may_go_on("quit -y", false).unwrap());
        assert!(may_go_on("show server", false).unwrap());
    }
}
