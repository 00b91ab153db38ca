//! Trees of `.eml` files: a message in each, directories as folders. Beside the files may stand an
//! `index.tsv`, in which each line gives name, time (seconds since 1970) and flags of one.

mod index;
mod sink;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

pub use sink::EmlSink;

use crate::tree::{Child, DEPTH_MAX, children};
use crate::{
    Found, Identity, MigrateError, Problem, Source, Taker, crlf, folders, import, maildir,
};
use index::Index;
pub(crate) use index::marks;

/// A tree of `.eml` files, or one of them.
#[derive(Debug)]
pub struct EmlSource {
    path: PathBuf,
}

/// The files of one directory.
struct Folder {
    path: PathBuf,
    name: String,
    files: Vec<Child>,
}

impl EmlSource {
    /// The files below a directory (those in it go into INBOX), or one file.
    pub fn new(path: &Path) -> EmlSource {
        EmlSource { path: path.to_owned() }
    }

    fn folders(&self) -> Result<Vec<Folder>, MigrateError> {
        let path = &self.path;
        let meta = fs::metadata(path).map_err(|error| MigrateError::file(path, error))?;
        let mut found = Vec::new();
        if meta.is_dir() {
            walk(path, &mut Vec::new(), &mut found)?;
            return Ok(found);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = Child { name: name.unwrap_or_default(), path: path.clone() };
        let directory = path.parent().unwrap_or(path).to_owned();
        let name = mailfile::INBOX.to_owned();
        Ok(vec![Folder { path: directory, name, files: vec![file] }])
    }
}

fn walk(
    path: &Path,
    levels: &mut Vec<String>,
    found: &mut Vec<Folder>,
) -> Result<(), MigrateError> {
    let inside = children(path)?;
    let is_eml = |file: &Child| {
        let ending = file.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ending.eq_ignore_ascii_case("eml")
    };
    let has_index = inside.files.iter().any(|file| file.name == index::NAME);
    let files: Vec<Child> = inside.files.into_iter().filter(is_eml).collect();
    if !files.is_empty() || has_index {
        found.push(Folder { path: path.to_owned(), name: folders::name_of(levels), files });
    }
    for directory in inside.directories {
        if levels.len() < DEPTH_MAX {
            levels.push(folders::level_of_file(&directory.name));
            walk(&directory.path, levels, found)?;
            levels.pop();
        }
    }
    Ok(())
}

impl Source for EmlSource {
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError> {
        let folders = self.folders()?;
        let total = folders.iter().map(|folder| folder.files.len() as u64).sum();
        let mut done = 0;
        for folder in &folders {
            taker.folder(&folder.name)?;
            let index = Index::load(&folder.path);
            for file in &folder.files {
                one(file, &index, taker)?;
                done += 1;
                taker.progress(done, total)?;
            }
        }
        Ok(())
    }
}

fn one(file: &Child, index: &Index, taker: &mut dyn Taker) -> Result<(), MigrateError> {
    match maildir::read_whole(&file.path, taker.message_bytes_max()) {
        Ok((bytes, changed)) => {
            let bytes = crlf::to_crlf(bytes);
            let known = index.get(&file.name);
            let date = known.and_then(|(date, _)| *date);
            let date = date.or_else(|| import::date_in(&bytes)).or(changed);
            let marks = known.map(|(_, marks)| marks.clone()).unwrap_or_default();
            taker.message(Found { identity: Identity::Content, bytes, date, marks })
        }
        Err(error) => {
            let place = file.path.display().to_string();
            taker.problem(Problem { place, at: 0, reason: error.to_string() });
            Ok(())
        }
    }
}
