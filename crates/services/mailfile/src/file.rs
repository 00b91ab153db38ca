//! Mail files as they are opened: a handle to the database and what all sessions share.

use std::sync::Arc;

use store::{
    Changed, Database, Entry, EntryFlags, Folder, FolderId, Read, Reader, Store, StoreError, Watch,
};

use crate::briefs::Briefs;
use crate::rules::RuleShelf;
use crate::shelf::{FolderKey, Shelf, Shelved};
use crate::{MailError, UidList};

/// Entries read under one hold of a database's lock.
pub(crate) const SLICE: usize = 1_000;

/// The mail files of one server, with what their sessions share.
pub struct MailFiles {
    pub(crate) store: Arc<Store>,
    pub(crate) shelf: Shelf,
    pub(crate) rules: RuleShelf,
    pub(crate) briefs: Briefs,
}

/// One mail file. Cheap to clone.
#[derive(Clone)]
pub struct MailFile {
    pub(crate) files: Arc<MailFiles>,
    pub(crate) db: Database,
}

impl MailFiles {
    /// The mail files of `store`. One value serves the whole server.
    pub fn new(store: Arc<Store>) -> Arc<MailFiles> {
        let (shelf, rules, briefs) = (Shelf::default(), RuleShelf::default(), Briefs::default());
        Arc::new(MailFiles { store, shelf, rules, briefs })
    }

    /// The store below.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Opens the mail file at `path` (below the data directory).
    ///
    /// # Errors
    /// There is none, or it is fenced.
    pub fn open(self: &Arc<Self>, path: &str) -> Result<MailFile, StoreError> {
        let db = self.store.database(path)?;
        Ok(MailFile { files: self.clone(), db })
    }
}

impl MailFile {
    /// The store below.
    pub fn store(&self) -> &Arc<Store> {
        &self.files.store
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Calls `wake` right after each change, under the database's lock: it may set a flag or wake a
    /// task, nothing more. The watch ends when it is dropped.
    pub fn watch(&self, wake: impl Fn(Changed) + Send + Sync + 'static) -> Watch {
        self.db.on_change(Box::new(wake))
    }

    pub(crate) fn read<T>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<Read<T>, StoreError> {
        self.files.store.read(&self.db, f)
    }

    pub(crate) fn key(&self, folder: &Folder) -> FolderKey {
        let (dbiid, uidvalidity) = (self.db.dbiid(), folder.uidvalidity);
        FolderKey { dbiid, folder: folder.id, uidvalidity }
    }

    /// The uid list of a folder as it is now, made from the shelved one where there is one.
    pub(crate) fn list(&self, rows: &Reader<'_>, folder: &Folder) -> Result<UidList, StoreError> {
        let key = self.key(folder);
        let shelved = match self.files.shelf.get(key) {
            Some(shelved) if shelved.modseq == folder.modseq => return Ok(shelved.list),
            Some(shelved) if shelved.modseq < folder.modseq => bring_up(rows, folder, shelved)?,
            _ => Shelved {
                modseq: folder.modseq,
                uidnext: folder.uidnext,
                list: UidList::from_sorted(&rows.uids(folder.id)?),
                deleted: None,
            },
        };
        let list = shelved.list.clone();
        self.files.shelf.put(key, shelved);
        Ok(list)
    }
}

/// A shelved list made current: expunged uids taken out, new ones put behind.
fn bring_up(rows: &Reader<'_>, folder: &Folder, shelved: Shelved) -> Result<Shelved, StoreError> {
    let expunged = rows.expunged(folder.id, shelved.modseq)?;
    let mut gone: Vec<u32> = expunged.into_iter().map(|(uid, _)| uid).collect();
    gone.sort_unstable();
    let list = shelved.list.without(&gone);
    let (modseq, uidnext) = (folder.modseq, folder.uidnext);
    if let Some(deleted) = &shelved.deleted {
        let changed = rows.entries_changed(folder.id, shelved.modseq, 0, SLICE)?;
        // After more changes than these it is forgotten what is marked deleted.
        if changed.len() < SLICE {
            let new = changed.iter().map(|entry| entry.uid).filter(|uid| *uid >= shelved.uidnext);
            let list = list.appended(&new.collect::<Vec<u32>>());
            let deleted = Some(Arc::new(still_deleted(deleted, &gone, &changed)));
            return Ok(Shelved { modseq, uidnext, list, deleted });
        }
    }
    let list = with_new(rows, folder, (list, shelved.uidnext))?;
    Ok(Shelved { modseq, uidnext, list, deleted: None })
}

/// The list with the entries from uid `next` on put behind.
fn with_new(
    rows: &Reader<'_>,
    folder: &Folder,
    (mut list, mut next): (UidList, u32),
) -> Result<UidList, StoreError> {
    while next < folder.uidnext {
        let entries = rows.entries(folder.id, next..=u32::MAX, SLICE)?;
        let uids: Vec<u32> = entries.iter().map(|entry| entry.uid).collect();
        list = list.appended(&uids);
        match uids.last() {
            Some(last) if uids.len() == SLICE => next = last.saturating_add(1),
            _ => break,
        }
    }
    Ok(list)
}

/// The entries marked deleted after some went and some changed.
fn still_deleted(deleted: &[u32], gone: &[u32], changed: &[Entry]) -> Vec<u32> {
    let is_changed = |uid: &u32| changed.binary_search_by_key(uid, |entry| entry.uid).is_ok();
    let old = deleted.iter().filter(|uid| gone.binary_search(uid).is_err() && !is_changed(uid));
    let new = changed.iter().filter(|entry| entry.flags.contains(EntryFlags::DELETED));
    let mut uids: Vec<u32> = old.copied().chain(new.map(|entry| entry.uid)).collect();
    uids.sort_unstable();
    uids
}

/// The folder, or [`MailError::NoFolder`].
pub(crate) fn found(folder: Option<Folder>, name: &str) -> Result<Folder, MailError> {
    folder.ok_or_else(|| MailError::NoFolder { name: name.to_owned() })
}

/// The folder with this id, or [`MailError::NoFolder`] when it was deleted.
pub(crate) fn found_id(folder: Option<Folder>, id: FolderId) -> Result<Folder, MailError> {
    folder.ok_or_else(|| MailError::NoFolder { name: format!("number {}", id.0) })
}
