//! The console of a running server: verbs as rows of tables.

mod command;
mod queue;
mod show;
mod tell;
#[cfg(test)]
mod tests;
mod verbs;

use std::sync::Arc;

use serde_json::json;

use crate::programs;
use crate::progress::Progress;
use crate::request::Reply;
use crate::server::Running;

pub use tell::{TELLS, Tell};
pub use verbs::{VERBS, Verb};

/// What a verb shows, or why it does not.
type Shown = Result<String, String>;

/// How a verb is carried out.
#[derive(Clone, Copy)]
enum Act {
    /// At once.
    Quick(fn(&Arc<Running>, &str) -> Shown),
    /// With an ear for how far it is.
    Long(fn(&Arc<Running>, &str, &mut dyn Progress) -> Shown),
    /// Starts a task: its name, and what comes before the words that follow.
    Load(&'static str),
    /// Shows the state of a door, and the settings whose names begin with one of these.
    Config(&'static str, &'static [&'static str]),
}

impl Act {
    /// Carries it out with what follows the words of the verb.
    fn run(self, running: &Arc<Running>, rest: &str, progress: &mut dyn Progress) -> Shown {
        match self {
            Self::Quick(act) => act(running, rest),
            Self::Long(act) => act(running, rest, progress),
            Self::Load(line) => programs::load(running, &format!("{line} {rest}"), progress),
            Self::Config(door, names) => Ok(show::door(running, door, names)),
        }
    }
}

/// Runs one line.
pub fn run(running: &Arc<Running>, line: &str, progress: &mut dyn Progress) -> Reply {
    let Some((verb, rest)) = find(line) else {
        return Reply::refused(unknown(line.trim()));
    };
    match verb.act.run(running, rest, progress) {
        Ok(text) => Reply::Done { value: json!({ "text": text }) },
        Err(reason) => Reply::refused(reason),
    }
}

/// That a line begins with no verb, and those that begin as it does.
fn unknown(line: &str) -> String {
    let first = line.split_whitespace().next().unwrap_or_default();
    let begins =
        |words: &&str| words.split(' ').next().is_some_and(|w| w.eq_ignore_ascii_case(first));
    let alike: Vec<&str> = VERBS.iter().map(|verb| verb.words).filter(begins).collect();
    match alike.is_empty() {
        true => format!("{line}: no such verb; help lists all of them"),
        false => format!("{line}: no such verb; there are: {}", alike.join(", ")),
    }
}

/// Finds the verb of a line, and what follows it. Case does not matter; the longest verb counts.
fn find(line: &str) -> Option<(&'static Verb, &str)> {
    let found = VERBS.iter().filter_map(|verb| after(line, verb.words).map(|rest| (verb, rest)));
    found.max_by_key(|(verb, _)| verb.words.len())
}

/// What follows `words` in a line that begins with them.
fn after<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = line.trim();
    for word in words.split(' ') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if !rest[..end].eq_ignore_ascii_case(word) {
            return None;
        }
        rest = rest[end..].trim_start();
    }
    Some(rest)
}

/// What every line of the console can begin with, for completion.
pub fn beginnings() -> Vec<String> {
    let verbs = VERBS.iter().map(|verb| verb.words.to_owned());
    let tells = TELLS.iter().map(|tell| format!("tell {} {}", tell.task, tell.words));
    let loads = programs::PROGRAMS.iter().filter(|one| !one.is_moot());
    let loads = loads.map(|program| format!("load {}", program.name));
    verbs.chain(tells).chain(loads).collect()
}
