//! One connection: its state, its output, and the way of a command through it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mailfile::MailFile;
use session::{Seat, Stopping, Weight, Wire, WireError};
use txlog::Lsn;

use crate::cmd;
use crate::door::Door;
use crate::grammar::Cursor;
use crate::input::Input;
use crate::reply::{Done, End, Fault, tagged};
use crate::selected::{Enabled, Selected};
use crate::settings::Settings;
use crate::stats::Stats;

/// Output beyond this many bytes is written before more is made.
pub(crate) const OUT_BYTES: usize = 64 * 1024;
/// Capacity that an empty output buffer may keep.
const OUT_KEPT_BYTES: usize = 1024;
/// Input that is read ahead while a command runs, to see whether the client is there.
const AHEAD_BYTES: usize = 64 * 1024;
/// Commands in a row that break the grammar before the connection ends.
const BAD_MAX: u32 = 50;

/// Replies that were made and not written yet.
#[derive(Debug, Default)]
pub(crate) struct Out {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Up to here the log must be durable before they may be seen.
    pub lsn: Lsn,
}

impl Out {
    /// Appends a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Notes that the replies tell of something at `lsn`.
    pub(crate) fn saw(&mut self, lsn: Lsn) {
        self.lsn = self.lsn.max(lsn);
    }
}

/// One connection.
pub(crate) struct Session {
    /// The door it came through.
    pub door: Arc<Door>,
    /// The connection.
    pub wire: Wire,
    /// Replies not written yet.
    pub out: Out,
    /// Its entry among the connected.
    pub seat: Seat,
    /// The server's wish to stop.
    pub stopping: Stopping,
    /// The mail file of who signed in.
    pub user: Option<Box<MailFile>>,
    /// The mailbox that is open.
    pub selected: Option<Box<Selected>>,
    /// What the client switched on.
    enabled: Enabled,
    settings: Arc<Settings>,
    /// The command that runs, with its literals.
    pub line: Arc<Vec<u8>>,
    /// When the connection began.
    pub started: Instant,
    /// Sign-ins that failed.
    pub failures: u32,
    bad: u32,
}

impl Session {
    pub(crate) fn new(door: Arc<Door>, wire: Wire, seat: Seat, stopping: Stopping) -> Session {
        let settings = door.settings();
        Session {
            enabled: Enabled::default(),
            settings,
            door,
            wire,
            out: Out::default(),
            seat,
            stopping,
            user: None,
            selected: None,
            line: Arc::default(),
            started: Instant::now(),
            failures: 0,
            bad: 0,
        }
    }

    /// The settings of the door.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the client switched on.
    pub(crate) fn enabled(&self) -> Enabled {
        self.enabled
    }

    /// Switches on that modseqs are told; with `qresync` also VANISHED. The first time in a
    /// mailbox its highest modseq is told (RFC 7162 §3.1).
    pub(crate) fn enable(&mut self, qresync: bool) {
        let first = self.switch_on(qresync);
        if let Some(selected) = self.selected.as_deref().filter(|_| first) {
            let modseq = selected.modseq();
            self.out.line(&format!("* OK [HIGHESTMODSEQ {modseq}] Highest"));
        }
    }

    /// The same without telling; whether modseqs were not told before.
    pub(crate) fn switch_on(&mut self, qresync: bool) -> bool {
        let first = !std::mem::replace(&mut self.enabled.condstore, true);
        self.enabled.qresync |= qresync;
        if let Some(selected) = self.selected.as_deref_mut() {
            selected.enabled = self.enabled;
        }
        first
    }

    /// Whether there is still somebody who wants the answer: asked between the slices of long
    /// work.
    pub(crate) async fn still_wanted(&mut self) -> Result<(), Fault> {
        tokio::select! {
            biased;
            () = self.stopping.requested() => return Err(crate::input::stop()),
            () = self.seat.dropped() => return Err(crate::input::dropped()),
            () = std::future::ready(()) => {}
        }
        if self.wire.buffered().len() >= AHEAD_BYTES {
            return Ok(());
        }
        match self.wire.fill(Duration::ZERO).await {
            Err(WireError::Closed | WireError::Io(_)) if !self.wire.buffered().contains(&b'\n') => {
                Err(Fault::End(End::Silent))
            }
            _ => Ok(()),
        }
    }

    /// The counters of the door.
    pub(crate) fn stats(&self) -> &Stats {
        &self.door.parts.stats
    }

    /// How long the peer may be silent.
    pub(crate) fn wait(&self) -> Duration {
        let settings = self.settings();
        match self.user {
            Some(_) => settings.idle_wait,
            None => settings.guest_wait.saturating_sub(self.started.elapsed()),
        }
    }

    /// Whether a password may be sent over this connection.
    pub(crate) fn may_sign_in(&self) -> bool {
        self.settings().plain_login || self.wire.is_tls() || self.wire.is_loopback()
    }

