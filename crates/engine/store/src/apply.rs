//! Applying results to a database: the same for a live write and for replay.

use note::TimeDate;
use rusqlite::{Connection, OptionalExtension, params};

use crate::EntryFlags;
use crate::bytes::BytesError;
use crate::op::{FolderRef, NewEntry, NewFolder, NoteRef, Op, PutNote};
use crate::schema::Facts;

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
    pub conn: &'a Connection,
    pub facts: &'a mut Facts,
}

fn one(changed: usize, what: &'static str) -> Result {
    if changed == 1 { Ok(()) } else { Err(ApplyError::Mismatch(what)) }
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
                one(
                    self.conn
                        .prepare_cached(
                            "DELETE FROM entry WHERE folder = ?1 AND uid = ?2 AND note = ?3",
                        )?
                        .execute(params![folder.id.0, uid, note.0])?,
                    "entry to remove",
                )?;
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

    fn insert_note(&mut self, put: &PutNote<'_>) -> Result {
        let blob = &put.blob;
        let hashes = (!blob.hashes.is_empty()).then_some(blob.hashes);
        self.conn
            .prepare_cached(
                "INSERT INTO note(id, unid, class, sequence, modified, change_seq, size, date,
                   seen, deleted, hashes, unpacked, crc, body)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, NULL, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                put.id.0,
                &blob.unid.0,
                blob.class.0,
                blob.sequence,
                blob.modified.0,
                self.facts.change_seq as i64,
                blob.size as i64,
                blob.date.0,
                hashes,
                blob.unpacked as i64,
                blob.crc,
                blob.body,
            ])?;
        if self.facts.stubs > 0 {
            let gone = self
                .conn
                .prepare_cached("DELETE FROM stub WHERE unid = ?1")?
                .execute([&blob.unid.0])?;
            self.facts.stubs = self.facts.stubs.saturating_sub(gone as i64);
        }
        self.facts.note_next = self.facts.note_next.max(put.id.0.saturating_add(1));
        self.facts.count(1, blob.size as i64);
        Ok(())
    }

    fn update_note(&mut self, put: &PutNote<'_>) -> Result {
        let blob = &put.blob;
        let (size, date, alive) = self.size_and_date(put.id.0)?;
        let hashes = (!blob.hashes.is_empty()).then_some(blob.hashes);
        let changed = self
            .conn
            .prepare_cached(
                "UPDATE note SET class = ?3, sequence = ?4, modified = ?5, change_seq = ?6,
                   size = ?7, date = ?8, hashes = ?9, unpacked = ?10, crc = ?11, body = ?12
                 WHERE id = ?1 AND unid = ?2",
            )?
            .execute(params![
                put.id.0,
                &blob.unid.0,
                blob.class.0,
                blob.sequence,
                blob.modified.0,
                self.facts.change_seq as i64,
                blob.size as i64,
                blob.date.0,
                hashes,
                blob.unpacked as i64,
                blob.crc,
                blob.body,
            ])?;
        one(changed, "note to replace")?;
        if (size, date) != (blob.size as i64, blob.date.0) {
            self.conn
                .prepare_cached("UPDATE entry SET size = ?2, date = ?3 WHERE note = ?1")?
                .execute(params![put.id.0, blob.size as i64, blob.date.0])?;
        }
        if alive {
            self.facts.count(0, (blob.size as i64).saturating_sub(size));
        }
        Ok(())
    }

    fn size_and_date(&self, id: i64) -> Result<(i64, i64, bool)> {
        self.conn
            .prepare_cached("SELECT size, date, deleted IS NULL FROM note WHERE id = ?1")?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?
            .ok_or(ApplyError::Mismatch("note to replace"))
    }

    fn delete_note(&mut self, note: NoteRef, stub: bool, time: TimeDate) -> Result {
        let sql = "DELETE FROM note WHERE id = ?1 AND unid = ?2
                   RETURNING size, deleted IS NULL, class, sequence";
        let gone = self
            .conn
            .prepare_cached(sql)?
            .query_row(params![note.id.0, &note.unid.0], |row| {
                let size: i64 = row.get(0)?;
                let alive: bool = row.get(1)?;
                Ok((size, alive, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
            })
            .optional()?;
        let (size, alive, class, sequence) = gone.ok_or(ApplyError::Mismatch("note to delete"))?;
        if alive {
            self.facts.count(-1, size.saturating_neg());
        }
        if stub {
            self.conn
                .prepare_cached(
                    "INSERT INTO stub(unid, class, sequence, change_seq, deleted)
                     VALUES(?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![&note.unid.0, class, sequence, self.seq(), time.0])?;
            self.facts.stubs = self.facts.stubs.saturating_add(1);
        }
        Ok(())
    }

    fn set_deleted(&mut self, note: NoteRef, deleted: Option<TimeDate>) -> Result {
        let (time, seq) = (deleted.map(|time| time.0), self.seq());
        let size: Option<i64> = self
            .conn
            .prepare_cached(
                "UPDATE note SET deleted = ?3, change_seq = ?4
                 WHERE id = ?1 AND unid = ?2 AND (deleted IS NULL) = (?3 IS NOT NULL)
                 RETURNING size",
            )?
            .query_row(params![note.id.0, &note.unid.0, time, seq], |row| row.get(0))
            .optional()?;
        let size = size.ok_or(ApplyError::Mismatch("note to delete softly or restore"))?;
        match deleted {
            Some(_) => self.facts.count(-1, size.saturating_neg()),
            None => self.facts.count(1, size),
        }
        Ok(())
    }

    fn set_seen(&mut self, note: NoteRef, seen: bool) -> Result {
        let changed = self
            .conn
            .prepare_cached("UPDATE note SET seen = ?3 WHERE id = ?1 AND unid = ?2 AND seen <> ?3")?
            .execute(params![note.id.0, &note.unid.0, seen])?;
        one(changed, "note to mark")?;
        let less = if seen { 1 } else { -1 };
        self.conn
            .prepare_cached(
                "UPDATE folder SET modseq = ?2, unseen = unseen - ?3 * (SELECT count(*) FROM entry
                   WHERE entry.note = ?1 AND entry.folder = folder.id)
                 WHERE id IN (SELECT folder FROM entry WHERE note = ?1)",
            )?
            .execute(params![note.id.0, self.seq(), less])?;
        let (clear, set) = if seen { (0, SEEN) } else { (SEEN, 0) };
        self.conn
            .prepare_cached(
                "UPDATE entry SET flags = (flags & ~?3) | ?4, modseq = ?2 WHERE note = ?1",
            )?
            .execute(params![note.id.0, self.seq(), clear, set])?;
        Ok(())
    }

    fn create_folder(&mut self, new: &NewFolder<'_>) -> Result {
        self.conn
            .prepare_cached(
                "INSERT INTO folder(id, unid, name, uidvalidity, uidnext, modseq, messages, unseen,
                   special_use, subscribed) VALUES(?1, ?2, ?3, ?4, 1, ?5, 0, 0, ?6, 0)",
            )?
            .execute(params![
                new.folder.id.0,
                &new.folder.unid.0,
                new.name,
                new.uidvalidity,
                self.facts.change_seq as i64,
                new.special_use,
            ])?;
        self.facts.folder_next = self.facts.folder_next.max(new.folder.id.0.saturating_add(1));
        self.facts.uidvalidity = self.facts.uidvalidity.max(new.uidvalidity);
        Ok(())
    }

    fn rename_folder(&mut self, folder: FolderRef, name: &str) -> Result {
        let changed = self
            .conn
            .prepare_cached("UPDATE folder SET name = ?3 WHERE id = ?1 AND unid = ?2")?
            .execute(params![folder.id.0, &folder.unid.0, name])?;
        one(changed, "folder to rename")
    }

    /// Removes a folder with all its entries and its memory of expunged ones.
    fn delete_folder(&mut self, folder: FolderRef) -> Result {
        let changed = self
            .conn
            .prepare_cached("DELETE FROM folder WHERE id = ?1 AND unid = ?2")?
            .execute(params![folder.id.0, &folder.unid.0])?;
        one(changed, "folder to delete")?;
        for sql in ["DELETE FROM entry WHERE folder = ?1", "DELETE FROM expunged WHERE folder = ?1"]
        {
            self.conn.prepare_cached(sql)?.execute([folder.id.0])?;
        }
        Ok(())
    }

    fn subscribe(&mut self, folder: FolderRef, subscribed: bool) -> Result {
        let changed = self
            .conn
            .prepare_cached("UPDATE folder SET subscribed = ?3 WHERE id = ?1 AND unid = ?2")?
            .execute(params![folder.id.0, &folder.unid.0, subscribed])?;
        one(changed, "folder to subscribe")
    }

    fn add_entry(&mut self, new: &NewEntry<'_>) -> Result {
        // Not one INSERT of a SELECT: for it SQLite opens a journal of the statement, and to close
        // that it walks over all that the change has done before.
        let (size, date): (i64, i64) = self
            .conn
            .prepare_cached("SELECT size, date FROM note WHERE id = ?1 AND unid = ?2")?
            .query_row(params![new.note.id.0, &new.note.unid.0], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?
            .ok_or(ApplyError::Mismatch("note of a new entry"))?;
        let changed = self
            .conn
            .prepare_cached(
                "INSERT INTO entry(folder, uid, modseq, flags, keywords, note, size, date, unid)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                new.folder.id.0,
                new.uid,
                self.facts.change_seq as i64,
                new.flags,
                new.keywords,
                new.note.id.0,
                size,
                date,
                &new.note.unid.0,
            ])?;
        one(changed, "note of a new entry")?;
        let unseen = i64::from(new.flags & SEEN == 0);
        let changed = self
            .conn
            .prepare_cached(
                "UPDATE folder SET uidnext = ?3 + 1, modseq = ?4, messages = messages + 1,
                   unseen = unseen + ?5 WHERE id = ?1 AND unid = ?2 AND uidnext <= ?3",
            )?
            .execute(params![new.folder.id.0, &new.folder.unid.0, new.uid, self.seq(), unseen])?;
        one(changed, "folder of a new entry")
    }

    fn set_flags(&mut self, folder: FolderRef, uid: u32, flags: u16, keywords: &str) -> Result {
        let changed = self
            .conn
            .prepare_cached(
                "UPDATE entry SET flags = ?3, keywords = ?4, modseq = ?5
                 WHERE folder = ?1 AND uid = ?2 AND (flags & 16) = (?3 & 16)",
            )?
            .execute(params![folder.id.0, uid, flags, keywords, self.seq()])?;
        one(changed, "entry to flag")?;
        let changed = self
            .conn
            .prepare_cached("UPDATE folder SET modseq = ?3 WHERE id = ?1 AND unid = ?2")?
            .execute(params![folder.id.0, &folder.unid.0, self.seq()])?;
        one(changed, "folder of an entry to flag")
    }

    fn entry_removed(&mut self, folder: FolderRef, uid: u32, seen: bool) -> Result {
        self.conn
            .prepare_cached("INSERT INTO expunged(folder, modseq, uid) VALUES(?1, ?2, ?3)")?
            .execute(params![folder.id.0, self.seq(), uid])?;
        let changed = self
            .conn
            .prepare_cached(
                "UPDATE folder SET modseq = ?3, messages = messages - 1, unseen = unseen - ?4
                 WHERE id = ?1 AND unid = ?2",
            )?
            .execute(params![folder.id.0, &folder.unid.0, self.seq(), !seen])?;
        one(changed, "folder of an entry to remove")
    }
}
