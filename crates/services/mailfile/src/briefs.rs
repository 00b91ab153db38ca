//! Summaries of messages that were listed lately, unpacked.
//!
//! Who looks at a mailbox lists the same last messages again and again. To show one of them takes
//! some hundred bytes of its note, which lies packed together with all the rest. What is kept here
//! is bounded and may be forgotten. It is checked against the changes of the database each time it
//! is used, with the database locked, so that it never tells of a note that was replaced.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use note::Dbiid;
use parking_lot::Mutex;
use store::{FolderId, NoteId, Read, Reader, StoreError};

use crate::messages::{entries_of, summary_of};
use crate::{Loaded, MailError, MailFile};

/// Bytes kept in all databases together.
const BYTES_MAX: usize = 32 << 20;
/// Summaries kept of one database.
const NOTES_MAX: usize = 200;
/// Longest summary that is kept, in bytes.
const BRIEF_BYTES_MAX: usize = 4 * 1024;
/// What a summary takes beside its bytes, about.
const BRIEF_EXTRA_BYTES: usize = 64;
/// What a database takes beside its summaries, about.
const FILE_EXTRA_BYTES: usize = 256;
/// Notes that changed since the last use and are looked up one by one; after more all is forgotten.
const CHANGED_MAX: usize = 500;

/// What is known of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Brief {
    /// There is no such note, or it was not reached.
    Gone,
    /// The note cannot be read, or holds no message.
    Damaged,
    /// The packed structure of the message without its preview.
    Summary(Arc<[u8]>),
}

/// What was found.
pub(crate) struct Found {
    /// One for each id that was asked for.
    pub briefs: Vec<Brief>,
    /// The place in the list where reading stopped, since there were enough bytes.
    pub stopped: Option<usize>,
}

/// The summaries of one server.
#[derive(Default)]
pub(crate) struct Briefs {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<Dbiid, File>,
    bytes: usize,
    clock: u64,
}

/// The summaries of one database.
struct File {
    /// The change of the database at which all of them were right.
    change_seq: u64,
    notes: BTreeMap<NoteId, Arc<[u8]>>,
    bytes: usize,
    used: u64,
}

impl MailFile {
    /// As [`MailFile::load`], but with the summaries of the messages alone, which are kept for the
    /// next who asks: meant for lists of some messages that are asked for again and again.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn load_summaries(
        &self,
        folder: FolderId,
        uids: &[u32],
        bytes_max: usize,
    ) -> Result<Read<(Vec<Loaded>, usize)>, StoreError> {
        self.read(|rows| {
            let entries = entries_of(rows, folder, uids)?;
            let ids: Vec<NoteId> = entries.iter().map(|entry| entry.note).collect();
            let found = self.files.briefs.find(rows, self.db.dbiid(), (&ids, bytes_max))?;
            let end = found.stopped.map(|at| entries[at].uid);
            let mut loaded = Vec::with_capacity(entries.len());
            for (entry, brief) in entries.into_iter().zip(found.briefs) {
                let summary = match brief {
                    Brief::Gone => continue,
                    Brief::Damaged => None,
                    Brief::Summary(bytes) => Some(bytes),
                };
                loaded.push(Loaded { entry, note: Vec::new(), summary });
            }
            let done = end.map_or(uids.len(), |end| uids.partition_point(|uid| *uid < end));
            Ok((loaded, done))
        })
    }
}

impl Briefs {
    /// The summaries of notes, in the order of `ids`; stops once more than `bytes_max` bytes of
    /// notes were read for it.
    pub(crate) fn find(
        &self,
        rows: &Reader<'_>,
        dbiid: Dbiid,
        (ids, bytes_max): (&[NoteId], usize),
    ) -> Result<Found, StoreError> {
        self.catch_up(rows, dbiid)?;
        let mut briefs = self.kept.lock().find(dbiid, ids);
        let missing: Vec<usize> = (0..ids.len()).filter(|at| briefs[*at] == Brief::Gone).collect();
        let wanted: Vec<NoteId> = missing.iter().map(|at| ids[*at]).collect();
        let (mut bytes, mut stopped, mut read) = (0, None, Vec::new());
        let result = rows.each_note_bytes(&wanted, &mut |at, note| {
            let at = missing[at];
            if bytes > bytes_max {
                stopped = Some(at);
                return Err(StoreError::Stopped);
            }
            bytes += note.as_ref().map_or(0, |note| note.len());
            briefs[at] = match note.map_err(MailError::from).and_then(summary_of) {
                Ok(view) => {
                    let summary: Arc<[u8]> = view.without_preview().into();
                    read.push((ids[at], summary.clone()));
                    Brief::Summary(summary)
                }
                Err(_) => Brief::Damaged,
            };
            Ok(())
        });
        match result {
            Err(StoreError::Stopped) if stopped.is_some() => {}
            result => result?,
        }
        briefs.truncate(stopped.unwrap_or(ids.len()));
        self.kept.lock().keep(dbiid, rows.change_seq(), read);
        Ok(Found { briefs, stopped })
    }

