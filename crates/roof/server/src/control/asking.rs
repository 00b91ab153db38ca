//! A command's side of the control socket: it reaches the owner of the directory, or becomes it.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{REPLY_BYTES_MAX, ShortPath, read_line};
use crate::layout::{DataDir, Lock};
use crate::request::{Reply, Request};

/// Time between two attempts.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Why nobody could be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The lock file cannot be used.
    #[error("the data directory cannot be used")]
    Directory(#[from] io::Error),
    /// The directory is owned by somebody who does not answer.
    #[error("{root}: owned by another process that did not answer within {waited_s} s")]
    Silent {
        /// The data directory.
        root: String,
        /// Time waited.
        waited_s: u64,
    },
}

/// What a request met.
#[derive(Debug)]
pub enum Reached {
    /// The server's answer.
    Server(Reply),
    /// There is no server: the caller owns the directory now.
    Owned(Lock),
}

/// Asks the server of a data directory; when there is none, takes the directory. A server that is
/// starting, or another command at work, is waited for.
///
/// # Errors
/// The directory cannot be used, or its owner stayed silent for `wait`.
pub fn reach(dir: &DataDir, request: &Request, wait: Duration) -> Result<Reached, AskError> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = dir.lock()? {
            return Ok(Reached::Owned(lock));
        }
        match ask(&dir.run(), request)? {
            None | Some(Reply::Starting) => {}
            Some(reply) => return Ok(Reached::Server(reply)),
        }
        if begun.elapsed() >= wait {
            let root = dir.root().display().to_string();
            return Err(AskError::Silent { root, waited_s: wait.as_secs() });
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// Asks the server whose socket lies in `run`; `None` when nobody listens or the answer was lost
/// before the request was taken.
///
/// # Errors
/// The answer broke off after the request had been sent.
pub fn ask(run: &Path, request: &Request) -> io::Result<Option<Reply>> {
    let Ok(path) = ShortPath::open(run) else { return Ok(None) };
    let Ok(mut stream) = UnixStream::connect(path.socket()) else { return Ok(None) };
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    if stream.write_all(line.as_bytes()).is_err() {
        return Ok(None);
    }
    stream.shutdown(Shutdown::Write)?;
    match read_line(&stream, REPLY_BYTES_MAX)? {
        Some(reply) => Ok(Some(serde_json::from_str(&reply)?)),
        None => Ok(None),
    }
}
