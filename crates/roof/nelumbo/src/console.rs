//! The console of a running server: one command, or line after line from the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use server::{DataDir, Reached, Reply, Request};

use crate::ask::{must_be_a_server, not_running, reach};
use crate::{Ending, show};

/// Runs one command, or without one whatever is typed until `exit` or Ctrl-D.
pub(crate) fn run(dir: &DataDir, command: &str) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    if !command.is_empty() {
        return say(ask(dir, command)?);
    }
    let terminal = io::stdin().is_terminal();
    if terminal {
        show::line("Console of a running server; help lists the verbs, exit leaves.")?;
    }
    let mut lines = io::stdin().lock().lines();
    let mut last = Ok(());
    while let Some(line) = next(&mut lines, terminal)? {
        let line = line.trim();
        if line.eq_ignore_ascii_case("exit") {
            break;
        }
        if line.is_empty() || (is_quit(line) && terminal && !sure(&mut lines)?) {
            continue;
        }
        last = say(ask(dir, line)?);
        if let Err(ending) = &last
            && terminal
        {
            eprintln!("{}", ending.text);
        }
        if is_quit(line) {
            break;
        }
    }
    if terminal { Ok(()) } else { last }
}

fn is_quit(line: &str) -> bool {
    line.eq_ignore_ascii_case("quit")
}

type Lines<'a> = io::Lines<io::StdinLock<'a>>;

fn next(lines: &mut Lines<'_>, terminal: bool) -> io::Result<Option<String>> {
    if terminal {
        let mut out = io::stdout();
        write!(out, "> ")?;
        out.flush()?;
    }
    lines.next().transpose()
}

fn sure(lines: &mut Lines<'_>) -> io::Result<bool> {
    let mut out = io::stdout();
    write!(out, "Stop the server? (yes/no) ")?;
    out.flush()?;
    let answer = lines.next().transpose()?.unwrap_or_default();
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn ask(dir: &DataDir, line: &str) -> Result<Reply, Ending> {
    match reach(dir, &Request::Console { line: line.to_owned() })? {
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
