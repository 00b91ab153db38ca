//! Messages of a folder: their facts and bytes; append, copy, move, flags.

use std::ops::Range;
use std::sync::Arc;

use note::{NoteView, Piece, TimeDate};
use store::{
    Database, Entry, EntryFlags, FolderId, NoteId, Read, Reader, StoreError, Writer, Written,
};
use txlog::Lsn;

use crate::file::found;
use crate::flags::{FlagChange, Marks};
use crate::intake::{self, ContentError, Facts};
use crate::shelf::LongWork;
use crate::{MailError, MailFile};

/// Entries looked at in one visit.
const VISIT_ENTRIES: usize = 500;
/// Messages looked into in one visit, while the database is locked.
const VISIT_NOTES: usize = 100;

/// An entry with the stored bytes of its note, copied out of the database.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The entry.
    pub entry: Entry,
    /// The encoded note; empty when the summary alone was asked for.
    pub note: Vec<u8>,
    /// The packed structure of the message without its preview, when that alone was asked for.
    pub summary: Option<Arc<[u8]>>,
}

/// A loaded note, opened without decoding it.
pub struct Opened<'a>(NoteView<'a>);

/// A message to be appended.
#[derive(Clone, Debug)]
pub struct NewMessage<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The internal date, now when `None`.
    pub date: Option<TimeDate>,
    /// Flags and keywords.
    pub marks: Marks,
}

/// Entries after a change of flags.
#[derive(Clone, Debug, Default)]
pub struct Flagged {
    /// The entries as they are now; missing ones are left out.
    pub entries: Vec<Entry>,
    /// Uids of those that were not yet as asked, ascending.
    pub changed: Vec<u32>,
    /// The modseq that each of these had before.
    pub previous: Vec<u64>,
    /// The read mark of a note changed that has other entries too.
    pub elsewhere: bool,
    /// Uids of those that were left as they are, since they had changed after the modseq that
    /// the asker knows; ascending.
    pub conflicts: Vec<u32>,
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

    /// The packed structure of the message; without its preview when that alone was asked for.
    ///
    /// # Errors
    /// The note is not a message, or damaged.
    pub fn summary(&self) -> Result<message::SummaryView<'_>, MailError> {
        match &self.summary {
            Some(bytes) => Ok(message::SummaryView::new(bytes)?),
            None => summary_of(&self.note),
        }
    }
}

