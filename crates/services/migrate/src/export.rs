//! Taking messages out.

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::ops::ControlFlow;

use mailfile::{Loaded, MailError, MailFile};
use note::Piece;
use store::{Entry, Folder};

use crate::{MigrateError, Problem, Progress, Report};

/// Bytes of content read at once.
const PIECE_BYTES: u64 = 128 * 1024;
/// Messages whose notes are read at once.
const NOTES: usize = 100;
/// Bytes of notes read at once.
const NOTE_BYTES: usize = 1 << 20;

/// What is taken out.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Only these folders and those below them; all when empty.
    pub folders: Vec<String>,
}

/// A message on its way out.
pub struct Outgoing<'a> {
    /// Its uid, date and flags.
    pub entry: &'a Entry,
    /// UIDVALIDITY of its folder.
    pub uidvalidity: u32,
    file: &'a MailFile,
    pieces: Vec<Piece>,
    sender: String,
    told: Vec<String>,
}

/// Where messages go.
pub trait Sink {
    /// The messages that follow belong into this folder.
    ///
    /// # Errors
    /// It cannot be made.
    fn folder(&mut self, name: &str) -> Result<(), MigrateError>;

    /// Takes a message; `false` when it is there already.
    ///
    /// # Errors
    /// It cannot be written, or not be read; then nothing of it remains.
    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError>;

    /// Ends the last folder.
    ///
    /// # Errors
    /// What was written cannot be kept.
    fn finish(&mut self) -> Result<(), MigrateError>;
}

impl Outgoing<'_> {
    /// Gives the bytes of the message, piece by piece.
    ///
    /// # Errors
    /// Those of `take`, and of contents that cannot be read.
    pub fn each_piece(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), MigrateError>,
    ) -> Result<(), MigrateError> {
        let (mut from, end) = (0, self.pieces.iter().map(Piece::wire_len).sum());
        let mut bytes = Vec::new();
        while from < end {
            let to = u64::min(end, from + PIECE_BYTES);
            bytes.clear();
            let read = self.file.read_content(&self.pieces, from..to, &mut bytes);
            read.map_err(MailError::from)?;
            take(&bytes)?;
            from = to;
        }
        Ok(())
    }

    /// The sender's address, or `MAILER-DAEMON`.
    pub fn sender(&self) -> &str {
        &self.sender
    }

    /// Notes that something of the message has no place where it goes.
    pub fn tell(&mut self, what: String) {
        self.told.push(what);
    }
}

