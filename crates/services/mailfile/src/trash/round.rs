//! Going round all databases in slices: expiry that takes its time.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use note::{Dbiid, TimeDate};
use parking_lot::Mutex;
use store::{Store, StoreError};

use super::{EXPIRED_AT_ONCE, expire, folder};

/// Seconds of an hour.
const HOUR_S: i64 = 3_600;
/// Seconds between two looks at which databases there are.
const LOOK_EVERY_S: i64 = 30;
/// Seconds until a database that was in trouble is looked at again.
const TROUBLE_S: i64 = 600;
/// Seconds until the Trash folder of a mail file is looked at again.
const FOLDER_EVERY_S: i64 = 3_600;

/// How long deleted mail is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Hours after which deleted mail is gone for good; 0: at once.
    pub keep_hours: u32,
    /// Days after which messages leave the Trash folder; 0: they stay.
    pub folder_days: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { keep_hours: 48, folder_days: 0 }
    }
}

/// What one slice may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Notes that expire at most.
    pub notes: usize,
    /// Databases that are looked at, at most. A database that is not open is opened for it.
    pub files: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { notes: 200, files: 8 }
    }
}

/// What a slice did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sliced {
    /// Databases that were looked at.
    pub files: usize,
    /// Notes that are gone for good.
    pub notes: u64,
    /// Their logical bytes.
    pub bytes: u64,
    /// Messages that left a Trash folder.
    pub left_trash: u64,
    /// Nothing is due now.
    pub idle: bool,
}

/// Goes round the databases of a store and remembers where it was.
#[derive(Default)]
pub struct Round {
    options: Mutex<Options>,
    course: Mutex<Course>,
    notes: AtomicU64,
    bytes: AtomicU64,
    left_trash: AtomicU64,
}

#[derive(Default)]
struct Course {
    /// Paths that are still to be looked at in this lap.
    waiting: VecDeque<String>,
    /// When something can be due in a database; those not named are due.
    due: HashMap<Dbiid, i64>,
    looked_s: i64,
}

impl Round {
    /// A round from the beginning.
    pub fn new(options: Options) -> Round {
        let round = Round::default();
        *round.options.lock() = options;
        round
    }

    /// Changes how long deleted mail is kept; everything is looked at again.
    pub fn set_options(&self, options: Options) {
        let mut kept = self.options.lock();
        if *kept != options {
            *kept = options;
            *self.course.lock() = Course::default();
        }
    }

    /// Does a slice of the work. Databases in trouble are passed over; they are looked at later.
    pub fn slice(&self, store: &Store, budget: Budget) -> Sliced {
        let options = *self.options.lock();
        let mut course = self.course.lock();
        let now = store.now().unix_seconds();
        if course.waiting.is_empty() {
            course.look(store, now, options);
        }
        let mut sliced = Sliced { idle: course.waiting.is_empty(), ..Sliced::default() };
        while sliced.files < budget.files && (sliced.notes as usize) < budget.notes {
            let Some(path) = course.waiting.pop_front() else { break };
            let Ok(db) = store.database(&path) else { continue };
            sliced.files += 1;
            let most = (budget.notes - sliced.notes as usize).min(EXPIRED_AT_ONCE);
            match visit(store, &db, options, most) {
                Ok(visited) => {
                    sliced.notes += visited.notes;
                    sliced.bytes += visited.bytes;
                    sliced.left_trash += visited.left_trash;
                    course.due.insert(db.dbiid(), visited.due);
                    if visited.due <= now && options.keep_hours > 0 {
                        course.waiting.push_back(path);
                    }
                }
                Err(error) => {
                    tracing::warn!(path, %error, "deleted mail cannot expire");
                    course.due.insert(db.dbiid(), now.saturating_add(TROUBLE_S));
                }
            }
        }
        self.notes.fetch_add(sliced.notes, Ordering::Relaxed);
        self.bytes.fetch_add(sliced.bytes, Ordering::Relaxed);
        self.left_trash.fetch_add(sliced.left_trash, Ordering::Relaxed);
        sliced
    }

    /// Statistics since the start: notes that expired, their bytes, messages that left Trash
    /// folders.
    pub fn rows(&self) -> [(&'static str, u64); 3] {
        [
            ("Database.SoftDeletions.Expired", self.notes.load(Ordering::Relaxed)),
            ("Database.SoftDeletions.ExpiredBytes", self.bytes.load(Ordering::Relaxed)),
            ("Database.SoftDeletions.LeftTrash", self.left_trash.load(Ordering::Relaxed)),
        ]
    }
}

impl Course {
    /// Begins a lap with the databases in which something can be due.
    fn look(&mut self, store: &Store, now: i64, options: Options) {
        let every = if options.keep_hours == 0 { 1 } else { LOOK_EVERY_S };
        if now < self.looked_s.saturating_add(every) && now >= self.looked_s {
            return;
        }
        self.looked_s = now;
        let mut known = HashMap::with_capacity(self.due.len());
        for path in store.paths() {
            let Ok(db) = store.database(&path) else { continue };
            let due = self.due.get(&db.dbiid()).copied();
            if let Some(due) = due {
                known.insert(db.dbiid(), due);
            }
            if due.is_none_or(|due| due <= now) {
                self.waiting.push_back(path);
            }
        }
        // Databases that were deleted are forgotten.
        self.due = known;
    }
}

struct Visited {
    notes: u64,
    bytes: u64,
    left_trash: u64,
    /// When something can be due again, in seconds.
    due: i64,
}

fn visit(
    store: &Store,
    db: &store::Database,
    options: Options,
    most: usize,
) -> Result<Visited, StoreError> {
    let now = store.now();
    let mut visited = Visited { notes: 0, bytes: 0, left_trash: 0, due: 0 };
    if options.folder_days > 0 {
        visited.left_trash = folder::sweep(store, db, options.folder_days, most)? as u64;
    }
    let keep_s = i64::from(options.keep_hours) * HOUR_S;
    // What was deleted in this very moment is due too when nothing is kept.
    let before = TimeDate(now.plus_seconds(-keep_s).0.saturating_add(1));
    let oldest = store.read(db, |rows| rows.soft_deleted(TimeDate(i64::MAX), 1))?.value;
    let oldest = oldest.first().and_then(|meta| meta.deleted);
    let now_s = now.unix_seconds();
    visited.due = match oldest {
        Some(deleted) if deleted < before => {
            let expired = expire(store, db, before, most)?.value;
            (visited.notes, visited.bytes) = (expired.notes, expired.bytes);
            // More is due, or the next one may be soon.
            now_s
        }
        Some(deleted) => deleted.unix_seconds().saturating_add(keep_s + 1),
        None => now_s.saturating_add(keep_s.max(1)),
    };
    if options.folder_days > 0 {
        let full = visited.left_trash as usize == most;
        visited.due = visited.due.min(if full { now_s } else { now_s + FOLDER_EVERY_S });
    }
    Ok(visited)
}

#[cfg(test)]
mod tests;
