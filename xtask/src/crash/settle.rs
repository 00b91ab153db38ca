//! Waiting until the server is at rest, and what is looked at then.

use super::letter::FILED_SUBJECT;
use super::load::{Shared, address, lock};
use super::look::find;
use super::model::FILED;
use super::server::Place;
use std::time::{Duration, Instant};

const DRAIN_MAX: Duration = Duration::from_secs(60);

/// Waits until nothing is on its way and takes over what all mailboxes hold; gives the number of
/// notes that mail.box holds at rest.
pub fn adopt(place: &Place, shared: &Shared) -> Result<u64, String> {
    let rest = wait_drained(place, None)?;
    for (index, user) in shared.users.iter().enumerate() {
        lock(user).adopt(find(shared, index)?);
    }
    Ok(rest)
}

/// Gives each third person the rule that files letters away. No mail must be on its way.
pub fn add_rules(place: &Place, shared: &Shared) -> Result<(), String> {
    let condition = format!("subject contains {FILED_SUBJECT}");
    let action = format!("move {FILED}");
    for (index, user) in shared.users.iter().enumerate().step_by(3) {
        let address = address(index);
        let name = address.split('@').next().unwrap_or_default();
        let words = [name, "--name", "File", "--if", &condition, "--then", &action];
        let (fine, text) = place.ask(&["user", "rule", "add"], &words)?;
        if !fine {
            return Err(format!("a rule for {name}: {}", text.trim()));
        }
        lock(user).files = true;
    }
    Ok(())
}

/// Waits until mail.box and its sisters hold what they hold at rest; gives that number of notes.
pub fn wait_drained(place: &Place, rest: Option<u64>) -> Result<u64, String> {
    let began = Instant::now();
    let mut before = None;
    loop {
        let waiting = mail_box_notes(place)?;
        let done = match rest {
            Some(rest) => waiting <= rest,
            None => before == Some(waiting), // twice the same: nothing is on its way
        };
        if done {
            return Ok(waiting);
        }
        before = Some(waiting);
        if began.elapsed() > DRAIN_MAX {
            return Err(format!("mail.box still holds {waiting} notes after {DRAIN_MAX:?}"));
        }
        std::thread::sleep(Duration::from_millis(if rest.is_some() { 50 } else { 500 }));
    }
}

fn mail_box_notes(place: &Place) -> Result<u64, String> {
    let mut notes = 0;
    for path in ["mail.box", "mail1.box"] {
        let (fine, text) = place.ask(&["db", "info"], &[path, "--json"])?;
        let rows: Result<serde_json::Value, _> = serde_json::from_str(&text);
        let count = rows.ok().and_then(|rows| rows.get(0)?.get("notes")?.as_u64());
        match count {
            Some(count) if fine => notes += count,
            _ => return Err(format!("db info {path}: {text}")),
        }
    }
    Ok(notes)
}

/// `objects verify` and `objects resync`, beside a running server or without one.
pub fn check_objects(place: &Place) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for verb in ["verify", "resync"] {
        let (fine, text) = place.ask(&["objects", verb], &["--json"])?;
        if !fine {
            wrong.push(format!("objects {verb}: {}", text.trim()));
        }
        println!("objects {verb}: {}", text.trim().replace('\n', " "));
    }
    Ok(wrong)
}
