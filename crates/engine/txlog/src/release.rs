//! Segments leave the log: adopted by rename, used again, or removed.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::describe;
use crate::group::align;
use crate::segments::{Segment, Spare};
use crate::shared::Shared;
use crate::state::SPARES_MAX;
use crate::{DiskFile, LogError, Lsn, Style};

/// Copied at a time when a segment moves to another file system.
const COPY_BYTES: usize = 1 << 20;

/// What [`crate::Log::give_up`] did.
#[derive(Debug, Default)]
pub struct Released {
    /// Segments that lie where they were to be kept now.
    pub adopted: Vec<u32>,
    /// Segments whose space is used again, or free.
    pub dropped: Vec<u32>,
    /// Where the log begins now: nothing before this position can be read from it.
    pub oldest: Lsn,
    /// What kept the others from leaving; they are offered again by the next call.
    pub trouble: Option<LogError>,
}

impl Released {
    /// Segments that have left, ascending.
    pub fn segments(&self) -> Vec<u32> {
        let mut ids = [&self.adopted[..], &self.dropped[..]].concat();
        ids.sort_unstable();
        ids
    }
}

/// Gives up the segments before the one that holds `oldest_needed`.
pub(crate) fn give_up(
    shared: &Shared,
    oldest_needed: Lsn,
    keep: &dyn Fn(u32) -> Option<PathBuf>,
) -> Released {
    let _releasing = shared.releasing.lock();
    let mut released = Released::default();
    let outcome = leave(shared, oldest_needed, keep, &mut released);
    released.trouble = outcome.err();
    let oldest_needed = shared.state.lock().oldest_needed;
    released.oldest = Lsn::new(oldest_needed.segment(), 0).max(shared.oldest);
    released
}

fn leave(
    shared: &Shared,
    oldest_needed: Lsn,
    keep: &dyn Fn(u32) -> Option<PathBuf>,
    released: &mut Released,
) -> Result<(), LogError> {
    let (oldest_needed, leaving) = note_oldest(shared, oldest_needed.min(shared.durable()))?;
    if leaving.is_empty() {
        return Ok(());
    }
    {
        let mut control = shared.control.lock();
        control.release(oldest_needed);
        shared.save_control(&mut control).map_err(|failure| stop_unless_full(shared, failure))?;
    }
    shared.state.lock().oldest_needed = oldest_needed;
    let mut dirs = BTreeSet::new();
    let mut outcome = Ok(());
    for id in leaving {
        outcome = match keep(id) {
            Some(target) => adopt(shared, id, &target, &mut dirs).map(|()| &mut released.adopted),
            None => recycle(shared, id).map(|()| &mut released.dropped),
        }
        .map(|left| left.push(id));
        if outcome.is_err() {
            break;
        }
    }
    dirs.remove(&shared.options.dir);
    for dir in dirs.iter().chain([&shared.options.dir]) {
        sync_dir(shared, dir)?;
    }
    shared.state.lock().full = false;
    shared.room.notify_all();
    shared.work.notify_one();
    outcome
}

/// The oldest needed position from now on, and the segments that may leave.
fn note_oldest(shared: &Shared, oldest_needed: Lsn) -> Result<(Lsn, Vec<u32>), LogError> {
    let mut state = shared.state.lock();
    if let Some(reason) = &state.failed {
        return Err(LogError::Stopped { reason: reason.clone() });
    }
    if state.durable.offset() == 0 {
        // After a start nothing of the new segment is durable yet, so the record that heads it
        // is not either: what it repeats still stands in the older segments alone.
        return Ok((state.oldest_needed, Vec::new()));
    }
    let oldest_needed = match shared.options.style {
        Style::Archive => oldest_needed.min(Lsn::new(state.archiving.next, 0)),
        _ => oldest_needed,
    };
    let oldest_needed = state.oldest_needed.max(oldest_needed);
    let needed = oldest_needed.segment();
    let end = state.current_segment().map_or(needed, |current| needed.min(current));
    let leaving: Vec<u32> = state.segments.range(..end).map(|(id, _)| *id).collect();
    if leaving.is_empty() {
        state.oldest_needed = oldest_needed;
    }
    Ok((oldest_needed, leaving))
}

