//! The rules of the mail files that get mail, kept in memory and kept right by the change feed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use note::{Dbiid, NoteClass};
use parking_lot::Mutex;
use store::{Changed, Database, StoreError, Watch};

use super::set::RuleSet;
use super::stored::{load_blocked, load_rules};
use crate::MailFiles;

/// Mail files whose rules (or that they have none) are remembered.
const FILES_MAX: usize = 50_000;
/// Memory for rules and blocked senders, in bytes.
const BYTES_MAX: usize = 64 << 20;

/// Rules by database.
#[derive(Default)]
pub(crate) struct RuleShelf(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    by_file: HashMap<Dbiid, Kept>,
    clock: u64,
    bytes: usize,
}

struct Kept {
    set: Arc<RuleSet>,
    /// A note that may be a rule changed since the set was read.
    is_stale: Arc<AtomicBool>,
    used: u64,
    _watch: Watch,
}

impl MailFiles {
    /// The rules of a mail file, as its last change left them. Costs a look into a table when they
    /// are known, and they are read again only after a change of a note of their class.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn rules(&self, db: &Database) -> Result<Arc<RuleSet>, StoreError> {
        if let Some(set) = self.rules.get(db.dbiid()) {
            return Ok(set);
        }
        let is_stale = Arc::new(AtomicBool::new(false));
        let told = is_stale.clone();
        // Watched before it is read: what changes in between is not missed.
        let watch = db.on_change(Box::new(move |changed: Changed| {
            if changed.classes.intersects(NoteClass::FILTER) {
                told.store(true, Ordering::Release);
            }
        }));
        let read = self.store.read(db, |rows| Ok((load_rules(rows)?, load_blocked(rows)?)))?;
        let (rules, blocked) = read.value;
        let set = Arc::new(RuleSet::new(rules, blocked));
        let kept = Kept { set: set.clone(), is_stale, used: 0, _watch: watch };
        self.rules.put(db.dbiid(), kept);
        Ok(set)
    }
}

impl RuleShelf {
    fn get(&self, file: Dbiid) -> Option<Arc<RuleSet>> {
        let mut shelf = self.0.lock();
        shelf.clock += 1;
        let clock = shelf.clock;
        let kept = shelf.by_file.get_mut(&file)?;
        kept.used = clock;
        (!kept.is_stale.load(Ordering::Acquire)).then(|| kept.set.clone())
    }

    fn put(&self, file: Dbiid, mut kept: Kept) {
        let mut shelf = self.0.lock();
        shelf.clock += 1;
        kept.used = shelf.clock;
        shelf.bytes += kept.set.bytes();
        if let Some(old) = shelf.by_file.insert(file, kept) {
            shelf.bytes -= old.set.bytes();
        }
        if shelf.by_file.len() > FILES_MAX || shelf.bytes > BYTES_MAX {
            shelf.shrink();
        }
    }
}

impl Shelf {
    /// Forgets the half that was not used for longest, and further ones until the bounds hold.
    fn shrink(&mut self) {
        let mut used: Vec<(u64, Dbiid)> =
            self.by_file.iter().map(|(file, kept)| (kept.used, *file)).collect();
        used.sort_unstable();
        let half = used.len() / 2;
        for (number, (_, file)) in used.into_iter().enumerate() {
            if number >= half && self.bytes <= BYTES_MAX / 2 {
                return;
            }
            if let Some(old) = self.by_file.remove(&file) {
                self.bytes -= old.set.bytes();
            }
        }
    }
}
