//! mbox files (RFC 4155 and its many forms): one file, or a tree of files.

mod read;
mod sink;
mod status;
#[cfg(test)]
mod tests;
mod walk;

use std::path::{Path, PathBuf};

pub use sink::MboxSink;

use crate::{Found, Identity, MigrateError, Problem, Source, Taker, crlf, import};
pub(crate) use status::add_keyword;

use read::{Letter, Mbox};
use walk::MboxFile;

/// An mbox file, or a tree of them, as Thunderbird keeps it (`Name`, `Name.sbd/Sub`).
#[derive(Debug)]
pub struct MboxSource {
    path: PathBuf,
}

impl MboxSource {
    /// Messages of a file, which go into INBOX, or of all mbox files below a directory, whose
    /// names become folders.
    pub fn new(path: &Path) -> MboxSource {
        MboxSource { path: path.to_owned() }
    }
}

impl Source for MboxSource {
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError> {
        let files = walk::files(&self.path, &mut |problem| taker.problem(problem))?;
        let total = files.iter().map(|file| file.bytes).sum();
        let mut before = 0;
        for file in &files {
            taker.folder(&file.folder)?;
            one(file, (before, total), taker)?;
            before += file.bytes;
        }
        taker.progress(total, total)
    }
}

/// Reads one file; what is wrong with it does not keep the others from their turn.
fn one(
    file: &MboxFile,
    (before, total): (u64, u64),
    taker: &mut dyn Taker,
) -> Result<(), MigrateError> {
    let place = file.path.display().to_string();
    let trouble = |at, reason: String| Problem { place: place.clone(), at, reason };
    let opened = Mbox::open(&file.path, taker.message_bytes_max());
    let mut mbox = match opened {
        Ok(mbox) => mbox,
        Err(error) => {
            taker.problem(trouble(0, error.to_string()));
            return Ok(());
        }
    };
    loop {
        match mbox.next() {
            Ok(None) => return Ok(()),
            Ok(Some(letter)) => take(letter, &trouble, taker)?,
            Err(error) => {
                taker.problem(trouble(mbox.offset(), error.to_string()));
                return Ok(());
            }
        }
        taker.progress(before + mbox.offset().min(file.bytes), total)?;
    }
}

fn take(
    letter: Letter,
    trouble: &dyn Fn(u64, String) -> Problem,
    taker: &mut dyn Taker,
) -> Result<(), MigrateError> {
    if let Some(why) = letter.left_out {
        taker.problem(trouble(letter.offset, why));
        return Ok(());
    }
    let mut bytes = crlf::to_crlf(letter.bytes);
    let Some(marks) = status::take(&mut bytes) else { return Ok(()) };
    // The time of delivery is in the line that separates messages.
    let date = read::date_of(&letter.separator).or_else(|| import::date_in(&bytes));
    taker.message(Found { identity: Identity::Content, bytes, date, marks })
}
