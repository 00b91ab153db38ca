//! New mail files, and the delivery of a message into one.

use std::collections::BTreeSet;

use note::Dbiid;
use parking_lot::Mutex;
use store::{
    Database, EntryFlags, Folder, FolderId, NewDatabase, PreparedNote, Reader, Store, StoreError,
    Writer,
};

use crate::quota::{self, Usage};
use crate::rules::Verdict;
use crate::{INBOX, canonical_name};

/// Missing folders of rules that are remembered as told.
const TOLD_MAX: usize = 10_000;

/// The folders of a new mail file, with their special use (RFC 6154).
const FOLDERS: [(&str, Option<&str>); 6] = [
    (INBOX, None),
    ("Archive", Some("\\Archive")),
    ("Drafts", Some("\\Drafts")),
    ("Sent", Some("\\Sent")),
    ("Trash", Some("\\Trash")),
    ("Junk", Some("\\Junk")),
];

/// What a delivery did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in a folder.
    Delivered {
        /// The uid there; in the first folder of several.
        uid: u32,
        /// The owner is to be warned now that the mail file is nearly full; told once a day.
        warn: Option<Usage>,
    },
    /// The note had been delivered before (also when it was moved or deleted since): nothing was
    /// done.
    Already,
    /// A rule wanted it deleted; it is among the mail that can be restored.
    Discarded,
    /// The mail file is full; nothing was done.
    OverQuota(Usage),
}

/// Creates a mail file at `path` (below the data directory) with INBOX, Archive, Drafts,
/// Sent, Trash and Junk. All of it is durable when this returns.
///
/// # Errors
/// What [`Store::create`] and [`Store::write`] report.
pub fn create(store: &Store, path: &str, title: &str) -> Result<Database, StoreError> {
    let db = store.create(path, NewDatabase::titled(title))?;
    let written = store.write::<(), StoreError>(&[&db], |w| {
        for (name, special_use) in FOLDERS {
            let folder = w.create_folder(&db, name, special_use)?;
            w.subscribe(&db, folder.id, true)?;
        }
        Ok(())
    })?;
    store.durable(written.lsn).wait()?;
    Ok(db)
}

/// Puts `prepared` into `db` as a verdict says, within a write that may span databases.
///
/// A note with the same UNID that is or was there (moved, soft-deleted) makes this a no-op, so that
/// a repeated delivery is harmless. A folder of the verdict that is not there: INBOX.
///
/// # Errors
/// What the writer reports; the whole write is then undone.
pub fn deliver(
    w: &mut Writer<'_>,
    db: &Database,
    prepared: &PreparedNote,
    verdict: &Verdict,
) -> Result<Outcome, StoreError> {
    let rows = w.reader(db)?;
    if rows.note_by_unid(&prepared.unid())?.is_some() {
        return Ok(Outcome::Already);
    }
    let usage = Usage::of(&rows);
    let is_kept = !verdict.discard || !verdict.copies.is_empty();
    if is_kept && !verdict.beyond_quota && !usage.has_room(prepared.size()) {
        return Ok(Outcome::OverQuota(usage));
    }
    let folders = targets(w, db, verdict)?;
    let put = w.put_note(db, prepared)?;
    let mark = |on: bool, flag| if on { flag } else { EntryFlags::NONE };
    let flags = mark(verdict.seen, EntryFlags::SEEN) | mark(verdict.flagged, EntryFlags::FLAGGED);
    let mut first = None;
    for folder in folders {
        let uid = w.add_to_folder(db, folder, put.id, flags, &[])?;
        first.get_or_insert(uid);
    }
    let Some(uid) = first else {
        w.soft_delete(db, put.id)?;
        return Ok(Outcome::Discarded);
    };
    let warn = if usage.quota.warn_bytes > 0 { quota::warning(w, db)? } else { None };
    Ok(Outcome::Delivered { uid, warn })
}

/// The folders a message goes into, each once; none when it is discarded.
fn targets(
    w: &mut Writer<'_>,
    db: &Database,
    verdict: &Verdict,
) -> Result<Vec<FolderId>, StoreError> {
    let mut names: Vec<&str> = Vec::with_capacity(1 + verdict.copies.len());
    if !verdict.discard {
        names.push(verdict.folder.as_deref().unwrap_or(INBOX));
    }
    names.extend(verdict.copies.iter().map(String::as_str));
    let mut folders = Vec::with_capacity(names.len());
    for name in names {
        let found = match find_folder(&w.reader(db)?, name)? {
            Some(found) => found,
            None => {
                gone(db, name);
                inbox(w, db)?
            }
        };
        if !folders.contains(&found) {
            folders.push(found);
        }
    }
    Ok(folders)
}

/// INBOX, made when it is missing.
fn inbox(w: &mut Writer<'_>, db: &Database) -> Result<FolderId, StoreError> {
    match w.reader(db)?.folder_by_name(INBOX)? {
        Some(folder) => Ok(folder.id),
        None => Ok(w.create_folder(db, INBOX, None)?.id),
    }
}

/// A folder by name in any letter case, the very name first; by special use when it begins with a
/// backslash.
pub(crate) fn find_folder(rows: &Reader<'_>, name: &str) -> Result<Option<FolderId>, StoreError> {
    let special = name.strip_prefix('\\');
    let exact = rows.folder_by_name(special.unwrap_or(&canonical_name(name)))?;
    let has_use = |folder: &Folder| {
        folder.special_use.as_deref().is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    match &exact {
        Some(folder) if special.is_none() || has_use(folder) => return Ok(Some(folder.id)),
        _ => {}
    }
    let folders = rows.folders()?;
    let found = match special {
        Some(_) => folders.iter().find(|folder| has_use(folder)).or(exact.as_ref()),
        None => {
            let wanted = name.to_lowercase();
            folders.iter().find(|folder| folder.name.to_lowercase() == wanted)
        }
    };
    Ok(found.map(|folder| folder.id))
}

/// Says once for each folder that it is gone.
fn gone(db: &Database, name: &str) {
    static TOLD: Mutex<BTreeSet<(Dbiid, String)>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock();
    if name == INBOX || told.len() >= TOLD_MAX || !told.insert((db.dbiid(), name.to_owned())) {
        return;
    }
    let path = db.path();
    tracing::warn!(path, folder = name, "a rule's folder is gone; its mail goes to INBOX");
}

#[cfg(test)]
mod tests;
