//! Tasks of the agenda run when their hour begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use directory::Directory;
use note::TimeDate;
use store::Store;
use txlog::ManualClock;

use super::{Holding, Network, Outcome, Server, example};
use crate::layout::DataDir;
use crate::process;
use crate::settings::{Key, Settings};
use crate::site::{Site, store_options};

/// An hour, in seconds.
const HOUR_S: i64 = 3_600;
/// Longest wait for what a task does.
const WAIT: Duration = Duration::from_secs(60);

/// A server whose clock shows what it is told.
fn at(clock: &Arc<ManualClock>, data: &DataDir, settings: &Settings) -> Server {
    let network = Network::open(settings).unwrap();
    let holding = Holding::take(data).unwrap();
    let mut options = store_options(data, settings);
    options.clock = clock.clone();
    let (store, _) = Store::open(options).unwrap();
    let directory = Directory::open(store.clone()).unwrap();
    Server::run(network, holding, Site::new(data, settings, store, directory)).unwrap()
}

fn compacted(server: &Server) -> u64 {
    let rows = server.running().site.store.statistics();
    rows.iter().find(|(name, _)| *name == "Database.Compacted").unwrap().1
}

/// Waits until so many databases were compacted and no task runs.
fn until_compacted(server: &Server, count: u64) {
    let begun = Instant::now();
    while compacted(server) < count || !server.running().tasks.list().is_empty() {
        assert!(begun.elapsed() < WAIT, "{} of {count} compacted", compacted(server));
        server.chores.hurry();
        std::thread::yield_now();
    }
}

#[test]
fn the_tasks_of_an_hour_run_when_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    let (data, mut settings) = example(&dir);
    let start = TimeDate::from_unix_seconds(1_788_000_000);
    let clock = Arc::new(ManualClock::new(start));
    let hour = |after: i64| process::local_hour(start.plus_seconds(after * HOUR_S)).unwrap();
    let agenda = format!(
        "{}=Compact names.nsf; {}=Compact mail/ada.nsf names.nsf, Ghost; {}=Compact .",
        hour(0),
        hour(1),
        hour(3)
    );
    settings.set(Key::TasksAt, &agenda).unwrap();
    let server = at(&clock, &data, &settings);
    clock.set(start.plus_seconds(HOUR_S));
    until_compacted(&server, 2);
    // The clock jumps over an hour that has nothing to do.
    clock.set(start.plus_seconds(2 * HOUR_S));
    server.chores.hurry();
    assert_eq!(compacted(&server), 2, "the hour of the start began before");
    let all = server.running().site.store.paths().len() as u64;
    clock.set(start.plus_seconds(3 * HOUR_S));
    until_compacted(&server, 2 + all);
    assert_eq!(server.stop(), Outcome::Stopped);
}
