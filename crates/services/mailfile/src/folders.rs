//! Folders: list, create, delete, rename, subscribe, status.

mod subscriptions;

use store::{Database, Folder, FolderId, Read, Reader, StoreError, Writer, Written};

use crate::names::{below, check_name, parents};
use crate::{INBOX, MailError, MailFile, UidList};

/// Messages of a folder that is opened in little time.
const SMALL_MESSAGES: u32 = 2_000;
/// Folders of one mail file at most.
const FOLDERS_MAX: usize = 10_000;

/// A folder as a session opens it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The folder.
    pub folder: Folder,
    /// Its uids, shared with other sessions.
    pub uids: UidList,
    /// The lowest uid without \\Seen.
    pub first_unseen: Option<u32>,
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
            self.snapshot(rows, folder).map(Some)
        })?;
        let no_folder = || MailError::NoFolder { name: name.to_owned() };
        Ok(Read { value: read.value.ok_or_else(no_folder)?, lsn: read.lsn })
    }

    /// The same for a folder of few messages, which takes little time; `None` when it has many.
    ///
    /// # Errors
    /// As [`MailFile::open_folder`].
    pub fn open_small_folder(&self, name: &str) -> Result<Option<Read<Snapshot>>, MailError> {
        let read = self.read(|rows| {
            let Some(folder) = rows.folder_by_name(name)? else { return Ok(None) };
            match folder.messages {
                ..=SMALL_MESSAGES => self.snapshot(rows, folder).map(|small| Some(Some(small))),
                _ => Ok(Some(None)),
            }
        })?;
        let opened = read.value.ok_or_else(|| MailError::NoFolder { name: name.to_owned() })?;
        Ok(opened.map(|value| Read { value, lsn: read.lsn }))
    }

    fn snapshot(&self, rows: &Reader<'_>, folder: Folder) -> Result<Snapshot, StoreError> {
        let uids = self.list(rows, &folder)?;
        let first_unseen = match folder.unseen {
            0 => None,
            all if all == folder.messages => uids.get(0),
            _ => rows.first_unseen(folder.id)?,
        };
        Ok(Snapshot { folder, uids, first_unseen, change_seq: rows.change_seq() })
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
            let size = if with_size { rows.folder_bytes(folder.id)? } else { 0 };
            Ok(Some(Status { folder, recent, size }))
        })?;
        let status = read.value.ok_or_else(|| MailError::NoFolder { name: name.to_owned() })?;
        Ok(Read { value: status, lsn: read.lsn })
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
        // How many messages go is only known within.
        let _long = self.long_work(usize::MAX);
        self.files.store.write_reserved(&[db], |w| {
            let reader = w.reader(db)?;
            let Some(folder) = reader.folder_by_name(name)? else {
                let folders = reader.folders()?;
                let implied = folders.iter().any(|folder| below(&folder.name, name).is_some());
                let name = name.to_owned();
                return Err(match implied {
                    true => MailError::HasChildren { name },
                    false => MailError::NoFolder { name },
                });
            };
            if folder.subscribed {
                subscriptions::keep(w, db, name)?;
            }
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
        let uids: Vec<u32> = inbox.uids.iter().collect();
        let moved = self.move_entries(inbox.folder.id, &uids, to)?;
        let lsn = moved.lsn.max(target.lsn);
        Ok(Written { value: (), lsn })
    }

    /// Notes whether the owner wants to see a folder. A subscription outlives its folder, so that
    /// it can be given up afterwards.
    ///
    /// # Errors
    /// [`MailError::NoFolder`], or the database is in trouble.
    pub fn subscribe(&self, name: &str, on: bool) -> Result<Written<()>, MailError> {
        let db = &self.db;
        self.files.store.write(&[db], |w| {
            let Some(folder) = w.reader(db)?.folder_by_name(name)? else {
                let known = if on {
                    subscriptions::has(w, db, name)?
                } else {
                    subscriptions::drop(w, db, name)?
                };
                let name = name.to_owned();
                return if known { Ok(()) } else { Err(MailError::NoFolder { name }) };
            };
            if folder.subscribed != on {
                w.subscribe(db, folder.id, on)?;
            }
            Ok(())
        })
    }

    /// Names of folders that are gone and still subscribed to, in order.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn orphaned_subscriptions(&self) -> Result<Read<Vec<String>>, StoreError> {
        self.read(subscriptions::load)
    }
}

fn room_for(w: &mut Writer<'_>, db: &Database, more: usize) -> Result<(), MailError> {
    if w.reader(db)?.folder_count()? + more as u64 > FOLDERS_MAX as u64 {
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
    make(w, db, name, special_use)
}

/// Makes a folder; a subscription that outlived an earlier one of that name holds for it.
fn make(
    w: &mut Writer<'_>,
    db: &Database,
    name: &str,
    special_use: Option<&str>,
) -> Result<Folder, MailError> {
    let mut folder = w.create_folder(db, name, special_use)?;
    if subscriptions::drop(w, db, name)? {
        w.subscribe(db, folder.id, true)?;
        folder.subscribed = true;
    }
    Ok(folder)
}

/// Creates a folder unless it is there.
fn ensure(w: &mut Writer<'_>, db: &Database, name: &str) -> Result<(), MailError> {
    if w.reader(db)?.folder_by_name(name)?.is_none() {
        make(w, db, name, None)?;
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
