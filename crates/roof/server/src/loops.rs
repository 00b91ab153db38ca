//! The network loops: one thread with an event loop of its own for each.
//!
//! A connection stays on the loop it was given at first, and light work of its session runs there
//! too. Loops share nothing, so an event never wakes a second thread; see
//! `docs/decisions/0001-network-loops.md`.

use std::io;
use std::net;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

#[cfg(test)]
mod tests;

/// All loops of a server.
pub struct Loops {
    handles: Vec<Handle>,
    next: AtomicUsize,
    stop: watch::Sender<bool>,
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Loops {
    /// Starts `count` loops, at least one.
    ///
    /// # Errors
    /// A thread or an event queue cannot be had.
    pub fn start(count: usize) -> io::Result<Loops> {
        let (stop, stopping) = watch::channel(false);
        let (ending, ended) = mpsc::channel();
        let mut handles = Vec::new();
        for number in 0..count.max(1) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            handles.push(runtime.handle().clone());
            let (mut stopping, ending) = (stopping.clone(), ending.clone());
            std::thread::Builder::new().name(format!("network-{number}")).spawn(move || {
                // Loops that are gone count as a stop.
                let _ = runtime.block_on(stopping.wait_for(|stop| *stop));
                drop(runtime);
                // Nobody may be waiting any more.
                let _ = ending.send(());
            })?;
        }
        Ok(Loops { handles, next: AtomicUsize::new(0), stop, ended: Mutex::new(ended) })
    }

    /// Gives a connection to the next loop, where `serve` runs it to its end.
    pub fn serve<F>(
        &self,
        stream: net::TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.handles.len();
        self.handles[turn].spawn(async move {
            match TcpStream::from_std(stream) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "a connection cannot be served"),
            }
        });
    }

    /// Ends the loops and whatever still runs on them, waiting at most `wait`.
    pub fn stop(&self, wait: Duration) {
        self.stop.send_replace(true);
        let ended = self.ended.lock();
        let deadline = Instant::now() + wait;
        for _ in &self.handles {
            let left = deadline.saturating_duration_since(Instant::now());
            if ended.recv_timeout(left).is_err() {
                tracing::warn!("a network loop did not end in time");
                return;
            }
        }
    }
}