/// Writes the folders of a mail file into a sink.
///
/// # Errors
/// What keeps it from going on; a message that cannot be read is told in the report only.
pub fn export(
    file: &MailFile,
    sink: &mut dyn Sink,
    options: &ExportOptions,
    progress: &mut Progress<'_>,
) -> Result<Report, MigrateError> {
    let mut folders = file.folders()?.value;
    folders.retain(|folder| is_wanted(&folder.name, &options.folders));
    if folders.is_empty() {
        let names = options.folders.join(", ");
        return Err(MigrateError::Unfit(format!("there is no folder {names}")));
    }
    // INBOX first, so that a Maildir begins with its root.
    folders.sort_by_key(|folder| folder.name != mailfile::INBOX);
    let total = folders.iter().map(|folder| u64::from(folder.messages)).sum();
    let mut run = Run { file, sink, report: Report::default(), done: 0, total };
    for folder in &folders {
        match run.folder(folder, progress) {
            Ok(()) => {}
            Err(MigrateError::Stopped) => {
                run.report.stopped = true;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    run.sink.finish()?;
    Ok(run.report)
}

fn is_wanted(name: &str, wanted: &[String]) -> bool {
    let is_below =
        |top: &String| name.strip_prefix(top.as_str()).is_some_and(|r| r.starts_with('/'));
    wanted.is_empty() || wanted.iter().any(|top| name == top || is_below(top))
}

struct Run<'a> {
    file: &'a MailFile,
    sink: &'a mut dyn Sink,
    report: Report,
    done: u64,
    total: u64,
}

impl Run<'_> {
    fn folder(&mut self, folder: &Folder, progress: &mut Progress<'_>) -> Result<(), MigrateError> {
        let Ok(snapshot) = self.file.open_folder(&folder.name) else { return Ok(()) };
        let snapshot = snapshot.value;
        if let Err(error) = self.sink.folder(&folder.name) {
            return self.no_folder(folder, error);
        }
        self.report.folders += 1;
        let uids: Vec<u32> = snapshot.uids.iter().collect();
        for slice in uids.chunks(NOTES) {
            self.slice(&snapshot.folder, slice)?;
            self.done += slice.len() as u64;
            if let ControlFlow::Break(()) = progress(&folder.name, self.done, self.total) {
                return Err(MigrateError::Stopped);
            }
        }
        Ok(())
    }

    /// A name that the file system cannot have costs its folder and not the others.
    fn no_folder(&mut self, folder: &Folder, error: MigrateError) -> Result<(), MigrateError> {
        match &error {
            MigrateError::File { source, .. } if source.kind() == ErrorKind::InvalidFilename => {
                self.left_out(folder, 0, format!("the folder has no file: {source}"));
                self.done += u64::from(folder.messages);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn slice(&mut self, folder: &Folder, uids: &[u32]) -> Result<(), MigrateError> {
        let mut rest = uids;
        while !rest.is_empty() {
            match self.file.load(folder.id, rest, NOTE_BYTES) {
                Ok(read) => {
                    let (loaded, done) = read.value;
                    for message in &loaded {
                        self.message(folder, message)?;
                    }
                    rest = &rest[done..];
                }
                // One of them is damaged; the others are found one by one.
                Err(error) if rest.len() == 1 => {
                    self.left_out(folder, rest[0], error.to_string());
                    rest = &[];
                }
                Err(_) => {
                    for uid in rest {
                        self.slice(folder, &[*uid])?;
                    }
                    rest = &[];
                }
            }
        }
        Ok(())
    }

    fn message(&mut self, folder: &Folder, loaded: &Loaded) -> Result<(), MigrateError> {
        let uid = loaded.entry.uid;
        let mut outgoing = match self.outgoing(folder, loaded) {
            Ok(outgoing) => outgoing,
            Err(error) => {
                self.left_out(folder, uid, error.to_string());
                return Ok(());
            }
        };
        let written = self.sink.message(&mut outgoing);
        let told = outgoing.told;
        match written {
            Ok(true) => {
                self.report.messages += 1;
                self.report.bytes += loaded.entry.size;
            }
            Ok(false) => self.report.already += 1,
            Err(MigrateError::Mail(error)) => self.left_out(folder, uid, error.to_string()),
            Err(error) => return Err(error),
        }
        told.into_iter().for_each(|what| self.left_out(folder, uid, what));
        Ok(())
    }

    fn outgoing<'b>(&self, folder: &Folder, loaded: &'b Loaded) -> Result<Outgoing<'b>, MailError>
    where
        Self: 'b,
    {
        let opened = loaded.open()?;
        let envelope = opened.summary()?.envelope()?;
        let address = envelope.sender.iter().chain(&envelope.from).find_map(|address| {
            let (mailbox, host) = (address.mailbox.as_ref()?, address.host.as_ref()?);
            let text = [mailbox.as_slice(), b"@", host].concat();
            text.iter().all(u8::is_ascii_graphic).then(|| String::from_utf8(text).ok()).flatten()
        });
        Ok(Outgoing {
            entry: &loaded.entry,
            uidvalidity: folder.uidvalidity,
            file: self.file,
            pieces: opened.content()?,
            sender: address.unwrap_or_else(|| String::from("MAILER-DAEMON")),
            told: Vec::new(),
        })
    }

    fn left_out(&mut self, folder: &Folder, uid: u32, reason: String) {
        let place = folder.name.clone();
        self.report.add(Problem { place, at: uid.into(), reason });
    }
}
