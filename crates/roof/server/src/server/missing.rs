//! Database files that somebody took away while the server runs.
//!
//! An open file is served on without a name, and what it holds is gone when it is closed: the
//! administrator is told while it can still be saved.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::Store;

use crate::table::counted;

/// Least time between two looks at a file that is there.
const EVERY: Duration = Duration::from_secs(60);
/// Files looked at in a round.
const FILES_MAX: usize = 1_000;
/// Files that are named in an alarm.
const NAMED_MAX: usize = 5;

/// What was found so far.
#[derive(Default)]
pub(crate) struct Missing(Mutex<Looks>);

#[derive(Default)]
struct Looks {
    begun: Option<Instant>,
    /// To be looked at before the next begin.
    left: Vec<String>,
    /// Not there at the last look; one that is being renamed is there at the next.
    suspects: Vec<String>,
    /// Not there at two looks, one after the other.
    gone: BTreeSet<String>,
}

impl Missing {
    /// Looks at some of the files below `data`; every file has its turn within about a minute.
    pub(super) fn look(&self, store: &Store, data: &Path, now: Instant) {
        let is_gone = |path: &String| {
            store.database(path).is_ok() && matches!(data.join(path).try_exists(), Ok(false))
        };
        let mut guard = self.0.lock();
        let looks = &mut *guard;
        looks.gone.retain(is_gone);
        looks.gone.extend(std::mem::take(&mut looks.suspects).into_iter().filter(is_gone));
        let is_time = looks.begun.is_none_or(|begun| now.duration_since(begun) >= EVERY);
        if looks.left.is_empty() && is_time {
            looks.begun = Some(now);
            looks.left = store.paths();
        }
        let turn = looks.left.len().saturating_sub(FILES_MAX);
        let known = &looks.gone;
        let met = looks.left.drain(turn..).filter(|path| !known.contains(path) && is_gone(path));
        looks.suspects = met.collect();
    }

    /// Whether the file of a database was found to be gone.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.0.lock().gone.contains(path)
    }

    /// What an administrator has to know, if a file is gone.
    pub(crate) fn alarm(&self) -> Option<String> {
        let looks = self.0.lock();
        let names: Vec<&str> = looks.gone.iter().take(NAMED_MAX).map(String::as_str).collect();
        let more = match looks.gone.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "{} taken away under the running server: {}{more}; what it has open is lost when \
                 it stops: read first about files that were taken away, in the guide to operating",
                counted(looks.gone.len() as u64, "database file"),
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use store::{NewDatabase, StoreOptions};

    use super::*;

    #[test]
    fn a_file_is_missed_at_the_second_look_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        for path in ["a.nsf", "mail/b.nsf"] {
            store.create(path, NewDatabase::titled("T")).unwrap();
        }
        let data = dir.path().join("data");
        let (there, away) = (data.join("mail/b.nsf"), dir.path().join("away"));
        let missing = Missing::default();
        let mut now = Instant::now();
        let mut look = |wait: Duration| {
            now += wait;
            missing.look(&store, &data, now);
            missing.alarm()
        };
        assert_eq!(look(Duration::ZERO), None);
        std::fs::rename(&there, &away).unwrap();
        assert_eq!(look(Duration::from_secs(1)), None, "each file has its turn once a minute");
        assert_eq!(look(EVERY), None, "it may be on its way to another name");
        let alarm = look(Duration::from_secs(1)).unwrap();
        assert!(alarm.starts_with("1 database file taken away"), "{alarm}");
        assert!(alarm.contains("mail/b.nsf;") && missing.holds("mail/b.nsf"), "{alarm}");
        std::fs::rename(&away, &there).unwrap();
        assert_eq!(look(Duration::from_secs(1)), None);
        store.close().unwrap();
    }

    #[test]
    fn a_file_that_was_only_moved_and_a_deleted_database_are_not_missed() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        store.create("a.nsf", NewDatabase::titled("T")).unwrap();
        let data = dir.path().join("data");
        let missing = Missing::default();
        let now = Instant::now();
        std::fs::rename(data.join("a.nsf"), data.join("b")).unwrap();
        missing.look(&store, &data, now);
        std::fs::rename(data.join("b"), data.join("a.nsf")).unwrap();
        missing.look(&store, &data, now);
        assert_eq!(missing.alarm(), None);
        std::fs::remove_file(data.join("a.nsf")).unwrap();
        missing.look(&store, &data, now + EVERY);
        missing.look(&store, &data, now + EVERY);
        assert!(missing.alarm().is_some());
        store.delete("a.nsf").unwrap();
        missing.look(&store, &data, now + EVERY);
        assert_eq!(missing.alarm(), None);
        store.close().unwrap();
    }

    #[test]
    fn many_files_are_told_by_a_few_names() {
        let missing = Missing::default();
        missing.0.lock().gone = (0..7).map(|number| format!("{number}.nsf")).collect();
        let alarm = missing.alarm().unwrap();
        assert!(alarm.starts_with("7 database files "), "{alarm}");
        assert!(alarm.contains("3.nsf, 4.nsf and 2 more;"), "{alarm}");
    }
}
