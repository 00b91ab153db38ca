//! `db compact`, `db fixup`, `db updall`: care of databases in use.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use store::{Fixed, Store, StoreError};

use super::databases::is_fixed;
use super::{Failure, Shown};
use crate::layout::DataDir;
use crate::progress::Progress;
use crate::request::{Care, chain};
use crate::site::{NO_FILE, fenced};

/// Where the databases are.
pub(super) struct Place<'a> {
    pub store: &'a Store,
    pub dir: &'a DataDir,
    /// Whether a server serves them meanwhile.
    pub is_served: bool,
}

/// Longest list of databases that is read, in bytes.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// Takes care of databases one after the other. What goes wrong with one is told in its row and
/// does not keep the others from their turn.
pub(super) fn run(
    place: &Place<'_>,
    care: Care,
    paths: &[String],
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    let paths = chosen(place, paths)?;
    let (mut rows, mut clean) = (Vec::with_capacity(paths.len()), true);
    for (done, path) in paths.iter().enumerate() {
        let mut told = Told { progress, path, done: done as u64, total: paths.len() as u64 };
        let row = match told.step("").map_break(|()| StoreError::Stopped) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => one(place, care, path, &mut told),
        };
        let row = match row {
            Ok(row) => row,
            // It was deleted or moved since the list was made.
            Err(StoreError::NotFound { .. }) => continue,
            Err(StoreError::Stopped) => {
                rows.push(json!({ "path": path, "error": "stopped before this one was done" }));
                return Ok(Shown { value: Value::Array(rows), clean: false });
            }
            Err(error) => json!({ "path": path, "error": told_of(place, path, &error) }),
        };
        clean &= row["error"].is_null() && row["dbiid"].is_null();
        rows.push(row);
    }
    Ok(Shown { value: Value::Array(rows), clean })
}

/// What went wrong with a database; of one whose file is gone, what to do.
fn told_of(place: &Place<'_>, path: &str, error: &StoreError) -> String {
    match place.store.info(path) {
        Ok(info) if info.fenced.as_deref() == Some(NO_FILE) => fenced(path, NO_FILE),
        _ => chain(error),
    }
}

/// Tells how far the work on one of several databases is.
struct Told<'a> {
    progress: &'a mut dyn Progress,
    path: &'a str,
    done: u64,
    total: u64,
}

impl Told<'_> {
    fn step(&mut self, part: &str) -> ControlFlow<()> {
        let what = format!("{} {part}", self.path);
        self.progress.step(what.trim_end(), self.done, self.total)
    }
}

fn one(place: &Place<'_>, care: Care, path: &str, told: &mut Told<'_>) -> store::Result<Value> {
    let step = &mut |step: store::Step| match told.total {
        // The only one: how far it is itself is worth more.
        1 => told.progress.step(&format!("{path} {}", step.what), step.done, step.total),
        _ => told.step(step.what),
    };
    match care {
        Care::Compact => {
            let done = place.store.compact_with(path, step)?;
            let freed = done.bytes_before.saturating_sub(done.bytes_after);
            Ok(json!({
                "path": path,
                "bytes_before": done.bytes_before,
                "bytes_after": done.bytes_after,
                "freed_bytes": freed,
            }))
        }
        Care::Updall => {
            let done = place.store.updall_with(path, step)?;
            Ok(json!({ "path": path, "mended": done.mended }))
        }
        Care::Fixup => {
            // A running server holds these: it would go on with the damaged one.
            let may_rebuild = !(place.is_served && is_fixed(path));
            match place.store.fixup_with(path, may_rebuild, step) {
                Err(StoreError::Damage { what, .. }) if !may_rebuild => {
                    let error = format!("{what}; stop the server to repair it");
                    Ok(json!({ "path": path, "error": error }))
                }
                fixed => Ok(shown(&fixed?)),
            }
        }
    }
}

fn shown(fixed: &Fixed) -> Value {
    let (notes, entries, changes) = fixed.lost;
    let state = match (fixed.found.is_empty(), fixed.dbiid) {
        (true, _) => "clean",
        (false, None) => "mended",
        (false, Some(_)) => "saved",
    };
    json!({
        "path": fixed.path,
        "state": state,
        "found": fixed.found,
        "mended": fixed.mended,
        "notes": fixed.dbiid.map(|_| fixed.notes),
        "lost": notes,
        "lost_entries": entries,
        "lost_changes": changes,
        "dbiid": fixed.dbiid.map(|dbiid| dbiid.to_string()),
        "damaged_file": fixed.aside,
    })
}

/// The databases that are meant: named themselves, by a directory, or in a list.
pub(super) fn chosen(place: &Place<'_>, words: &[String]) -> Result<Vec<String>, Failure> {
    let all = place.store.paths();
    if words.is_empty() {
        return Ok(all);
    }
    let mut found = BTreeSet::new();
    for word in words {
        if word.ends_with(".ind") {
            for line in list(place, word)? {
                take(&all, &line, &mut found)?;
            }
        } else {
            take(&all, word, &mut found)?;
        }
    }
    Ok(found.into_iter().collect())
}

fn take(all: &[String], word: &str, found: &mut BTreeSet<String>) -> Result<(), Failure> {
    let word = word.trim_end_matches('/');
    let below = format!("{word}/");
    let before = found.len();
    let is_meant = |path: &&String| {
        path.as_str() == word || path.starts_with(&below) || word.is_empty() || word == "."
    };
    let meant: Vec<String> = all.iter().filter(is_meant).cloned().collect();
    let is_known = !meant.is_empty();
    found.extend(meant);
    if is_known || found.len() > before {
        return Ok(());
    }
    Err(Failure::Refused(format!("{word} is neither a database nor a directory of databases")))
}

/// The lines of a list; a relative path is one below `data/`.
fn list(place: &Place<'_>, name: &str) -> Result<Vec<String>, Failure> {
    let path = place.dir.data().join(name);
    let failed = |error: std::io::Error| {
        Failure::Refused(format!("the list {} cannot be read: {error}", path.display()))
    };
    if std::fs::metadata(&path).map_err(failed)?.len() > LIST_BYTES_MAX {
        return Err(Failure::Refused(format!("the list {} is too long", path.display())));
    }
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(|line| line.replace('\\', "/")).collect())
}
