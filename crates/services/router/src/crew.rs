//! The threads of one kind: started when they are missing, waited for at the end.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::desk::Desk;

/// Threads that do the same.
pub(crate) struct Crew {
    name: &'static str,
    run: fn(&Desk, usize),
    threads: Mutex<Threads>,
}

struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// Each thread holds a clone as long as it lives; this one goes when they are waited for.
    alive: Option<Sender<()>>,
    /// Closed when none is alive.
    gone: Receiver<()>,
}

impl Crew {
    /// None yet; each will be called NAME-NUMBER and do what `run` does with its number.
    pub(crate) fn new(name: &'static str, run: fn(&Desk, usize)) -> Crew {
        let (alive, gone) = channel();
        let threads = Threads { handles: Vec::new(), alive: Some(alive), gone };
        Crew { name, run, threads: Mutex::new(threads) }
    }

    /// Starts the threads that are missing. One with a number beyond the wanted ends by itself
    /// when it looks at the board; its place is free when it has ended.
    pub(crate) fn start(&self, wanted: usize, desk: &Arc<Desk>) -> std::io::Result<()> {
        let mut threads = self.threads.lock();
        let Some(alive) = threads.alive.clone() else { return Ok(()) };
        for number in 0..wanted {
            if threads.handles.get(number).is_some_and(|thread| !thread.is_finished()) {
                continue;
            }
            let (desk, alive, run) = (desk.clone(), alive.clone(), self.run);
            let named = std::thread::Builder::new().name(format!("{}-{number}", self.name));
            let thread = named.spawn(move || {
                run(&desk, number);
                drop(alive);
            })?;
            match threads.handles.get_mut(number) {
                Some(ended) => *ended = thread,
                None => threads.handles.push(thread),
            }
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) fn alive(&self) -> usize {
        self.threads.lock().handles.iter().filter(|thread| !thread.is_finished()).count()
    }

    /// Waits for all to end, for at most `most`; those that have not are left.
    pub(crate) fn join(&self, most: Option<Duration>) {
        let mut threads = self.threads.lock();
        threads.alive = None;
        let until = most.map(|most| Instant::now() + most);
        if let Some(until) = until {
            let left = until.saturating_duration_since(Instant::now());
            if threads.gone.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                tracing::warn!(crew = self.name, "a thread does not end; it is left alone");
                threads.handles.clear();
            }
        }
        for thread in std::mem::take(&mut threads.handles) {
            if thread.join().is_err() {
                tracing::error!(crew = self.name, "a thread of the router ended by a panic");
            }
        }
    }
}
