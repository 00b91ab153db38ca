//! Messages of a folder: their facts and bytes; append, copy, move, flags.

use std::ops::Range;

use note::{NoteView, Piece, TimeDate};
use store::{Database, Entry, EntryFlags, FolderId, Read, Reader, StoreError, Writer, Written};

use crate::file::{found, found_id};
use crate::flags::{FlagChange, Marks};
use crate::intake::{self, ContentError, Facts};
use crate::{MailError, MailFile};

/// An entry with the stored bytes of its note, copied out of the database.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The entry.
    pub entry: Entry,
    /// The encoded note.
    pub note: Vec<u8>,
}

/// A loaded note, opened without decoding it.
pub struct Opened<'a>(NoteView<'a>);

/// Entries after a change of flags.
#[derive(Clone, Debug, Default)]
pub struct Flagged {
    /// The entries as they are now; missing ones are left out.
    pub entries: Vec<Entry>,
    /// Uids of those that were not yet as asked, ascending.
    pub changed: Vec<u32>,
    /// The read mark of a note changed that has other entries too.
    pub elsewhere: bool,
}

/// Where an appended message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The folder's.
    pub uidvalidity: u32,
    /// The message's.
    pub uid: u32,
}

/// What was copied or moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// UIDVALIDITY of the folder that got the messages.
    pub uidvalidity: u32,
    /// Uids before and after, in order; messages that were gone are left out.
    pub pairs: Vec<(u32, u32)>,
}

impl Loaded {
    /// Opens the note.
    ///
    /// # Errors
    /// The note is damaged.
    pub fn open(&self) -> Result<Opened<'_>, MailError> {
        let view = NoteView::new(&self.note).map_err(ContentError::Note)?;
        Ok(Opened(view))
    }
}

impl<'a> Opened<'a> {
    /// The packed structure of the message.
    ///
    /// # Errors
    /// The note is not a message, or damaged.
    pub fn summary(&self) -> Result<message::SummaryView<'a>, MailError> {
        let bytes = self.0.binary(intake::SUMMARY).ok_or(ContentError::NoContent)?;
        Ok(message::SummaryView::new(bytes)?)
    }

    /// Of what the bytes of the message are made.
    ///
    /// # Errors
    /// The note is not a message, or damaged.
    pub fn content(&self) -> Result<Vec<Piece>, ContentError> {
        intake::content(&self.0)
    }
}

impl MailFile {
    /// The entries with these uids (ascending); missing ones are left out.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn entries(&self, folder: FolderId, uids: &[u32]) -> Result<Read<Vec<Entry>>, StoreError> {
        self.read(|rows| entries_of(rows, folder, uids))
    }

    /// The same with their notes. Stops after `bytes_max` bytes of notes: gives how many of `uids`
    /// were gone through, at least one.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn load(
        &self,
        folder: FolderId,
        uids: &[u32],
        bytes_max: usize,
    ) -> Result<Read<(Vec<Loaded>, usize)>, StoreError> {
        self.read(|rows| {
            let entries = entries_of(rows, folder, uids)?;
            let (mut loaded, mut bytes) = (Vec::with_capacity(entries.len()), 0);
            for entry in entries {
                if bytes > bytes_max {
                    let done = uids.partition_point(|uid| *uid < entry.uid);
                    return Ok((loaded, done));
                }
                if let Some(note) = rows.note_bytes(entry.note)? {
                    bytes += note.len();
                    loaded.push(Loaded { entry, note });
                }
            }
            Ok((loaded, uids.len()))
        })
    }

    /// Appends bytes `range` of a message to `out`.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn read_content(
        &self,
        pieces: &[Piece],
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), ContentError> {
        intake::read_range(&self.files.store, pieces, range, out)
    }

    /// Takes a message into a folder. `date`: the internal date, now when `None`.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the store is in trouble.
    pub fn append(
        &self,
        folder: &str,
        message: &[u8],
        date: Option<TimeDate>,
        marks: &Marks,
    ) -> Result<Written<Appended>, MailError> {
        let store = &self.files.store;
        found(self.read(|rows| rows.folder_by_name(folder))?.value, folder)?;
        let date = date.unwrap_or_else(|| store.now());
        let facts = Facts { unid: store.new_unid(), date, extra: Vec::new() };
        // The pins keep the objects until the note that refers to them is in the database.
        let taken = intake::intake(store, message, &facts)?;
        let db = &self.db;
        store.write(&[db], |w| {
            let target = found(w.reader(db)?.folder_by_name(folder)?, folder)?;
            let put = w.put_note(db, &taken.prepared)?;
            let uid = w.add_to_folder(db, target.id, put.id, marks.flags, &marks.keywords)?;
            Ok(Appended { uidvalidity: target.uidvalidity, uid })
        })
    }

    /// Changes flags of the entries with these uids (ascending). All changes get one modseq.
    ///
    /// # Errors
    /// The folder is gone, or the database is in trouble.
    pub fn change_flags(
        &self,
        folder: FolderId,
        uids: &[u32],
        change: &FlagChange,
    ) -> Result<Written<Flagged>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let entries = entries_of(&w.reader(db)?, folder, uids)?;
            let mut flagged = Flagged::default();
            for entry in &entries {
                change_one(w, (db, folder), (entry, change), &mut flagged)?;
            }
            flagged.entries = match flagged.changed.is_empty() {
                true => entries,
                false => entries_of(&w.reader(db)?, folder, uids)?,
            };
            Ok(flagged)
        })
    }

    /// Copies entries into a folder: the same notes, new entries, flags kept. All or none.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn copy_entries(
        &self,
        from: FolderId,
        uids: &[u32],
        to: &str,
    ) -> Result<Written<Copied>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| copy_in(w, db, (from, uids), to))
    }

    /// Moves entries into a folder, in one record. Within one folder the entries get new uids.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn move_entries(
        &self,
        from: FolderId,
        uids: &[u32],
        to: &str,
    ) -> Result<Written<Copied>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let copied = copy_in(w, db, (from, uids), to)?;
            for (old, _) in &copied.pairs {
                w.remove_from_folder(db, from, *old)?;
            }
            Ok(copied)
        })
    }
}

