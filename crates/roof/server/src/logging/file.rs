//! A log file that is begun anew by size and by day; some old ones are kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::told;

/// Seconds of a day.
const DAY_S: u64 = 86_400;

/// When a file is begun anew, and how many old ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// Size from which the next line begins a new file.
    pub bytes_max: u64,
    /// Whether the first line of a day (UTC) begins one.
    pub is_daily: bool,
    /// Old files that are kept.
    pub kept: usize,
}

/// The file that is written.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Day of the last line, counted from 1970.
    day: u64,
    rotation: Rotation,
}

impl LogFile {
    /// Opens the file and goes on at its end.
    pub(super) fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let file = append_to(path).map_err(|error| told(path, &error))?;
        let facts = file.metadata()?;
        let bytes = facts.len();
        // A file without a date counts as one of today.
        let day = facts.modified().map_or_else(|_| today(), day_of);
        Ok(Self { path: path.to_owned(), file, bytes, day, rotation })
    }

    pub(super) fn set_rotation(&mut self, rotation: Rotation) {
        self.rotation = rotation;
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_on(today(), bytes)
    }

    fn write_on(&mut self, day: u64, bytes: &[u8]) -> io::Result<()> {
        let is_old = self.rotation.is_daily && day != self.day;
        if self.bytes > 0 && (is_old || self.bytes >= self.rotation.bytes_max) {
            self.begin_anew()?;
        }
        self.day = day;
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Renames every old file to the next number, the last one kept falls off.
    fn begin_anew(&mut self) -> io::Result<()> {
        for number in (1..self.rotation.kept).rev() {
            match std::fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.numbered(1))?;
        self.file = append_to(&self.path)?;
        self.bytes = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }
}

fn today() -> u64 {
    day_of(SystemTime::now())
}

fn day_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / DAY_S)
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dir: &tempfile::TempDir, name: &str) -> Option<String> {
        std::fs::read_to_string(dir.path().join(name)).ok()
    }

    #[test]
    fn a_long_file_is_begun_anew_and_some_old_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let rotation = Rotation { bytes_max: 4, is_daily: false, kept: 2 };
        let mut file = LogFile::open(&dir.path().join("a.log"), rotation).unwrap();
        for text in ["one\n", "two\n", "three\n", "four\n"] {
            file.write_on(7, text.as_bytes()).unwrap();
        }
        assert_eq!(read(&dir, "a.log").unwrap(), "four\n");
        assert_eq!(read(&dir, "a.log.1").unwrap(), "three\n");
        assert_eq!(read(&dir, "a.log.2").unwrap(), "two\n");
        assert_eq!(read(&dir, "a.log.3"), None);
    }

    #[test]
    fn a_day_begins_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut rotation = Rotation { bytes_max: 1000, is_daily: true, kept: 9 };
        let mut file = LogFile::open(&dir.path().join("a.log"), rotation).unwrap();
        for (day, text) in [(7, "a\n"), (7, "b\n"), (8, "c\n")] {
            file.write_on(day, text.as_bytes()).unwrap();
        }
        assert_eq!(read(&dir, "a.log").unwrap(), "c\n");
        assert_eq!(read(&dir, "a.log.1").unwrap(), "a\nb\n");
        rotation.is_daily = false;
        file.set_rotation(rotation);
        file.write_on(9, b"d\n").unwrap();
        assert_eq!(read(&dir, "a.log").unwrap(), "c\nd\n");
    }
}
