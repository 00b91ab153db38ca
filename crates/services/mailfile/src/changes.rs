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

/// What a client missed while it was away (RFC 7162 §3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Uids that went, ascending.
    pub gone: Vec<u32>,
    /// Uids of the entries that changed or came, ascending; `None`: too many to be listed here.
    pub changed: Option<Vec<u32>>,
}

impl MailFile {
    /// What happened to a folder since modseq `since`, as far as it concerns the uids in `known`
    /// (ascending ranges, both ends included). `with_gone`: the uids that went are looked up.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn missed(
        &self,
        folder: FolderId,
        since: u64,
        known: &[(u32, u32)],
        with_gone: bool,
    ) -> Result<Read<Missed>, StoreError> {
        let is_known = |uid: u32| {
            let at = known.partition_point(|(_, last)| *last < uid);
            known.get(at).is_some_and(|(first, _)| *first <= uid)
        };
        self.read(|rows| {
            let mut missed = Missed::default();
            if with_gone {
                let expunged = rows.expunged(folder, since)?;
                missed.gone = expunged.into_iter().map(|(uid, _)| uid).collect();
                missed.gone.retain(|uid| is_known(*uid));
                missed.gone.sort_unstable();
            }
            let changed = rows.entries_changed(folder, since, 0, CHANGED_MAX)?;
            if changed.len() < CHANGED_MAX {
                let uids = changed.iter().map(|entry| entry.uid).filter(|uid| is_known(*uid));
                missed.changed = Some(uids.collect());
            }
            Ok(missed)
        })
    }

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
