//! Messages that lie in the Trash folder for too long leave it.
//!
//! An entry does not say since when it is in its folder. So the mail file remembers, a few times in
//! the period, which uid came next: all entries below that uid were there at that time.

use note::{ItemFlags, ItemValue, Note};
use store::{Database, Folder, Reader, Store, StoreError, Writer};

use super::TRASH;
use crate::deliver::find_folder;
use crate::rules::{load_slot, put_slot};

/// The note that remembers.
const TRASH_SLOT: u16 = 0xFFFD;
/// Marks in one period: how exact the age is.
const MARKS_MAX: i64 = 64;
/// Least seconds between two marks.
const MARK_S_MIN: i64 = 3_600;
/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// At that time this uid came next in this incarnation of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    seconds: i64,
    uidvalidity: u32,
    uidnext: u32,
}

/// Removes up to `most` messages that have been in the Trash folder for `days` days, and remembers
/// how far it is filled now. Gives how many were removed.
pub(super) fn sweep(
    store: &Store,
    db: &Database,
    days: u32,
    most: usize,
) -> Result<usize, StoreError> {
    let now = store.now().unix_seconds();
    let due = store.read(db, |rows| {
        let Some(folder) = trash_of(rows)? else { return Ok(false) };
        let marks = load(rows, &folder)?;
        Ok(is_new(&marks, &folder, days, now) || old_mark(&marks, days, now).is_some())
    })?;
    if !due.value {
        return Ok(0);
    }
    let swept = store.write_reserved(&[db], |w| {
        let rows = w.reader(db)?;
        let Some(folder) = trash_of(&rows)? else { return Ok(0) };
        let mut marks = load(&rows, &folder)?;
        let removed = match old_mark(&marks, days, now) {
            Some(mark) => remove_below(w, db, (&folder, mark.uidnext), most)?,
            None => 0,
        };
        if is_new(&marks, &folder, days, now) {
            let (uidvalidity, uidnext) = (folder.uidvalidity, folder.uidnext);
            marks.push(Mark { seconds: now, uidvalidity, uidnext });
        }
        if let Some(old) = old_mark(&marks, days, now) {
            // A mark that everything was removed for has done its work.
            let keep = if removed < most { old.seconds + 1 } else { old.seconds };
            marks.retain(|mark| mark.seconds >= keep);
        }
        put_slot(w, db, TRASH_SLOT, |note| save(note, &marks))?;
        Ok::<_, StoreError>(removed)
    })?;
    Ok(swept.value)
}

fn trash_of(rows: &Reader<'_>) -> Result<Option<Folder>, StoreError> {
    match find_folder(rows, TRASH)? {
        Some(id) => rows.folder(id),
        None => Ok(None),
    }
}

/// Whether a mark is to be made now.
fn is_new(marks: &[Mark], folder: &Folder, days: u32, now: i64) -> bool {
    let step = (i64::from(days) * DAY_S / MARKS_MAX).max(MARK_S_MIN);
    match marks.last() {
        Some(last) => folder.uidnext != last.uidnext && now >= last.seconds.saturating_add(step),
        None => folder.messages > 0,
    }
}

/// The latest mark that is old enough.
fn old_mark(marks: &[Mark], days: u32, now: i64) -> Option<Mark> {
    let limit = now.saturating_sub(i64::from(days) * DAY_S);
    marks.iter().rev().find(|mark| mark.seconds <= limit).copied()
}

fn remove_below(
    w: &mut Writer<'_>,
    db: &Database,
    (folder, uid): (&Folder, u32),
    most: usize,
) -> Result<usize, StoreError> {
    let Some(last) = uid.checked_sub(1).filter(|last| *last > 0) else { return Ok(0) };
    let entries = w.reader(db)?.entries(folder.id, 1..=last, most)?;
    for entry in &entries {
        w.remove_from_folder(db, folder.id, entry.uid)?;
    }
    Ok(entries.len())
}

/// The marks of this incarnation of the folder, the oldest first.
fn load(rows: &Reader<'_>, folder: &Folder) -> Result<Vec<Mark>, StoreError> {
    let note = load_slot(rows, TRASH_SLOT)?;
    let numbers = match note.as_ref().and_then(|note| note.get("Marks")) {
        Some(ItemValue::NumberList(numbers)) => numbers.as_slice(),
        _ => &[],
    };
    let marks = numbers.chunks_exact(3).map(|mark| Mark {
        seconds: mark[0] as i64,
        uidvalidity: mark[1] as u32,
        uidnext: mark[2] as u32,
    });
    Ok(marks.filter(|mark| mark.uidvalidity == folder.uidvalidity).collect())
}

fn save(note: &mut Note, marks: &[Mark]) {
    let numbers = marks.iter().flat_map(|mark| {
        [mark.seconds as f64, f64::from(mark.uidvalidity), f64::from(mark.uidnext)]
    });
    note.set_with("Form", "TrashState", ItemFlags::SUMMARY);
    note.set("Marks", ItemValue::NumberList(numbers.collect()));
}

#[cfg(test)]
mod tests;
