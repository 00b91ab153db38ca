//! Verbs about the mail that waits.

use std::sync::Arc;

use super::{Shown, show};
use crate::admin::queue;
use crate::request::QueueDeed;
use crate::server::Running;
use crate::table::{self, counted};

/// Messages shown at most.
const MESSAGES_MAX: usize = 1000;
/// What is shown of a destination.
const DESTINATIONS: &[&str] =
    &["destination", "waiting", "working", "attempts_failed", "next_try_s", "last_error"];

pub(super) fn list(running: &Arc<Running>, text: &str) -> Shown {
    let rows = queue::list(&running.router, None, text, MESSAGES_MAX);
    let rows = rows.map_err(|failure| failure.to_string())?;
    match rows.as_array().is_some_and(Vec::is_empty) {
        true => Ok("no message waits".to_owned()),
        false => Ok(table::of(&rows, queue::COLUMNS)),
    }
}

pub(super) fn destinations(running: &Arc<Running>, _: &str) -> Shown {
    let mail = running.router.stats();
    let waiting = counted(running.router.pending() as u64, "message");
    let here = format!("{waiting} waiting, {} held, {} dead", mail.held, mail.dead);
    let rows = queue::destinations(&running.router);
    match rows.as_array().is_some_and(Vec::is_empty) {
        true => Ok(here),
        false => Ok(format!("{here}\n{}", table::of(&rows, DESTINATIONS))),
    }
}

pub(super) fn stats(running: &Arc<Running>, _: &str) -> Shown {
    show::stat(running, "Mail")
}

pub(super) fn hold(running: &Arc<Running>, ids: &str) -> Shown {
    act(running, &QueueDeed::Hold, ids)
}

pub(super) fn release(running: &Arc<Running>, ids: &str) -> Shown {
    act(running, &QueueDeed::Release, ids)
}

pub(super) fn delete(running: &Arc<Running>, ids: &str) -> Shown {
    act(running, &QueueDeed::Delete, ids)
}

pub(super) fn resend(running: &Arc<Running>, words: &str) -> Shown {
    let (id, to) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let to = to.split_whitespace().map(str::to_owned).collect();
    act(running, &QueueDeed::Resend { to }, id)
}

fn act(running: &Arc<Running>, deed: &QueueDeed, ids: &str) -> Shown {
    let ids: Vec<String> = ids.split_whitespace().map(str::to_owned).collect();
    if ids.is_empty() {
        return Err("which message? Give its id; show queue lists them".to_owned());
    }
    let done = queue::act(&running.router, deed, &ids).map_err(|failure| failure.to_string())?;
    Ok(table::of(&done, &["id", "done"]))
}

pub(super) fn route(running: &Arc<Running>, destination: &str) -> Shown {
    let destination = Some(destination.trim()).filter(|name| !name.is_empty());
    let count = running.router.route_now(destination);
    let are = if count == 1 { "is" } else { "are" };
    Ok(format!("{} {are} tried now", counted(count as u64, "message")))
}
