//! Reading one locked database.

use std::ffi::c_int;
use std::ops::RangeInclusive;

use note::{Note, NoteClass, ObjectHash, TimeDate, Unid};

use crate::database::Shared;
use crate::handle::Handle;
use crate::prepared::{hashes, unpack, unpack_into};
use crate::sql::Sql;
use crate::statements::{Row, Sqlite, Value, values};
use crate::{
    Change, Entry, EntryFlags, Folder, FolderId, NoteId, NoteMeta, Quota, Result, StoreError,
    StubMeta,
};

/// Called with the place of a note in a list, and its bytes or what is wrong with them.
pub type NoteVisit<'a> = dyn FnMut(usize, Result<&[u8]>) -> Result<()> + 'a;

/// Longest buffer that is kept from one note to the next, in bytes.
const ROOM_KEPT_MAX: usize = 1 << 20;

/// One database while it is locked. Lists are bounded by the caller: read in batches and let the
/// lock go between them.
pub struct Reader<'a> {
    pub(crate) shared: Option<&'a Shared>,
    pub(crate) handle: &'a Handle,
}

impl Reader<'_> {
    fn sqlite(&self) -> Sqlite<'_> {
        self.handle.sqlite()
    }

    fn list<T>(
        &self,
        sql: Sql,
        values: &[Value<'_>],
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        Ok(self.sqlite().list(sql, values, row)?)
    }

    fn find<T>(
        &self,
        sql: Sql,
        values: &[Value<'_>],
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.sqlite().find(sql, values, row)?)
    }

    /// Title of the database.
    pub fn title(&self) -> &str {
        &self.handle.facts.title
    }

    /// Number of the last change.
    pub fn change_seq(&self) -> u64 {
        self.handle.facts.change_seq
    }

    /// Notes that are not softly deleted.
    pub fn note_count(&self) -> u64 {
        self.handle.facts.notes.max(0) as u64
    }

    /// Sum of the logical sizes of the notes that are not softly deleted, in bytes; a note counts
    /// once, however many folders it is in. Costs nothing.
    pub fn logical_bytes(&self) -> u64 {
        self.handle.facts.logical_bytes.max(0) as u64
    }

    /// How many logical bytes the database may hold. Costs nothing.
    pub fn quota(&self) -> Quota {
        self.handle.facts.quota
    }

    /// The note of this universal id, softly deleted or not.
    pub fn note_by_unid(&self, unid: &Unid) -> Result<Option<NoteMeta>> {
        self.find(Sql::NoteByUnid, values![&unid.0], note_meta)
    }

    /// The note of this local id, softly deleted or not.
    pub fn note_meta(&self, id: NoteId) -> Result<Option<NoteMeta>> {
        self.find(Sql::NoteById, values![id.0], note_meta)
    }

    /// The encoded note, unpacked and checked against its checksum.
    ///
    /// # Errors
    /// [`StoreError::Damage`] when the stored bytes are not what was written.
    pub fn note_bytes(&self, id: NoteId) -> Result<Option<Vec<u8>>> {
        let row = self.find(Sql::NoteBody, values![id.0], |row| {
            let (unpacked, crc): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok((unpacked as u64, crc as u32, row.get::<&[u8]>(2)?.to_vec()))
        })?;
        let Some((unpacked, crc, body)) = row else { return Ok(None) };
        match unpack(body, unpacked, crc) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(what) => Err(self.damage(format!("note {}: {what}", id.0))),
        }
    }

    /// Reads many notes at once: calls `visit` with the place in `ids` and the encoded note, as
    /// [`Reader::note_bytes`] would give it, of each that is there, in the order of `ids`. Cheaper
    /// than one by one: nothing is copied that is not packed, and one buffer serves them all. A
    /// damaged note gives an error in its turn; an error of `visit` ends the reading.
    ///
    /// # Errors
    /// That of `visit`; trouble of the file.
    pub fn each_note_bytes(&self, ids: &[NoteId], visit: &mut NoteVisit<'_>) -> Result<()> {
        let mut room = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let wanted = [Value::Number(id.0)];
            let mut rows = self.sqlite().rows(Sql::NoteBody, &wanted)?;
            let Some(row) = rows.next()? else { continue };
            let (unpacked, crc): (i64, i64) = (row.get(0)?, row.get(1)?);
            let body: &[u8] = row.get(2)?;
            let unpacked = unpack_into(body, unpacked as u64, crc as u32, &mut room);
            visit(at, unpacked.map_err(|what| self.damage(format!("note {}: {what}", id.0))))?;
            if room.capacity() > ROOM_KEPT_MAX {
                room = Vec::new();
            }
        }
        Ok(())
    }

    /// The note with its items.
    ///
    /// # Errors
    /// [`StoreError::Damage`], [`StoreError::Decode`].
    pub fn note(&self, id: NoteId) -> Result<Option<Note>> {
        match self.note_bytes(id)? {
            Some(bytes) => Ok(Some(Note::decode(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Notes whose class intersects `class` and that are not softly deleted, with a local id
    /// greater than `after`, in order of local id.
    pub fn notes(&self, class: NoteClass, after: NoteId, limit: usize) -> Result<Vec<NoteMeta>> {
        self.list(Sql::Notes, values![after.0, class.0, limit_of(limit)], note_meta)
    }

    /// The change feed behind the change `since`: notes and stubs in order of their last change,
    /// about `limit` of them. A page ends with a whole change, so that it may be longer; go on
    /// behind the change of its last line. Nothing follows an empty page.
    pub fn changes(&self, since: u64, limit: usize) -> Result<Vec<Change>> {
        let Some(last) = limit.checked_sub(1) else { return Ok(Vec::new()) };
        let most = limit_of(limit).saturating_add(1);
        let since = since as i64;
        let mut all = self.changed_notes(since, i64::MAX, most)?;
        let stubs = self.changed_stubs(since, i64::MAX, most)?;
        // The last change of a list that was cut may lack some of its lines.
        let cut = [&all, &stubs].into_iter().filter(|list| list.len() > limit);
        let cut = cut.map(|list| list[last].change_seq()).min();
        all.extend(stubs);
        if let Some(cut) = cut {
            all.retain(|change| change.change_seq() < cut);
            let (before, cut) = ((cut as i64).saturating_sub(1), cut as i64);
            all.extend(self.changed_notes(before, cut, -1)?);
            all.extend(self.changed_stubs(before, cut, -1)?);
        }
        all.sort_by_key(Change::change_seq);
        if let Some(last) = all.get(last).map(Change::change_seq) {
            all.retain(|change| change.change_seq() <= last);
        }
        Ok(all)
    }

    /// Notes by their last change, behind one and up to another; a negative `most` is no limit.
    fn changed_notes(&self, behind: i64, up_to: i64, most: i64) -> Result<Vec<Change>> {
        let page = values![behind, up_to, most];
        self.list(Sql::ChangedNotes, page, |row| note_meta(row).map(Change::Note))
    }

    /// Local ids of the notes whose last change (put, soft deletion, restore) is behind `since`, in
    /// no order and at most `limit` of them. Reads an index alone.
    pub fn notes_changed(&self, since: u64, limit: usize) -> Result<Vec<NoteId>> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let page = values![since, limit_of(limit)];
        self.list(Sql::ChangedIds, page, |row| row.get(0).map(NoteId))
    }

    fn changed_stubs(&self, behind: i64, up_to: i64, most: i64) -> Result<Vec<Change>> {
        if self.handle.facts.stubs == 0 {
            return Ok(Vec::new());
        }
        let page = values![behind, up_to, most];
        self.list(Sql::ChangedStubs, page, |row| stub_meta(row).map(Change::Stub))
    }

    /// All folders in order of name.
    pub fn folders(&self) -> Result<Vec<Folder>> {
        self.list(Sql::Folders, &[], folder)
    }

    /// How many folders there are.
    pub fn folder_count(&self) -> Result<u64> {
        let count = self.find(Sql::FolderCount, &[], |row| row.get::<i64>(0))?;
        Ok(count.unwrap_or(0).max(0) as u64)
    }

    /// Sum of the logical sizes of the entries of a folder, in bytes (RFC 9051 STATUS SIZE). Costs
    /// a look at each entry.
    pub fn folder_bytes(&self, folder: FolderId) -> Result<u64> {
        let bytes = self.find(Sql::FolderBytes, values![folder.0], |row| row.get::<f64>(0))?;
        Ok(bytes.unwrap_or(0.0) as u64)
    }

    /// The lowest uid of a folder without \\Seen (RFC 9051 UNSEEN), if any. Costs a look at the
    /// entries before it.
    pub fn first_unseen(&self, folder: FolderId) -> Result<Option<u32>> {
        Ok(self.find(Sql::FirstUnseen, values![folder.0], |row| row.get(0))?.flatten())
    }

    /// The folder of this local id.
    pub fn folder(&self, id: FolderId) -> Result<Option<Folder>> {
        self.find(Sql::FolderById, values![id.0], folder)
    }

    /// The folder of this name (exact).
    pub fn folder_by_name(&self, name: &str) -> Result<Option<Folder>> {
        self.find(Sql::FolderByName, values![name], folder)
    }

    /// Entries of a folder with a uid in `uids`, in order of uid.
    pub fn entries(
        &self,
        folder: FolderId,
        uids: RangeInclusive<u32>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let wanted = values![folder.0, *uids.start(), *uids.end(), limit_of(limit)];
        self.list(Sql::Entries, wanted, entry)
    }

    /// One entry of a folder.
    pub fn entry(&self, folder: FolderId, uid: u32) -> Result<Option<Entry>> {
        self.find(Sql::Entry, values![folder.0, uid], entry)
    }

    /// All entries of a note as folder and uid.
    pub fn entries_of(&self, note: NoteId) -> Result<Vec<(FolderId, u32)>> {
        let place = |row: &Row<'_>| Ok((FolderId(row.get(0)?), row.get(1)?));
        self.list(Sql::EntriesOfNote, values![note.0], place)
    }

    /// Whether a note is in any folder.
    pub fn is_in_folder(&self, note: NoteId) -> Result<bool> {
        Ok(self.find(Sql::IsInFolder, values![note.0], |_| Ok(()))?.is_some())
    }

    /// All uids of a folder, ascending.
    pub fn uids(&self, folder: FolderId) -> Result<Vec<u32>> {
        self.list(Sql::Uids, values![folder.0], |row| row.get(0))
    }

    /// Entries changed after `since` (RFC 7162 CHANGEDSINCE) with a uid greater than `after_uid`,
    /// in order of uid.
    pub fn entries_changed(
        &self,
        folder: FolderId,
        since: u64,
        after_uid: u32,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let wanted = values![folder.0, since as i64, after_uid, limit_of(limit)];
        self.list(Sql::ChangedEntries, wanted, entry)
    }

    /// Uids of entries removed after `since` with the change that removed them, in that order.
    pub fn expunged(&self, folder: FolderId, since: u64) -> Result<Vec<(u32, u64)>> {
        let bounds = values![folder.0, since as i64];
        self.list(Sql::Expunged, bounds, |row| Ok((row.get(0)?, row.get::<i64>(1)? as u64)))
    }

    /// Notes that went to soft deletion before a point in time, the oldest first.
    pub fn soft_deleted(&self, before: TimeDate, limit: usize) -> Result<Vec<NoteMeta>> {
        self.list(Sql::SoftDeleted, values![before.0, limit_of(limit)], note_meta)
    }

    /// Objects that a note refers to, one hash per reference.
    pub(crate) fn hashes_of(&self, id: NoteId) -> Result<Vec<ObjectHash>> {
        let found = self.find(Sql::NoteHashes, values![id.0], |row| {
            Ok(row.get::<Option<&[u8]>>(0)?.map(|bytes| hashes(bytes).collect()))
        })?;
        Ok(found.flatten().unwrap_or_default())
    }

    /// Calls `visit` with every reference to an object.
    pub(crate) fn each_reference(&self, mut visit: impl FnMut(ObjectHash)) -> Result<()> {
        let mut rows = self.sqlite().rows(Sql::AllHashes, &[])?;
        while let Some(row) = rows.next()? {
            hashes(row.get(0)?).for_each(&mut visit);
        }
        Ok(())
    }

    /// What SQLITE_FULL and its like do to the open transaction.
    #[cfg(test)]
    pub(crate) fn roll_back_for_test(&self) {
        self.handle.conn.execute_batch("ROLLBACK").unwrap();
    }

    fn damage(&self, what: String) -> StoreError {
        let path = self.shared.map(|shared| shared.path().to_string()).unwrap_or_default();
        StoreError::Damage { path, what }
    }
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn unid(row: &Row<'_>, column: c_int) -> rusqlite::Result<Unid> {
    row.get(column).map(Unid)
}

fn note_meta(row: &Row<'_>) -> rusqlite::Result<NoteMeta> {
    Ok(NoteMeta {
        id: NoteId(row.get(0)?),
        unid: unid(row, 1)?,
        class: NoteClass(row.get(2)?),
        sequence: row.get(3)?,
        change_seq: row.get::<i64>(4)? as u64,
        modified: TimeDate(row.get(5)?),
        size: row.get::<i64>(6)? as u64,
        date: TimeDate(row.get(7)?),
        seen: row.get(8)?,
        deleted: row.get::<Option<i64>>(9)?.map(TimeDate),
    })
}

fn stub_meta(row: &Row<'_>) -> rusqlite::Result<StubMeta> {
    Ok(StubMeta {
        unid: unid(row, 0)?,
        class: NoteClass(row.get(1)?),
        sequence: row.get(2)?,
        change_seq: row.get::<i64>(3)? as u64,
        deleted: TimeDate(row.get(4)?),
    })
}

fn folder(row: &Row<'_>) -> rusqlite::Result<Folder> {
    Ok(Folder {
        id: FolderId(row.get(0)?),
        unid: unid(row, 1)?,
        name: row.get::<&str>(2)?.to_owned(),
        uidvalidity: row.get(3)?,
        uidnext: row.get(4)?,
        modseq: row.get::<i64>(5)? as u64,
        messages: row.get(6)?,
        unseen: row.get(7)?,
        special_use: row.get::<Option<&str>>(8)?.map(str::to_owned),
        subscribed: row.get(9)?,
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let keywords: &str = row.get(3)?;
    Ok(Entry {
        uid: row.get(0)?,
        modseq: row.get::<i64>(1)? as u64,
        flags: EntryFlags(row.get(2)?),
        keywords: keywords.split_ascii_whitespace().map(str::to_owned).collect(),
        note: NoteId(row.get(4)?),
        size: row.get::<i64>(5)? as u64,
        date: TimeDate(row.get(6)?),
        unid: unid(row, 7)?,
    })
}
