//! Applying results to a database: the same for a live write and for replay.

use note::TimeDate;

use crate::EntryFlags;
use crate::bytes::BytesError;
use crate::handle::Handle;
use crate::op::{FolderRef, NewEntry, NewFolder, NoteRef, Op, PutNote};
use crate::schema::Facts;
use crate::sql::Sql;
use crate::statements::{Sqlite, Value, values};

/// Why a result was not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The database is not in the state that the result was computed in.
    #[error("a result does not fit the database: {0}")]
    Mismatch(&'static str),
    /// The record cannot be read.
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

type Result<T = ()> = std::result::Result<T, ApplyError>;

/// A database to which the results of one change are applied.
pub(crate) struct Target<'a> {
    sqlite: Sqlite<'a>,
    facts: &'a mut Facts,
}

impl Handle {
    /// The file with its statements.
    pub fn sqlite(&self) -> Sqlite<'_> {
        Sqlite { conn: &self.conn, statements: &self.prepared }
    }

    /// The file and its header, to apply results to.
    pub fn target(&mut self) -> Target<'_> {
        let sqlite = Sqlite { conn: &self.conn, statements: &self.prepared };
        Target { sqlite, facts: &mut self.facts }
    }
}

const SEEN: u16 = EntryFlags::SEEN.0;

