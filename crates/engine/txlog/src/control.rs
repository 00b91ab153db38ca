//! The control file: what must be known before the segments can be read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::is_full;
use crate::group::{align, u32_at, u64_at};
use crate::salt::mix;
use crate::{Disk, DiskFile, LogError, Lsn};

/// Name of the control file.
pub(crate) const CONTROL_NAME: &str = "CONTROL.TXN";
const NEW_NAME: &str = "CONTROL.NEW";
const MAGIC: [u8; 4] = *b"NTXC";
const FORMAT: u16 = 1;
const FIXED_BYTES: usize = 56;
const VOID_BYTES: usize = 16;
/// More than this are not believed.
const VOIDS_MAX: usize = 1 << 20;

/// A stretch of positions that was never part of the log: what lay behind the end at an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Void {
    /// The end of the log when it was opened.
    pub from: Lsn,
    /// Where the log went on.
    pub to: Lsn,
}

/// The content of the control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    /// Times it was written.
    pub sequence: u64,
    /// Names this log.
    pub log_id: u64,
    /// The salts of the segments are made of it.
    pub salt_basis: u64,
    /// Segment ids below this may have been used.
    pub next_segment: u32,
    /// Nothing before this position is needed.
    pub oldest_needed: Lsn,
    /// Everything before this position was durable when the file was written.
    pub durable: Lsn,
    /// In ascending order, apart from each other.
    pub voids: Vec<Void>,
}

/// Why the control file was not written.
#[derive(Debug)]
pub(crate) struct SaveFailure {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
    /// The disk is full: nothing changed, it may be tried again.
    pub may_retry: bool,
}

impl From<SaveFailure> for LogError {
    fn from(failure: SaveFailure) -> LogError {
        LogError::disk(failure.action, failure.path)(failure.source)
    }
}

impl Control {
    /// The control file of a log that has no segments yet.
    pub fn new(log_id: u64, salt_basis: u64) -> Control {
        Control {
            sequence: 0,
            log_id,
            salt_basis,
            next_segment: 0,
            oldest_needed: Lsn::ZERO,
            durable: Lsn::ZERO,
            voids: Vec::new(),
        }
    }

    /// The salt of a segment.
    pub fn salt(&self, segment: u32) -> u64 {
        mix(self.salt_basis ^ u64::from(segment))
    }

    /// Loads the control file of a directory; `None` when there is none.
    pub fn load(disk: &dyn Disk, dir: &Path) -> Result<Option<Control>, LogError> {
        let path = dir.join(CONTROL_NAME);
        let failed = |source| LogError::disk("read", &path)(source);
        if !disk.exists(&path).map_err(failed)? {
            return Ok(None);
        }
        let file = disk.open(&path).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        let damaged = || LogError::ControlDamaged { path: path.clone() };
        if length > 2 * align((FIXED_BYTES + VOIDS_MAX * VOID_BYTES + 4) as u64) {
            return Err(damaged());
        }
        let mut bytes = vec![0; length as usize];
        let count = file.read_at(&mut bytes, 0).map_err(failed)?;
        bytes.truncate(count);
        let second = &bytes[bytes.len() / 2..];
        Control::decode(&bytes).or_else(|| Control::decode(second)).map(Some).ok_or_else(damaged)
    }

    /// Writes the control file and makes it durable before the old one is gone.
    pub fn save(&mut self, disk: &dyn Disk, dir: &Path) -> Result<(), SaveFailure> {
        self.sequence += 1;
        let (new, path) = (dir.join(NEW_NAME), dir.join(CONTROL_NAME));
        let written = |action| {
            let path = new.clone();
            move |source| {
                let may_retry = is_full(&source);
                SaveFailure { action, path, source, may_retry }
            }
        };
        let synced = |action| {
            let path = path.clone();
            move |source| SaveFailure { action, path, source, may_retry: false }
        };
        let bytes = self.encode();
        let file = open_or_create(disk, &new, bytes.len()).map_err(written("create"))?;
        file.write_at(&bytes, 0).map_err(written("write"))?;
        file.sync_all().map_err(synced("sync"))?;
        disk.rename(&new, &path).map_err(written("rename"))?;
        disk.sync_dir(dir).map_err(synced("sync the directory of"))?;
        reserve(disk, &new, bytes.len());
        Ok(())
    }

