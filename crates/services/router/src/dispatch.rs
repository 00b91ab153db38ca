//! Dispatch of one message: plan, deliver here, and say what waits for whom.

use std::sync::Arc;
use std::time::Duration;

use directory::{Directory, Resolved};
use mailfile::rules::{Letter, Verdict, judge};
use store::{PreparedNote, StoreError};

use crate::board::Job;
use crate::commit::Interrupted;
use crate::course::{Course, Local, Message};
use crate::desk::Desk;
use crate::envelope::{self, Envelope, Priority};
use crate::mailbox::MailBox;
use crate::options::{OverQuota, RouterOptions};
use crate::report::Fate;
use crate::route::{self, Attempt, Delivery, Failed, Failure, Plan, Tables};
use crate::status::QueueState;
use crate::worker::TOLD_EVERY;
use crate::{Courier, RouterError};

/// Mail files in one record: the log takes 64 databases, one of them is mail.box, one may be the
/// journal.
const BATCH_MAX: usize = 62;

/// What became of a message.
pub(crate) enum After {
    /// It left mail.box.
    Done,
    /// Somebody still waits; why.
    Later(String),
    /// The rest is for another host, not before the wait is over.
    Transfer(Arc<str>, Duration),
    /// It stays until somebody releases it.
    Parked(QueueState),
}

pub(crate) enum Loaded {
    Waiting(Message),
    Parked(QueueState),
    Gone,
}

struct DirectoryTables<'a> {
    directory: &'a Directory,
    courier: Option<&'a dyn Courier>,
}

impl Tables for DirectoryTables<'_> {
    fn resolve(&self, name: &str) -> Result<Resolved, String> {
        self.directory.resolve_name(name).map_err(|error| causes(&error))
    }

    fn destination(&self, domain: &str) -> Option<Arc<str>> {
        self.courier?.destination(domain)
    }
}

/// Says in the log what helps when a mail file is missing or fenced.
fn advise(error: &StoreError, attempts: u32) {
    if !attempts.is_multiple_of(TOLD_EVERY) {
        return;
    }
    match error {
        StoreError::NotFound { path } => {
            let advice = "bring it back, or make it with nelumbo db create PATH --mail";
            tracing::warn!(path, advice, "a mail file is missing");
        }
        StoreError::Fenced { path, reason } => {
            let advice = "put its file back, or mend it with nelumbo db fixup";
            tracing::warn!(path, reason, advice, "a mail file is fenced");
        }
        _ => {}
    }
}

/// An error with its sources in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

impl Desk {
    /// Works on one message. The job learns when its age has to be looked at.
    pub(crate) fn dispatch(&self, job: &mut Job) -> Result<After, RouterError> {
        let mailbox = self.mailbox(job.mailbox);
        let message = match self.load(&mailbox, job)? {
            Loaded::Waiting(message) => message,
            Loaded::Parked(state) => return Ok(After::Parked(state)),
            Loaded::Gone => return Ok(After::Done),
        };
        let options = self.options();
        let plan = self.plan(&message, &options);
        let journal = self.journal_entry(&message, &plan, &options)?;
        let mut course = self.course(plan, &message, (job, &options));
        course.unsaved |= journal.is_some();
        course.journal = journal;
        self.follow(&mailbox, &message, (&mut course, &options))?;
        job.deposited_s = message.deposited.unix_seconds();
        job.look_s = look_s(&message, &options, course.delay_told);
        Ok(if let Some((recipient, cause)) = course.later.first() {
            After::Later(format!("{}: {cause}", recipient.address))
        } else if let Some(transfer) = course.transfers.first() {
            let wait = self.low_priority_wait(&message, &options);
            let wait = wait.max(self.kept_wait(job, &message, &options));
            After::Transfer(transfer.destination.clone(), wait)
        } else if course.dead.is_empty() {
            self.counters.routed();
            After::Done
        } else {
            After::Parked(QueueState::Dead)
        })
    }

    /// How long a message of low priority waits until the window for such opens.
    fn low_priority_wait(&self, message: &Message, options: &RouterOptions) -> Duration {
        let low = message.envelope.priority == Priority::Low && !options.ignore_priority;
        let window = options.low_priority_window.filter(|_| low);
        let wait_s = window.map_or(0, |window| window.opens_in(self.store.now()));
        Duration::from_secs(wait_s.unsigned_abs())
    }