/// A failed sync of the control file stops the log; a full disk does not.
fn stop_unless_full(shared: &Shared, failure: crate::control::SaveFailure) -> LogError {
    let may_retry = failure.may_retry;
    let error = LogError::from(failure);
    if !may_retry {
        shared.fail(describe(&error));
    }
    error
}

/// Syncs a directory; a failure stops the log.
fn sync_dir(shared: &Shared, dir: &Path) -> Result<(), LogError> {
    shared.disk.sync_dir(dir).map_err(|source| {
        let error = LogError::disk("sync", dir)(source);
        shared.fail(describe(&error));
        error
    })
}

/// Keeps the file of a segment as a spare, or removes it when there are enough.
fn recycle(shared: &Shared, id: u32) -> Result<(), LogError> {
    let path = shared.segment_path(id);
    let lsn = Lsn::new(id, 0);
    let file = shared.file(lsn)?;
    let number = {
        let mut state = shared.state.lock();
        let segment = state.segments.get(&id).ok_or(LogError::NotInLog { lsn })?;
        let fits = segment.bytes == shared.rules.segment_bytes;
        let is_wanted = fits && state.spares.len() < SPARES_MAX;
        is_wanted.then(|| state.next_spare_number())
    };
    let Some(number) = number else {
        shared.disk.remove(&path).map_err(LogError::disk("remove", path))?;
        shared.state.lock().segments.remove(&id);
        return Ok(());
    };
    let spare = Spare { number, file };
    let renamed = shared.disk.rename(&path, &spare.path(&shared.options.dir));
    renamed.map_err(LogError::disk("rename", path))?;
    let mut state = shared.state.lock();
    state.segments.remove(&id);
    state.spares.push(spare);
    Ok(())
}

/// Moves the file of a segment to `target`, without its unused end.
fn adopt(
    shared: &Shared,
    id: u32,
    target: &Path,
    dirs: &mut BTreeSet<PathBuf>,
) -> Result<(), LogError> {
    let path = shared.segment_path(id);
    let lsn = Lsn::new(id, 0);
    let file = shared.file(lsn)?;
    let used = shared.state.lock().segments.get(&id).and_then(used_bytes);
    if let Some(used) = used {
        let trimmed = file.set_len(used).and_then(|()| file.sync_all());
        trimmed.map_err(LogError::disk("trim", &path))?;
        if let Some(segment) = shared.state.lock().segments.get_mut(&id) {
            // It is no spare any more, should it stay.
            segment.bytes = used;
        }
    }
    match shared.disk.rename(&path, target) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            copy(shared, &*file, target).map_err(LogError::disk("copy", target))?;
            shared.disk.remove(&path).map_err(LogError::disk("remove", &path))?;
        }
        other => other.map_err(LogError::disk("adopt", &path))?,
    }
    dirs.extend(target.parent().map(Path::to_owned));
    shared.state.lock().segments.remove(&id);
    Ok(())
}

/// Bytes of a segment up to its last group, if they are fewer than the file has.
fn used_bytes(segment: &Segment) -> Option<u64> {
    let used = align(u64::from(segment.end?));
    (used > 0 && used < segment.bytes).then_some(used)
}

/// Copies a segment to another file system; the copy is durable before its name is. A crash may
/// leave both files: the one in the log is released again then, and replaces the copy.
fn copy(shared: &Shared, from: &dyn DiskFile, target: &Path) -> io::Result<()> {
    let partial = target.with_extension("NEW");
    if let Err(error) = copy_bytes(shared, from, &partial) {
        // It takes room that others need; what remains of it is overwritten by the next attempt.
        let _ = shared.disk.remove(&partial);
        return Err(error);
    }
    shared.disk.rename(&partial, target)?;
    match target.parent() {
        Some(dir) => shared.disk.sync_dir(dir),
        None => Ok(()),
    }
}

fn copy_bytes(shared: &Shared, from: &dyn DiskFile, to: &Path) -> io::Result<()> {
    let to = shared.disk.create(to)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut offset = 0;
    loop {
        let count = from.read_at(&mut buffer, offset)?;
        if count == 0 {
            return to.sync_all();
        }
        to.write_at(&buffer[..count], offset)?;
        offset += count as u64;
    }
}
