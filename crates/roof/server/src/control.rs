//! The control socket: commands ask the server that owns a data directory, in lines of JSON.
//!
//! A command sends one request. Before the reply come steps of long work, each a line that begins
//! with [`STEP_MARK`]. A command that wants the work to stop closes its side for writing, and
//! then still gets the reply.

mod asking;
mod serving;
mod telling;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(crate) use asking::ask;
pub use asking::{AskError, Reached, reach};
pub use serving::Control;

/// Name of the socket in `run/`.
const SOCKET: &str = "control.sock";
/// Longest request line in bytes.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
/// What a line begins with that is a step and not the reply.
const STEP_MARK: u8 = b'~';
/// Longest reply line in bytes.
const REPLY_BYTES_MAX: u64 = 256 << 20;

/// The socket named through an open directory, since a socket path holds about 100 bytes only.
struct ShortPath {
    directory: File,
}

impl ShortPath {
    fn open(run: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let directory = options.read(true).custom_flags(libc::O_DIRECTORY).open(run)?;
        Ok(Self { directory })
    }

    fn socket(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", self.directory.as_raw_fd()))
    }
}

/// Reads one line of at most `max` bytes; `None` when the other side is gone or sends too much.
fn read_line(from: impl Read, max: u64) -> io::Result<Option<String>> {
    let mut text = String::new();
    io::BufReader::new(from.take(max)).read_line(&mut text)?;
    Ok(text.ends_with('\n').then_some(text))
}
