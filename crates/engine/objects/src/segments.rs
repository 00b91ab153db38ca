//! Segments that hold blocks: how much of each is alive, and the files taken over from the log.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use txlog::sync::Mutex;
use txlog::{Disk, DiskFile, Lsn, segment_file_name};

use crate::record::Entry;

/// Adopted segment files that are kept open.
const OPEN_FILES_MAX: usize = 32;

/// What the blocks and ends of known objects take in one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Blocks, and records that end or relocate an object.
    pub blocks: i64,
    /// Bytes of the blocks.
    pub bytes: i64,
}

/// Loads per segment id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads(pub HashMap<u32, Load>);

impl Loads {
    /// Adds the blocks and the end of an object `times` (1 or -1).
    pub(crate) fn add(&mut self, entry: &Entry, times: i64) {
        self.0.entry(entry.end_lsn.segment()).or_default().blocks += times;
        for block in &entry.blocks {
            let load = self.0.entry(block.lsn.segment()).or_default();
            load.blocks += times;
            load.bytes += times * i64::from(block.stored_bytes);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Loads) {
        for (&segment, more) in &other.0 {
            let load = self.0.entry(segment).or_default();
            load.blocks += more.blocks;
            load.bytes += more.bytes;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, segment: u32) -> Load {
        self.0.get(&segment).copied().unwrap_or_default()
    }

    pub(crate) fn is_live(&self, segment: u32) -> bool {
        self.0.get(&segment).is_some_and(|load| load.blocks > 0)
    }

    pub(crate) fn live(&self) -> u64 {
        self.0.values().filter(|load| load.blocks > 0).count() as u64
    }
}

/// Contents that are being written: their blocks are not known to anybody yet.
#[derive(Default)]
pub(crate) struct OpenPuts(BTreeMap<Lsn, usize>);

impl OpenPuts {
    pub(crate) fn begin(&mut self, from: Lsn) {
        *self.0.entry(from).or_insert(0) += 1;
    }

    pub(crate) fn end(&mut self, from: Lsn) {
        if let Some(count) = self.0.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&from);
            }
        }
    }

    /// True when a content that is being written may have blocks in the segment.
    pub(crate) fn may_use(&self, segment: u32) -> bool {
        self.0.first_key_value().is_some_and(|(from, _)| from.segment() <= segment)
    }
}

struct Files {
    /// Length in bytes, once somebody has asked for it.
    known: BTreeMap<u32, Option<u64>>,
    /// Most recently used last.
    open: Vec<(u32, Arc<dyn DiskFile>)>,
}

/// The segment files the store has taken over.
pub(crate) struct Adopted {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    files: Mutex<Files>,
}

fn segment_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('S')?.strip_suffix(".TXN")?;
    (digits.len() >= 7).then(|| digits.parse().ok()).flatten()
}

/// A copy from another file system that a crash has cut off: the log still has the segment.
fn is_partial(name: &str) -> bool {
    name.strip_suffix(".NEW").is_some_and(|stem| segment_of(&format!("{stem}.TXN")).is_some())
}

impl Adopted {
    /// Finds the adopted segments in `dir`, which is made when it is not there. Copies that were
    /// cut off are removed.
    pub(crate) fn open(dir: &Path, disk: Arc<dyn Disk>) -> io::Result<Adopted> {
        disk.create_dir_all(dir)?;
        let names = disk.list(dir)?;
        for partial in names.iter().filter(|name| is_partial(name)) {
            disk.remove(&dir.join(partial))?;
        }
        let known = names.iter().filter_map(|name| Some((segment_of(name)?, None))).collect();
        let files = Mutex::new(Files { known, open: Vec::new() });
        Ok(Adopted { dir: dir.to_path_buf(), disk, files })
    }

    pub(crate) fn path(&self, segment: u32) -> PathBuf {
        self.dir.join(segment_file_name(segment))
    }

    pub(crate) fn count(&self) -> usize {
        self.files.lock().known.len()
    }

    pub(crate) fn add(&self, segment: u32) {
        self.files.lock().known.entry(segment).or_insert(None);
    }

    /// Ids of the adopted segments, ascending.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.files.lock().known.keys().copied().collect()
    }

    /// Length of an adopted segment's file in bytes; `None` when it is not there (any more).
    pub(crate) fn length(&self, segment: u32) -> io::Result<Option<u64>> {
        if let Some(Some(length)) = self.files.lock().known.get(&segment) {
            return Ok(Some(*length));
        }
        let length = match self.disk.open(&self.path(segment)).and_then(|file| file.len()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            length => length?,
        };
        if let Some(known) = self.files.lock().known.get_mut(&segment) {
            *known = Some(length);
        }
        Ok(Some(length))
    }

    /// Removes the file of a segment; who has it open reads on. It is gone for good after
    /// [`Adopted::sync_dir`].
    pub(crate) fn remove(&self, segment: u32) -> io::Result<()> {
        let mut files = self.files.lock();
        match self.disk.remove(&self.path(segment)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        files.known.remove(&segment);
        files.open.retain(|(id, _)| *id != segment);
        Ok(())
    }

    /// Makes removals durable.
    pub(crate) fn sync_dir(&self) -> io::Result<()> {
        self.disk.sync_dir(&self.dir)
    }

    /// The file of an adopted segment; `None` when the segment is not known to be adopted.
    pub(crate) fn file(&self, segment: u32) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let mut files = self.files.lock();
        if !files.known.contains_key(&segment) {
            return Ok(None);
        }
        if let Some(at) = files.open.iter().position(|(id, _)| *id == segment) {
            let found = files.open.remove(at);
            let file = Arc::clone(&found.1);
            files.open.push(found);
            return Ok(Some(file));
        }
        let file = self.disk.open(&self.path(segment))?;
        if files.open.len() >= OPEN_FILES_MAX {
            files.open.remove(0);
        }
        files.open.push((segment, Arc::clone(&file)));
        Ok(Some(file))
    }

    /// Looks whether the log has just moved the segment here, before anybody said so.
    pub(crate) fn notice(&self, segment: u32) -> io::Result<Option<Arc<dyn DiskFile>>> {
        if !self.disk.exists(&self.path(segment))? {
            return Ok(None);
        }
        self.add(segment);
        self.file(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_segment_names_are_taken() {
        assert_eq!(segment_of("S0000012.TXN"), Some(12));
        assert_eq!(segment_of("S12345678.TXN"), Some(12_345_678));
        for name in ["S12.TXN", "catalog.db", "S000001x.TXN", "S0000001.TXN.new", "T0000001.TXN"] {
            assert_eq!(segment_of(name), None, "{name}");
        }
        assert!(is_partial("S0000012.NEW"));
        assert!(!is_partial("S0000012.TXN") && !is_partial("catalog.NEW"));
    }

    #[test]
    fn writing_contents_hold_segments_from_their_start() {
        let mut puts = OpenPuts::default();
        puts.begin(Lsn(5 << 32));
        puts.begin(Lsn(5 << 32));
        puts.begin(Lsn(7 << 32));
        assert!(!puts.may_use(4) && puts.may_use(5) && puts.may_use(9));
        puts.end(Lsn(5 << 32));
        assert!(puts.may_use(5));
        puts.end(Lsn(5 << 32));
        assert!(!puts.may_use(6) && puts.may_use(7));
    }
}
