//! One SMTP connection: its state and its loop.

use crate::body::Body;
use crate::door::{Door, HANDSHAKE_WAIT, Listener};
use crate::grammar::split_verb;
use crate::reply::{self, Reply};
use crate::{Settings, Stats, cmd};
use ::session::{Broken, Seat, Stopping, Weight, Wire, WireError};
use directory::Person;
use note::{TimeDate, Unid};
use router::{Recipient, Ret, ReversePath};
use std::sync::Arc;
use std::time::Duration;

/// Replies are gathered up to this many bytes while a client pipelines (RFC 2920).
const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// The mail transaction in progress (RFC 5321 §3.3).
#[derive(Debug, Default)]
pub struct Envelope {
    /// MAIL was accepted.
    pub begun: bool,
    /// Who gets reports; `None` is the null sender.
    pub sender: ReversePath,
    /// Accepted recipients.
    pub recipients: Vec<Recipient>,
    /// SIZE as announced, in bytes.
    pub announced_bytes: u64,
    /// ENVID (RFC 3461 §4.4), decoded.
    pub envelope_id: Option<String>,
    /// RET (RFC 3461 §4.3).
    pub ret: Ret,
    /// SMTPUTF8 was said (RFC 6531 §3.4).
    pub utf8: bool,
    /// What BDAT brought so far.
    pub chunks: Chunks,
}

/// A message that comes in chunks (RFC 3030).
#[derive(Debug, Default)]
pub enum Chunks {
    /// No chunk came.
    #[default]
    None,
    /// Chunks came, the last did not.
    Open(Body),
    /// One was refused; so are the others.
    Failed,
}

/// What a command leads to.
#[derive(Debug)]
pub enum Step {
    /// Answer and go on.
    Answer(Reply),
    /// The answer was put into [`Session::out`] already.
    Answered,
    /// Answer and end the connection.
    Close(Reply),
    /// End the connection: nobody is there any more.
    Gone,
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Step {
        Step::Answer(reply)
    }
}

/// State of one connection.
pub struct Session {
    pub door: Arc<Door>,
    settings: Arc<Settings>,
    pub wire: Wire,
    pub seat: Seat,
    pub listener: Listener,
    /// What the client called itself.
    pub helo: Option<String>,
    /// It said EHLO.
    pub extended: bool,
    /// Who signed in.
    pub person: Option<Person>,
    pub envelope: Envelope,
    /// Replies that were not sent yet.
    pub out: Vec<u8>,
    pub login_failures: u32,
    pub messages: u32,
    /// Refused commands since a message was accepted.
    pub faults: u32,
}

impl Session {
    pub fn new(door: Arc<Door>, wire: Wire, seat: Seat, listener: Listener) -> Session {
        let settings = door.settings();
        Session {
            door,
            settings,
            wire,
            seat,
            listener,
            helo: None,
            extended: false,
            person: None,
            envelope: Envelope::default(),
            out: Vec::new(),
            login_failures: 0,
            messages: 0,
            faults: 0,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Largest message that is taken, in bytes: what the server takes, or less of who signed in.
    pub fn message_bytes_max(&self) -> u64 {
        let all = self.settings.message_bytes_max;
        match self.person.as_ref().map_or(0, |person| person.message_bytes_max) {
            0 => all,
            own => own.min(all),
        }
    }

    pub fn now(&self) -> TimeDate {
        self.door.parts.store.clock().now()
    }

    pub fn new_unid(&self) -> Unid {
        self.door.parts.store.new_unid()
    }

    /// Whether a password may be sent over this connection.
    pub fn may_sign_in(&self) -> bool {
        self.wire.is_tls() || self.wire.is_loopback() || self.settings().plain_login
    }

    /// Runs synchronous work.
    pub async fn run_work<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&Door) -> T + Send + 'static,
    ) -> Result<T, Broken> {
        let door = self.door.clone();
        ::session::run(&*self.door.parts.pool, weight, move || work(&door)).await
    }

    /// Greets and serves commands until the connection ends.
    pub async fn run(mut self: Box<Self>, mut stopping: Stopping) {
        let greeting = format!("{} ESMTP nelumbo", self.settings().host_name);
        Reply::of(220, "", greeting).print(&mut self.out);
        let mut line = Vec::new();
        while let Some(reply) = self.turn(&mut line, &mut stopping).await {
            match reply {
                Step::Answer(reply) => {
                    if let Some(last) = self.count_fault(&reply) {
                        reply.print(&mut self.out);
                        self.say_last(&last).await;
                        break;
                    }
                    reply.print(&mut self.out);
                }
                Step::Answered => {}
                Step::Close(reply) => {
                    self.say_last(&reply).await;
                    break;
                }
                Step::Gone => break,
            }
        }
        self.wire.close().await;
    }

