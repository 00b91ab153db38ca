//! Copying single notes from one database to another.

use note::Unid;
use txlog::Lsn;

use crate::progress::tell;
use crate::{
    CopiedNotes, Database, FolderId, NoteId, NoteMeta, PreparedNote, Progress, Result, Store,
    StoreError, Writer,
};

/// What became of one note.
enum Outcome {
    Copied,
    Already,
    Missing,
}

impl Store {
    /// Copies notes into another database, each in one write, into folders of the same names,
    /// which are made when they are not there. A note whose UNID is there already and not softly
    /// deleted is left as it is; a softly deleted one is replaced and restored. Flags and read
    /// marks come along. Durable when this returns; what was copied stays when it is stopped.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`]; trouble of the log.
    pub fn copy_notes(
        &self,
        from: &str,
        to: &str,
        unids: &[Unid],
        progress: &mut Progress<'_>,
    ) -> Result<CopiedNotes> {
        let (from, to) = (self.database(from)?, self.database(to)?);
        let mut report = CopiedNotes::default();
        let mut end = Lsn::ZERO;
        for (done, unid) in unids.iter().enumerate() {
            if tell(progress, "copying notes", done as u64, unids.len() as u64).is_err() {
                report.left = (unids.len() - done) as u64;
                break;
            }
            let copy = |writer: &mut Writer<'_>| copy_note(writer, &from, &to, unid);
            let written = self.write::<_, StoreError>(&[&from, &to], copy)?;
            end = end.max(written.lsn);
            match written.value {
                Outcome::Copied => report.copied += 1,
                Outcome::Already => report.already += 1,
                Outcome::Missing => report.missing.push(*unid),
            }
        }
        self.durable(end).wait()?;
        Ok(report)
    }
}

fn copy_note(
    writer: &mut Writer<'_>,
    from: &Database,
    to: &Database,
    unid: &Unid,
) -> Result<Outcome> {
    let source = writer.reader(from)?.note_by_unid(unid)?;
    let Some(source) = source.filter(|meta| meta.deleted.is_none()) else {
        return Ok(Outcome::Missing);
    };
    let old = writer.reader(to)?.note_by_unid(unid)?;
    if old.as_ref().is_some_and(|meta| meta.deleted.is_none()) {
        return Ok(Outcome::Already);
    }
    let Some(note) = writer.reader(from)?.note(source.id)? else { return Ok(Outcome::Missing) };
    let put = writer.put_note(to, &PreparedNote::new(&note, source.size, source.date))?;
    if old.is_some() {
        writer.restore(to, put.id)?;
    }
    writer.set_seen(to, put.id, source.seen)?;
    enter_folders(writer, (from, &source), (to, put.id))?;
    Ok(Outcome::Copied)
}

/// Adds the copy to the folders that have the names of those the note is in.
fn enter_folders(
    writer: &mut Writer<'_>,
    (from, source): (&Database, &NoteMeta),
    (to, copy): (&Database, NoteId),
) -> Result<()> {
    for (folder, uid) in writer.reader(from)?.entries_of(source.id)? {
        let reader = writer.reader(from)?;
        let (entry, folder) = (reader.entry(folder, uid)?, reader.folder(folder)?);
        let (Some(entry), Some(folder)) = (entry, folder) else { continue };
        let target = folder_named(writer, to, &folder.name)?;
        writer.add_to_folder(to, target, copy, entry.flags, &entry.keywords)?;
    }
    Ok(())
}

fn folder_named(writer: &mut Writer<'_>, to: &Database, name: &str) -> Result<FolderId> {
    match writer.reader(to)?.folder_by_name(name)? {
        Some(folder) => Ok(folder.id),
        None => Ok(writer.create_folder(to, name, None)?.id),
    }
}
