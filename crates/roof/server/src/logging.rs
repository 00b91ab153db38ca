//! The server's log: events to standard error and to a file that is begun anew when it is long.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::layout::told;

/// Writes a remark on the configuration to the log.
pub fn remark(text: &str) {
    tracing::warn!("{text}");
}

type ChangeLevel = Box<dyn Fn(&str) -> bool + Send + Sync>;

static CHANGE_LEVEL: OnceLock<ChangeLevel> = OnceLock::new();

/// Changes the level of a log that was started; `false` when it cannot be changed.
pub fn set_level(level: &str) -> bool {
    CHANGE_LEVEL.get().is_some_and(|change| change(level))
}

/// Sends the events of the process to standard error and, if given, to a file.
/// `level` is the least severe one shown, or a list of directives (`info,imap=debug`); the
/// variable `NELUMBO_LOG` wins over it.
///
/// # Errors
/// The file cannot be opened. A second call in one process changes nothing.
pub fn start(level: &str, file: Option<(&Path, u64)>) -> io::Result<()> {
    let file = file.map(|(path, bytes_max)| LogFile::open(path, bytes_max)).transpose()?;
    let level = std::env::var("NELUMBO_LOG").unwrap_or_else(|_| level.to_owned());
    let filter = EnvFilter::try_new(&level).unwrap_or_else(|_| EnvFilter::new("info"));
    let writer = Both { file: file.map(|file| Arc::new(Mutex::new(file))) };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(writer)
        .with_filter_reloading();
    let handle = builder.reload_handle();
    // Both fail when a subscriber is set already; that one then stays.
    if builder.try_init().is_ok() {
        let _ = CHANGE_LEVEL.set(Box::new(move |level| {
            EnvFilter::try_new(level).is_ok_and(|filter| handle.reload(filter).is_ok())
        }));
    }
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        tracing::error!("BUG: thread {name}: {info}");
    }));
    Ok(())
}

/// Writes each event to standard error and to the file.
struct Both {
    file: Option<Arc<Mutex<LogFile>>>,
}

struct Event {
    file: Option<Arc<Mutex<LogFile>>>,
}

impl<'a> MakeWriter<'a> for Both {
    type Writer = Event;

    fn make_writer(&'a self) -> Event {
        Event { file: self.file.clone() }
    }
}

impl Write for Event {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A closed standard error must not keep events out of the file.
        let _ = io::stderr().write_all(bytes);
        if let Some(file) = &self.file {
            file.lock().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log file that is renamed to `.1` when it has reached its size.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl LogFile {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = append_to(path).map_err(|error| told(path, &error))?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, bytes_max })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes >= self.bytes_max {
            self.begin_anew()?;
        }
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        std::fs::rename(&self.path, old)?;
        self.file = append_to(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nelumbo.log");
        let mut file = LogFile::open(&path, 10).unwrap();
        for text in ["0123456789\n", "abc\n", "def\n"] {
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc\ndef\n");
        let old = dir.path().join("nelumbo.log.1");
        assert_eq!(std::fs::read_to_string(old).unwrap(), "0123456789\n");
    }
}
