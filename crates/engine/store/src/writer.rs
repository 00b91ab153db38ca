//! What a write can do: notes, folders, entries, flags.

use note::{NoteClass, ObjectHash, TimeDate, Unid};

use crate::op::{FolderRef, NewEntry, NewFolder, NoteRef, Op, PutNote};
use crate::prepared::{NoteBlob, PreparedNote};
use crate::{
    Database, Entry, EntryFlags, Folder, FolderId, NoteId, NoteMeta, Put, Quota, Result,
    StoreError, Stub, Writer,
};

/// Flags that belong to the entry; \Seen is the note's.
const ENTRY_FLAGS: EntryFlags = EntryFlags(
    EntryFlags::ANSWERED.0 | EntryFlags::FLAGGED.0 | EntryFlags::DELETED.0 | EntryFlags::DRAFT.0,
);

fn note_ref(meta: &NoteMeta) -> NoteRef {
    NoteRef { id: meta.id, unid: meta.unid }
}

fn folder_ref(folder: &Folder) -> FolderRef {
    FolderRef { id: folder.id, unid: folder.unid }
}

fn joined(keywords: &[String]) -> String {
    keywords.join(" ")
}

impl Writer<'_> {
    fn known_note(&self, database: &Database, id: NoteId) -> Result<NoteMeta> {
        self.reader(database)?.note_meta(id)?.ok_or(StoreError::NoNote(id))
    }

    fn known_folder(&self, database: &Database, id: FolderId) -> Result<Folder> {
        self.reader(database)?.folder(id)?.ok_or(StoreError::NoFolder(id))
    }

    fn known_entry(&self, database: &Database, folder: FolderId, uid: u32) -> Result<Entry> {
        let entry = self.reader(database)?.entry(folder, uid)?;
        entry.ok_or(StoreError::NoEntry { folder, uid })
    }

    /// Puts a note; one of the same UNID is replaced, keeping its local id, entries and read mark.
    pub fn put_note(&mut self, database: &Database, prepared: &PreparedNote) -> Result<Put> {
        let old = self.reader(database)?.note_by_unid(&prepared.unid())?;
        let (id, created) = match &old {
            Some(old) => (old.id, false),
            None => (NoteId(self.facts(database)?.note_next), true),
        };
        let replaced = old.as_ref().map_or(0, |old| old.class.0);
        self.touch_class(database, NoteClass(prepared.class().0 | replaced))?;
        let lost = match old {
            Some(_) => self.reader(database)?.hashes_of(id)?,
            None => Vec::new(),
        };
        let index = self.blob_index(prepared);
        let blob = NoteBlob::decode(prepared.blob()).map_err(|_| StoreError::Aborted)?;
        self.emit(database, &Op::PutNote(PutNote { id, created, index, blob }))?;
        self.count(database, lost.into_iter(), -1)?;
        self.count(database, prepared.tickets().iter().map(|ticket| ticket.hash), 1)?;
        Ok(Put { id, created })
    }

    /// Deletes a note for good, removing it from its folders.
    pub fn delete_note(&mut self, database: &Database, id: NoteId, stub: Stub) -> Result<()> {
        let meta = self.known_note(database, id)?;
        for (folder, uid) in self.reader(database)?.entries_of(id)? {
            self.remove_entry(database, folder, uid)?;
        }
        self.purge(database, &meta, stub)
    }

    fn purge(&mut self, database: &Database, meta: &NoteMeta, stub: Stub) -> Result<()> {
        let note = note_ref(meta);
        self.touch_class(database, meta.class)?;
        let lost: Vec<ObjectHash> = self.reader(database)?.hashes_of(note.id)?;
        let stub = stub == Stub::Keep;
        self.emit(database, &Op::DeleteNote { note, stub, time: self.now() })?;
        self.count(database, lost.into_iter(), -1)
    }

    /// Moves a note to soft deletion, removing it from its folders. Nothing happens when it is
    /// there already.
    pub fn soft_delete(&mut self, database: &Database, id: NoteId) -> Result<()> {
        let meta = self.known_note(database, id)?;
        for (folder, uid) in self.reader(database)?.entries_of(id)? {
            self.remove_entry(database, folder, uid)?;
        }
        self.set_deleted(database, &meta, Some(self.now()))
    }

    /// Takes a note back from soft deletion; its old entries do not come back.
    pub fn restore(&mut self, database: &Database, id: NoteId) -> Result<()> {
        let meta = self.known_note(database, id)?;
        self.set_deleted(database, &meta, None)
    }

    fn set_deleted(
        &mut self,
        database: &Database,
        meta: &NoteMeta,
        deleted: Option<TimeDate>,
    ) -> Result<()> {
        if meta.deleted.is_some() == deleted.is_some() {
            return Ok(());
        }
        self.touch_class(database, meta.class)?;
        self.emit(database, &Op::SetDeleted { note: note_ref(meta), deleted })
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
        let folder = self.known_folder(database, id)?;
        let meta = self.known_note(database, note)?;
        if folder.uidnext == u32::MAX {
            return Err(StoreError::UidsExhausted(id));
        }
        self.set_deleted(database, &meta, None)?;
        if flags.contains(EntryFlags::SEEN) && !meta.seen {
            self.set_seen(database, note, true)?;
        }
        let seen = meta.seen || flags.contains(EntryFlags::SEEN);
        let mark = if seen { EntryFlags::SEEN } else { EntryFlags::NONE };
        let entry = NewEntry {
            folder: folder_ref(&folder),
            note: note_ref(&meta),
            uid: folder.uidnext,
            flags: (flags & ENTRY_FLAGS | mark).0,
            keywords: &joined(keywords),
        };
        self.emit(database, &Op::AddEntry(entry))?;
        Ok(folder.uidnext)
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
        let folder = folder_ref(&self.known_folder(database, id)?);
        let keywords = &joined(keywords);
        self.emit(database, &Op::SetFlags { folder, uid, flags: flags.0, keywords })?;
        self.change_seq(database)
    }

    /// Sets the owner's read mark of a note, which every entry of it shows. Nothing happens when
    /// it is set already.
    pub fn set_seen(&mut self, database: &Database, note: NoteId, seen: bool) -> Result<()> {
        let meta = self.known_note(database, note)?;
        if meta.seen == seen {
            return Ok(());
        }
        self.emit(database, &Op::SetSeen { note: note_ref(&meta), seen })
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
        let entry = self.known_entry(database, id, uid)?;
        let folder = folder_ref(&self.known_folder(database, id)?);
        let seen = entry.flags.contains(EntryFlags::SEEN);
        self.emit(database, &Op::RemoveEntry { folder, uid, note: entry.note, seen })?;
        Ok(entry.note)
    }

    /// What happens to a note when an entry of it is gone.
    fn leave(&mut self, database: &Database, note: NoteId) -> Result<()> {
        if self.reader(database)?.is_in_folder(note)? {
            return Ok(());
        }
        let meta = self.known_note(database, note)?;
        if self.facts(database)?.soft_delete {
            self.set_deleted(database, &meta, Some(self.now()))
        } else {
            self.purge(database, &meta, Stub::Keep)
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