impl Target<'_> {
    /// Applies one result; `facts.change_seq` is already that of the change.
    pub fn apply(&mut self, op: &Op<'_>) -> Result {
        match *op {
            Op::PutNote(put) if put.created => self.insert_note(&put),
            Op::PutNote(put) => self.update_note(&put),
            Op::DeleteNote { note, stub, time } => self.delete_note(note, stub, time),
            Op::SetDeleted { note, deleted } => self.set_deleted(note, deleted),
            Op::SetSeen { note, seen } => self.set_seen(note, seen),
            Op::CreateFolder(new) => self.create_folder(&new),
            Op::RenameFolder { folder, name } => self.rename_folder(folder, name),
            Op::DeleteFolder { folder } => self.delete_folder(folder),
            Op::Subscribe { folder, subscribed } => self.subscribe(folder, subscribed),
            Op::AddEntry(new) => self.add_entry(&new),
            Op::SetFlags { folder, uid, flags, keywords } => {
                self.set_flags(folder, uid, flags, keywords)
            }
            Op::RemoveEntry { folder, uid, note, seen } => {
                let entry = values![folder.id.0, uid, note.0];
                self.change(Sql::DeleteEntry, entry, "entry to remove")?;
                self.entry_removed(folder, uid, seen)
            }
            Op::SetTitle { title } => {
                self.facts.title = title.into();
                Ok(())
            }
            Op::SetQuota(quota) => {
                self.facts.quota = quota;
                Ok(())
            }
        }
    }

    fn seq(&self) -> i64 {
        self.facts.change_seq as i64
    }

    /// Runs a statement that must change one row.
    fn change(&self, sql: Sql, values: &[Value<'_>], what: &'static str) -> Result {
        match self.sqlite.run(sql, values)? {
            1 => Ok(()),
            _ => Err(ApplyError::Mismatch(what)),
        }
    }

    fn insert_note(&mut self, put: &PutNote<'_>) -> Result {
        let blob = &put.blob;
        let hashes = (!blob.hashes.is_empty()).then_some(blob.hashes);
        let row = values![
            put.id.0,
            &blob.unid.0,
            blob.class.0,
            blob.sequence,
            blob.modified.0,
            self.seq(),
            blob.size as i64,
            blob.date.0,
            hashes,
            blob.unpacked as i64,
            blob.crc,
            blob.body,
        ];
        self.sqlite.run(Sql::InsertNote, row)?;
        if self.facts.stubs > 0 {
            let gone = self.sqlite.run(Sql::DeleteStub, values![&blob.unid.0])?;
            self.facts.stubs = self.facts.stubs.saturating_sub(gone as i64);
        }
        self.facts.note_next = self.facts.note_next.max(put.id.0.saturating_add(1));
        self.facts.count(1, blob.size as i64);
        Ok(())
    }

    fn update_note(&mut self, put: &PutNote<'_>) -> Result {
        let blob = &put.blob;
        let note = NoteRef { id: put.id, unid: blob.unid };
        let (size, date, alive) = self.size_and_date(note, "note to replace")?;
        let hashes = (!blob.hashes.is_empty()).then_some(blob.hashes);
        let row = values![
            put.id.0,
            &blob.unid.0,
            blob.class.0,
            blob.sequence,
            blob.modified.0,
            self.seq(),
            blob.size as i64,
            blob.date.0,
            hashes,
            blob.unpacked as i64,
            blob.crc,
            blob.body,
        ];
        self.change(Sql::UpdateNote, row, "note to replace")?;
        if (size, date) != (blob.size as i64, blob.date.0) {
            let entries = values![put.id.0, blob.size as i64, blob.date.0];
            self.sqlite.run(Sql::UpdateEntriesOfNote, entries)?;
        }
        if alive {
            self.facts.count(0, (blob.size as i64).saturating_sub(size));
        }
        Ok(())
    }

    fn size_and_date(&self, note: NoteRef, what: &'static str) -> Result<(i64, i64, bool)> {
        let found = self.sqlite.find(Sql::SizeOfNote, values![note.id.0, &note.unid.0], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        found.ok_or(ApplyError::Mismatch(what))
    }

    fn delete_note(&mut self, note: NoteRef, stub: bool, time: TimeDate) -> Result {
        let gone = self.sqlite.find(Sql::DeleteNote, values![note.id.0, &note.unid.0], |row| {
            let size: i64 = row.get(0)?;
            let alive: bool = row.get(1)?;
            Ok((size, alive, row.get::<i64>(2)?, row.get::<i64>(3)?))
        })?;
        let (size, alive, class, sequence) = gone.ok_or(ApplyError::Mismatch("note to delete"))?;
        if alive {
            self.facts.count(-1, size.saturating_neg());
        }
        if stub {
            let row = values![&note.unid.0, class, sequence, self.seq(), time.0];
            self.sqlite.run(Sql::InsertStub, row)?;
            self.facts.stubs = self.facts.stubs.saturating_add(1);
        }
        Ok(())
    }

    fn set_deleted(&mut self, note: NoteRef, deleted: Option<TimeDate>) -> Result {
        let time = deleted.map(|time| time.0);
        let marked = values![note.id.0, &note.unid.0, time, self.seq()];
        let size = self.sqlite.find(Sql::MarkDeleted, marked, |row| row.get::<i64>(0))?;
        let size = size.ok_or(ApplyError::Mismatch("note to delete softly or restore"))?;
        match deleted {
            Some(_) => self.facts.count(-1, size.saturating_neg()),
            None => self.facts.count(1, size),
        }
        Ok(())
    }

    /// Marks a note, and each of its entries.
    fn set_seen(&mut self, note: NoteRef, seen: bool) -> Result {
        let marked = values![note.id.0, &note.unid.0, seen];
        self.change(Sql::MarkSeen, marked, "note to mark")?;
        let entries = self.sqlite.list(Sql::EntriesOfNote, values![note.id.0], |row| {
            Ok((row.get::<i64>(0)?, row.get::<u32>(1)?))
        })?;
        let (clear, set, more) = if seen { (0, SEEN, -1i64) } else { (SEEN, 0, 1) };
        for of_folder in entries.chunk_by(|one, other| one.0 == other.0) {
            for (folder, uid) in of_folder {
                let entry = values![*folder, *uid, clear, set, self.seq()];
                self.change(Sql::SetFlag, entry, "entry to mark")?;
            }
            let more = more.saturating_mul(of_folder.len() as i64);
            let folder = values![of_folder[0].0, self.seq(), more];
            // An entry without its folder is for fixup to mend.
            self.sqlite.run(Sql::FolderSeen, folder)?;
        }
        Ok(())
    }

    fn create_folder(&mut self, new: &NewFolder<'_>) -> Result {
        let row = values![
            new.folder.id.0,
            &new.folder.unid.0,
            new.name,
            new.uidvalidity,
            self.seq(),
            new.special_use,
        ];
        self.sqlite.run(Sql::InsertFolder, row)?;
        self.facts.folder_next = self.facts.folder_next.max(new.folder.id.0.saturating_add(1));
        self.facts.uidvalidity = self.facts.uidvalidity.max(new.uidvalidity);
        Ok(())
    }

    fn rename_folder(&mut self, folder: FolderRef, name: &str) -> Result {
        let renamed = values![folder.id.0, &folder.unid.0, name];
        self.change(Sql::RenameFolder, renamed, "folder to rename")
    }

    /// Removes a folder with all its entries and its memory of expunged ones.
    fn delete_folder(&mut self, folder: FolderRef) -> Result {
        let gone = values![folder.id.0, &folder.unid.0];
        self.change(Sql::DeleteFolder, gone, "folder to delete")?;
        self.sqlite.run(Sql::DeleteEntries, values![folder.id.0])?;
        self.sqlite.run(Sql::DeleteExpunged, values![folder.id.0])?;
        Ok(())
    }

    fn subscribe(&mut self, folder: FolderRef, subscribed: bool) -> Result {
        let changed = values![folder.id.0, &folder.unid.0, subscribed];
        self.change(Sql::Subscribe, changed, "folder to subscribe")
    }

    fn add_entry(&mut self, new: &NewEntry<'_>) -> Result {
        let (size, date, _) = self.size_and_date(new.note, "note of a new entry")?;
        let row = values![
            new.folder.id.0,
            new.uid,
            self.seq(),
            new.flags,
            new.keywords,
            new.note.id.0,
            size,
            date,
            &new.note.unid.0,
        ];
        self.change(Sql::InsertEntry, row, "note of a new entry")?;
        let (FolderRef { id, unid }, unseen) = (new.folder, new.flags & SEEN == 0);
        let folder = values![id.0, &unid.0, new.uid, self.seq(), unseen];
        self.change(Sql::FolderGrows, folder, "folder of a new entry")
    }

    fn set_flags(&mut self, folder: FolderRef, uid: u32, flags: u16, keywords: &str) -> Result {
        let entry = values![folder.id.0, uid, flags, keywords, self.seq()];
        self.change(Sql::SetFlags, entry, "entry to flag")?;
        let folder = values![folder.id.0, &folder.unid.0, self.seq()];
        self.change(Sql::FolderChanges, folder, "folder of an entry to flag")
    }

    fn entry_removed(&mut self, folder: FolderRef, uid: u32, seen: bool) -> Result {
        self.sqlite.run(Sql::InsertExpunged, values![folder.id.0, self.seq(), uid])?;
        let folder = values![folder.id.0, &folder.unid.0, self.seq(), !seen];
        self.change(Sql::FolderShrinks, folder, "folder of an entry to remove")
    }
}
