//! Writing a Maildir with folders, in the form of Dovecot and Courier.

use std::collections::HashSet;
use std::fs::{self, File, FileTimes};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use mailfile::{INBOX, Marks};

use super::names;
use crate::crlf::ToLf;
use crate::tree::children;
use crate::{MigrateError, Outgoing, Sink};

/// A Maildir. Messages that are in it already are not written again.
#[derive(Debug)]
pub struct MaildirSink {
    root: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    keywords: Vec<String>,
    /// Names without flags of the messages that are there.
    there: HashSet<String>,
}

impl MaildirSink {
    /// A Maildir at `root`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(root: &Path) -> Result<MaildirSink, MigrateError> {
        fs::create_dir_all(root).map_err(|error| MigrateError::file(root, error))?;
        Ok(MaildirSink { root: root.to_owned(), open: None })
    }
}

fn stem(name: &str) -> &str {
    name.split_once(":2,").map_or(name, |(stem, _)| stem)
}

impl Open {
    fn new(path: PathBuf) -> Result<Open, MigrateError> {
        for part in ["cur", "new", "tmp"] {
            let directory = path.join(part);
            fs::create_dir_all(&directory)
                .map_err(|error| MigrateError::file(&directory, error))?;
        }
        let files = children(&path.join("cur"))?.files;
        let there = files.iter().map(|file| stem(&file.name).to_owned()).collect();
        let text = fs::read_to_string(path.join("dovecot-keywords")).unwrap_or_default();
        let mut keywords = names::keywords(&text);
        let used = keywords.iter().rposition(|word| !word.is_empty()).map_or(0, |last| last + 1);
        keywords.truncate(used);
        Ok(Open { path, keywords, there })
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError> {
        let entry = message.entry;
        let (seconds, uidvalidity) = (entry.date.unix_seconds().max(0), message.uidvalidity);
        let stem = format!("{seconds}.V{uidvalidity:08x}U{:08x}.nelumbo", entry.uid);
        if self.there.contains(&stem) {
            return Ok(false);
        }
        let (letters, lost) = names::letters(&Marks::of(entry), &mut self.keywords);
        if !lost.is_empty() {
            message.tell(format!("no room for the keywords {}", lost.join(" ")));
        }
        let tmp = self.path.join("tmp").join(&stem);
        let written = write(&tmp, message);
        let path = self.path.join("cur").join(format!("{stem}:2,{letters}"));
        let moved = written.and_then(|()| {
            fs::rename(&tmp, &path).map_err(|error| MigrateError::file(&path, error))
        });
        if moved.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&tmp);
        }
        moved.map(|()| true)
    }

    fn finish(self) -> Result<(), MigrateError> {
        if self.keywords.is_empty() {
            return Ok(());
        }
        let path = self.path.join("dovecot-keywords");
        let lines = self.keywords.iter().enumerate();
        let text: String = lines.map(|(number, word)| format!("{number} {word}\n")).collect();
        fs::write(&path, text).map_err(|error| MigrateError::file(&path, error))
    }
}

fn write(path: &Path, message: &mut Outgoing<'_>) -> Result<(), MigrateError> {
    let failed = |error| MigrateError::file(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let (mut to_lf, mut lf) = (ToLf::default(), Vec::new());
    message.each_piece(&mut |piece| {
        lf.clear();
        to_lf.put(piece, &mut lf);
        file.write_all(&lf).map_err(failed)
    })?;
    lf.clear();
    to_lf.finish(&mut lf);
    file.write_all(&lf).map_err(failed)?;
    file.flush().map_err(failed)?;
    let micros = u64::try_from(message.entry.date.0).unwrap_or(0);
    let time = UNIX_EPOCH + Duration::from_micros(micros);
    file.get_ref().set_times(FileTimes::new().set_modified(time)).map_err(failed)
}

impl Sink for MaildirSink {
    fn folder(&mut self, name: &str) -> Result<(), MigrateError> {
        self.finish()?;
        let path = match name {
            INBOX => self.root.clone(),
            name => self.root.join(names::directory_of(name)),
        };
        self.open = Some(Open::new(path)?);
        Ok(())
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError> {
        let open = self.open.as_mut();
        open.ok_or_else(|| MigrateError::Unfit("no folder is open".to_owned()))?.message(message)
    }

    fn finish(&mut self) -> Result<(), MigrateError> {
        self.open.take().map_or(Ok(()), Open::finish)
    }
}
