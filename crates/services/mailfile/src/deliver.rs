//! New mail files, and the delivery of a message into one.

use store::{Database, EntryFlags, NewDatabase, PreparedNote, Store, StoreError, Writer};

use crate::INBOX;

/// The folders of a new mail file, with their special use (RFC 6154).
const FOLDERS: [(&str, Option<&str>); 5] = [
    (INBOX, None),
    ("Drafts", Some("\\Drafts")),
    ("Sent", Some("\\Sent")),
    ("Trash", Some("\\Trash")),
    ("Junk", Some("\\Junk")),
];

/// What a delivery did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The uid in INBOX; 0 when the note was there already.
    pub uid: u32,
    /// The note had been delivered before (also when it was moved or deleted since): nothing was
    /// done.
    pub already: bool,
}

/// Creates a mail file at `path` (below the data directory) with INBOX, Drafts, Sent, Trash and
/// Junk. All of it is durable when this returns.
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

/// Puts `prepared` into `db` and shows it in INBOX, within a write that may span databases.
///
/// A note with the same UNID that is or was there (moved, soft-deleted) makes this a no-op, so that
/// a repeated delivery is harmless.
///
/// # Errors
/// What the writer reports; the whole write is then undone.
pub fn deliver(
    w: &mut Writer<'_>,
    db: &Database,
    prepared: &PreparedNote,
) -> Result<Delivered, StoreError> {
    let reader = w.reader(db)?;
    if reader.note_by_unid(&prepared.unid())?.is_some() {
        return Ok(Delivered { uid: 0, already: true });
    }
    let inbox = reader.folder_by_name(INBOX)?.map(|folder| folder.id);
    let inbox = match inbox {
        Some(id) => id,
        None => w.create_folder(db, INBOX, None)?.id,
    };
    let put = w.put_note(db, prepared)?;
    let uid = w.add_to_folder(db, inbox, put.id, EntryFlags::NONE, &[])?;
    Ok(Delivered { uid, already: false })
}

#[cfg(test)]
mod tests;
