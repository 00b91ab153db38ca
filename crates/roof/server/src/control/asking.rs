//! A command's side of the control socket: it reaches the owner of the directory, or becomes it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{REPLY_BYTES_MAX, STEP_MARK, ShortPath};
use crate::layout::{DataDir, Lock};
use crate::progress::{Progress, Step};
use crate::request::{Reply, Request};

/// Time between two attempts.
const TRY_AGAIN: Duration = Duration::from_millis(50);
/// Time after which a silent answer is left for a look at whether the asker wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(200);

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
/// starting, or another command at work, is waited for. Steps of long work go to `progress`.
///
/// # Errors
/// The directory cannot be used, or its owner stayed silent for `wait`.
pub fn reach(
    dir: &DataDir,
    request: &Request,
    wait: Duration,
    progress: &mut dyn Progress,
) -> Result<Reached, AskError> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = dir.lock()? {
            return Ok(Reached::Owned(lock));
        }
        match ask_with(&dir.run(), request, progress)? {
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
#[cfg(test)]
pub(crate) fn ask(run: &Path, request: &Request) -> io::Result<Option<Reply>> {
    ask_with(run, request, &mut crate::progress::Unheard)
}

/// As [`ask`], with an ear for the steps.
pub(super) fn ask_with(
    run: &Path,
    request: &Request,
    progress: &mut dyn Progress,
) -> io::Result<Option<Reply>> {
    let Ok(path) = ShortPath::open(run) else { return Ok(None) };
    let Ok(mut stream) = UnixStream::connect(path.socket()) else { return Ok(None) };
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    if stream.write_all(line.as_bytes()).is_err() {
        return Ok(None);
    }
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    Listening { stream: &stream, is_stopped: false }.listen(progress)
}

/// Waits for the reply.
struct Listening<'a> {
    stream: &'a UnixStream,
    is_stopped: bool,
}

impl Listening<'_> {
    fn listen(&mut self, progress: &mut dyn Progress) -> io::Result<Option<Reply>> {
        let mut from = BufReader::new(self.stream);
        let mut line = Vec::new();
        loop {
            let room = REPLY_BYTES_MAX.saturating_sub(line.len() as u64);
            match from.by_ref().take(room).read_until(b'\n', &mut line) {
                Err(error) if is_silence(&error) => self.heed(progress.look())?,
                Err(error) => return Err(error),
                Ok(_) if line.last() != Some(&b'\n') => return Ok(None),
                Ok(_) if line[0] == STEP_MARK => {
                    let step: Step = serde_json::from_slice(&line[1..])?;
                    self.heed(progress.step(&step.what, step.done, step.total))?;
                    line.clear();
                }
                Ok(_) => return Ok(Some(serde_json::from_slice(&line)?)),
            }
        }
    }

    /// Tells the server to stop, once.
    fn heed(&mut self, wish: ControlFlow<()>) -> io::Result<()> {
        if wish.is_break() && !self.is_stopped {
            self.is_stopped = true;
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