    /// Forgets the notes that changed since the summaries were right.
    fn catch_up(&self, rows: &Reader<'_>, dbiid: Dbiid) -> Result<(), StoreError> {
        let now = rows.change_seq();
        let known = self.kept.lock().files.get(&dbiid).map(|file| file.change_seq);
        let Some(known) = known.filter(|known| *known != now) else { return Ok(()) };
        let changed = match known < now {
            true => rows.notes_changed(known, CHANGED_MAX)?,
            false => Vec::new(),
        };
        let mut kept = self.kept.lock();
        if known > now || changed.len() == CHANGED_MAX {
            kept.forget(dbiid);
        } else {
            kept.replaced(dbiid, now, &changed);
        }
        Ok(())
    }
}

impl Kept {
    fn find(&mut self, dbiid: Dbiid, ids: &[NoteId]) -> Vec<Brief> {
        self.clock += 1;
        let Some(file) = self.files.get_mut(&dbiid) else { return vec![Brief::Gone; ids.len()] };
        file.used = self.clock;
        let find = |id| file.notes.get(id).map_or(Brief::Gone, |kept| Brief::Summary(kept.clone()));
        ids.iter().map(find).collect()
    }

    fn forget(&mut self, dbiid: Dbiid) {
        if let Some(file) = self.files.remove(&dbiid) {
            self.bytes -= file.bytes;
        }
    }

    fn replaced(&mut self, dbiid: Dbiid, now: u64, changed: &[NoteId]) {
        let Some(file) = self.files.get_mut(&dbiid) else { return };
        file.change_seq = now;
        let before = file.bytes;
        changed.iter().for_each(|id| file.remove(*id));
        self.bytes -= before - file.bytes;
    }

    /// Keeps what was read at a change of the database, to which the others were brought up.
    fn keep(&mut self, dbiid: Dbiid, change_seq: u64, read: Vec<(NoteId, Arc<[u8]>)>) {
        if read.is_empty() {
            return;
        }
        let used = self.clock;
        let file = self.files.entry(dbiid).or_insert_with(|| {
            self.bytes += FILE_EXTRA_BYTES;
            File { change_seq, notes: BTreeMap::new(), bytes: FILE_EXTRA_BYTES, used }
        });
        let before = file.bytes;
        for (id, summary) in read.into_iter().filter(|(_, kept)| kept.len() <= BRIEF_BYTES_MAX) {
            file.remove(id);
            file.bytes += summary.len() + BRIEF_EXTRA_BYTES;
            file.notes.insert(id, summary);
        }
        // The oldest are the least likely to be listed.
        while file.notes.len() > NOTES_MAX
            && let Some(oldest) = file.notes.first_key_value().map(|(id, _)| *id)
        {
            file.remove(oldest);
        }
        self.bytes = self.bytes - before + file.bytes;
        self.shrink(BYTES_MAX);
    }

    /// Forgets the databases that were not used for longest: an eighth more than necessary, so that
    /// it is seldom done.
    fn shrink(&mut self, bytes_max: usize) {
        if self.bytes <= bytes_max {
            return;
        }
        let mut by_use: Vec<(u64, Dbiid)> =
            self.files.iter().map(|(dbiid, file)| (file.used, *dbiid)).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, dbiid) in by_use {
            if self.bytes <= bytes_max - bytes_max / 8 {
                return;
            }
            self.forget(dbiid);
        }
    }
}

impl File {
    fn remove(&mut self, id: NoteId) {
        if let Some(gone) = self.notes.remove(&id) {
            self.bytes -= gone.len() + BRIEF_EXTRA_BYTES;
        }
    }
}

#[cfg(test)]
mod tests;
