//! Writing mbox files: one for each folder, in the form called mboxrd, LF at the ends of lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use mailfile::Marks;

use super::status;
use crate::crlf::ToLf;
use crate::{MigrateError, Outgoing, Sink, folders};

/// Bytes of a message kept before they are written.
const PIECE_BYTES: usize = 256 * 1024;

/// A directory of new mbox files: `Name`, and for the folders below it `Name.sbd/Sub`.
#[derive(Debug)]
pub struct MboxSink {
    root: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: BufWriter<File>,
}

impl MboxSink {
    /// Files below `root`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(root: &Path) -> Result<MboxSink, MigrateError> {
        fs::create_dir_all(root).map_err(|error| MigrateError::file(root, error))?;
        Ok(MboxSink { root: root.to_owned(), open: None })
    }

    fn path_of(&self, folder: &str) -> PathBuf {
        let mut path = self.root.clone();
        let mut levels = folder.split('/').peekable();
        while let Some(level) = levels.next() {
            let level = folders::file_of(level);
            match levels.peek() {
                Some(_) => path.push(format!("{level}.sbd")),
                None => path.push(level),
            }
        }
        path
    }
}

impl Open {
    fn failed(&self, error: std::io::Error) -> MigrateError {
        MigrateError::file(&self.path, error)
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<(), MigrateError> {
        let start = self.file.stream_position().map_err(|error| self.failed(error))?;
        let written = self.write(message);
        if written.is_err() {
            // What was written of the message is taken back, so that the file stays whole.
            let cut = self.file.flush().and_then(|()| self.file.get_ref().set_len(start));
            let back = cut.and_then(|()| self.file.seek(SeekFrom::Start(start)));
            back.map_err(|error| self.failed(error))?;
        }
        written
    }

    fn write(&mut self, message: &mut Outgoing<'_>) -> Result<(), MigrateError> {
        let separator = format!(
            "From {} {}\n",
            message.sender(),
            print_time(message.entry.date.unix_seconds())
        );
        let fields = status::print(&Marks::of(message.entry));
        let mut out = [separator.as_bytes(), fields.as_bytes()].concat();
        let (mut to_lf, mut quote, mut lf) = (ToLf::default(), Quote::default(), Vec::new());
        let file = &mut self.file;
        let path = &self.path;
        message.each_piece(&mut |piece| {
            lf.clear();
            to_lf.put(piece, &mut lf);
            quote.put(&lf, &mut out);
            if out.len() >= PIECE_BYTES {
                file.write_all(&out).map_err(|error| MigrateError::file(path, error))?;
                out.clear();
            }
            Ok(())
        })?;
        lf.clear();
        to_lf.finish(&mut lf);
        quote.put(&lf, &mut out);
        quote.finish(&mut out);
        self.file.write_all(&out).map_err(|error| self.failed(error))
    }
}

impl Sink for MboxSink {
    fn folder(&mut self, name: &str) -> Result<(), MigrateError> {
        self.finish()?;
        let path = self.path_of(name);
        let failed = |error: io::Error| {
            let error = match error.kind() {
                kind @ io::ErrorKind::AlreadyExists => {
                    io::Error::new(kind, "exists already; export into another directory")
                }
                _ => error,
            };
            MigrateError::file(&path, error)
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        self.open = Some(Open { path, file: BufWriter::new(file) });
        Ok(())
    }

    fn message(&mut self, message: &mut Outgoing<'_>) -> Result<bool, MigrateError> {
        let open = self.open.as_mut();
        let open = open.ok_or_else(|| MigrateError::Unfit("no folder is open".to_owned()))?;
        open.message(message)?;
        Ok(true)
    }

    fn finish(&mut self) -> Result<(), MigrateError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let synced = open.file.flush().and_then(|()| open.file.get_ref().sync_all());
        synced.map_err(|error| open.failed(error))
    }
}

/// Adds a `>` to lines that would separate messages, and to those that have one already.
#[derive(Debug, Default)]
struct Quote {
    /// The beginning of a line that may become `From `.
    held: Vec<u8>,
    /// Within a line whose beginning is decided.
    within: bool,
    /// The last byte written was LF.
    ended: bool,
}

impl Quote {
    fn put(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            self.part(line, out);
        }
    }

    fn part(&mut self, part: &[u8], out: &mut Vec<u8>) {
        let ends = part.ends_with(b"\n");
        if self.within {
            out.extend_from_slice(part);
        } else {
            self.held.extend_from_slice(part);
            let quotes = self.held.iter().take_while(|byte| **byte == b'>').count();
            let rest = &self.held[quotes..];
            if !ends && b"From ".starts_with(rest) && rest.len() < 5 {
                return;
            }
            if rest.starts_with(b"From ") {
                out.push(b'>');
            }
            out.append(&mut self.held);
        }
        self.within = !ends;
        self.ended = ends;
    }

    /// Ends the last line, and adds the blank line between messages.
    fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        if self.within || !self.ended {
            out.push(b'\n');
        }
        out.push(b'\n');
    }
}

/// The time as `asctime` prints it, in UTC (RFC 4155).
fn print_time(seconds: i64) -> String {
    // `Tue, 03 Mar 2026 09:50:00 +0000`
    let printed = message::print_date(seconds);
    let words: Vec<&str> = printed.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [weekday, day, month, year, time, ..] => {
            format!("{weekday} {month} {:>2} {time} {year}", day.trim_start_matches('0'))
        }
        _ => String::from("Thu Jan  1 00:00:00 1970"),
    }
}
