//! Bringing messages in: batches of them become single records of the log.

mod batch;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::ops::ControlFlow;

use mailfile::{MailError, MailFile};
use note::{TimeDate, Unid};
use store::FolderId;
use txlog::Lsn;

use crate::identity::Contents;
use crate::{Found, Identity, MigrateError, Problem, Progress, Report, Source, Taker, folders};
use batch::{Batch, Waiting};

/// Most bytes of one message, when nothing else is said.
pub const MESSAGE_BYTES_MAX: u64 = 128 << 20;
/// Messages gathered before they are written.
const BATCH_MESSAGES: usize = 128;
/// Bytes of messages gathered before they are written.
const BATCH_BYTES: usize = 8 << 20;
/// Bytes written between two looks at whether the log needs a checkpoint.
const TICK_BYTES: u64 = 16 << 20;

/// How an import is done.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Everything goes below this folder.
    pub into: Option<String>,
    /// Larger messages are left out, and told in the report.
    pub message_bytes_max: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        ImportOptions { into: None, message_bytes_max: MESSAGE_BYTES_MAX }
    }
}

/// Brings the messages of a source into a mail file. All that the report counts is durable.
/// Repeating it adds only what is not there yet.
///
/// # Errors
/// What keeps it from going on; everything written until then stays, and the next run passes over
/// it. A stop that `progress` asks for is no error, but told in the report.
pub fn import(
    file: &MailFile,
    source: &mut dyn Source,
    options: &ImportOptions,
    progress: &mut Progress<'_>,
) -> Result<Report, MigrateError> {
    let mut importer = Importer {
        file,
        options,
        progress,
        report: Report::default(),
        folder: None,
        contents: Contents::default(),
        made: HashSet::new(),
        batch: Batch::default(),
        unsynced: Lsn::ZERO,
        since_tick: 0,
    };
    let outcome = source.run(&mut importer);
    match outcome {
        Ok(()) => {}
        Err(MigrateError::Stopped) => importer.report.stopped = true,
        Err(error) => {
            // What was gathered is whole; the error that ended the source is the one to tell.
            let _ = importer.finish();
            return Err(error);
        }
    }
    importer.finish()?;
    Ok(importer.report)
}

/// The folder that messages go into.
struct Target {
    id: FolderId,
    name: String,
}

struct Importer<'a, 'p> {
    file: &'a MailFile,
    options: &'a ImportOptions,
    progress: &'a mut Progress<'p>,
    report: Report,
    folder: Option<Target>,
    contents: Contents,
    /// Folders that were looked up.
    made: HashSet<String>,
    batch: Batch,
    /// The last record whose sync was not waited for.
    unsynced: Lsn,
    since_tick: u64,
}

impl Importer<'_, '_> {
    fn write(&mut self) -> Result<(), MigrateError> {
        let Some(target) = &self.folder else { return Ok(()) };
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.since_tick += batch.bytes as u64;
        let done = batch.write(self.file, target.id)?;
        self.report.messages += done.added;
        self.report.already += done.already;
        self.report.bytes += done.bytes;
        // While this record is on its way to the disk, the next one is made.
        self.sync()?;
        self.unsynced = done.lsn;
        if self.since_tick >= TICK_BYTES {
            self.since_tick = 0;
            self.file.store().tick()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), MigrateError> {
        let lsn = std::mem::replace(&mut self.unsynced, Lsn::ZERO);
        if lsn > Lsn::ZERO {
            self.file.store().durable(lsn).wait()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MigrateError> {
        self.write()?;
        self.sync()
    }

    fn make_folder(&mut self, name: &str) -> Result<Target, MigrateError> {
        match self.file.create_folder(name, None) {
            Ok(made) => {
                self.unsynced = self.unsynced.max(made.lsn);
                let lsn = self.file.subscribe(name, true)?.lsn;
                self.unsynced = self.unsynced.max(lsn);
            }
            Err(MailError::FolderExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let id = self.file.open_folder(name)?.value.folder.id;
        Ok(Target { id, name: name.to_owned() })
    }
}

impl Taker for Importer<'_, '_> {
    fn folder(&mut self, name: &str) -> Result<(), MigrateError> {
        let name = folders::below(self.options.into.as_deref(), name);
        if self.folder.as_ref().is_some_and(|target| target.name == name) {
            return Ok(());
        }
        self.write()?;
        self.contents.clear();
        self.folder = Some(self.make_folder(&name)?);
        if self.made.insert(name) {
            self.report.folders += 1;
        }
        Ok(())
    }

    fn message(&mut self, found: Found) -> Result<(), MigrateError> {
        let Some(target) = &self.folder else {
            return Err(MigrateError::Unfit("a message belongs to no folder".to_owned()));
        };
        let unid = match found.identity {
            Identity::Known(unid) => unid,
            Identity::Content => self.contents.next(&target.name, &found.bytes),
        };
        let date = found.date.or_else(|| date_in(&found.bytes));
        let date = date.unwrap_or_else(|| self.file.store().now());
        self.batch.add(Waiting { unid, date, bytes: found.bytes, marks: found.marks });
        if self.batch.len() >= BATCH_MESSAGES || self.batch.bytes >= BATCH_BYTES {
            self.write()?;
        }
        Ok(())
    }

    fn knows(&mut self, ids: &[Unid]) -> Result<Vec<bool>, MigrateError> {
        let known = batch::known(self.file, ids)?;
        self.report.already += known.iter().filter(|known| **known).count() as u64;
        Ok(known)
    }

    fn problem(&mut self, problem: Problem) {
        tracing::debug!(
            place = problem.place,
            at = problem.at,
            reason = problem.reason,
            "left out"
        );
        self.report.add(problem);
    }

    fn progress(&mut self, done: u64, total: u64) -> Result<(), MigrateError> {
        let what = self.folder.as_ref().map_or("", |target| target.name.as_str());
        match (self.progress)(what, done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(MigrateError::Stopped),
        }
    }

    fn message_bytes_max(&self) -> u64 {
        self.options.message_bytes_max
    }
}

/// When a message came in, as it tells itself: the date of its newest trace field, or its own.
pub(crate) fn date_in(bytes: &[u8]) -> Option<TimeDate> {
    let (mut received, mut own) = (None, None);
    for (name, value, _) in message::headers(message::header_bytes(bytes)) {
        if received.is_none() && name.eq_ignore_ascii_case(b"Received") {
            let at = memchr::memrchr(b';', value);
            received = Some(at.and_then(|at| message::parse_date(&value[at + 1..])));
        }
        if own.is_none() && name.eq_ignore_ascii_case(b"Date") {
            own = message::parse_date(value);
        }
    }
    received.flatten().or(own).map(TimeDate::from_unix_seconds)
}
