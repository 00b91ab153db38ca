//! Walking directories: files and directories by name, no links followed, bounded in depth.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use crate::MigrateError;

/// Deepest directory looked into.
pub(crate) const DEPTH_MAX: usize = 40;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Child {
    /// Its name, what is no UTF-8 replaced.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What lies in a directory: files and directories, each by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    pub files: Vec<Child>,
    pub directories: Vec<Child>,
}

/// Reads a directory. Links to files count as files, links to directories are left out.
///
/// # Errors
/// It cannot be read.
pub(crate) fn children(directory: &Path) -> Result<Children, MigrateError> {
    let failed = |error| MigrateError::file(directory, error);
    let mut found = Children::default();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let child = Child { name, path: entry.path() };
        if kind.is_dir() {
            found.directories.push(child);
        } else if is_file(kind, &child.path) {
            found.files.push(child);
        }
    }
    found.files.sort();
    found.directories.sort();
    Ok(found)
}

fn is_file(kind: FileType, path: &Path) -> bool {
    let target = || fs::metadata(path).is_ok_and(|meta| meta.is_file());
    kind.is_file() || (kind.is_symlink() && target())
}
