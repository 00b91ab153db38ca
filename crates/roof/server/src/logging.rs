//! The server's log: events to standard error and to a file that is begun anew when it is long or
//! a day is over.

mod file;
mod form;

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::layout::DataDir;
use crate::settings::{Key, Settings};

use file::LogFile;
pub(crate) use file::Rotation;
use form::Form;

/// Writes a remark on the configuration to the log.
pub fn remark(text: &str) {
    tracing::warn!("{text}");
}

type ChangeLevel = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Says what is logged, whatever the settings say.
const VARIABLE: &str = "NELUMBO_LOG";

static CHANGE_LEVEL: OnceLock<ChangeLevel> = OnceLock::new();
static FILE: OnceLock<Arc<Mutex<LogFile>>> = OnceLock::new();

/// Changes the level of a log that was started; `false` when it cannot be changed, or when the
/// variable [`VARIABLE`] has said what it is.
pub(crate) fn set_level(level: &str) -> bool {
    std::env::var_os(VARIABLE).is_none() && CHANGE_LEVEL.get().is_some_and(|change| change(level))
}

/// Changes when the log file is begun anew.
pub(crate) fn set_rotation(rotation: Rotation) {
    if let Some(file) = FILE.get() {
        file.lock().set_rotation(rotation);
    }
}

/// When the settings want the log file begun anew.
pub(crate) fn rotation(settings: &Settings) -> Rotation {
    Rotation {
        bytes_max: settings.number(Key::LogFileBytesMax),
        is_daily: settings.is_on(Key::LogFileDaily),
        kept: settings.size(Key::LogFilesKept),
    }
}

/// Sends the events of the process to standard error and, if the settings name one, to a file.
/// The variable `NELUMBO_LOG` (a level, or directives such as `info,imap=debug`) wins over the
/// level of the settings.
///
/// # Errors
/// The file cannot be opened. A second call in one process changes nothing.
pub fn start(dir: &DataDir, settings: &Settings) -> io::Result<()> {
    let name = settings.text(Key::LogFile);
    let file = match name.is_empty() {
        true => None,
        false => {
            dir.make()?;
            let file = LogFile::open(&dir.resolve(name), rotation(settings))?;
            Some(Arc::new(Mutex::new(file)))
        }
    };
    let level = std::env::var(VARIABLE).ok();
    let level = level.as_deref().unwrap_or(settings.text(Key::LogLevel));
    let filter = EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .event_format(Form)
        .with_writer(Both { file: file.clone() })
        .with_filter_reloading();
    let handle = builder.reload_handle();
    // Both fail when a subscriber is set already; that one then stays.
    if builder.try_init().is_ok() {
        let _ = CHANGE_LEVEL.set(Box::new(move |level| {
            EnvFilter::try_new(level).is_ok_and(|filter| handle.reload(filter).is_ok())
        }));
        if let Some(file) = file {
            let _ = FILE.set(file);
        }
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