fn copy_in(
    w: &mut Writer<'_>,
    db: &Database,
    (from, uids): (FolderId, &[u32]),
    to: &str,
) -> Result<Copied, MailError> {
    let reader = w.reader(db)?;
    found_id(reader.folder(from)?, from)?;
    let target = found(reader.folder_by_name(to)?, to)?;
    let entries = entries_of(&reader, from, uids)?;
    let mut copied = Copied { uidvalidity: target.uidvalidity, pairs: Vec::new() };
    for entry in entries {
        let uid = w.add_to_folder(db, target.id, entry.note, entry.flags, &entry.keywords)?;
        copied.pairs.push((entry.uid, uid));
    }
    Ok(copied)
}

/// Changes one entry, unless it already is as asked.
fn change_one(
    w: &mut Writer<'_>,
    (db, folder): (&Database, FolderId),
    (entry, change): (&Entry, &FlagChange),
    flagged: &mut Flagged,
) -> Result<(), StoreError> {
    let before = Marks::of(entry);
    let after = change.apply(&before);
    if before == after {
        return Ok(());
    }
    flagged.changed.push(entry.uid);
    let own = |flags: EntryFlags| flags & !EntryFlags::SEEN;
    if own(before.flags) != own(after.flags) || before.keywords != after.keywords {
        w.set_flags(db, folder, entry.uid, after.flags, &after.keywords)?;
    }
    let seen = after.flags.contains(EntryFlags::SEEN);
    if seen != before.flags.contains(EntryFlags::SEEN) {
        w.set_seen(db, entry.note, seen)?;
        flagged.elsewhere |= w.reader(db)?.entries_of(entry.note)?.len() > 1;
    }
    Ok(())
}

/// The entries with these uids: by range where they lie close together, one by one where not.
pub(crate) fn entries_of(
    rows: &Reader<'_>,
    folder: FolderId,
    uids: &[u32],
) -> Result<Vec<Entry>, StoreError> {
    let (Some(first), Some(last)) = (uids.first(), uids.last()) else { return Ok(Vec::new()) };
    let span = (last - first) as usize + 1;
    if span <= uids.len() * 4 {
        let mut entries = rows.entries(folder, *first..=*last, span)?;
        entries.retain(|entry| uids.binary_search(&entry.uid).is_ok());
        return Ok(entries);
    }
    if uids.len() == 1 {
        return Ok(rows.entry(folder, *first)?.into_iter().collect());
    }
    // Halving finds the dense stretches of a sparse set.
    let (left, right) = uids.split_at(uids.len() / 2);
    let mut entries = entries_of(rows, folder, left)?;
    entries.extend(entries_of(rows, folder, right)?);
    Ok(entries)
}

#[cfg(test)]
mod tests;
