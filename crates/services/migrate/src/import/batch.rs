//! Messages gathered to be written together.

use mailfile::intake::{self, Facts, Intake};
use mailfile::{MailFile, Marks};
use note::{TimeDate, Unid};
use store::{Database, FolderId, StoreError, Writer};
use txlog::Lsn;

use crate::MigrateError;

/// A message that waits to be written.
pub(super) struct Waiting {
    pub unid: Unid,
    pub date: TimeDate,
    pub bytes: Vec<u8>,
    pub marks: Marks,
}

/// Messages for one folder.
#[derive(Default)]
pub(super) struct Batch {
    waiting: Vec<Waiting>,
    /// Bytes of all of them.
    pub bytes: usize,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub added: u64,
    pub already: u64,
    /// Bytes of the messages added.
    pub bytes: u64,
    /// Where all of it is durable.
    pub lsn: Lsn,
}

/// Which of these notes the mail file has, shown in a folder or deleted softly.
pub(super) fn known(file: &MailFile, ids: &[Unid]) -> Result<Vec<bool>, MigrateError> {
    let read = file.store().read(file.database(), |reader| {
        ids.iter().map(|id| Ok(reader.note_by_unid(id)?.is_some())).collect()
    })?;
    Ok(read.value)
}

impl Batch {
    pub(super) fn add(&mut self, waiting: Waiting) {
        self.bytes += waiting.bytes.len();
        self.waiting.push(waiting);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what is not there yet, in one record.
    pub(super) fn write(self, file: &MailFile, folder: FolderId) -> Result<Done, MigrateError> {
        let ids: Vec<Unid> = self.waiting.iter().map(|waiting| waiting.unid).collect();
        let known = known(file, &ids)?;
        let all = self.waiting.len() as u64;
        let new = self.waiting.into_iter().zip(known).filter(|(_, known)| !known);
        let mut taken = Vec::new();
        for (waiting, _) in new {
            taken.push(take(file, waiting)?);
        }
        let db = file.database();
        let written = file.store().write::<_, StoreError>(&[db], |w| {
            let mut added = (0, 0);
            for (intake, marks) in &taken {
                if put(w, (db, folder), intake, marks)? {
                    added = (added.0 + 1, added.1 + intake.size);
                }
            }
            Ok(added)
        })?;
        let (added, bytes) = written.value;
        Ok(Done { added, already: all - added, bytes, lsn: written.lsn })
    }
}

/// Takes a message in; its pins keep what it refers to until the note is written.
fn take(file: &MailFile, waiting: Waiting) -> Result<(Intake, Marks), MigrateError> {
    let facts = Facts { unid: waiting.unid, date: waiting.date, extra: Vec::new() };
    let intake = intake::intake(file.store(), &waiting.bytes, &facts)?;
    Ok((intake, waiting.marks))
}

/// Puts a message into a folder; `false` when it is there already.
fn put(
    w: &mut Writer<'_>,
    (db, folder): (&Database, FolderId),
    intake: &Intake,
    marks: &Marks,
) -> Result<bool, StoreError> {
    if w.reader(db)?.note_by_unid(&intake.unid)?.is_some() {
        return Ok(false);
    }
    let put = w.put_note(db, &intake.prepared)?;
    w.add_to_folder(db, folder, put.id, marks.flags, &marks.keywords)?;
    Ok(true)
}