    /// Sends what is due, reads one command and runs it. `None` when the client is gone.
    async fn turn(&mut self, line: &mut Vec<u8>, stopping: &mut Stopping) -> Option<Step> {
        let pipelined = self.wire.buffered().contains(&b'\n');
        if !pipelined || self.out.len() > GATHERED_BYTES_MAX {
            self.flush().await.ok()?;
        }
        if stopping.is_requested() {
            return Some(Step::Close(reply::STOPPING));
        }
        match self.next_line(line, stopping).await {
            Ok(()) => Some(self.dispatch(line).await),
            Err(step) => Some(step),
        }
    }

    async fn next_line(&mut self, line: &mut Vec<u8>, stopping: &mut Stopping) -> Result<(), Step> {
        let (max, wait) = (self.settings().line_bytes_max, self.settings().command_wait);
        let read = tokio::select! {
            biased;
            read = self.wire.read_line(line, max, wait) => read,
            () = stopping.requested() => return Err(Step::Close(reply::STOPPING)),
            () = self.seat.dropped() => return Err(Step::Close(reply::DROPPED)),
        };
        match read {
            Ok(_) => Ok(()),
            Err(WireError::TooLong { .. }) => Err(Step::Answer(reply::LINE_TOO_LONG)),
            Err(WireError::Timeout) => Err(Step::Close(reply::TOO_QUIET)),
            Err(WireError::Closed | WireError::Io(_)) => Err(Step::Gone),
        }
    }

    async fn dispatch(&mut self, line: &[u8]) -> Step {
        let (verb, arguments) = split_verb(line);
        // In boxes, so that a connection that waits for a command has no room for its work.
        match verb.as_str() {
            "EHLO" => cmd::ehlo::run(self, arguments, true),
            "HELO" => cmd::ehlo::run(self, arguments, false),
            "MAIL" => Box::pin(cmd::mail::run(self, arguments)).await,
            "RCPT" => Box::pin(cmd::rcpt::run(self, arguments)).await,
            "BDAT" => Box::pin(cmd::bdat::run(self, arguments)).await,
            "DATA" => Box::pin(cmd::data::run(self, arguments)).await,
            "AUTH" => Box::pin(cmd::auth::run(self, arguments)).await,
            "STARTTLS" => Box::pin(cmd::starttls::run(self, arguments)).await,
            "RSET" => cmd::simple::reset(self, arguments),
            "NOOP" => reply::OK.into(),
            "HELP" => reply::HELP.into(),
            "VRFY" => reply::CANNOT_VERIFY.into(),
            "QUIT" => Step::Close(reply::BYE),
            "EXPN" | "TURN" | "ETRN" | "SEND" | "SOML" | "SAML" => reply::NOT_IMPLEMENTED.into(),
            _ => reply::UNKNOWN_COMMAND.into(),
        }
    }

    /// Counts refusals; the reply with which the connection ends when there were too many. What
    /// is the server's trouble (4xx) is not the client's fault, and somebody who signed in may
    /// have a long list of dead addresses.
    fn count_fault(&mut self, reply: &Reply) -> Option<Reply> {
        let known = self.person.is_some() && *reply == reply::UNKNOWN_USER;
        if known || !reply.is_final() {
            return None;
        }
        self.faults += 1;
        (self.faults >= self.settings().faults_max).then_some(reply::TOO_MANY_FAULTS)
    }

    /// Sends the gathered replies.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        if self.out.is_empty() {
            return Ok(());
        }
        let wait = self.settings().command_wait;
        self.wire.write_all(&self.out, wait).await?;
        self.out.clear();
        self.out.shrink_to(1024);
        Ok(())
    }

    async fn say_last(&mut self, reply: &Reply) {
        reply.print(&mut self.out);
        // Whether it is heard does not matter: the connection ends.
        let _ = self.wire.write_all(&self.out, HANDSHAKE_WAIT).await;
    }

    /// Waits a moment before a failed sign-in is answered, longer each time.
    pub async fn punish(&mut self) {
        Stats::add(&self.door.parts.stats.logins_failed, 1);
        let wait: Duration = self.settings().login_failure_wait * (1 << self.login_failures.min(4));
        self.login_failures += 1;
        tokio::time::sleep(wait).await;
    }
}