    /// Two copies, so that one damaged sector does no harm.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.log_id.to_le_bytes());
        out.extend_from_slice(&self.salt_basis.to_le_bytes());
        out.extend_from_slice(&self.oldest_needed.0.to_le_bytes());
        out.extend_from_slice(&self.next_segment.to_le_bytes());
        out.extend_from_slice(&(self.voids.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.durable.0.to_le_bytes());
        for void in &self.voids {
            out.extend_from_slice(&void.from.0.to_le_bytes());
            out.extend_from_slice(&void.to.0.to_le_bytes());
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.resize(align(out.len() as u64) as usize, 0);
        out.repeat(2)
    }

    fn decode(bytes: &[u8]) -> Option<Control> {
        let fixed = bytes.get(..FIXED_BYTES)?;
        if fixed[..4] != MAGIC || fixed[4..6] != FORMAT.to_le_bytes() {
            return None;
        }
        let count = u32_at(fixed, 44) as usize;
        if count > VOIDS_MAX {
            return None;
        }
        let crc_at = FIXED_BYTES + count * VOID_BYTES;
        let summed = bytes.get(..crc_at)?;
        if crc32fast::hash(summed) != u32_at(bytes.get(crc_at..crc_at + 4)?, 0) {
            return None;
        }
        let voids = summed[FIXED_BYTES..].chunks_exact(VOID_BYTES);
        let void = |at: &[u8]| Void { from: Lsn(u64_at(at, 0)), to: Lsn(u64_at(at, 8)) };
        Some(Control {
            sequence: u64_at(fixed, 8),
            log_id: u64_at(fixed, 16),
            salt_basis: u64_at(fixed, 24),
            oldest_needed: Lsn(u64_at(fixed, 32)),
            next_segment: u32_at(fixed, 40),
            durable: Lsn(u64_at(fixed, 48)),
            voids: voids.map(void).collect(),
        })
    }

    /// Where the log goes on when `lsn` is in a void; else `lsn`.
    pub fn skip_void(&self, lsn: Lsn) -> Lsn {
        let void = self.voids.iter().find(|void| void.from <= lsn && lsn < void.to);
        void.map_or(lsn, |void| void.to)
    }

    /// Notes that nothing in `from..to` is part of the log.
    pub fn add_void(&mut self, from: Lsn, to: Lsn) {
        self.voids.retain(|void| void.from < from);
        if from >= to {
            return;
        }
        match self.voids.last_mut() {
            Some(last) if last.to >= from => last.to = to,
            _ => self.voids.push(Void { from, to }),
        }
    }

    /// Moves the oldest needed position and forgets the voids before its segment.
    pub fn release(&mut self, oldest_needed: Lsn) {
        self.oldest_needed = self.oldest_needed.max(oldest_needed);
        let start = Lsn::new(self.oldest_needed.segment(), 0);
        self.voids.retain(|void| void.to > start);
    }
}

/// The file that the next version is written to, with its space reserved when possible.
fn open_or_create(disk: &dyn Disk, new: &Path, bytes: usize) -> io::Result<Arc<dyn DiskFile>> {
    if disk.exists(new)? {
        let file = disk.open(new)?;
        if file.len()? == bytes as u64 {
            return Ok(file);
        }
    }
    disk.create(new)
}

/// Reserves space for the next version, so that segments can be released on a full disk.
fn reserve(disk: &dyn Disk, new: &Path, bytes: usize) {
    let reserved = disk.create(new).and_then(|file| file.allocate(bytes as u64));
    if let Err(error) = reserved {
        tracing::debug!(path = %new.display(), %error, "no space reserved for the control file");
    }
}

#[cfg(test)]
mod tests;
