//! The archive: a segment is copied to another directory and read back before it may leave the log.
//!
//! The directory gets one subdirectory per log, named by its id, with the segments as they are and
//! a control file that fits them, so that a copy of it can be opened as a log. A copy gets its
//! name after it was synced and compared, so what has its name is whole; one that was cut off is
//! begun anew. A failure holds the log: it is told by [`LogStatus::archive`] and tried again.
//!
//! [`LogStatus::archive`]: crate::LogStatus::archive

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::control::Control;
use crate::error::describe;
use crate::group::align;
use crate::segments::{Segment, segment_file_name};
use crate::shared::Shared;
use crate::state::State;
use crate::sync::Instant;
use crate::walk::Walk;
use crate::{ArchiveReport, DiskFile, LogError, Lsn};

/// After a failure it is tried again this much later.
const RETRY_WAIT: Duration = Duration::from_secs(5);
/// Copied and compared at a time.
const COPY_BYTES: usize = 1 << 20;

/// How far the archive is.
#[derive(Default)]
pub(crate) struct Archiving {
    /// Segments with smaller ids are in the archive.
    pub next: u32,
    pub segments: u64,
    pub bytes: u64,
    pub damaged: u64,
    pub trouble: Option<String>,
    /// The last copy failed: what it left is not trusted, for a sync may have failed.
    redo: bool,
    retry_at: Option<Instant>,
}

impl Archiving {
    /// The next segment to copy: no record is added to it any more, and all of it is durable.
    fn due(state: &State) -> Option<u32> {
        let end = state.durable.segment();
        let next = state.archiving.next;
        state.segments.range(next..end.max(next)).next().map(|(id, _)| *id)
    }

    /// Segments that wait to be copied.
    pub fn waiting(state: &State) -> u64 {
        let (next, end) = (state.archiving.next, state.durable.segment());
        state.segments.range(next..end.max(next)).count() as u64
    }
}

/// Copies segments as they become whole, until the log stops.
pub(crate) fn run(shared: Arc<Shared>) {
    loop {
        let mut state = shared.state.lock();
        loop {
            if state.stop_reason().is_some() {
                return;
            }
            let due = Archiving::due(&state).is_some();
            match state.archiving.retry_at {
                Some(at) if Instant::now() < at => {
                    shared.sealed.wait_until(&mut state, at);
                }
                _ if due => break,
                _ => shared.sealed.wait(&mut state),
            }
        }
        drop(state);
        // What went wrong is noted, and told by the status.
        let _ = archive(&shared);
    }
}

/// Copies what is whole. The first failure ends it and is noted.
pub(crate) fn archive(shared: &Shared) -> Result<ArchiveReport, LogError> {
    let Some(dir) = shared.archive_dir() else {
        return Err(LogError::Options { reason: "the log has no archive" });
    };
    let _archiving = shared.archiving.lock();
    let mut report = ArchiveReport::default();
    loop {
        let state = shared.state.lock();
        if let Some(reason) = state.stop_reason() {
            return Err(LogError::Stopped { reason });
        }
        let Some(id) = Archiving::due(&state) else {
            report.waiting = Archiving::waiting(&state);
            return Ok(report);
        };
        let end = state.segments.get(&id).and_then(|segment| segment.end);
        let bytes = state.segments.get(&id).map_or(0, used_bytes);
        let redo = state.archiving.redo;
        drop(state);
        let outcome = Copying { shared, dir: &dir, id, bytes, end, redo }.run();
        note(shared, id, &outcome);
        let copied = outcome?;
        report.segments += u64::from(copied.is_new);
        report.bytes += if copied.is_new { bytes } else { 0 };
    }
}

/// Notes how a copy went.
fn note(shared: &Shared, id: u32, outcome: &Result<Copied, LogError>) {
    let mut state = shared.state.lock();
    let archiving = &mut state.archiving;
    match outcome {
        Ok(copied) => {
            if archiving.trouble.take().is_some() {
                tracing::warn!(segment = id, "the archive of the log works again");
            }
            archiving.retry_at = None;
            archiving.redo = false;
            archiving.next = id + 1;
            archiving.segments += u64::from(copied.is_new);
            archiving.bytes += if copied.is_new { copied.bytes } else { 0 };
            archiving.damaged += u64::from(!copied.is_sound);
        }
        Err(LogError::Stopped { .. }) => {}
        Err(error) => {
            archiving.redo = true;
            let trouble = describe(error);
            if archiving.trouble.is_none() {
                tracing::error!(segment = id, %trouble, "the archive of the log is in trouble");
            }
            archiving.trouble = Some(trouble);
            archiving.retry_at = Some(Instant::now() + RETRY_WAIT);
        }
    }
}

/// Bytes of a segment up to its last group; all when that is not known.
fn used_bytes(segment: &Segment) -> u64 {
    match segment.end {
        Some(end) if end > 0 => align(u64::from(end)).min(segment.bytes),
        _ => segment.bytes,
    }
}

struct Copied {
    bytes: u64,
    /// False when the archive had it already.
    is_new: bool,
    /// False when the segment is damaged, and so its copy.
    is_sound: bool,
}

struct Copying<'a> {
    shared: &'a Shared,
    dir: &'a Path,
    id: u32,
    bytes: u64,
    end: Option<u32>,
    redo: bool,
}

