//! Segments leave the log: adopted by rename, used again, or removed.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::group::align;
use crate::segments::{Segment, Spare};
use crate::shared::Shared;
use crate::state::SPARES_MAX;
use crate::{DiskFile, LogError, Lsn};

/// Copied at a time when a segment moves to another file system.
const COPY_BYTES: usize = 1 << 20;

/// Gives up the segments before the one that holds `oldest_needed`.
pub(crate) fn release(
    shared: &Shared,
    oldest_needed: Lsn,
    keep: &dyn Fn(u32) -> Option<PathBuf>,
) -> Result<Vec<u32>, LogError> {
    let _releasing = shared.releasing.lock();
    let oldest_needed = oldest_needed.min(shared.durable());
    let leaving = note_oldest(shared, oldest_needed)?;
    if leaving.is_empty() {
        return Ok(leaving);
    }
    {
        let mut control = shared.control.lock();
        control.release(oldest_needed);
        shared.save_control(&mut control).map_err(|failure| stop_unless_full(shared, failure))?;
    }
    let mut dirs = BTreeSet::new();
    let mut released = Vec::new();
    let mut outcome = Ok(());
    for id in leaving {
        outcome = match keep(id) {
            Some(target) => adopt(shared, id, &target, &mut dirs),
            None => recycle(shared, id),
        };
        if outcome.is_err() {
            break;
        }
        released.push(id);
    }
    dirs.remove(&shared.options.dir);
    for dir in dirs.iter().chain([&shared.options.dir]) {
        sync_dir(shared, dir)?;
    }
    shared.state.lock().full = false;
    shared.room.notify_all();
    shared.work.notify_one();
    outcome.map(|()| released)
}

/// Notes the oldest needed position; gives the segments that may leave.
fn note_oldest(shared: &Shared, oldest_needed: Lsn) -> Result<Vec<u32>, LogError> {
    let mut state = shared.state.lock();
    if let Some(reason) = &state.failed {
        return Err(LogError::Stopped { reason: reason.clone() });
    }
    if state.durable.offset() == 0 {
        // After a start nothing of the new segment is durable yet, so the record that heads it
        // is not either: what it repeats still stands in the older segments alone.
        return Ok(Vec::new());
    }
    state.oldest_needed = state.oldest_needed.max(oldest_needed);
    let needed = state.oldest_needed.segment();
    let end = state.current_segment().map_or(needed, |current| needed.min(current));
    Ok(state.segments.range(..end).map(|(id, _)| *id).collect())
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

fn describe(error: &LogError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
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
        let segment = state.segments.remove(&id).ok_or(LogError::NotInLog { lsn })?;
        let fits = segment.bytes == shared.rules.segment_bytes;
        let is_wanted = fits && state.spares.len() < SPARES_MAX;
        is_wanted.then(|| state.next_spare_number())
    };
    let Some(number) = number else {
        return shared.disk.remove(&path).map_err(LogError::disk("remove", path));
    };
    let spare = Spare { number, file };
    let renamed = shared.disk.rename(&path, &spare.path(&shared.options.dir));
    renamed.map_err(LogError::disk("rename", path))?;
    shared.state.lock().spares.push(spare);
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
