//! What a server may do about a flipped bit, and what not.

use super::picture::{Difference, compare, take};
use super::specimen::Specimen;
use super::{Flip, Kind};
use crate::crash::server::{Place, Server};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Exit code of a Rust program that panicked.
const PANIC: i32 = 101;

/// What one start showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is served as before, and nothing was noticed.
    Harmless,
    /// Everything is served as before, and the damage was told.
    Told,
    /// Something is withheld, and that was told; the number of people concerned.
    Withheld(usize),
    /// The server does not start without this file, and says so.
    Refused,
    /// A fault of the server.
    Wrong(String),
}

/// How often there was which verdict, by kind of file.
#[derive(Debug, Default)]
pub struct Tally {
    rows: BTreeMap<&'static str, [u64; 5]>,
}

impl Tally {
    /// Counts one start.
    pub fn add(&mut self, flips: &[Flip], verdicts: &[Verdict]) {
        let Some(kind) = flips.first().map(|f| f.kind.name()) else { return };
        let row = self.rows.entry(kind).or_default();
        row[0] += flips.len() as u64;
        let column = |verdict: &Verdict| match verdict {
            Verdict::Harmless => 0,
            Verdict::Told => 1,
            Verdict::Withheld(_) => 2,
            Verdict::Refused => 3,
            Verdict::Wrong(_) => 4,
        };
        match verdicts.iter().map(column).max() {
            Some(0) | None => {}
            Some(column) => row[column] += 1,
        }
    }

    /// The counts as text.
    pub fn table(&self) -> String {
        let mut out = "flips  told  withheld  refused  wrong  file\n".to_owned();
        for (kind, [flips, told, withheld, refused, wrong]) in &self.rows {
            // writing to a String does not fail
            let _ =
                writeln!(out, "{flips:5}  {told:4}  {withheld:8}  {refused:7}  {wrong:5}  {kind}");
        }
        out
    }
}

/// The server ended instead of starting.
pub fn refusal(place: &Place, status: ExitStatus, flips: &[Flip]) -> Verdict {
    let log = std::fs::read_to_string(&place.log).unwrap_or_default();
    let last = log.trim().lines().last().unwrap_or("and says nothing").to_owned();
    if log.trim().is_empty() {
        return Verdict::Wrong(format!("does not start and does not say why ({status})"));
    }
    let crashed = status.signal().is_some() || status.code() == Some(PANIC);
    if crashed || log.contains("BUG: thread") {
        return Verdict::Wrong(format!("crashed at the start with {status}: {last}"));
    }
    if flips.iter().all(|flip| flip.kind.carries_all()) {
        return Verdict::Refused;
    }
    Verdict::Wrong(format!("does not start ({status}): {last}"))
}

/// The server runs: looks at everybody's mail.
pub fn running(
    place: &Place,
    mut server: Server,
    specimen: &Specimen,
    flips: &[Flip],
) -> Result<(Server, Vec<Verdict>), String> {
    let mut verdicts = Vec::new();
    let mut differences = Vec::new();
    for (index, truth) in specimen.truth.iter().enumerate() {
        let now = take(place, index);
        let difference = compare(truth, &now);
        let trouble = now.trouble.first().cloned();
        if !difference.is_none() || trouble.is_some() {
            differences.push((index, difference, trouble));
        }
    }
    if server.ended() {
        verdicts.push(Verdict::Wrong("the server ended by itself".to_owned()));
    }
    let told = place.errors_logged();
    if let Some(bug) = told.iter().find(|line| line.contains("BUG") || line.contains("panicked")) {
        verdicts.push(Verdict::Wrong(bug.clone()));
    }
    let concerned = differences.len();
    for (index, difference, trouble) in differences {
        if let Some(fault) = fault(flips, index, &difference, !told.is_empty()) {
            let trouble = trouble.map_or(String::new(), |t| format!(" ({t})"));
            verdicts.push(Verdict::Wrong(format!("user {}: {fault}{trouble}", index + 1)));
        }
    }
    if verdicts.is_empty() {
        verdicts.push(match (told.is_empty(), concerned) {
            (true, _) => Verdict::Harmless,
            (false, 0) => Verdict::Told,
            (false, people) => Verdict::Withheld(people),
        });
    }
    Ok((server, verdicts))
}

/// What is wrong with the mail of user `index` looking like this.
fn fault(flips: &[Flip], index: usize, difference: &Difference, told: bool) -> Option<String> {
    let Difference { withheld, false_bytes, changed } = difference;
    let mine = |kind: Kind| kind.owner().is_none_or(|owner| owner == index);
    let first = |list: &[String]| list.first().cloned().unwrap_or_default();
    if !false_bytes.is_empty() {
        let count = false_bytes.len();
        return Some(format!("{count} messages with false bytes: {}", first(false_bytes)));
    }
    if !flips.iter().any(|f| mine(f.kind)) {
        let what = format!("{}{}", first(withheld), first(changed));
        return Some(format!("is not concerned and is not served as before: {what}"));
    }
    if told {
        return None;
    }
    match (withheld.len(), changed.len()) {
        (0, 0) => Some("is refused without a line in the log".to_owned()),
        (0, n) => Some(format!("{n} changes nobody tells about: {}", first(changed))),
        (n, _) => Some(format!("{n} losses nobody tells about: {}", first(withheld))),
    }
}

/// Stops the server and runs the commands that look for damage; they may find some, and not crash.
pub fn stopping(place: &Place, server: Server) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if let Err(trouble) = server.stop(place) {
        let in_order = trouble.contains("exit status: 3"); // a checkpoint that met the damage
        if !in_order {
            verdicts.push(Verdict::Wrong(trouble));
        }
    }
    for words in [&["check"][..], &["objects", "verify"], &["objects", "resync"], &["db", "info"]] {
        match place.ask(words, &[]) {
            Err(trouble) => verdicts.push(Verdict::Wrong(trouble)),
            Ok((_, text)) if text.contains("panicked at") || text.contains("BUG: thread") => {
                verdicts.push(Verdict::Wrong(format!("{words:?}: {}", text.trim())));
            }
            Ok(_) => {}
        }
    }
    verdicts
}
