//! Steps of long work, told over the control socket to a command that may stop it.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;

use super::STEP_MARK;
use crate::progress::{Pace, Progress, Step};

/// Tells the command at the other end. A command that closes its side, or is gone, stops the work.
pub(super) struct Telling<'a> {
    stream: &'a UnixStream,
    pace: Pace,
    is_stopped: bool,
}

impl<'a> Telling<'a> {
    pub(super) fn to(stream: &'a UnixStream) -> Self {
        Self { stream, pace: Pace::default(), is_stopped: false }
    }

    fn tell(&mut self, step: &Step) -> io::Result<()> {
        let mut line = vec![STEP_MARK];
        serde_json::to_writer(&mut line, step)?;
        line.push(b'\n');
        let mut stream = self.stream;
        stream.write_all(&line)
    }

    /// Whether the other side has closed, found out without waiting.
    fn is_closed(&self) -> bool {
        let mut stream = self.stream;
        if stream.set_nonblocking(true).is_err() {
            return true;
        }
        let read = stream.read(&mut [0; 64]);
        let blocking = stream.set_nonblocking(false);
        match read {
            Ok(count) => count == 0 || blocking.is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock || blocking.is_err(),
        }
    }

    fn answer(&self) -> ControlFlow<()> {
        if self.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Progress for Telling<'_> {
    fn step(&mut self, what: &str, done: u64, total: u64) -> ControlFlow<()> {
        if !self.is_stopped && self.pace.is_due() {
            let told = self.tell(&Step::new(what, done, total));
            self.is_stopped = told.is_err() || self.is_closed();
        }
        self.answer()
    }

    fn look(&mut self) -> ControlFlow<()> {
        if !self.is_stopped && self.pace.is_due() {
            self.is_stopped = self.is_closed();
        }
        self.answer()
    }
}
