//! Expunging: entries go, their uids are remembered, notes without entries go to soft deletion.

use store::{EntryFlags, FolderId, Read, StoreError, Written};
use txlog::Lsn;

use crate::file::{SLICE, found_id};
use crate::messages::entries_of;
use crate::{MailError, MailFile};

impl MailFile {
    /// Removes the entries of a folder that are marked deleted; with `only` (ascending) just those
    /// among them. Gives the uids that went.
    ///
    /// # Errors
    /// The folder is gone, or the database is in trouble; what was removed until then stays
    /// removed.
    pub fn expunge(
        &self,
        folder: FolderId,
        only: Option<&[u32]>,
    ) -> Result<Written<Vec<u32>>, MailError> {
        let marked = self.marked(folder)?;
        let mut uids = marked.value;
        if let Some(only) = only {
            uids.retain(|uid| only.binary_search(uid).is_ok());
        }
        let mut gone = Written { value: Vec::with_capacity(uids.len()), lsn: marked.lsn };
        for slice in uids.chunks(SLICE) {
            let written = self.remove(folder, slice, EntryFlags::DELETED)?;
            gone.value.extend(written.value);
            gone.lsn = written.lsn;
        }
        Ok(gone)
    }

    /// Removes the entries with these uids (ascending), marked deleted or not; missing ones are
    /// passed over. Gives the uids that went.
    ///
    /// # Errors
    /// The database is in trouble; what was removed until then stays removed.
    pub fn remove_entries(
        &self,
        folder: FolderId,
        uids: &[u32],
    ) -> Result<Written<Vec<u32>>, MailError> {
        let mut gone = Written { value: Vec::with_capacity(uids.len()), lsn: Lsn::ZERO };
        for slice in uids.chunks(SLICE) {
            let written = self.remove(folder, slice, EntryFlags::NONE)?;
            gone.value.extend(written.value);
            gone.lsn = written.lsn;
        }
        Ok(gone)
    }

    /// The uids of entries that are marked deleted: from the shelf, or read once and kept there.
    fn marked(&self, folder: FolderId) -> Result<Read<Vec<u32>>, MailError> {
        let read = self.read(|rows| {
            let known = rows.folder(folder)?;
            if let Some(known) = &known {
                self.list(rows, known)?;
            }
            Ok(known)
        })?;
        let known = found_id(read.value, folder)?;
        let key = self.key(&known);
        let shelved = self.files.shelf.get(key).filter(|kept| kept.modseq >= known.modseq);
        if let Some(deleted) = shelved.and_then(|kept| kept.deleted) {
            return Ok(Read { value: deleted.to_vec(), lsn: read.lsn });
        }
        let found = self.scan_deleted(folder)?;
        self.files.shelf.put_deleted(key, known.modseq, found.value.clone());
        Ok(found)
    }

    fn scan_deleted(&self, folder: FolderId) -> Result<Read<Vec<u32>>, StoreError> {
        let (mut uids, mut next) = (Vec::new(), 1u32);
        loop {
            let read = self.read(|rows| rows.entries(folder, next..=u32::MAX, SLICE))?;
            let marked = read.value.iter().filter(|e| e.flags.contains(EntryFlags::DELETED));
            uids.extend(marked.map(|entry| entry.uid));
            match read.value.last().and_then(|last| last.uid.checked_add(1)) {
                Some(after) if read.value.len() == SLICE => next = after,
                _ => return Ok(Read { value: uids, lsn: read.lsn }),
            }
        }
    }

    /// Removes those of `uids` that have the flags.
    fn remove(
        &self,
        folder: FolderId,
        uids: &[u32],
        flags: EntryFlags,
    ) -> Result<Written<Vec<u32>>, MailError> {
        let db = &self.db;
        self.files.store.write_reserved(&[db], |w| {
            let entries = entries_of(&w.reader(db)?, folder, uids)?;
            let meant = entries.iter().filter(|entry| entry.flags.contains(flags));
            let uids: Vec<u32> = meant.map(|entry| entry.uid).collect();
            for uid in &uids {
                w.remove_from_folder(db, folder, *uid)?;
            }
            Ok(uids)
        })
    }
}
