//! Space on the disk.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a block in `st_blocks`.
const BLOCK_BYTES: u64 = 512;
/// Files and directories that are counted; more are an error.
const ENTRIES_MAX: usize = 20_000_000;

/// Bytes that the files and directories below `dir` take on the disk. A file with several names
/// counts once; links are not followed; what vanishes meanwhile is left out.
///
/// # Errors
/// `dir` cannot be read, or holds more than 20 million files.
pub fn space_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = fs::metadata(dir)?.blocks() * BLOCK_BYTES;
    fs::read_dir(dir)?;
    let mut several = HashSet::new();
    let mut dirs = vec![dir.to_owned()];
    let mut entries = 0;
    while let Some(dir) = dirs.pop() {
        let Ok(inside) = fs::read_dir(&dir) else { continue };
        for entry in inside.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            entries += 1;
            if entries > ENTRIES_MAX {
                return Err(io::Error::other("more than 20 million files"));
            }
            if found.nlink() > 1 && found.is_file() && !several.insert((found.dev(), found.ino())) {
                continue;
            }
            bytes += found.blocks() * BLOCK_BYTES;
            if found.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_count_once() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let empty = space_bytes(dir.path()).unwrap();
        fs::write(inner.join("a"), vec![1; 100_000]).unwrap();
        let one = space_bytes(dir.path()).unwrap();
        assert!(one >= empty + 100_000, "{empty} {one}");
        fs::hard_link(inner.join("a"), inner.join("b")).unwrap();
        std::os::unix::fs::symlink("a", inner.join("c")).unwrap();
        let with_names = space_bytes(dir.path()).unwrap();
        assert!(with_names < one + 100_000, "{one} {with_names}");
        assert!(space_bytes(&dir.path().join("nowhere")).is_err());
    }
}
