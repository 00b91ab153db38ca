//! Maildirs: those of Dovecot and Courier (`.Folder.Sub` beside `cur`), and directories of them.

mod names;
mod sink;
#[cfg(test)]
mod tests;
mod walk;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub use sink::MaildirSink;

use mailfile::Marks;
use note::TimeDate;

use crate::{Found, Identity, MigrateError, Problem, Source, Taker, crlf};
use walk::{Folder, Letter};

/// A Maildir with its folders.
#[derive(Debug)]
pub struct MaildirSource {
    path: PathBuf,
}

impl MaildirSource {
    /// Messages of the Maildir at this path (INBOX), and of the folders within it.
    pub fn new(path: &Path) -> MaildirSource {
        MaildirSource { path: path.to_owned() }
    }
}

impl Source for MaildirSource {
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError> {
        let folders = walk::folders(&self.path)?;
        if folders.is_empty() {
            let path = self.path.display();
            return Err(MigrateError::Unfit(format!("{path}: no Maildir (there is no cur)")));
        }
        let mut total = 0;
        for folder in &folders {
            total += folder.letters()?.len() as u64;
        }
        let mut done = 0;
        for folder in &folders {
            taker.folder(&folder.name)?;
            one(folder, (&mut done, total), taker)?;
        }
        Ok(())
    }
}

fn one(
    folder: &Folder,
    (done, total): (&mut u64, u64),
    taker: &mut dyn Taker,
) -> Result<(), MigrateError> {
    let keywords = folder.keywords();
    for letter in folder.letters()? {
        match read(&letter, taker.message_bytes_max()) {
            Ok((bytes, date)) => {
                let marks = match letter.is_new {
                    true => Marks::default(),
                    false => names::marks(&letter.name, &keywords),
                };
                let identity = Identity::Content;
                taker.message(Found { identity, bytes: crlf::to_crlf(bytes), date, marks })?;
            }
            Err(error) => {
                let place = letter.path.display().to_string();
                taker.problem(Problem { place, at: 0, reason: error.to_string() });
            }
        }
        *done += 1;
        taker.progress(*done, total)?;
    }
    Ok(())
}

/// Reads a file of a Maildir; its time of change is when the message came in.
fn read(letter: &Letter, bytes_max: u64) -> io::Result<(Vec<u8>, Option<TimeDate>)> {
    read_whole(&letter.path, bytes_max)
}

/// The bytes of a file, unless they are too many, and when it was changed.
pub(crate) fn read_whole(path: &Path, bytes_max: u64) -> io::Result<(Vec<u8>, Option<TimeDate>)> {
    let mut file = fs::File::open(path)?;
    let meta = file.metadata()?;
    if meta.len() > bytes_max {
        return Err(io::Error::other(format!("the message is larger than {bytes_max} bytes")));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    // A file that grows meanwhile stays within the bound.
    (&mut file).take(bytes_max).read_to_end(&mut bytes)?;
    let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let date = changed.and_then(|since| i64::try_from(since.as_micros()).ok()).map(TimeDate);
    Ok((bytes, date))
}