/// The packed structure of the message that an encoded note holds.
pub(crate) fn summary_of(note: &[u8]) -> Result<message::SummaryView<'_>, MailError> {
    Opened(NoteView::new(note).map_err(ContentError::Note)?).summary()
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
            let ids: Vec<NoteId> = entries.iter().map(|entry| entry.note).collect();
            let (mut loaded, mut bytes) = (Vec::with_capacity(entries.len()), 0);
            let mut next = None;
            let read = rows.each_note_bytes(&ids, &mut |at, note| {
                if bytes > bytes_max {
                    next = Some(entries[at].uid);
                    return Err(StoreError::Stopped);
                }
                // A damaged note cannot be opened either, which is told of this one alone.
                let note = note.map(<[u8]>::to_vec).unwrap_or_default();
                bytes += note.len();
                loaded.push(Loaded { entry: entries[at].clone(), note, summary: None });
                Ok(())
            });
            match (read, next) {
                (Err(StoreError::Stopped), Some(next)) => {
                    return Ok((loaded, uids.partition_point(|uid| *uid < next)));
                }
                (read, _) => read?,
            }
            Ok((loaded, uids.len()))
        })
    }

    /// Looks at entries (ascending uids; missing ones are left out), with what was found out about
    /// their messages when `with_summary`; `None` for a message that cannot be read. Stops after
    /// some hundred entries: gives how many of `uids` were gone through, at least one. `look` is
    /// called while the database is locked.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn visit(
        &self,
        folder: FolderId,
        uids: &[u32],
        with_summary: bool,
        look: &mut dyn FnMut(&Entry, Option<message::SummaryView<'_>>),
    ) -> Result<Read<usize>, StoreError> {
        let uids = &uids[..uids.len().min(VISIT_ENTRIES)];
        if !with_summary {
            let read = self.entries(folder, uids)?;
            read.value.iter().for_each(|entry| look(entry, None));
            return Ok(Read { value: uids.len(), lsn: read.lsn });
        }
        let uids = &uids[..uids.len().min(VISIT_NOTES)];
        self.read(|rows| {
            let entries = entries_of(rows, folder, uids)?;
            let ids: Vec<NoteId> = entries.iter().map(|entry| entry.note).collect();
            rows.each_note_bytes(&ids, &mut |at, note| {
                let opened = note.map_err(MailError::from).and_then(summary_of);
                if let Err(error) = &opened {
                    let (db, uid) = (self.db.path(), entries[at].uid);
                    tracing::warn!(%db, uid, %error, "a message cannot be read");
                }
                look(&entries[at], opened.ok());
                Ok(())
            })?;
            Ok(uids.len())
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
        let message = NewMessage { bytes: message, date, marks: marks.clone() };
        let written = self.append_all(folder, &[message])?;
        let (uidvalidity, uids) = written.value;
        let uid = uids.first().copied().unwrap_or(0);
        Ok(Written { value: Appended { uidvalidity, uid }, lsn: written.lsn })
    }

    /// Takes messages into a folder, in one record: all or none. Gives the folder's UIDVALIDITY
    /// and the uids, in order.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], [`MailError::OverQuota`], or the store is in trouble.
    pub fn append_all(
        &self,
        folder: &str,
        messages: &[NewMessage<'_>],
    ) -> Result<Written<(u32, Vec<u32>)>, MailError> {
        let store = &self.files.store;
        found(self.read(|rows| rows.folder_by_name(folder))?.value, folder)?;
        let now = store.now();
        let take = |message: &NewMessage<'_>| {
            let date = message.date.unwrap_or(now);
            let facts = Facts { unid: store.new_unid(), date, extra: Vec::new() };
            intake::intake(store, message.bytes, &facts)
        };
        // The pins keep the objects until the notes that refer to them are in the database.
        let taken = messages.iter().map(take).collect::<Result<Vec<_>, _>>()?;
        let db = &self.db;
        let _long = self.long_work(taken.len());
        store.write(&[db], |w| {
            let reader = w.reader(db)?;
            let target = found(reader.folder_by_name(folder)?, folder)?;
            crate::quota::check(&reader, taken.iter().map(|taken| taken.size).sum())?;
            let mut uids = Vec::with_capacity(taken.len());
            for (taken, message) in taken.iter().zip(messages) {
                let put = w.put_note(db, &taken.prepared)?;
                let (flags, keywords) = (message.marks.flags, &message.marks.keywords);
                uids.push(w.add_to_folder(db, target.id, put.id, flags, keywords)?);
            }
            Ok((target.uidvalidity, uids))
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
            let mut entries = entries_of(&w.reader(db)?, folder, uids)?;
            let mut flagged = Flagged::default();
            for entry in &mut entries {
                if change.unchanged_since.is_some_and(|known| entry.modseq > known) {
                    flagged.conflicts.push(entry.uid);
                } else {
                    change_one(w, (db, folder), (entry, change), &mut flagged)?;
                }
            }
            // Other entries of a note may be among them.
            flagged.entries = match flagged.elsewhere {
                false => entries,
                true => entries_of(&w.reader(db)?, folder, uids)?,
            };
            Ok(flagged)
        })
    }

    /// Copies entries into a folder: the same notes, new entries, flags kept. All or none.
    ///
    /// One record of the log holds them all, up to 100,000 entries, or fewer when the log takes no
    /// record so long (160 bytes for each). More are copied by several records; when one of them
    /// cannot be written, what the earlier ones copied is removed again.
    ///
    /// # Errors
    /// [`MailError::NoFolder`] when there is no such target, [`StoreError::NoFolder`] when `from`
    /// is gone, or the database is in trouble.
    pub fn copy_entries(
        &self,
        from: FolderId,
        uids: &[u32],
        to: &str,
    ) -> Result<Written<Copied>, MailError> {
        let db = &self.db;
        let mut all = Written { value: Copied::default(), lsn: Lsn::ZERO };
        let _long = self.long_work(uids.len());
        for slice in self.slices(uids, COPY) {
            let write = |w: &mut Writer<'_>| copy_in(w, db, (from, slice), to);
            match self.files.store.write(&[db], write) {
                Ok(copied) => add(&mut all, copied),
                Err(error) => {
                    self.take_back(&all.value, to)?;
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    /// Moves entries into a folder. Within one folder the entries get new uids.
    ///
    /// One record of the log holds them all, up to 50,000 entries, or fewer when the log takes no
    /// record so long (400 bytes for each). More are moved by several records, each of which is
    /// whole: when one of them cannot be written, what was moved before stays moved.
    ///
    /// # Errors
    /// As [`MailFile::copy_entries`].
    pub fn move_entries(
        &self,
        from: FolderId,
        uids: &[u32],
        to: &str,
    ) -> Result<Written<Copied>, MailError> {
        let db = &self.db;
        let mut all = Written { value: Copied::default(), lsn: Lsn::ZERO };
        let _long = self.long_work(uids.len());
        for slice in self.slices(uids, MOVE) {
            let moved = self.files.store.write(&[db], |w| {
                let copied = copy_in(w, db, (from, slice), to)?;
                for (old, _) in &copied.pairs {
                    w.remove_from_folder(db, from, *old)?;
                }
                Ok::<_, MailError>(copied)
            })?;
            add(&mut all, moved);
        }
        Ok(all)
    }

    /// `uids` in pieces, one for each record; one empty piece when there are none, since the
    /// target must exist all the same.
    fn slices<'a>(&self, uids: &'a [u32], (bytes, max): (u64, u64)) -> Vec<&'a [u32]> {
        let fitting = self.files.store.log().payload_bytes_max() / bytes;
        match uids {
            [] => vec![uids],
            _ => uids.chunks(fitting.clamp(1, max) as usize).collect(),
        }
    }

    /// Notes that the database is about to be locked for long, when the work is on many messages.
    pub(crate) fn long_work(&self, messages: usize) -> Option<LongWork<'_>> {
        (messages > SHORT_MESSAGES).then(|| self.files.shelf.long_work(self.db.dbiid()))
    }

    /// Whether somebody has locked the database for long: nobody whom others wait for should wait
    /// for it now.
    pub fn is_busy(&self) -> bool {
        self.files.shelf.is_busy(self.db.dbiid())
    }

    /// Removes what was copied.
    fn take_back(&self, copied: &Copied, to: &str) -> Result<(), MailError> {
        let db = &self.db;
        let written = self.files.store.write_reserved::<_, StoreError>(&[db], |w| {
            let Some(target) = w.reader(db)?.folder_by_name(to)? else { return Ok(()) };
            for (_, new) in &copied.pairs {
                if w.reader(db)?.entry(target.id, *new)?.is_some() {
                    w.remove_from_folder(db, target.id, *new)?;
                }
            }
            Ok(())
        });
        Ok(written.map(|_| ())?)
    }
}

/// Bytes of a record that copying one entry takes, with room for keywords; and how many one record
/// copies, so that the database is not locked for more than some seconds.
const COPY: (u64, u64) = (160, 100_000);
/// The same for moving.
const MOVE: (u64, u64) = (400, 50_000);
/// Messages that are changed while nobody notices that the database is locked.
const SHORT_MESSAGES: usize = 500;

/// Puts the result of one more record behind those before.
fn add(all: &mut Written<Copied>, more: Written<Copied>) {
    all.value.uidvalidity = more.value.uidvalidity;
    all.value.pairs.extend(more.value.pairs);
    all.lsn = all.lsn.max(more.lsn);
}

fn copy_in(
    w: &mut Writer<'_>,
    db: &Database,
    (from, uids): (FolderId, &[u32]),
    to: &str,
) -> Result<Copied, MailError> {
    let reader = w.reader(db)?;
    if reader.folder(from)?.is_none() {
        return Err(StoreError::NoFolder(from).into());
    }
    let target = found(reader.folder_by_name(to)?, to)?;
    let entries = entries_of(&reader, from, uids)?;
    let mut copied = Copied { uidvalidity: target.uidvalidity, pairs: Vec::new() };
    for entry in entries {
        let uid = w.add_to_folder(db, target.id, entry.note, entry.flags, &entry.keywords)?;
        copied.pairs.push((entry.uid, uid));
    }
    Ok(copied)
}

/// Changes one entry, unless it already is as asked; `entry` becomes what it is then.
fn change_one(
    w: &mut Writer<'_>,
    (db, folder): (&Database, FolderId),
    (entry, change): (&mut Entry, &FlagChange),
    flagged: &mut Flagged,
) -> Result<(), StoreError> {
    let before = Marks::of(entry);
    let after = change.apply(&before);
    if before == after {
        return Ok(());
    }
    flagged.changed.push(entry.uid);
    flagged.previous.push(entry.modseq);
    let own = |flags: EntryFlags| flags & !EntryFlags::SEEN;
    if own(before.flags) != own(after.flags) || before.keywords != after.keywords {
        w.set_flags(db, folder, entry.uid, after.flags, &after.keywords)?;
    }
    let seen = after.flags.contains(EntryFlags::SEEN);
    if seen != before.flags.contains(EntryFlags::SEEN) {
        w.set_seen(db, entry.note, seen)?;
        flagged.elsewhere |= w.reader(db)?.entries_of(entry.note)?.len() > 1;
    }
    entry.modseq = w.reader(db)?.change_seq();
    (entry.flags, entry.keywords) = (after.flags, after.keywords);
    Ok(())
}

/// The entries with these uids: by range where they lie close together, one by one where not.
pub(crate) fn entries_of(
    rows: &Reader<'_>,
    folder: FolderId,
    uids: &[u32],
) -> Result<Vec<Entry>, StoreError> {
    let (Some(first), Some(last)) = (uids.first(), uids.last()) else { return Ok(Vec::new()) };
    if uids.len() == 1 {
        return Ok(rows.entry(folder, *first)?.into_iter().collect());
    }
    let span = (last - first) as usize + 1;
    if span <= uids.len() * 4 {
        let mut entries = rows.entries(folder, *first..=*last, span)?;
        entries.retain(|entry| uids.binary_search(&entry.uid).is_ok());
        return Ok(entries);
    }
    // Halving finds the dense stretches of a sparse set.
    let (left, right) = uids.split_at(uids.len() / 2);
    let mut entries = entries_of(rows, folder, left)?;
    entries.extend(entries_of(rows, folder, right)?);
    Ok(entries)
}

#[cfg(test)]
mod tests;