    /// What is left of a wait that began before a restart. The job learns how often the message
    /// was put off.
    fn kept_wait(&self, job: &mut Job, message: &Message, options: &RouterOptions) -> Duration {
        let Some((attempts, at)) = message.envelope.retry else { return Duration::ZERO };
        if job.attempts >= attempts {
            return Duration::ZERO;
        }
        job.attempts = attempts;
        let left_s = at.unix_seconds().saturating_sub(self.store.now().unix_seconds());
        let longest_s = options.retry_wait_s(attempts);
        Duration::from_secs(u64::try_from(left_s).unwrap_or(0).min(longest_s))
    }

    pub(crate) fn load(&self, mailbox: &MailBox, job: &Job) -> Result<Loaded, RouterError> {
        let fresh = job.fresh.as_ref().filter(|fresh| fresh.file == mailbox.database.dbiid());
        if let Some(fresh) = fresh {
            return Ok(Loaded::Waiting(Message {
                id: fresh.id,
                prepared: fresh.prepared.clone(),
                envelope: fresh.envelope.clone(),
                deposited: fresh.deposited,
            }));
        }
        let (meta, note) = match self.note(mailbox, &job.unid) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Loaded::Gone),
            Err(error @ (StoreError::Damage { .. } | StoreError::Decode(_))) => {
                tracing::error!(queue_id = %job.unid, %error, "a message in mail.box is damaged");
                return Ok(Loaded::Parked(QueueState::Held));
            }
            Err(error) => return Err(error.into()),
        };
        let state = envelope::state(note.text(envelope::STATE));
        if state != QueueState::Waiting {
            return Ok(Loaded::Parked(state));
        }
        let envelope = Envelope::read(&note);
        let prepared = PreparedNote::new(&envelope::unwrap_message(note), meta.size, meta.date);
        Ok(Loaded::Waiting(Message { id: meta.id, prepared, envelope, deposited: meta.date }))
    }

    /// Where the message goes now.
    pub(crate) fn plan(&self, message: &Message, options: &RouterOptions) -> Plan {
        let attempt = Attempt {
            age_s: self.age_s(message),
            expiry_s: options.expiry_s,
            hops: message.envelope.hops,
            hop_limit: options.hop_limit,
            size: message.prepared.size(),
            // What the router made itself is not too big for it.
            size_max: if message.envelope.own { 0 } else { options.message_bytes_max },
        };
        let courier = options.courier.as_deref();
        let tables = DirectoryTables { directory: &self.directory, courier };
        route::route(&tables, &message.envelope.recipients, attempt)
    }

    pub(crate) fn age_s(&self, message: &Message) -> i64 {
        self.store.now().unix_seconds() - message.deposited.unix_seconds()
    }

    /// Opens the mail files of the plan; those in trouble wait.
    fn course(
        &self,
        plan: Plan,
        message: &Message,
        (job, options): (&Job, &RouterOptions),
    ) -> Course {
        let age_s = self.age_s(message);
        let mut course = Course {
            undone: Vec::with_capacity(plan.deliveries.len()),
            transfers: plan.transfers,
            later: plan.later,
            expired: age_s > options.expiry_s,
            delay_told: message.envelope.delay_told,
            null_sender: message.envelope.sender.is_none(),
            journaled: message.envelope.journaled,
            ..Course::default()
        };
        let expanded = |recipient: &_| Fate::succeeded(recipient, message::dsn::Action::Expanded);
        course.fates = plan.expanded.iter().map(expanded).collect();
        course.unsaved = !course.fates.is_empty();
        plan.failures.into_iter().for_each(|failed| course.fail(failed));
        let sender = message.envelope.sender.as_deref().unwrap_or_default();
        let letter = Letter::new(&self.store, &message.prepared, sender);
        for delivery in plan.deliveries {
            match self.local(&delivery, message, &letter) {
                Ok((database, verdict)) => {
                    course.undone.push(Local { delivery, database, verdict });
                }
                Err(error) => {
                    advise(&error, job.attempts);
                    course.not_now(delivery, causes(&error));
                }
            }
        }
        if let Some(cause) = &job.swept
            && age_s > options.transfer_expiry_s
        {
            for transfer in std::mem::take(&mut course.transfers) {
                let why = Failure::Expired(cause.clone());
                let (recipient, kept) = (transfer.recipient, transfer.kept);
                course.fail(Failed { recipient, kept, why });
            }
        }
        if !course.delay_told && is_late(age_s, options) {
            course.tell_delay(job.swept.as_deref());
        }
        course.unsaved |= course.remaining().is_empty();
        course
    }

    /// The mail file of a delivery, and what its owner's rules say of the message.
    fn local(
        &self,
        delivery: &Delivery,
        message: &Message,
        letter: &Letter<'_>,
    ) -> Result<(store::Database, Verdict), StoreError> {
        let database = self.store.database(&delivery.path)?;
        let rules = self.files.rules(&database)?;
        let mut verdict = match rules.is_empty() {
            true => Verdict::default(),
            false => judge(&rules, letter),
        };
        verdict.beyond_quota = message.envelope.own;
        Ok((database, verdict))
    }

    fn follow(
        &self,
        mailbox: &MailBox,
        message: &Message,
        (course, options): (&mut Course, &RouterOptions),
    ) -> Result<(), RouterError> {
        let mut most = BATCH_MAX;
        while !course.undone.is_empty() {
            let mut batch = course.take(most);
            match self.commit(mailbox, message, course, &batch) {
                Ok(_) => {}
                Err(Interrupted::OverQuota(at)) => {
                    let full = batch.remove(at.min(batch.len() - 1));
                    course.put_back(batch);
                    over_quota(course, full.delivery, options.over_quota);
                }
                Err(Interrupted::Journal(cause)) => {
                    course.put_back(batch);
                    self.without_journal(message, course, (options, cause))?;
                }
                Err(Interrupted::Trouble(error)) if batch.len() > 1 => {
                    tracing::debug!(%error, "a batch of deliveries is split");
                    course.put_back(batch);
                    most = 1;
                }
                Err(Interrupted::Trouble(error)) => {
                    let one = batch.into_iter().map(|local| local.delivery);
                    one.for_each(|delivery| course.not_now(delivery, causes(&error)));
                }
            }
        }
        if course.unsaved || course.must_split() {
            match self.commit(mailbox, message, course, &[]) {
                Err(Interrupted::Journal(cause)) => {
                    self.without_journal(message, course, (options, cause))?;
                    self.commit(mailbox, message, course, &[])?;
                }
                written => {
                    written?;
                }
            }
        }
        Ok(())
    }

    /// The journal did not take the message: it goes on without, or waits.
    fn without_journal(
        &self,
        message: &Message,
        course: &mut Course,
        (options, cause): (&RouterOptions, String),
    ) -> Result<(), RouterError> {
        course.journal = None;
        let in_trouble = options.journal.as_ref().map(|journal| journal.in_trouble);
        self.journal_failed(message, in_trouble.unwrap_or_default(), cause)
    }
}

fn over_quota(course: &mut Course, delivery: Delivery, wanted: OverQuota) {
    match wanted {
        OverQuota::Hold => course.not_now(delivery, Failure::OverQuota.sentence().to_owned()),
        OverQuota::Bounce => {
            let Delivery { recipient, kept, .. } = delivery;
            course.fail(Failed { recipient, kept, why: Failure::OverQuota });
        }
    }
}

/// Whether a sender is to be told that the message still waits.
pub(crate) fn is_late(age_s: i64, options: &RouterOptions) -> bool {
    options.delay_report_s > 0 && age_s > options.delay_report_s
}

/// When the age of a message that is transferred has to be looked at, in seconds since 1970.
fn look_s(message: &Message, options: &RouterOptions, delay_told: bool) -> i64 {
    let deposited = message.deposited.unix_seconds();
    let told = delay_told || options.delay_report_s <= 0 || message.envelope.sender.is_none();
    let wait = if told { options.transfer_expiry_s } else { options.delay_report_s };
    deposited.saturating_add(wait.min(options.transfer_expiry_s)).saturating_add(1)
}
