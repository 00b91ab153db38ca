//! Finding the mbox files below a directory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::tree::{Child, DEPTH_MAX, children};
use crate::{MigrateError, Problem, folders};

/// Endings of files that lie beside mbox files and are none.
const BESIDE: [&str; 14] = [
    "msf",
    "dat",
    "html",
    "htm",
    "json",
    "sqlite",
    "xml",
    "js",
    "lock",
    "cmeta",
    "ibex",
    "ev-summary",
    "db",
    "log",
];
/// Endings that are no part of a folder's name.
const ENDINGS: [&str; 3] = [".mbox", ".mbx", ".mboxrd"];

/// An mbox file and the folder that its messages belong into.
#[derive(Debug)]
pub(super) struct MboxFile {
    pub path: PathBuf,
    pub folder: String,
    pub bytes: u64,
}

/// The mbox files at a path. What is none is told, unless its name says that it is something else.
pub(super) fn files(
    path: &Path,
    problem: &mut dyn FnMut(Problem),
) -> Result<Vec<MboxFile>, MigrateError> {
    let meta = fs::metadata(path).map_err(|error| MigrateError::file(path, error))?;
    if !meta.is_dir() {
        let folder = mailfile::INBOX.to_owned();
        return Ok(vec![MboxFile { path: path.to_owned(), folder, bytes: meta.len() }]);
    }
    let mut walk = Walk { found: Vec::new(), problem };
    walk.directory(path, &mut Vec::new())?;
    Ok(walk.found)
}

struct Walk<'a> {
    found: Vec<MboxFile>,
    problem: &'a mut dyn FnMut(Problem),
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, levels: &mut Vec<String>) -> Result<(), MigrateError> {
        let inside = children(path)?;
        for file in inside.files {
            self.file(file, levels);
        }
        for directory in inside.directories {
            if directory.name.starts_with('.') || levels.len() >= DEPTH_MAX {
                continue;
            }
            levels.push(folders::level_of_file(plain(&directory.name)));
            self.directory(&directory.path, levels)?;
            levels.pop();
        }
        Ok(())
    }

    fn file(&mut self, file: Child, levels: &[String]) {
        let ending = file.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_beside = BESIDE.iter().any(|known| known.eq_ignore_ascii_case(ending));
        if is_beside || file.name.starts_with('.') {
            return;
        }
        let place = file.path.display().to_string();
        match looks_like_mbox(&file.path) {
            Ok(true) => {
                let bytes = fs::metadata(&file.path).map_or(0, |meta| meta.len());
                let mut names = levels.to_vec();
                // The file within a directory `Name.mbox` is the folder `Name` itself.
                if names.is_empty() || !file.name.eq_ignore_ascii_case("mbox") {
                    names.push(folders::level_of_file(plain(&file.name)));
                }
                let folder = folders::name_of(&names);
                self.found.push(MboxFile { path: file.path, folder, bytes });
            }
            Ok(false) => {
                let reason = "it does not begin with a From line, so it is no mbox file".to_owned();
                (self.problem)(Problem { place, at: 0, reason });
            }
            Err(error) => (self.problem)(Problem { place, at: 0, reason: error.to_string() }),
        }
    }
}

fn looks_like_mbox(path: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(5).read_to_end(&mut start)?;
    Ok(start.is_empty() || start == b"From ")
}

/// A name without what says that it is an mbox file or a directory of them.
fn plain(name: &str) -> &str {
    let ending = |ending: &&str| {
        let at = name.len().checked_sub(ending.len())?;
        let (start, end) = name.split_at_checked(at)?;
        (end.eq_ignore_ascii_case(ending) && !start.is_empty()).then_some(start)
    };
    let all = ENDINGS.iter().copied().chain([".sbd"]);
    all.into_iter().find_map(|known| ending(&known)).unwrap_or(name)
}
