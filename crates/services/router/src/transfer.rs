//! A transfer thread: hands messages to other hosts and marks what they took.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mailfile::intake;
use note::Piece;
use store::StoreError;

use crate::board::{Errand, Job};
use crate::courier::{Answer, Line, Parcel, Said, Trouble};
use crate::course::{Course, Message};
use crate::desk::Desk;
use crate::dispatch::{Loaded, causes, is_late};
use crate::envelope::{QueueId, Recipient};
use crate::mailbox::MailBox;
use crate::options::RouterOptions;
use crate::report::Fate;
use crate::route::{Failed, Failure, Transfer};
use crate::status::QueueState;
use crate::worker::{TOLD_EVERY, crashed, text};
use crate::{Courier, RouterError};

/// How long a line is kept open for further messages.
const LINGER: Duration = Duration::from_secs(5);
/// Messages sent over one line.
const PARCELS_MAX: u32 = 100;
/// The line that the door put in front when it took the message in.
const RETURN_PATH: &[u8] = b"return-path:";
/// Longest such line in bytes.
const RETURN_PATH_BYTES_MAX: u64 = 1_024;

/// A line that is kept.
struct Open {
    to: Arc<str>,
    line: Box<dyn Line>,
    used: u32,
}

/// What became of a message.
enum Carried {
    /// It left mail.box.
    Done,
    /// Where it goes is to be asked anew.
    Replan,
    Parked(QueueState),
    /// Somebody waits for this destination; why.
    Later(String),
    /// The destination cannot be reached.
    Unreachable(String),
}

/// Works until the board says that it is over.
pub(crate) fn run(desk: &Desk, number: usize) {
    let mut open: Option<Open> = None;
    loop {
        let held = open.as_ref().map(|open| open.to.clone());
        match desk.board.next_errand(number, held.as_deref(), LINGER) {
            Errand::End => return close(&mut open),
            Errand::Idle => close(&mut open),
            Errand::Transfer(to, job) => {
                if open.as_ref().is_some_and(|open| open.to != to || open.used >= PARCELS_MAX) {
                    close(&mut open);
                }
                one(desk, &to, job, &mut open);
            }
        }
    }
}

fn close(open: &mut Option<Open>) {
    if let Some(open) = open.take() {
        open.line.close();
    }
}

fn one(desk: &Desk, to: &Arc<str>, mut job: Job, open: &mut Option<Open>) {
    let carried = catch_unwind(AssertUnwindSafe(|| desk.carry(to, &mut job, open)));
    desk.board.transfer_ended(to);
    match carried {
        Ok(Ok(Carried::Done)) => desk.board.done(&job.unid),
        Ok(Ok(Carried::Replan)) => desk.board.retry(job, Duration::ZERO),
        Ok(Ok(Carried::Parked(state))) => {
            tracing::info!(queue_id = %job.unid, ?state, "a message stays in mail.box");
            desk.board.park(job, state);
        }
        Ok(Ok(Carried::Later(cause))) => {
            keep_retry(desk, &job);
            later(desk, to, job, cause);
        }
        Ok(Err(error)) if desk.renew_after(&error) => desk.board.retry(job, Duration::ZERO),
        Ok(Err(error)) => in_trouble(desk, to, job, causes(&error)),
        Ok(Ok(Carried::Unreachable(cause))) => unreachable(desk, to, job, &cause),
        Err(panic) => {
            *open = None;
            crashed(desk, job, text(&*panic));
        }
    }
}

/// The message could not be read or marked. After the longest time dispatch gives it up.
fn in_trouble(desk: &Desk, to: &Arc<str>, mut job: Job, cause: String) {
    tracing::warn!(queue_id = %job.unid, %to, cause, "a message cannot be transferred");
    if desk.is_expired(job.deposited_s) {
        job.swept = Some(cause);
        return desk.board.retry(job, Duration::ZERO);
    }
    later(desk, to, job, cause);
}

/// Writes down when the message is tried again. What cannot be written is forgotten at a restart,
/// which costs one try.
fn keep_retry(desk: &Desk, job: &Job) {
    let attempts = job.attempts.saturating_add(1);
    let wait_s = i64::try_from(desk.options().retry_wait_s(attempts)).unwrap_or(i64::MAX);
    let at = desk.store.now().plus_seconds(wait_s);
    if let Err(error) = desk.keep_retry(job.mailbox, &job.unid, (attempts, at)) {
        tracing::warn!(queue_id = %job.unid, cause = causes(&error), "the next try is not kept");
    }
}

