//! Names and files of segments.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::control::CONTROL_NAME;
use crate::{Disk, DiskFile, LogError};

/// File name of a segment, for example `S0000012.TXN` for segment 12 (decimal).
pub fn segment_file_name(segment: u32) -> String {
    format!("S{segment:07}.TXN")
}

/// The segment that a file name stands for.
pub fn segment_of_file_name(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('S')?.strip_suffix(".TXN")?;
    let segment =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (segment_file_name(segment) == name).then_some(segment)
}

fn spare_file_name(number: u32) -> String {
    format!("SPARE{number:03}.TXN")
}

fn spare_of_file_name(name: &str) -> Option<u32> {
    let number = name.strip_prefix("SPARE")?.strip_suffix(".TXN")?.parse().ok()?;
    (spare_file_name(number) == name).then_some(number)
}

/// A segment of the log.
pub(crate) struct Segment {
    /// Length of the file.
    pub bytes: u64,
    /// Behind the last record, when nothing is appended to it any more and that is known.
    pub end: Option<u32>,
    /// Open when needed.
    pub file: Option<Arc<dyn DiskFile>>,
}

/// A file that waits to become a segment.
pub(crate) struct Spare {
    /// Number in its file name.
    pub number: u32,
    pub file: Arc<dyn DiskFile>,
}

impl Spare {
    /// Its name in the directory of the log.
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(spare_file_name(self.number))
    }

    /// Makes a spare of `bytes` bytes. Nothing is left behind when that fails.
    pub fn create(disk: &dyn Disk, dir: &Path, number: u32, bytes: u64) -> io::Result<Spare> {
        let path = dir.join(spare_file_name(number));
        let file = disk.create(&path)?;
        if let Err(error) = file.allocate(bytes) {
            if let Err(second) = disk.remove(&path) {
                let path = path.display();
                tracing::warn!(%path, error = %second, "cannot remove an unfinished spare segment");
            }
            return Err(error);
        }
        Ok(Spare { number, file })
    }
}

/// A number greater than those of the given spares.
pub(crate) fn next_spare_number(spares: &[Spare]) -> u32 {
    spares.iter().map(|spare| spare.number.wrapping_add(1)).max().unwrap_or(0)
}

/// What the directory of a log holds.
#[derive(Default)]
pub(crate) struct Listing {
    /// Segment ids, ascending.
    pub segments: Vec<u32>,
    /// Numbers of spares.
    pub spares: Vec<u32>,
    /// Is there a control file?
    pub has_control: bool,
}

impl Listing {
    pub fn load(disk: &dyn Disk, dir: &Path) -> Result<Listing, LogError> {
        let mut listing = Listing::default();
        for name in disk.list(dir).map_err(LogError::disk("list", dir))? {
            if let Some(segment) = segment_of_file_name(&name) {
                listing.segments.push(segment);
            } else if let Some(number) = spare_of_file_name(&name) {
                listing.spares.push(number);
            } else if name == CONTROL_NAME {
                listing.has_control = true;
            }
        }
        listing.segments.sort_unstable();
        Ok(listing)
    }

    /// Opens the spares of the right length and removes the others.
    pub fn spares(&self, disk: &dyn Disk, dir: &Path, bytes: u64) -> Result<Vec<Spare>, LogError> {
        let mut spares = Vec::new();
        for number in &self.spares {
            let path = dir.join(spare_file_name(*number));
            let failed = |action| LogError::disk(action, path.clone());
            let file = disk.open(&path).map_err(failed("open"))?;
            if file.len().map_err(failed("look at"))? == bytes {
                spares.push(Spare { number: *number, file });
            } else {
                disk.remove(&path).map_err(failed("remove"))?;
            }
        }
        Ok(spares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for segment in [0, 12, 9_999_999, u32::MAX] {
            assert_eq!(segment_of_file_name(&segment_file_name(segment)), Some(segment));
        }
        assert_eq!(segment_file_name(12), "S0000012.TXN");
        for name in ["S12.TXN", "S00000012.TXN", "S+000012.TXN", "SPARE001.TXN", "S0000012.TX"] {
            assert_eq!(segment_of_file_name(name), None, "{name}");
        }
        assert_eq!(spare_of_file_name(&spare_file_name(7)), Some(7));
        assert_eq!(spare_of_file_name("SPARE7.TXN"), None);
    }
}
