//! One connection: its state, its output, and the way of a command through it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mailfile::MailFile;
use session::{Seat, Stopping, Weight, Wire};
use txlog::Lsn;

use crate::cmd;
use crate::door::Door;
use crate::maildrop::Maildrop;
use crate::reply::{self, End, Fault};
use crate::settings::Settings;
use crate::stats::Stats;

/// Output beyond this many bytes is written before more is made.
pub(crate) const OUT_BYTES: usize = 64 * 1024;
/// Capacity that an empty output buffer may keep.
const OUT_KEPT_BYTES: usize = 512;
/// Commands in a row that are not understood before the connection ends.
const BAD_MAX: u32 = 20;

/// Who signed in, with what is theirs.
pub(crate) struct Signed {
    /// The mail file.
    pub file: MailFile,
    /// Its INBOX.
    pub maildrop: Maildrop,
}

/// One connection.
pub(crate) struct Session {
    /// The door it came through.
    pub door: Arc<Door>,
    settings: Arc<Settings>,
    /// The connection.
    pub wire: Wire,
    /// Replies not written yet.
    pub out: Vec<u8>,
    /// Up to here the log must be durable before they may be seen.
    lsn: Lsn,
    /// Its entry among the connected.
    pub seat: Seat,
    /// The server's wish to stop.
    pub stopping: Stopping,
    /// Who signed in; without, the session is in the AUTHORIZATION state.
    pub signed: Option<Box<Signed>>,
    /// The name that USER gave.
    pub name: Option<String>,
    /// Sign-ins that failed.
    pub failures: u32,
    started: Instant,
    bad: u32,
}

impl Session {
    pub(crate) fn new(door: Arc<Door>, wire: Wire, seat: Seat, stopping: Stopping) -> Session {
        Session {
            settings: door.settings(),
            door,
            wire,
            out: Vec::new(),
            lsn: Lsn::ZERO,
            seat,
            stopping,
            signed: None,
            name: None,
            failures: 0,
            started: Instant::now(),
            bad: 0,
        }
    }

    /// The settings of the door.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The counters of the door.
    pub(crate) fn stats(&self) -> &Stats {
        &self.door.parts.stats
    }

    /// How long the peer may be silent.
    pub(crate) fn wait(&self) -> Duration {
        let settings = self.settings();
        match self.signed {
            Some(_) => settings.idle_wait,
            None => settings.guest_wait.saturating_sub(self.started.elapsed()),
        }
    }

    /// Whether a password may be sent over this connection.
    pub(crate) fn may_sign_in(&self) -> bool {
        self.settings().plain_login || self.wire.is_tls() || self.wire.is_loopback()
    }

    /// The maildrop and its mail file.
    pub(crate) fn signed(&mut self) -> Result<&mut Signed, Fault> {
        self.signed.as_deref_mut().ok_or(Fault::Bad("Please sign in first"))
    }

    /// Appends a reply line.
    pub(crate) fn say(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    /// Notes that the replies tell of something at `lsn`.
    pub(crate) fn saw(&mut self, lsn: Lsn) {
        self.lsn = self.lsn.max(lsn);
    }

    /// Runs work that touches a database.
    pub(crate) async fn run_work<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        // Nobody on this network loop waits for a mail file that is locked for long.
        let is_busy = self.signed.as_ref().is_some_and(|signed| signed.file.is_busy());
        let weight = if is_busy { Weight::Heavy } else { weight };
        Ok(session::run(&*self.door.parts.pool, weight, work).await?)
    }

    /// Writes the replies made so far, once what they tell of is durable.
    pub(crate) async fn flush(&mut self) -> Result<(), Fault> {
        if self.out.is_empty() {
            return Ok(());
        }
        if self.lsn > Lsn::ZERO {
            self.door.parts.files.store().durable(self.lsn).await?;
            self.lsn = Lsn::ZERO;
        }
        let wait = self.settings().write_wait;
        self.wire.write_all(&self.out, wait).await?;
        self.out.clear();
        self.out.shrink_to(OUT_KEPT_BYTES);
        Ok(())
    }

    /// Writes the replies made so far if they are many.
    pub(crate) async fn flush_if_full(&mut self) -> Result<(), Fault> {
        if self.out.len() >= OUT_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Runs the connection from the greeting to its end.
    pub(crate) async fn run(mut self) {
        // Without a time stamp in angle brackets: APOP is not offered.
        let greeting = format!("+OK {} POP3 at your service", self.settings().host_name);
        self.say(&greeting);
        let end = loop {
            if let Err(end) = self.step().await {
                break end;
            }
        };
        self.finish(end).await;
    }

    async fn step(&mut self) -> Result<(), End> {
        let mut line = Vec::new();
        let outcome = match self.read_line(&mut line).await {
            Ok(()) => {
                Stats::add(&self.stats().commands, 1);
                cmd::dispatch(self, &line).await
            }
            Err(fault) => Err(fault),
        };
        match outcome {
            Ok(()) => {
                self.bad = 0;
                Ok(())
            }
            Err(fault) => self.refuse(fault),
        }
    }

    fn refuse(&mut self, fault: Fault) -> Result<(), End> {
        if !matches!(fault, Fault::End(_)) {
            Stats::add(&self.stats().commands_refused, 1);
        }
        match fault {
            Fault::No(code, text) => {
                reply::error(code, &text, &mut self.out);
                match self.failures >= self.settings().login_failures_max {
                    true => Err(End::Quit),
                    false => Ok(()),
                }
            }
            Fault::Bad(text) => {
                reply::error("", text, &mut self.out);
                self.bad += 1;
                match self.bad > BAD_MAX {
                    true => Err(End::Error("Too many broken commands")),
                    false => Ok(()),
                }
            }
            Fault::End(end) => Err(end),
        }
    }

    /// Reads the next command. Replies are written first, unless another command is there already
    /// (RFC 2449 §6.6).
    async fn read_line(&mut self, line: &mut Vec<u8>) -> Result<(), Fault> {
        if !self.wire.buffered().contains(&b'\n') {
            self.flush().await?;
        }
        self.flush_if_full().await?;
        let (max, wait) = (self.settings().line_bytes_max, self.wait());
        tokio::select! {
            read = self.wire.read_line(line, max, wait) => { read?; }
            () = self.stopping.requested() => {
                return Err(Fault::End(End::Error("[SYS/TEMP] The server is stopping")));
            }
            () = self.seat.dropped() => {
                let text = "[SYS/TEMP] The session was ended by an administrator";
                return Err(Fault::End(End::Error(text)));
            }
        }
        Ok(())
    }

    async fn finish(mut self, end: End) {
        match end {
            End::Silent => return,
            End::Error(text) => reply::error("", text, &mut self.out),
            End::Quit => {}
        }
        // The maildrop is free before the client hears the last word.
        self.signed = None;
        // Whatever goes wrong now, the connection ends.
        if self.flush().await.is_ok() {
            self.wire.close().await;
        }
    }
}
