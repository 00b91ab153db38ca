//! What a write can do: notes, folders, entries, flags.

use note::{NoteClass, ObjectHash, TimeDate, Unid};

use crate::op::{FolderRef, NewEntry, NewFolder, NoteRef, Op, PutNote};
use crate::prepared::{NoteBlob, PreparedNote};
use crate::sql::Sql;
use crate::statements::values;
use crate::{
    Database, Entry, EntryFlags, Folder, FolderId, NoteId, Put, Quota, Result, StoreError, Stub,
    Writer,
};

/// Flags that belong to the entry; \Seen is the note's.
const ENTRY_FLAGS: EntryFlags = EntryFlags(
    EntryFlags::ANSWERED.0 | EntryFlags::FLAGGED.0 | EntryFlags::DELETED.0 | EntryFlags::DRAFT.0,
);

/// What a change of a note has to know of it.
struct NoteMarks {
    note: NoteRef,
    class: NoteClass,
    seen: bool,
    /// It is softly deleted.
    deleted: bool,
}

fn folder_ref(folder: &Folder) -> FolderRef {
    FolderRef { id: folder.id, unid: folder.unid }
}

fn joined(keywords: &[String]) -> String {
    keywords.join(" ")
}

impl Writer<'_> {
    fn known_note(&self, database: &Database, id: NoteId) -> Result<NoteMarks> {
        let reader = self.reader(database)?;
        let marks = reader.handle.sqlite().find(Sql::MarksOfNote, values![id.0], |row| {
            Ok(NoteMarks {
                note: NoteRef { id, unid: Unid(row.get(0)?) },
                class: NoteClass(row.get(1)?),
                seen: row.get(2)?,
                deleted: row.get(3)?,
            })
        })?;
        marks.ok_or(StoreError::NoNote(id))
    }

    fn known_folder(&self, database: &Database, id: FolderId) -> Result<Folder> {
        self.reader(database)?.folder(id)?.ok_or(StoreError::NoFolder(id))
    }

    /// A folder, and the uid that its next entry gets.
    fn next_of(&self, database: &Database, id: FolderId) -> Result<(FolderRef, u32)> {
        let reader = self.reader(database)?;
        let next = reader.handle.sqlite().find(Sql::NextOfFolder, values![id.0], |row| {
            Ok((FolderRef { id, unid: Unid(row.get(0)?) }, row.get(1)?))
        })?;
        next.ok_or(StoreError::NoFolder(id))
    }

    fn known_entry(&self, database: &Database, folder: FolderId, uid: u32) -> Result<Entry> {
        let entry = self.reader(database)?.entry(folder, uid)?;
        entry.ok_or(StoreError::NoEntry { folder, uid })
    }

    /// Puts a note; one of the same UNID is replaced, keeping its local id, entries and read mark.
    pub fn put_note(&mut self, database: &Database, prepared: &PreparedNote) -> Result<Put> {
        let reader = self.reader(database)?;
        let unid = prepared.unid();
        let old = reader.handle.sqlite().find(Sql::IdOfNote, values![&unid.0], |row| {
            Ok((NoteId(row.get(0)?), row.get::<u16>(1)?))
        })?;
        let (id, created, replaced, lost) = match old {
            Some((id, class)) => (id, false, class, reader.hashes_of(id)?),
            None => (NoteId(self.facts(database)?.note_next), true, 0, Vec::new()),
        };
        self.touch_class(database, NoteClass(prepared.class().0 | replaced))?;
        let index = self.blob_index(prepared);
        let blob = NoteBlob::decode(prepared.blob()).map_err(|_| StoreError::Aborted)?;
        self.emit(database, &Op::PutNote(PutNote { id, created, index, blob }))?;
        self.count(database, lost.into_iter(), -1)?;
        self.count(database, prepared.tickets().iter().map(|ticket| ticket.hash), 1)?;
        Ok(Put { id, created })
    }

    /// Deletes a note for good, removing it from its folders.
    pub fn delete_note(&mut self, database: &Database, id: NoteId, stub: Stub) -> Result<()> {
        let marks = self.known_note(database, id)?;
        for (folder, uid) in self.reader(database)?.entries_of(id)? {
            self.remove_entry(database, folder, uid)?;
        }
        self.purge(database, &marks, stub)
    }

    fn purge(&mut self, database: &Database, marks: &NoteMarks, stub: Stub) -> Result<()> {
        let note = marks.note;
        self.touch_class(database, marks.class)?;
        let lost: Vec<ObjectHash> = self.reader(database)?.hashes_of(note.id)?;
        let stub = stub == Stub::Keep;
        self.emit(database, &Op::DeleteNote { note, stub, time: self.now() })?;
        self.count(database, lost.into_iter(), -1)
    }

    /// Moves a note to soft deletion, removing it from its folders. Nothing happens when it is
    /// there already.
    pub fn soft_delete(&mut self, database: &Database, id: NoteId) -> Result<()> {
        let marks = self.known_note(database, id)?;
        for (folder, uid) in self.reader(database)?.entries_of(id)? {
            self.remove_entry(database, folder, uid)?;
        }
        self.set_deleted(database, &marks, Some(self.now()))
    }

    /// Takes a note back from soft deletion; its old entries do not come back.
    pub fn restore(&mut self, database: &Database, id: NoteId) -> Result<()> {
        let marks = self.known_note(database, id)?;
        self.set_deleted(database, &marks, None)
    }

    fn set_deleted(
        &mut self,
        database: &Database,
        marks: &NoteMarks,
        deleted: Option<TimeDate>,
    ) -> Result<()> {
        if marks.deleted == deleted.is_some() {
            return Ok(());
        }
        self.touch_class(database, marks.class)?;
        self.emit(database, &Op::SetDeleted { note: marks.note, deleted })
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// [`StoreError::FolderExists`].
    pub fn create_folder(
        &mut self,
        database: &Database,
        name: &str,
        special_use: Option<&str>,
    ) -> Result<Folder> {
        self.refuse_name(database, name)?;
        let facts = self.facts(database)?;
        let id = FolderId(facts.folder_next);
        let now = u32::try_from(self.now().unix_seconds()).unwrap_or(0);
        let uidvalidity = now.max(1).max(facts.uidvalidity.saturating_add(1));
        if uidvalidity <= facts.uidvalidity {
            return Err(StoreError::UidsExhausted(id));
        }
        let folder = FolderRef { id, unid: self.store().new_unid() };
        self.emit(
            database,
            &Op::CreateFolder(NewFolder { folder, name, uidvalidity, special_use }),
        )?;
        self.known_folder(database, id)
    }

    fn refuse_name(&self, database: &Database, name: &str) -> Result<()> {
        match self.reader(database)?.folder_by_name(name)? {
            Some(_) => Err(StoreError::FolderExists { name: name.to_owned() }),
            None => Ok(()),
        }
    }

    /// Gives a folder another name; uids and UIDVALIDITY stay.
    ///
    /// # Errors
    /// [`StoreError::FolderExists`].
    pub fn rename_folder(&mut self, database: &Database, id: FolderId, name: &str) -> Result<()> {
        let folder = self.known_folder(database, id)?;
        if folder.name == name {
            return Ok(());
        }
        self.refuse_name(database, name)?;
        self.emit(database, &Op::RenameFolder { folder: folder_ref(&folder), name })
    }

    /// Deletes a folder; its notes that are in no other folder leave as from their last folder.
    pub fn delete_folder(&mut self, database: &Database, id: FolderId) -> Result<()> {
        let folder = self.known_folder(database, id)?;
        let mut notes = Vec::new();
        let mut after = 0;
        loop {
            let batch = self.reader(database)?.entries(id, after + 1..=u32::MAX, 1_000)?;
            let Some(last) = batch.last() else { break };
            after = last.uid;
            notes.extend(batch.iter().map(|entry| entry.note));
            if after == u32::MAX {
                break;
            }
        }
        self.emit(database, &Op::DeleteFolder { folder: folder_ref(&folder) })?;
        notes.sort_unstable();
        notes.dedup();
        notes.into_iter().try_for_each(|note| self.leave(database, note))
    }

    /// Subscribes to a folder, or no longer.
    pub fn subscribe(&mut self, database: &Database, id: FolderId, subscribed: bool) -> Result<()> {
        let folder = self.known_folder(database, id)?;
        if folder.subscribed == subscribed {
            return Ok(());
        }
        self.emit(database, &Op::Subscribe { folder: folder_ref(&folder), subscribed })
    }

    /// Adds a note to a folder; gives the uid. SEEN among the flags sets the note's mark too. A
    /// softly deleted note is restored.
    ///
    /// # Errors
    /// [`StoreError::UidsExhausted`] after 2^32 - 2 entries.
    pub fn add_to_folder(
        &mut self,
        database: &Database,
        id: FolderId,
        note: NoteId,
        flags: EntryFlags,
        keywords: &[String],
    ) -> Result<u32> {
        let (folder, uid) = self.next_of(database, id)?;
        let marks = self.known_note(database, note)?;
        if uid == u32::MAX {
            return Err(StoreError::UidsExhausted(id));
        }
        self.set_deleted(database, &marks, None)?;
        if flags.contains(EntryFlags::SEEN) && !marks.seen {
            self.set_seen(database, note, true)?;
        }
        let seen = marks.seen || flags.contains(EntryFlags::SEEN);
        let mark = if seen { EntryFlags::SEEN } else { EntryFlags::NONE };
        let entry = NewEntry {
            folder,
            note: marks.note,
            uid,
            flags: (flags & ENTRY_FLAGS | mark).0,
            keywords: &joined(keywords),
        };
        self.emit(database, &Op::AddEntry(entry))?;
        Ok(uid)
    }

    /// Sets flags and keywords of an entry; gives its modseq. SEEN is ignored here (see
    /// [`Writer::set_seen`]). Nothing happens when they are set already.
    pub fn set_flags(
        &mut self,
        database: &Database,
        id: FolderId,
        uid: u32,
        flags: EntryFlags,
        keywords: &[String],
    ) -> Result<u64> {
        let entry = self.known_entry(database, id, uid)?;
        let flags = flags & ENTRY_FLAGS | entry.flags & EntryFlags::SEEN;
        if flags == entry.flags && keywords == entry.keywords {
            return Ok(entry.modseq);
        }
        let (folder, _) = self.next_of(database, id)?;
        let keywords = &joined(keywords);
        self.emit(database, &Op::SetFlags { folder, uid, flags: flags.0, keywords })?;
        self.change_seq(database)
    }

    /// Sets the owner's read mark of a note, which every entry of it shows. Nothing happens when
    /// it is set already.
    pub fn set_seen(&mut self, database: &Database, note: NoteId, seen: bool) -> Result<()> {
        let marks = self.known_note(database, note)?;
        if marks.seen == seen {
            return Ok(());
        }
        self.emit(database, &Op::SetSeen { note: marks.note, seen })
    }

    /// Removes an entry and remembers its uid; a note that was in no other folder goes to soft
    /// deletion, or is deleted when the database has none.
    pub fn remove_from_folder(
        &mut self,
        database: &Database,
        id: FolderId,
        uid: u32,
    ) -> Result<()> {
        let note = self.remove_entry(database, id, uid)?;
        self.leave(database, note)
    }

    fn remove_entry(&mut self, database: &Database, id: FolderId, uid: u32) -> Result<NoteId> {
        let reader = self.reader(database)?;
        let entry = reader.handle.sqlite().find(Sql::MarksOfEntry, values![id.0, uid], |row| {
            Ok((EntryFlags(row.get(0)?), NoteId(row.get(1)?)))
        })?;
        let (flags, note) = entry.ok_or(StoreError::NoEntry { folder: id, uid })?;
        let (folder, _) = self.next_of(database, id)?;
        let seen = flags.contains(EntryFlags::SEEN);
        self.emit(database, &Op::RemoveEntry { folder, uid, note, seen })?;
        Ok(note)
    }

    /// What happens to a note when an entry of it is gone.
    fn leave(&mut self, database: &Database, note: NoteId) -> Result<()> {
        if self.reader(database)?.is_in_folder(note)? {
            return Ok(());
        }
        let marks = self.known_note(database, note)?;
        if self.facts(database)?.soft_delete {
            self.set_deleted(database, &marks, Some(self.now()))
        } else {
            self.purge(database, &marks, Stub::Keep)
        }
    }

    /// Gives the database another title.
    pub fn set_title(&mut self, database: &Database, title: &str) -> Result<()> {
        if &*self.facts(database)?.title == title {
            return Ok(());
        }
        self.emit(database, &Op::SetTitle { title })
    }

    /// Sets how many logical bytes the database may hold. Nothing is refused or removed for it.
    /// Limits above 2^63 - 1 mean that number.
    pub fn set_quota(&mut self, database: &Database, quota: Quota) -> Result<()> {
        let quota = Quota {
            limit_bytes: quota.limit_bytes.min(i64::MAX as u64),
            warn_bytes: quota.warn_bytes.min(i64::MAX as u64),
        };
        if self.facts(database)?.quota == quota {
            return Ok(());
        }
        self.emit(database, &Op::SetQuota(quota))
    }

    /// A new universal id.
    pub fn new_unid(&self) -> Unid {
        self.store().new_unid()
    }
}
