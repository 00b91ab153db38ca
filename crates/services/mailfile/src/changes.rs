//! What happened to a folder since somebody last looked.

use store::{Entry, Folder, FolderId, Read, StoreError};

use crate::{MailFile, UidList};

/// Changed entries given at once. Each further call looks at all that changed, so that this is
/// large.
const CHANGED_MAX: usize = 5_000;

/// A folder as it is now, and which entries changed.
#[derive(Clone, Debug)]
pub struct Polled {
    /// The folder with its counters and modseq.
    pub folder: Folder,
    /// Its uids now; what came and went is the [`UidList::difference`] to the list known before.
    pub uids: UidList,
    /// Entries with a higher modseq, new ones among them, by uid.
    pub changed: Vec<Entry>,
    /// The database's last change that is included.
    pub change_seq: u64,
    /// There are further changed entries above the last uid given.
    pub more: bool,
}

impl MailFile {
    /// The folder now, with the entries above `after_uid` that changed since modseq `since`.
    /// `None` when the folder is gone.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn poll(
        &self,
        folder: FolderId,
        since: u64,
        after_uid: u32,
    ) -> Result<Read<Option<Polled>>, StoreError> {
        self.read(|rows| {
            let Some(folder) = rows.folder(folder)? else { return Ok(None) };
            let uids = self.list(rows, &folder)?;
            let changed = match folder.modseq > since {
                true => rows.entries_changed(folder.id, since, after_uid, CHANGED_MAX)?,
                false => Vec::new(),
            };
            let more = changed.len() == CHANGED_MAX;
            let change_seq = rows.change_seq();
            Ok(Some(Polled { folder, uids, changed, change_seq, more }))
        })
    }
}