impl Copying<'_> {
    fn run(&self) -> Result<Copied, LogError> {
        let disk = &*self.shared.disk;
        disk.create_dir_all(self.dir).map_err(LogError::disk("create", self.dir))?;
        let target = self.dir.join(segment_file_name(self.id));
        let (is_new, is_sound) = match !self.redo && self.is_there(&target)? {
            true => (false, true),
            false => (true, self.copy(&target)?),
        };
        self.save_control()?;
        Ok(Copied { bytes: self.bytes, is_new, is_sound })
    }

    /// Has the archive got the segment? A copy gets its name when it is whole.
    fn is_there(&self, target: &Path) -> Result<bool, LogError> {
        let disk = &*self.shared.disk;
        let failed = |source| LogError::disk("look at", target)(source);
        if !disk.exists(target).map_err(failed)? {
            return Ok(false);
        }
        Ok(disk.open(target).and_then(|file| file.len()).map_err(failed)? == self.bytes)
    }

    /// Copies, syncs, compares, names. Tells whether the content is sound.
    fn copy(&self, target: &Path) -> Result<bool, LogError> {
        let disk = &*self.shared.disk;
        let partial = target.with_extension("NEW");
        let outcome = self.copy_to(&partial);
        if outcome.is_err() {
            // It takes room that others need; what remains of it is overwritten by the next try.
            let _ = disk.remove(&partial);
        }
        let is_sound = outcome?;
        disk.rename(&partial, target).map_err(LogError::disk("rename", &partial))?;
        disk.sync_dir(self.dir).map_err(LogError::disk("sync", self.dir))?;
        Ok(is_sound)
    }

    fn copy_to(&self, partial: &Path) -> Result<bool, LogError> {
        let from = self.shared.file(Lsn::new(self.id, 0))?;
        let failed = |action| LogError::disk(action, partial);
        let disk = &*self.shared.disk;
        let to = disk.create(partial).map_err(failed("create"))?;
        let sum =
            self.pass(&*from, |bytes, offset| to.write_at(bytes, offset).map_err(failed("write")))?;
        to.sync_all().map_err(failed("sync"))?;
        drop(to);
        let copy = disk.open(partial).map_err(failed("open"))?;
        let length = copy.len().map_err(failed("look at"))?;
        if length != self.bytes || self.pass(&*copy, |_, _| Ok(()))? != sum {
            return Err(LogError::ArchiveDiffers { path: partial.to_owned() });
        }
        let is_sound = self.is_sound(&*copy).map_err(failed("read"))?;
        if !is_sound {
            tracing::error!(segment = self.id, "a damaged log segment is archived as it is");
        }
        Ok(is_sound)
    }

    /// Reads a file through; gives the sum of its bytes.
    fn pass(
        &self,
        file: &dyn DiskFile,
        mut take: impl FnMut(&[u8], u64) -> Result<(), LogError>,
    ) -> Result<u32, LogError> {
        let mut sum = crc32fast::Hasher::new();
        let mut buffer = vec![0; COPY_BYTES.min(self.bytes as usize)];
        let mut offset = 0;
        while offset < self.bytes {
            if let Some(reason) = self.shared.state.lock().stop_reason() {
                return Err(LogError::Stopped { reason });
            }
            let lsn = Lsn::new(self.id, offset as u32);
            let wanted = COPY_BYTES.min((self.bytes - offset) as usize);
            let count = file.read_at(&mut buffer[..wanted], offset);
            let count = count.map_err(|source| LogError::Read { lsn, source })?;
            if count < wanted {
                return Err(LogError::Damaged { lsn });
            }
            sum.update(&buffer[..count]);
            take(&buffer[..count], offset)?;
            offset += count as u64;
        }
        Ok(sum.finalize())
    }

    /// Are all groups there, one behind the other, with all their records whole?
    fn is_sound(&self, copy: &dyn DiskFile) -> std::io::Result<bool> {
        let Some(end) = self.end else { return Ok(true) };
        let mut walk = Walk::new(copy, self.id, self.shared.salt(self.id), u64::from(end));
        let (mut offset, mut number) = (0, None);
        while let Some(group) = walk.find_group(offset)? {
            let follows = number.is_none_or(|number| group.number == number);
            if !follows || !walk.is_whole(&group)? {
                return Ok(false);
            }
            number = Some(group.number + 1);
            offset = u64::from(group.end().offset());
        }
        Ok(offset == u64::from(end))
    }

    /// Writes the control file of the archive, up to the end of this segment.
    fn save_control(&self) -> Result<(), LogError> {
        let disk = &*self.shared.disk;
        let own = self.shared.control.lock().clone();
        let durable = Lsn::new(self.id, self.end.unwrap_or(0));
        let known = Control::load(disk, self.dir)?.filter(|known| known.log_id == own.log_id);
        let mut control = match known {
            Some(known) if !self.redo && known.durable >= durable => return Ok(()),
            Some(known) => known,
            None => {
                Control { oldest_needed: Lsn::new(self.id, 0), voids: Vec::new(), ..own.clone() }
            }
        };
        if let Some(first) = own.voids.first() {
            control.voids.retain(|void| void.from < first.from);
        }
        control.voids.extend(own.voids.iter().filter(|void| void.from <= durable));
        control.next_segment = own.next_segment;
        control.durable = durable;
        Ok(control.save(disk, self.dir)?)
    }
}

/// The subdirectory of a log in the archive directory.
pub(crate) fn subdirectory(dir: &Path, log_id: u64) -> PathBuf {
    dir.join(format!("{log_id:016x}"))
}