    /// The mail file of who signed in.
    pub(crate) fn file(&self) -> Result<MailFile, Fault> {
        let user = self.user.as_ref().ok_or(Fault::Bad("please sign in first"))?;
        Ok(MailFile::clone(user))
    }

    /// The open mailbox.
    pub(crate) fn open(&mut self) -> Result<&mut Selected, Fault> {
        self.selected.as_deref_mut().ok_or(Fault::Bad("no mailbox is selected"))
    }

    /// Runs work that touches a database: on the pool when it is heavy, or when it may have to wait
    /// for somebody else's long work on the same mail file.
    pub(crate) async fn run_work<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let is_busy = self.user.as_ref().is_some_and(|file| file.is_busy());
        let weight = if is_busy { Weight::Heavy } else { weight };
        Ok(session::run(&*self.door.parts.pool, weight, work).await?)
    }

    /// Writes the replies made so far, once what they tell of is durable.
    pub(crate) async fn flush(&mut self) -> Result<(), Fault> {
        // In a box only when there is something, so that a connection that waits needs less memory.
        if self.out.bytes.is_empty() { Ok(()) } else { Box::pin(self.write_out()).await }
    }

    async fn write_out(&mut self) -> Result<(), Fault> {
        if self.out.lsn > Lsn::ZERO {
            self.door.parts.store.durable(self.out.lsn).await?;
            self.out.lsn = Lsn::ZERO;
        }
        let wait = self.settings().write_wait;
        self.wire.write_all(&self.out.bytes, wait).await?;
        self.out.bytes.clear();
        self.out.bytes.shrink_to(OUT_KEPT_BYTES);
        Ok(())
    }

    /// Writes the replies made so far if they are many.
    pub(crate) async fn flush_if_full(&mut self) -> Result<(), Fault> {
        if self.out.bytes.len() >= OUT_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Runs the connection from the greeting to its end.
    pub(crate) async fn run(mut self: Box<Self>) {
        self.greet();
        let end = loop {
            match self.step().await {
                Ok(()) => {}
                Err(end) => break end,
            }
        };
        self.finish(end).await;
    }

    /// A function of its own, since what lies in [`Session::run`] lives as long as the connection.
    fn greet(&mut self) {
        let host = &self.settings.host_name;
        let capabilities = cmd::capabilities(self);
        let greeting = format!("* OK [CAPABILITY {capabilities}] {host} IMAP4rev1 at your service");
        self.out.line(&greeting);
    }

    async fn step(&mut self) -> Result<(), End> {
        let input = match self.read_command().await {
            Ok(input) => input,
            Err(Fault::End(end)) => return Err(end),
            Err(_) => return Err(End::Silent),
        };
        match input {
            Input::Command(line) => {
                // What a large literal holds of the server's budget is given back after the
                // command.
                let _taken = line.taken;
                self.line = Arc::new(line.bytes);
                let ended = self.command(self.line.clone()).await;
                self.line = Arc::default();
                ended
            }
            Input::Refused => self.count_bad(),
        }
    }

    /// Runs one command and makes its tagged reply.
    async fn command(&mut self, line: Arc<Vec<u8>>) -> Result<(), End> {
        Stats::add(&self.stats().commands, 1);
        let mut cursor = Cursor::new(&line);
        let tag = match cursor.tag() {
            Ok(tag) => tag,
            Err(bad) => {
                tagged("*", "BAD", ("", bad.0), &mut self.out.bytes);
                return self.count_bad();
            }
        };
        let outcome = cmd::dispatch(self, cursor).await;
        if outcome.is_err() {
            Stats::add(&self.stats().commands_refused, 1);
        }
        match outcome {
            Ok(Done { said, code, text, .. }) => {
                self.bad = 0;
                if !said {
                    tagged(tag, "OK", (&code, text), &mut self.out.bytes);
                }
                Ok(())
            }
            Err(Fault::No(no)) => {
                tagged(tag, "NO", (no.code, &no.text), &mut self.out.bytes);
                if self.failures >= self.settings().login_failures_max {
                    return Err(End::Bye("Too many failed sign-ins"));
                }
                Ok(())
            }
            Err(Fault::Bad(text)) => {
                tagged(tag, "BAD", ("", text), &mut self.out.bytes);
                self.count_bad()
            }
            Err(Fault::End(End::Logout)) => {
                tagged(tag, "OK", ("", "Signed out"), &mut self.out.bytes);
                Err(End::Logout)
            }
            Err(Fault::End(end)) => Err(end),
        }
    }

    fn count_bad(&mut self) -> Result<(), End> {
        self.bad += 1;
        if self.bad > BAD_MAX { Err(End::Bye("Too many broken commands")) } else { Ok(()) }
    }

    async fn finish(mut self: Box<Self>, end: End) {
        self.selected = None;
        match end {
            End::Silent => return,
            End::Bye(text) => tagged("*", "BYE", ("", text), &mut self.out.bytes),
            End::Logout => {}
        }
        // Whatever goes wrong now, the connection ends.
        if self.flush().await.is_ok() {
            self.wire.close().await;
        }
    }
}
