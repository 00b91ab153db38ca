//! `populate`: mail files as a workload expects them.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::live::{LINE_EVERY_S, overwrite};
use super::options::Populate;
use super::running::runtime;
use super::trial::{enough_files, run_name};
use super::{Around, Ending, say, stopping};
use crate::outcome::number;
use crate::run::{self, Filled, Stop};
use crate::wire::Timeouts;

/// Time between two changes of the line on a terminal.
const CHANGE_EVERY_S: f64 = 0.25;

/// Fills.
pub(super) fn populate(options: &Populate, around: &Around) -> Result<(), Ending> {
    let users = options.server.users;
    enough_files(options.connections)?;
    let target = Arc::new(options.server.target(users)?);
    let order = run::Populate {
        workload: options.work.workload()?,
        users,
        messages: options.messages,
        share: options.share,
        connections: options.connections,
        seed: options.work.seed,
        run_id: run_name('p', SystemTime::now()),
        pool: options.work.pool(),
        timeouts: Timeouts::default(),
        settle: options.settle,
    };
    let (stop, begun) = (Stop::new(), Instant::now());
    let filled = runtime()?.block_on(async {
        stopping::listen(&stop);
        run::populate(order, target, progress(users), stop.clone()).await
    });
    if io::stderr().is_terminal() {
        overwrite("");
    }
    let filled = filled?;
    say(&shown(&filled, users, begun.elapsed(), around.json))?;
    match stop.asked() || filled.people < users {
        true => Err(Ending::Failed),
        false => Ok(()),
    }
}

/// Shows how far it is, now and then.
fn progress(users: u32) -> impl Fn(&Filled) + Send + Sync + 'static {
    let terminal = io::stderr().is_terminal();
    let every = Duration::from_secs_f64(if terminal { CHANGE_EVERY_S } else { LINE_EVERY_S });
    let begun = Instant::now();
    let next = Mutex::new(begun + every);
    move |filled| {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now < *next {
            return;
        }
        *next = now + every;
        let line = line(filled, users, now.saturating_duration_since(begun));
        if terminal { overwrite(&line) } else { eprintln!("{line}") }
    }
}

fn line(filled: &Filled, users: u32, took: Duration) -> String {
    let s = took.as_secs_f64().max(0.001);
    format!(
        "{:>4.0} s  {}/{users} mail files, {} messages added, {:.1} MB, {}/s",
        took.as_secs_f64(),
        filled.people,
        number(filled.added as f64, 0),
        filled.octets as f64 / 1e6,
        number(filled.added as f64 / s, 0),
    )
}

fn shown(filled: &Filled, users: u32, took: Duration, json: bool) -> String {
    if json {
        let value = serde_json::json!({
            "users": users,
            "filled": filled.people,
            "there": filled.there,
            "added": filled.added,
            "octets": filled.octets,
            "surplus": filled.surplus,
            "took_s": took.as_secs_f64(),
        });
        return format!("{value}\n");
    }
    let mut text = format!("{}\n", line(filled, users, took).trim_start());
    if filled.there > 0 {
        text.push_str(&format!("{} messages were there\n", number(filled.there as f64, 0)));
    }
    if filled.surplus > 0 {
        text.push_str(&format!("{} mail files hold more than they should\n", filled.surplus));
    }
    if filled.people < users {
        text.push_str("ended early; the same command goes on\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_is_told() {
        let filled = Filled { people: 3, there: 2, added: 1500, octets: 2_000_000, surplus: 1 };
        let text = shown(&filled, 4, Duration::from_secs(10), false);
        let wanted = "10 s  3/4 mail files, 1,500 messages added, 2.0 MB, 150/s\n\
                      2 messages were there\n1 mail files hold more than they should\n\
                      ended early; the same command goes on\n";
        assert_eq!(text, wanted);
        let text = shown(&filled, 4, Duration::from_secs(10), true);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["added"], &value["users"]), (&1500.into(), &4.into()));
    }
}
