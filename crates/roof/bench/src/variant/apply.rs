//! Switches are set through the console, remembered, and put back.

use serde::{Deserialize, Serialize};

use super::{Blocking, Console, Switch, Variant};
use crate::target::People;

/// What became of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was set for this run.
    Set,
    /// The server was so already.
    Already,
    /// The driver does it, not the server.
    Driver,
    /// This server cannot do it, or cannot do it while it runs.
    NotPossible,
}

/// What became of a switch, for the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The switch as it was asked for.
    pub switch: String,
    /// What became of it.
    pub state: State,
    /// How it was set, or why it could not be.
    pub how: String,
    /// Whether it was put back after the run; `None` when nothing had been changed, else an empty
    /// text or the trouble.
    pub put_back: Option<String>,
}

/// What undoes a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Undo {
    Line(String),
    Unblock(Vec<String>),
}

/// The switches of a run, as they were set.
#[derive(Debug, Clone, Default)]
pub struct Applied {
    /// One for each switch, in their order.
    pub records: Vec<Record>,
    undo: Vec<(usize, Undo)>,
}

impl Applied {
    /// Whether every switch is as it was asked for.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.records.iter().all(|record| record.state != State::NotPossible)
    }

    /// Puts the server back, the latest change first, and records how that went.
    pub fn put_back(&mut self, console: Option<&dyn Console>, people: &People) {
        let Some(console) = console else { return };
        while let Some((at, undo)) = self.undo.pop() {
            let done = match undo {
                Undo::Line(line) => console.command(&line).map(|_| ()),
                Undo::Unblock(senders) => block(console, people, &senders, Blocking::Remove),
            };
            self.records[at].put_back = Some(done.err().unwrap_or_default());
        }
    }
}

/// Sets all switches of a run. Without a console only those of the driver are in force.
#[must_use]
pub fn apply(variant: &Variant, console: Option<&dyn Console>, people: &People) -> Applied {
    let mut applied = Applied::default();
    for &switch in &variant.switches {
        let set = match (switch, console) {
            (Switch::Replicas(_), _) => Ok((State::Driver, "the driver plays them".into(), None)),
            (_, None) => Err("the server's console is not reachable (--data)".to_owned()),
            (_, Some(console)) => set(switch, console, people),
        };
        let at = applied.records.len();
        let (state, how, undo) = set.unwrap_or_else(|why| (State::NotPossible, why, None));
        applied.undo.extend(undo.map(|undo| (at, undo)));
        let record = Record { switch: switch.to_string(), state, how, put_back: None };
        applied.records.push(record);
    }
    applied
}

type Set = Result<(State, String, Option<Undo>), String>;

fn set(switch: Switch, console: &dyn Console, people: &People) -> Set {
    match switch {
        Switch::Journaling => setting(console, "journaling.method", "database"),
        Switch::Mailboxes(number) => setting(console, "router.mailboxes", &number.to_string()),
        Switch::BlockRules(number) => {
            let senders: Vec<String> =
                (1..=number).map(|n| format!("blocked{n}@outside.invalid")).collect();
            let undo = Undo::Unblock(senders.clone());
            if let Err(trouble) = block(console, people, &senders, Blocking::Add) {
                // some may have them already
                let back = block(console, people, &senders, Blocking::Remove);
                let rest = back.err().map(|e| format!("; taking them off again: {e}"));
                return Err(format!("{trouble}{}", rest.unwrap_or_default()));
            }
            Ok((State::Set, format!("{number} senders blocked by everybody"), Some(undo)))
        }
        Switch::Dedupe(on) => restart_setting(
            console,
            "objects.dedupe_bytes_min",
            if on { "65536" } else { "1073741824" },
        ),
        Switch::Compression(true) => match value_of(console, "objects.compression_level") {
            Ok(value) => {
                let how = format!("objects.compression_level is {}", value.now);
                Ok((State::Already, how, None))
            }
            Err(why) => Err(why),
        },
        Switch::Compression(false) => {
            Err("this server has no setting that turns compression off".to_owned())
        }
        Switch::Trash { .. } => Err("mail.trash_days of this server counts whole days".to_owned()),
        Switch::Scan => Err("this server has no virus scanner".to_owned()),
        Switch::Replicas(_) => Ok((State::Driver, "the driver plays them".into(), None)),
    }
}

fn block(
    console: &dyn Console,
    people: &People,
    senders: &[String],
    way: Blocking,
) -> Result<(), String> {
    for number in 1..=people.count {
        let person = people.address(number);
        console.block(&person, senders, way).map_err(|e| format!("{person}: {e}"))?;
    }
    Ok(())
}

/// A setting that takes effect at once.
fn setting(console: &dyn Console, name: &str, wanted: &str) -> Set {
    let old = value_of(console, name)?;
    if old.now == wanted {
        return Ok((State::Already, format!("{name} is {wanted}"), None));
    }
    if old.at_restart {
        return Err(needs_restart(name, wanted));
    }
    console.command(&format!("set config {name}={wanted}"))?;
    let now = value_of(console, name)?.now;
    let back = if old.is_default { "" } else { old.now.as_str() };
    let undo = Undo::Line(format!("set config {name}={back}"));
    if now != wanted {
        let undone = console.command(&format!("set config {name}={back}"));
        let rest = undone.err().map(|e| format!("; putting it back: {e}")).unwrap_or_default();
        return Err(format!("{name} was set to {wanted} and is {now}{rest}"));
    }
    Ok((State::Set, format!("{name} from {} to {wanted}", old.now), Some(undo)))
}

/// A setting that only counts from the next start on: it is looked at, never changed.
fn restart_setting(console: &dyn Console, name: &str, wanted: &str) -> Set {
    match value_of(console, name)?.now {
        now if now == wanted => Ok((State::Already, format!("{name} is {wanted}"), None)),
        _ => Err(needs_restart(name, wanted)),
    }
}

fn needs_restart(name: &str, wanted: &str) -> String {
    format!("needs a restart: start the server with {name} = {wanted}")
}

#[derive(Debug, PartialEq, Eq)]
struct Value {
    now: String,
    is_default: bool,
    at_restart: bool,
}

/// The value in force, from the table of `show config NAME`.
fn value_of(console: &dyn Console, name: &str) -> Result<Value, String> {
    let table = console.command(&format!("show config {name}"))?;
    read_value(&table, name).ok_or_else(|| format!("the server has no setting {name}"))
}

fn read_value(table: &str, name: &str) -> Option<Value> {
    let row = table.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    let words: Vec<&str> = row.split_whitespace().collect();
    let from = words.iter().position(|word| ["default", "file"].contains(word))?;
    let now = words.get(1..from)?.join(" ");
    let at_restart = words.get(from + 1..)?.iter().any(|word| word.starts_with("restart"));
    Some(Value { now, is_default: words[from] == "default", at_restart })
}

#[cfg(test)]
mod tests;
