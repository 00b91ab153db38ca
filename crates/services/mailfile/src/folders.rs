//! Folders: list, create, delete, rename, subscribe, status.

use store::{Database, Folder, FolderId, Read, StoreError, Writer, Written};

use crate::file::{SLICE, found};
use crate::names::{below, check_name, parents};
use crate::{INBOX, MailError, MailFile, UidList};

/// Folders of one mail file at most.
const FOLDERS_MAX: usize = 10_000;

/// A folder as a session opens it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The folder.
    pub folder: Folder,
    /// Its uids, shared with other sessions.
    pub uids: UidList,
    /// The database's last change that is included.
    pub change_seq: u64,
}

/// Counts of a folder.
#[derive(Clone, Debug)]
pub struct Status {
    /// The folder with its counters.
    pub folder: Folder,
    /// Messages no session was told of yet.
    pub recent: u32,
    /// Sizes of all messages together in bytes, when asked for.
    pub size: u64,
}

impl MailFile {
    /// All folders, by name.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn folders(&self) -> Result<Read<Vec<Folder>>, StoreError> {
        let mut read = self.read(|rows| rows.folders())?;
        read.value.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(read)
    }

    /// Opens a folder by its name.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn open_folder(&self, name: &str) -> Result<Read<Snapshot>, MailError> {
        let read = self.read(|rows| {
            let Some(folder) = rows.folder_by_name(name)? else { return Ok(None) };
            let uids = self.list(rows, &folder)?;
            Ok(Some(Snapshot { folder, uids, change_seq: rows.change_seq() }))
        })?;
        let no_folder = || MailError::NoFolder { name: name.to_owned() };
        Ok(Read { value: read.value.ok_or_else(no_folder)?, lsn: read.lsn })
    }

    /// Whether the folder was deleted.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn is_gone(&self, folder: FolderId) -> Result<bool, StoreError> {
        Ok(self.read(|rows| rows.folder(folder))?.value.is_none())
    }

    /// The counts of a folder; `size` is counted only when `with_size`.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn status(&self, name: &str, with_size: bool) -> Result<Read<Status>, MailError> {
        let read = self.read(|rows| {
            let Some(folder) = rows.folder_by_name(name)? else { return Ok(None) };
            let from = self.files.shelf.recent_from(self.key(&folder));
            let recent = match folder.uidnext > from {
                true => self.list(rows, &folder).map(|list| list.len() - list.lower_bound(from))?,
                false => 0,
            };
            Ok(Some(Status { folder, recent, size: 0 }))
        })?;
        let mut status = read.value.ok_or_else(|| MailError::NoFolder { name: name.to_owned() })?;
        let mut lsn = read.lsn;
        if with_size {
            let sum = self.total_size(status.folder.id)?;
            status.size = sum.value;
            lsn = lsn.max(sum.lsn);
        }
        Ok(Read { value: status, lsn })
    }

    fn total_size(&self, folder: FolderId) -> Result<Read<u64>, StoreError> {
        let (mut sum, mut next) = (0u64, 1u32);
        loop {
            let read = self.read(|rows| rows.entries(folder, next..=u32::MAX, SLICE))?;
            sum += read.value.iter().map(|entry| entry.size).sum::<u64>();
            match read.value.last().and_then(|last| last.uid.checked_add(1)) {
                Some(after) if read.value.len() == SLICE => next = after,
                _ => return Ok(Read { value: sum, lsn: read.lsn }),
            }
        }
    }

    /// Makes the recent mail of a folder this session's: gives the first uid that was recent.
    pub fn claim_recent(&self, folder: &Folder) -> u32 {
        self.files.shelf.claim_recent(self.key(folder), folder.uidnext)
    }

    /// The first uid of a folder that no session was told of.
    pub fn recent_from(&self, folder: &Folder) -> u32 {
        self.files.shelf.recent_from(self.key(folder))
    }

    /// Creates a folder, and those above it that are missing.
    ///
    /// # Errors
    /// The name is taken or not possible, there are too many folders, the database is in trouble.
    pub fn create_folder(
        &self,
        name: &str,
        special_use: Option<&str>,
    ) -> Result<Written<Folder>, MailError> {
        check_name(name)?;
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            room_for(w, db, parents(name).count() + 1)?;
            create_in(w, db, name, special_use)
        })
    }

    /// Deletes a folder and what is in it; folders below it stay.
    ///
    /// # Errors
    /// [`MailError::InboxStays`], [`MailError::HasChildren`] when there are only folders below that
    /// name, [`MailError::NoFolder`], or the database is in trouble.
    pub fn delete_folder(&self, name: &str) -> Result<Written<()>, MailError> {
        if name == INBOX {
            return Err(MailError::InboxStays);
        }
        let db = &self.db;
        self.files.store.write_reserved(&[db], |w| {
            let folders = w.reader(db)?.folders()?;
            let Some(folder) = folders.iter().find(|folder| folder.name == name) else {
                let name = name.to_owned();
                let implied = folders.iter().any(|folder| below(&folder.name, &name).is_some());
                return Err(match implied {
                    true => MailError::HasChildren { name },
                    false => MailError::NoFolder { name },
                });
            };
            w.delete_folder(db, folder.id)?;
            Ok(())
        })
    }

    /// Renames a folder and those below it. INBOX keeps its name and its children, and gives its
    /// messages to a new folder (RFC 3501 §6.3.5).
    ///
    /// # Errors
    /// The new name is taken or not possible, there is no such folder, the database is in trouble.
    pub fn rename_folder(&self, from: &str, to: &str) -> Result<Written<()>, MailError> {
        check_name(to)?;
        if to == INBOX || to == from {
            return Err(MailError::FolderExists { name: to.to_owned() });
        }
        if below(to, from).is_some() && from != INBOX {
            return Err(MailError::BelowItself);
        }
        if from == INBOX {
            return self.empty_inbox_into(to);
        }
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let folders = w.reader(db)?.folders()?;
            let moved = renamed(&folders, from, to)?;
            for parent in parents(to) {
                ensure(w, db, parent)?;
            }
            for (id, name) in &moved {
                w.rename_folder(db, *id, name)?;
            }
            Ok(())
        })
    }

    fn empty_inbox_into(&self, to: &str) -> Result<Written<()>, MailError> {
        let inbox = self.open_folder(INBOX)?.value;
        let target = self.create_folder(to, None)?;
        let mut lsn = target.lsn;
        let uids: Vec<u32> = inbox.uids.iter().collect();
        for slice in uids.chunks(SLICE) {
            lsn = self.move_entries(inbox.folder.id, slice, to)?.lsn;
        }
        Ok(Written { value: (), lsn })
    }

    /// Notes whether the owner wants to see a folder.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn subscribe(&self, name: &str, on: bool) -> Result<Written<()>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let folder = found(w.reader(db)?.folder_by_name(name)?, name)?;
            if folder.subscribed != on {
                w.subscribe(db, folder.id, on)?;
            }
            Ok(())
        })
    }
}

