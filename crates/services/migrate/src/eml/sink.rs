//! Writing a tree of `.eml` files, byte for byte as the messages came in.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use mailfile::{INBOX, Marks};

use super::index::{self, Index};
use crate::{MigrateError, Outgoing, Sink, folders};

/// A tree of `.eml` files with an index in each directory. Messages that are in it already are not
/// written again.
#[derive(Debug)]
pub struct EmlSink {
    root: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    known: Index,
    index: BufWriter<File>,
}

impl EmlSink {
    /// A tree below `root`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(root: &Path) -> Result<EmlSink, MigrateError> {
        fs::create_dir_all(root).map_err(|error| MigrateError::file(root, error))?;
        Ok(EmlSink { root: root.to_owned(), open: None })
    }
}

impl Open {
    fn new(path: PathBuf) -> Result<Open, MigrateError> {
        fs::create_dir_all(&path).map_err(|error| MigrateError::file(&path, error))?;
        let known = Index::load(&path);
        let place = path.join(index::NAME);
        let file = OpenOptions::new().append(true).create(true).open(&place);
        let file = file.map_err(|error| MigrateError::file(&place, error))?;
        Ok(Open { path, known, index: BufWriter::new(file) })
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError> {
        let entry = message.entry;
        let name = format!("{:08x}-{:08x}.eml", message.uidvalidity, entry.uid);
        let path = self.path.join(&name);
        // The line in the index is written behind the file.
        if self.known.get(&name).is_some() && path.exists() {
            return Ok(false);
        }
        let written = write(&path, message);
        if written.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&path);
        }
        written?;
        let line = index::line(&name, entry.date, &Marks::of(entry));
        let told = self.index.write_all(line.as_bytes());
        told.map_err(|error| MigrateError::file(&self.path, error))?;
        Ok(true)
    }
}

fn write(path: &Path, message: &mut Outgoing<'_>) -> Result<(), MigrateError> {
    let failed = |error| MigrateError::file(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    message.each_piece(&mut |piece| file.write_all(piece).map_err(failed))?;
    file.flush().map_err(failed)
}

impl Sink for EmlSink {
    fn folder(&mut self, name: &str) -> Result<(), MigrateError> {
        self.finish()?;
        let mut path = self.root.clone();
        if name != INBOX {
            path.extend(name.split('/').map(folders::file_of));
        }
        self.open = Some(Open::new(path)?);
        Ok(())
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError> {
        let open = self.open.as_mut();
        open.ok_or_else(|| MigrateError::Unfit("no folder is open".to_owned()))?.message(message)
    }

    fn finish(&mut self) -> Result<(), MigrateError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let path = open.path.join(index::NAME);
        open.index.flush().map_err(|error| MigrateError::file(&path, error))
    }
}
