//! Finding the folders of a Maildir, and their messages.

use std::fs;
use std::path::{Path, PathBuf};

use message::utf7;

use super::names;
use crate::tree::{DEPTH_MAX, children};
use crate::{MigrateError, folders};

/// Longest list of keywords that is read, in bytes.
const KEYWORDS_BYTES_MAX: u64 = 64 * 1024;

/// A folder: a directory with `cur` and `new`.
#[derive(Debug)]
pub(super) struct Folder {
    pub path: PathBuf,
    pub name: String,
}

/// A message of a folder.
#[derive(Debug)]
pub(super) struct Letter {
    pub path: PathBuf,
    pub name: String,
    /// It lies in `new`: nobody has seen it.
    pub is_new: bool,
}

/// The Maildir at this path and all folders within it, INBOX first.
pub(super) fn folders(root: &Path) -> Result<Vec<Folder>, MigrateError> {
    fs::metadata(root).map_err(|error| MigrateError::file(root, error))?;
    let mut found = Vec::new();
    if is_maildir(root) {
        found.push(Folder { path: root.to_owned(), name: mailfile::INBOX.to_owned() });
    }
    inside(root, &mut Vec::new(), &mut found)?;
    Ok(found)
}

fn is_maildir(path: &Path) -> bool {
    path.join("cur").is_dir() || path.join("new").is_dir()
}

fn inside(
    path: &Path,
    levels: &mut Vec<String>,
    found: &mut Vec<Folder>,
) -> Result<(), MigrateError> {
    for child in children(path)?.directories {
        if ["cur", "new", "tmp"].contains(&child.name.as_str()) || levels.len() >= DEPTH_MAX {
            continue;
        }
        if child.name.starts_with('.') {
            if is_maildir(&child.path) {
                let below = names::folder_of(&child.name);
                let all: Vec<&str> =
                    levels.iter().map(String::as_str).chain(below.split('/')).collect();
                let name = folders::name_of(&all);
                found.push(Folder { path: child.path, name });
            }
            continue;
        }
        levels.push(utf7::decode(&child.name));
        if is_maildir(&child.path) {
            let name = folders::name_of(levels);
            found.push(Folder { path: child.path.clone(), name });
        }
        inside(&child.path, levels, found)?;
        levels.pop();
    }
    Ok(())
}

impl Folder {
    /// Its messages, in the order in which they came.
    pub(super) fn letters(&self) -> Result<Vec<Letter>, MigrateError> {
        let mut letters = Vec::new();
        for (directory, is_new) in [("cur", false), ("new", true)] {
            let path = self.path.join(directory);
            if !path.is_dir() {
                continue;
            }
            let files = children(&path)?.files.into_iter();
            let files = files.filter(|file| !file.name.starts_with('.'));
            letters.extend(files.map(|file| Letter { path: file.path, name: file.name, is_new }));
        }
        letters.sort_by_cached_key(|letter| {
            let digits = letter.name.bytes().take_while(u8::is_ascii_digit).count();
            (letter.name[..digits].parse::<u64>().unwrap_or(u64::MAX), letter.name.clone())
        });
        Ok(letters)
    }

    /// Dovecot's list of keywords, which stand as letters in the names.
    pub(super) fn keywords(&self) -> Vec<String> {
        let path = self.path.join("dovecot-keywords");
        let fits = fs::metadata(&path).is_ok_and(|meta| meta.len() <= KEYWORDS_BYTES_MAX);
        let text = fits.then(|| fs::read_to_string(&path).ok()).flatten();
        names::keywords(&text.unwrap_or_default())
    }
}
