//! Deleted mail: what can be restored, and its end.
//!
//! A message that left its last folder can be restored until it expires. Expiry runs in slices
//! ([`Round`]), a few notes here and a few there, so that no mail file waits long and none is
//! forgotten. On request messages leave the Trash folder after some days by themselves.

mod folder;
mod round;

use note::{ItemValue, NoteView, TimeDate, Unid};
use store::{
    Database, EntryFlags, FolderId, NoteMeta, Read, Reader, Store, StoreError, Stub, Written,
};

use crate::deliver::find_folder;
use crate::file::found;
use crate::{INBOX, MailError, MailFile, quota};

pub use round::{Budget, Options, Round, Sliced};

/// Deleted messages told of at a time.
pub const DELETED_MAX: usize = 10_000;
/// Deleted messages looked at to find the latest.
const LOOKED_AT_MAX: usize = 200_000;
/// Notes expired in one write.
pub(crate) const EXPIRED_AT_ONCE: usize = 200;
/// The special use of the folder for messages that are to be deleted.
const TRASH: &str = "\\Trash";

/// What expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Notes that are gone for good; deletion stubs remain.
    pub notes: u64,
    /// Their logical bytes.
    pub bytes: u64,
    /// There may be more.
    pub more: bool,
}

/// A message that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Its universal id.
    pub unid: Unid,
    /// Decoded From field.
    pub from: String,
    /// Decoded subject.
    pub subject: String,
    /// Bytes of the message.
    pub size: u64,
    /// Its internal date.
    pub date: TimeDate,
    /// When it was deleted.
    pub deleted: TimeDate,
}

/// Where a restored message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Name of the folder.
    pub folder: String,
    /// The uid there.
    pub uid: u32,
}

/// Deletes for good what went to soft deletion before a point in time, the oldest first, at most
/// `notes_max` notes (and not more than a few hundred). Works with a full log too.
///
/// # Errors
/// The database is in trouble; nothing was deleted then.
pub fn expire(
    store: &Store,
    db: &Database,
    before: TimeDate,
    notes_max: usize,
) -> Result<Written<Expired>, StoreError> {
    let most = notes_max.clamp(1, EXPIRED_AT_ONCE);
    store.write_reserved(&[db], |w| {
        let old = w.reader(db)?.soft_deleted(before, most)?;
        let mut expired = Expired { more: old.len() == most, ..Expired::default() };
        for meta in &old {
            w.delete_note(db, meta.id, Stub::Keep)?;
            expired.notes += 1;
            expired.bytes += meta.size;
        }
        Ok(expired)
    })
}

impl MailFile {
    /// The messages that can be restored, the latest deletion first.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn deleted(&self, limit: usize) -> Result<Read<Vec<Deleted>>, StoreError> {
        self.read(|rows| {
            let all = rows.soft_deleted(TimeDate(i64::MAX), LOOKED_AT_MAX)?;
            let latest = all.iter().rev().take(limit.min(DELETED_MAX));
            latest.map(|meta| deleted(rows, meta)).collect()
        })
    }

    /// Puts a deleted message into a folder again; `None`: the one it was deleted from when that
    /// is known and still there, else INBOX.
    ///
    /// # Errors
    /// [`MailError::NotDeleted`], [`MailError::NoFolder`], [`MailError::OverQuota`], or the
    /// database is in trouble.
    pub fn restore(&self, unid: &Unid, to: Option<&str>) -> Result<Written<Restored>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let rows = w.reader(db)?;
            let meta = rows.note_by_unid(unid)?.filter(|meta| meta.deleted.is_some());
            let meta = meta.ok_or(MailError::NotDeleted { unid: *unid })?;
            quota::check(&rows, meta.size)?;
            let target = match to {
                Some(name) => find_folder(&rows, name)?,
                None => match former_folder(&rows, &meta)? {
                    Some(folder) => Some(folder),
                    None => find_folder(&rows, INBOX)?,
                },
            };
            let name = to.unwrap_or(INBOX);
            let target = match target {
                Some(id) => rows.folder(id)?,
                None => None,
            };
            let target = found(target, name)?;
            let uid = w.add_to_folder(db, target.id, meta.id, EntryFlags::NONE, &[])?;
            Ok(Restored { folder: target.name, uid })
        })
    }
}

fn deleted(rows: &Reader<'_>, meta: &NoteMeta) -> Result<Deleted, StoreError> {
    // A list goes on past a note that cannot be read.
    let bytes = match rows.note_bytes(meta.id) {
        Err(StoreError::Damage { .. }) => Vec::new(),
        bytes => bytes?.unwrap_or_default(),
    };
    let view = NoteView::new(&bytes).ok();
    let text = |name| {
        let value = view.as_ref().and_then(|view| view.get(name).ok().flatten());
        match value {
            Some(ItemValue::Text(text)) => text,
            Some(ItemValue::TextList(texts)) => texts.into_iter().next().unwrap_or_default(),
            _ => String::new(),
        }
    };
    Ok(Deleted {
        unid: meta.unid,
        from: text("From"),
        subject: text("Subject"),
        size: meta.size,
        date: meta.date,
        deleted: meta.deleted.unwrap_or(meta.modified),
    })
}

/// The folder a note was deleted from: the only one that lost entries in the change that deleted
/// it, and not the Trash folder.
fn former_folder(rows: &Reader<'_>, meta: &NoteMeta) -> Result<Option<FolderId>, StoreError> {
    let mut found = None;
    for folder in rows.folders()? {
        let lost = rows.expunged(folder.id, meta.change_seq.saturating_sub(1))?;
        if lost.first().is_none_or(|(_, modseq)| *modseq != meta.change_seq) {
            continue;
        }
        if found.is_some() {
            return Ok(None);
        }
        found = Some(folder);
    }
    let found = found.filter(|folder| folder.special_use.as_deref() != Some(TRASH));
    Ok(found.map(|folder| folder.id))
}

#[cfg(test)]
mod tests;
