//! How full a mail file is, and how full it may be.
//!
//! A message counts once, with the bytes it came in with, however many folders show it; deleted
//! mail that can still be restored does not count.

use note::{ItemFlags, ItemValue, TimeDate};
use store::{Database, Quota, Read, Reader, StoreError, Writer};

use crate::rules::{put_slot, slot_unid};
use crate::{MailError, MailFile};

/// The owner is warned once in this many seconds.
const WARN_EVERY_S: i64 = 86_400;
/// The note that remembers when the owner was warned.
const QUOTA_SLOT: u16 = 0xFFFE;

/// How full a mail file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Logical bytes in use.
    pub used_bytes: u64,
    /// The limit and the warning; 0 means none.
    pub quota: Quota,
}

impl Usage {
    /// As the database is now.
    pub fn of(rows: &Reader<'_>) -> Usage {
        Usage { used_bytes: rows.logical_bytes(), quota: rows.quota() }
    }

    /// Whether so many bytes more go in.
    pub fn has_room(&self, more_bytes: u64) -> bool {
        let limit = self.quota.limit_bytes;
        more_bytes == 0 || limit == 0 || self.used_bytes.saturating_add(more_bytes) <= limit
    }

    /// Whether the owner is to be warned.
    pub fn is_above_warning(&self) -> bool {
        self.quota.warn_bytes > 0 && self.used_bytes > self.quota.warn_bytes
    }
}

/// Refuses what does not fit: call it within the write that puts the notes.
///
/// # Errors
/// [`MailError::OverQuota`].
pub fn check(rows: &Reader<'_>, more_bytes: u64) -> Result<(), MailError> {
    let usage = Usage::of(rows);
    if usage.has_room(more_bytes) { Ok(()) } else { Err(MailError::OverQuota(usage)) }
}

/// After a delivery: the usage, when the owner is to be warned now. That it was done is remembered
/// in the mail file, with this write.
pub(crate) fn warning(w: &mut Writer<'_>, db: &Database) -> Result<Option<Usage>, StoreError> {
    let rows = w.reader(db)?;
    let usage = Usage::of(&rows);
    if !usage.is_above_warning() {
        return Ok(None);
    }
    let last = rows.note_by_unid(&slot_unid(QUOTA_SLOT))?;
    let now = w.now();
    let again = |last: TimeDate| now.plus_seconds(-WARN_EVERY_S) >= last || last > now;
    if last.is_some_and(|last| !again(last.date)) {
        return Ok(None);
    }
    put_slot(w, db, QUOTA_SLOT, |note| {
        note.set_with("Form", "QuotaState", ItemFlags::SUMMARY);
        note.set_with("WarnedDate", ItemValue::Time(now), ItemFlags::SUMMARY);
    })?;
    Ok(Some(usage))
}

impl MailFile {
    /// How full the mail file is.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn usage(&self) -> Result<Read<Usage>, StoreError> {
        self.read(|rows| Ok(Usage::of(rows)))
    }
}

#[cfg(test)]
mod tests;
