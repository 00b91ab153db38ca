//! The server's side of the control socket.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::telling::Telling;
use super::{REQUEST_BYTES_MAX, ShortPath, read_line};
use crate::progress::Progress;
use crate::request::{Reply, Request};

/// Commands answered at once.
const COMMANDS_MAX: usize = 32;
/// Longest silence of a command that has connected.
const SILENCE: Duration = Duration::from_secs(10);

/// Answers requests.
pub type Answer = Arc<dyn Fn(Request, &mut dyn Progress) -> Reply + Send + Sync>;

/// The socket and the thread that serves it. Until [`Control::answer_with`], every request is
/// told that the server is starting.
pub struct Control {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    path: ShortPath,
    answer: RwLock<Option<Answer>>,
    stopping: AtomicBool,
    busy: AtomicUsize,
}

impl Control {
    /// Opens the socket in the directory `run`. The caller holds the lock of the data directory,
    /// so a socket that is there already is left over.
    ///
    /// # Errors
    /// The socket or its thread cannot be made.
    pub fn open(run: &Path) -> io::Result<Self> {
        let path = ShortPath::open(run)?;
        match std::fs::remove_file(path.socket()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path.socket())?;
        std::fs::set_permissions(path.socket(), Permissions::from_mode(0o600))?;
        let shared = Arc::new(Shared {
            path,
            answer: RwLock::new(None),
            stopping: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
        });
        let serving = shared.clone();
        let builder = std::thread::Builder::new().name("control".to_owned());
        let thread = builder.spawn(move || serve(&serving, &listener))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// From now on requests are answered by `answer`.
    pub fn answer_with(&self, answer: Answer) {
        *self.shared.answer.write() = Some(answer);
    }

    /// From now on requests are told to ask again, as before [`Control::answer_with`].
    pub fn pause(&self) {
        *self.shared.answer.write() = None;
    }

    /// Takes the socket away and ends its thread.
    pub fn close(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.pause();
        // The thread waits for a connection: this one wakes it.
        let _ = UnixStream::connect(self.shared.path.socket());
        // A socket that is gone already is as good as removed.
        let _ = std::fs::remove_file(self.shared.path.socket());
        if let Some(thread) = self.thread.lock().take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.close();
    }
}

fn serve(shared: &Arc<Shared>, listener: &UnixListener) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a command could not connect to the control socket");
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        if shared.busy.fetch_add(1, Ordering::AcqRel) >= COMMANDS_MAX {
            shared.busy.fetch_sub(1, Ordering::AcqRel);
            let reason = "too many commands at once; try again".to_owned();
            tell(&stream, &Reply::Trouble { reason });
            continue;
        }
        let seat = Seat(shared.clone());
        let builder = std::thread::Builder::new().name("command".to_owned());
        if let Err(error) = builder.spawn(move || one(&seat.0, &stream)) {
            tracing::warn!(%error, "no thread for a command");
        }
    }
}

/// Counts a command that is being answered.
struct Seat(Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

fn one(shared: &Shared, stream: &UnixStream) {
    let bounded =
        stream.set_read_timeout(Some(SILENCE)).and(stream.set_write_timeout(Some(SILENCE)));
    if bounded.is_err() {
        return;
    }
    let Ok(Some(line)) = read_line(stream, REQUEST_BYTES_MAX) else { return };
    let reply = match serde_json::from_str::<Request>(&line) {
        Ok(request) => answer(shared, request, &mut Telling::to(stream)),
        Err(error) => Reply::refused(format!("not a request of this version: {error}")),
    };
    tell(stream, &reply);
}

fn answer(shared: &Shared, request: Request, progress: &mut dyn Progress) -> Reply {
    let Some(answer) = shared.answer.read().clone() else { return Reply::Starting };
    let answered = std::panic::AssertUnwindSafe(|| answer(request, progress));
    let outcome = std::panic::catch_unwind(answered);
    outcome.unwrap_or_else(|_| {
        let reason = "the command ended in a bug; see the server's log".to_owned();
        Reply::Trouble { reason }
    })
}

fn tell(mut stream: &UnixStream, reply: &Reply) {
    let mut line = serde_json::to_string(reply).unwrap_or_default();
    line.push('\n');
    // A command that is gone does not want the answer.
    let _ = stream.write_all(line.as_bytes());
}