fn later(desk: &Desk, to: &Arc<str>, mut job: Job, cause: String) {
    job.attempts = job.attempts.saturating_add(1);
    let (attempt, wait_s) = (job.attempts, desk.options().retry_wait_s(job.attempts));
    if attempt == 1 || attempt.is_multiple_of(TOLD_EVERY) {
        tracing::info!(queue_id = %job.unid, %to, attempt, wait_s, cause, "a transfer waits");
    }
    job.cause = Some(cause);
    desk.board.queue(job, to, Duration::from_secs(wait_s));
}

fn unreachable(desk: &Desk, to: &Arc<str>, job: Job, cause: &str) {
    if desk.board.is_stopping() {
        return desk.board.retry(job, Duration::ZERO);
    }
    desk.counters.transfer_failed();
    // The log names it once.
    let said = cause.strip_prefix(&**to).map_or(cause, str::trim_start);
    tracing::warn!(%to, cause = said, "a destination cannot be reached");
    let options = desk.options();
    let now_s = desk.store.now().unix_seconds();
    let wait = |failures| Duration::from_secs(options.retry_wait_s(failures));
    desk.board.failed(job, (to, cause), now_s, wait);
    desk.keep_lockouts();
}

impl Desk {
    /// Whether a message of this age is not tried any more.
    fn is_expired(&self, deposited_s: i64) -> bool {
        let age_s = self.store.now().unix_seconds().saturating_sub(deposited_s);
        age_s > self.options().transfer_expiry_s
    }

    /// Hands one message to another host.
    fn carry(
        &self,
        to: &Arc<str>,
        job: &mut Job,
        open: &mut Option<Open>,
    ) -> Result<Carried, RouterError> {
        let mailbox = self.mailbox(job.mailbox);
        let message = match self.load(&mailbox, job)? {
            Loaded::Waiting(message) => message,
            Loaded::Parked(state) => return Ok(Carried::Parked(state)),
            Loaded::Gone => return Ok(Carried::Done),
        };
        let options = self.options();
        let Some(courier) = options.courier.clone() else { return Ok(Carried::Replan) };
        let plan = self.plan(&message, &options);
        let others = !plan.deliveries.is_empty()
            || !plan.failures.is_empty()
            || !plan.later.is_empty()
            || plan.transfers.iter().any(|transfer| transfer.destination != *to);
        if others || plan.transfers.is_empty() {
            return Ok(Carried::Replan);
        }
        // Nothing leaves that a crash could take back.
        let appended = self.store.log().appended();
        self.store.durable(appended).wait().map_err(StoreError::from)?;
        let answers =
            match self.send(&*courier, (to, open), &mailbox, (&message, &plan.transfers))? {
                Ok(answers) => answers,
                Err(trouble) if trouble.destination => {
                    return Ok(Carried::Unreachable(trouble.text));
                }
                Err(trouble) => {
                    let later = Said { text: trouble.text, ..Said::default() };
                    plan.transfers.iter().map(|_| Answer::NotNow(later.clone())).collect()
                }
            };
        let host = open.as_ref().map_or_else(|| to.clone(), |open| open.line.host().into());
        let mut course = self.settle(&message, (plan.transfers, answers), &host, &options);
        let after = match course.transfers.first() {
            Some(_) => Carried::Later(course.last_error.take().unwrap_or_default()),
            None if course.dead.is_empty() => Carried::Done,
            None => Carried::Parked(QueueState::Dead),
        };
        if course.unsaved {
            let written = self.commit(&mailbox, &message, &mut course, &[])?;
            self.store.durable(written.lsn).wait().map_err(StoreError::from)?;
        }
        if matches!(after, Carried::Done) {
            self.counters.routed();
        }
        Ok(after)
    }

