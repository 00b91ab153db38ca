//! Data directories to damage: one stopped in order, one killed with a log that must be replayed.

use super::USERS;
use super::picture::{Picture, take};
use crate::crash::load::{Shared, lock};
use crate::crash::server::{Place, Server};
use crate::crash::volume::run as system;
use crate::crash::{SMALL, settle};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A data directory nobody works in, and what its mailboxes hold.
pub struct Specimen {
    pub data: PathBuf,
    pub place: Place,
    pub truth: Vec<Picture>,
}

/// Loads a server with mail, stops it, goes on, kills it; copies are taken of both states.
pub fn make(root: &Path, scratch: &Path, seed: u64) -> Result<Vec<Specimen>, String> {
    let place = Place::new(root, scratch, scratch.join("data"), USERS)?;
    let shared = Shared::new(seed, place.ports(), USERS);
    Server::start(&place)?.0.stop(&place)?;
    place.tune(&SMALL)?;
    let (server, _) = Server::start(&place)?;
    let rest = settle::adopt(&place, &shared)?;
    load(&place, &shared, rest, 1)?;
    server.stop(&place)?;
    // the segments of the first run leave the log and are adopted
    let (server, _) = Server::start(&place)?;
    load(&place, &shared, rest, 2)?;
    place.ask(&["console"], &["dbcache", "flush"])?;
    load(&place, &shared, rest, 3)?;
    server.stop(&place)?;
    let stopped = keep(&place, scratch, false)?;
    let (server, _) = Server::start(&place)?;
    load(&place, &shared, rest, 4)?;
    server.kill();
    let killed = keep(&place, scratch, true)?;
    let wrong = std::mem::take(&mut *lock(&shared.wrong));
    if wrong.is_empty() { Ok(vec![stopped, killed]) } else { Err(wrong.join("\n")) }
}

/// Some load, and the time until all of it is durable and delivered.
fn load(place: &Place, shared: &Shared, rest: u64, round: u64) -> Result<(), String> {
    shared.under_load(round, || std::thread::sleep(Duration::from_millis(500)));
    settle::wait_drained(place, Some(rest))?;
    // deliveries nobody waits for are durable within the lazy flush of the log
    std::thread::sleep(Duration::from_millis(500));
    Ok(())
}

/// Copies the data directory and, from another copy, what its mailboxes hold.
fn keep(place: &Place, scratch: &Path, killed: bool) -> Result<Specimen, String> {
    let name = if killed { "killed" } else { "stopped" };
    let (data, probe) = (scratch.join(name), scratch.join("probe"));
    system("cp", &["-a", "--sparse=always"], &[&place.data, &data])?;
    system("cp", &["-a", "--sparse=always"], &[&place.data, &probe])?;
    let tried = Place { data: probe.clone(), ..place.clone() };
    let (server, _) = Server::start(&tried)?;
    settle::wait_drained(&tried, None)?;
    let truth: Vec<Picture> = (0..USERS).map(|user| take(&tried, user)).collect();
    server.stop(&tried)?;
    let _ = std::fs::remove_dir_all(&probe); // the next one replaces it
    let unread = truth.iter().flat_map(|p| &p.trouble).next();
    match unread {
        None => Ok(Specimen { data, place: place.clone(), truth }),
        Some(trouble) => Err(format!("the undamaged server: {trouble}")),
    }
}