fn room_for(w: &mut Writer<'_>, db: &Database, more: usize) -> Result<(), MailError> {
    if w.reader(db)?.folders()?.len() + more > FOLDERS_MAX {
        return Err(MailError::TooManyFolders { max: FOLDERS_MAX });
    }
    Ok(())
}

fn create_in(
    w: &mut Writer<'_>,
    db: &Database,
    name: &str,
    special_use: Option<&str>,
) -> Result<Folder, MailError> {
    if w.reader(db)?.folder_by_name(name)?.is_some() {
        return Err(MailError::FolderExists { name: name.to_owned() });
    }
    for parent in parents(name) {
        ensure(w, db, parent)?;
    }
    Ok(w.create_folder(db, name, special_use)?)
}

/// Creates a folder unless it is there.
fn ensure(w: &mut Writer<'_>, db: &Database, name: &str) -> Result<(), MailError> {
    if w.reader(db)?.folder_by_name(name)?.is_none() {
        w.create_folder(db, name, None)?;
    }
    Ok(())
}

/// The folders that get a new name, with it.
fn renamed(folders: &[Folder], from: &str, to: &str) -> Result<Vec<(FolderId, String)>, MailError> {
    let mut moved = Vec::new();
    for folder in folders {
        if folder.name == from {
            moved.push((folder.id, to.to_owned()));
        } else if let Some(rest) = below(&folder.name, from) {
            moved.push((folder.id, format!("{to}/{rest}")));
        }
    }
    // The upper ones first, so that no new name meets an old one that is still to go.
    moved.sort_by(|a: &(FolderId, String), b| a.1.cmp(&b.1));
    if moved.is_empty() {
        return Err(MailError::NoFolder { name: from.to_owned() });
    }
    for (_, name) in &moved {
        check_name(name)?;
        let taken = |folder: &&Folder| {
            folder.name == *name && !moved.iter().any(|(id, _)| *id == folder.id)
        };
        if folders.iter().any(|folder| taken(&folder)) {
            return Err(MailError::FolderExists { name: name.clone() });
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests;