    /// Sends over the line that is open, or a new one. One that broke while nobody looked is
    /// replaced once.
    fn send(
        &self,
        courier: &dyn Courier,
        (to, open): (&Arc<str>, &mut Option<Open>),
        mailbox: &MailBox,
        (message, transfers): (&Message, &[Transfer]),
    ) -> Result<Result<Vec<Answer>, Trouble>, RouterError> {
        let unid = message.prepared.unid();
        let Some((meta, note)) = self.note(mailbox, &unid)? else {
            return Err(RouterError::NotFound(QueueId(unid)));
        };
        let pieces = intake::content_of(&note)?;
        let skip = self.return_path_len(&pieces)?;
        let recipients: Vec<Recipient> = transfers.iter().map(|t| t.recipient.clone()).collect();
        let read = |range: std::ops::Range<u64>, out: &mut Vec<u8>| {
            let range = range.start.saturating_add(skip)..range.end.saturating_add(skip);
            intake::read_range(&self.store, &pieces, range, out).map_err(|error| causes(&error))
        };
        let parcel = Parcel {
            sender: message.envelope.sender.as_deref(),
            recipients: &recipients,
            envelope_id: message.envelope.envelope_id.as_deref(),
            ret: message.envelope.ret,
            size: meta.size.saturating_sub(skip),
            read: &read,
        };
        loop {
            let reused = open.is_some();
            let line = match open {
                Some(open) => open,
                None => match courier.open(to) {
                    Ok(line) => {
                        if self.board.reached(to) {
                            self.keep_lockouts();
                        }
                        open.insert(Open { to: to.clone(), line, used: 0 })
                    }
                    Err(trouble) => return Ok(Err(Trouble { destination: true, ..trouble })),
                },
            };
            line.used += 1;
            match line.line.send(&parcel) {
                Ok(answers) => return Ok(Ok(answers)),
                Err(trouble) => {
                    *open = None;
                    if !(reused && trouble.destination) {
                        return Ok(Err(trouble));
                    }
                }
            }
        }
    }

    /// Bytes of the Return-Path line in front, which no message on its way has (RFC 5321
    /// section 4.4).
    fn return_path_len(&self, pieces: &[Piece]) -> Result<u64, RouterError> {
        let mut front = Vec::new();
        intake::read_range(&self.store, pieces, 0..RETURN_PATH_BYTES_MAX, &mut front)?;
        let is_one = front.get(..RETURN_PATH.len());
        let is_one = is_one.is_some_and(|name| name.eq_ignore_ascii_case(RETURN_PATH));
        let end = front.iter().position(|&byte| byte == b'\n').filter(|_| is_one);
        Ok(end.map_or(0, |end| end as u64 + 1))
    }

    /// What the answers of the other host mean for the message.
    fn settle(
        &self,
        message: &Message,
        (transfers, answers): (Vec<Transfer>, Vec<Answer>),
        host: &Arc<str>,
        options: &RouterOptions,
    ) -> Course {
        let age_s = self.age_s(message);
        let mut course = Course {
            delay_told: message.envelope.delay_told,
            null_sender: message.envelope.sender.is_none(),
            journaled: message.envelope.journaled,
            ..Course::default()
        };
        let mut cause = None;
        let mut taken = 0;
        for (transfer, answer) in transfers.into_iter().zip(answers) {
            let Transfer { recipient, kept, .. } = &transfer;
            let fail = |why| Failed { recipient: recipient.clone(), kept: kept.clone(), why };
            match answer {
                Answer::Taken { reports } => {
                    taken += 1;
                    course.unsaved = true;
                    if recipient.notify.success && !reports && !course.null_sender {
                        course.fates.push(Fate::relayed(recipient, host));
                    }
                    self.told_taken(message, recipient, host);
                }
                Answer::Refused(said) => {
                    let refused = fail(Failure::Refused { host: host.clone(), said });
                    course.fail(refused);
                }
                Answer::NotNow(said) if age_s > options.transfer_expiry_s => {
                    let expired = fail(Failure::Expired(said.to_string()));
                    course.fail(expired);
                }
                Answer::NotNow(said) => {
                    cause.get_or_insert_with(|| said.to_string());
                    course.transfers.push(transfer);
                }
            }
        }
        self.counters.transferred(taken, message.prepared.size());
        if let (Some(cause), false) = (&cause, course.delay_told || !is_late(age_s, options)) {
            course.tell_delay(Some(cause));
        }
        course.last_error = cause;
        course
    }

    fn told_taken(&self, message: &Message, recipient: &Recipient, host: &Arc<str>) {
        let queue_id = QueueId(message.prepared.unid());
        let from = message.envelope.sender.as_deref().unwrap_or_default();
        let (to, size) = (&recipient.address, message.prepared.size());
        tracing::info!(%queue_id, from, to, %host, size, "transferred");
    }
}
