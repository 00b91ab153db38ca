//! Dispatch of one message: plan, deliver, report, and keep what is not done.

use directory::{Directory, Resolved};
use mailfile::intake;
use note::{Note, TimeDate};
use store::{Database, NoteId, PreparedNote, StoreError, Stub};

use crate::RouterError;
use crate::board::Job;
use crate::desk::{Boxed, Desk};
use crate::envelope::{self, Envelope, QueueId, Recipient};
use crate::mailbox::{MailBox, own};
use crate::report::{self, About, Fate};
use crate::route::{self, Attempt, Delivery, Failed, Failure, Plan, Tables};
use crate::status::QueueState;

/// Mail files in one record: the log takes 64 databases, one of them is mail.box.
const BATCH_MAX: usize = 63;
/// Bytes looked at for the header that goes back in a report.
const HEADER_BYTES_MAX: u64 = 64 * 1024;

/// What became of a message.
pub(crate) enum After {
    /// It left mail.box.
    Done,
    /// Somebody still waits; why.
    Later(String),
    /// It stays until somebody releases it.
    Parked(QueueState),
}

/// A message in work.
struct Message {
    id: NoteId,
    prepared: PreparedNote,
    envelope: Envelope,
    deposited: TimeDate,
}

/// How far a message in work has come.
struct Course {
    undone: Vec<(Delivery, Database)>,
    later: Vec<(Recipient, String)>,
    failed: Vec<Failed>,
    /// How many of the failures a record holds already.
    told: usize,
    /// Failures that cannot be told to anybody: the sender is the null sender.
    dead: Vec<Recipient>,
    /// The note in mail.box does not say yet what remains.
    unsaved: bool,
    /// Delivery was tried for too long: who still cannot be reached now fails.
    expired: bool,
    /// Nobody is told about failures.
    null_sender: bool,
}

struct DirectoryTables<'a>(&'a Directory);

impl Tables for DirectoryTables<'_> {
    fn resolve(&self, name: &str) -> Result<Resolved, String> {
        self.0.resolve_name(name).map_err(|error| causes(&error))
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
    /// Works on one message.
    pub(crate) fn dispatch(&self, job: &Job) -> Result<After, RouterError> {
        let mailbox = &self.mailboxes[job.mailbox];
        let message = match self.load(mailbox, job)? {
            Loaded::Waiting(message) => message,
            Loaded::Parked(state) => return Ok(After::Parked(state)),
            Loaded::Gone => return Ok(After::Done),
        };
        let age = self.store.now().unix_seconds() - message.deposited.unix_seconds();
        let attempt =
            Attempt { age_s: age, hops: message.envelope.hops, hop_limit: self.options.hop_limit };
        let tables = DirectoryTables(&self.directory);
        let plan = route::route(&tables, &message.envelope.recipients, attempt);
        let mut course = self.course(plan, &message, attempt);
        self.follow(mailbox, &message, &mut course)?;
        Ok(if let Some((recipient, cause)) = course.later.first() {
            After::Later(format!("{}: {cause}", recipient.address))
        } else if course.dead.is_empty() {
            self.counters.routed();
            After::Done
        } else {
            After::Parked(QueueState::Dead)
        })
    }

    fn load(&self, mailbox: &MailBox, job: &Job) -> Result<Loaded, RouterError> {
        if let Some(fresh) = &job.fresh {
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

    /// Opens the mail files of the plan; those in trouble wait.
    fn course(&self, plan: Plan, message: &Message, attempt: Attempt) -> Course {
        let mut course = Course {
            undone: Vec::with_capacity(plan.deliveries.len()),
            later: plan.later,
            failed: plan.failures,
            told: 0,
            dead: Vec::new(),
            unsaved: false,
            expired: attempt.age_s > route::EXPIRY_S,
            null_sender: message.envelope.sender.is_none(),
        };
        if course.null_sender {
            course.dead = course.failed.iter().map(|failed| failed.kept.clone()).collect();
        }
        course.unsaved = !course.failed.is_empty();
        for delivery in plan.deliveries {
            match self.store.database(&delivery.path) {
                Ok(database) => course.undone.push((delivery, database)),
                Err(error) => course.not_now(delivery, causes(&error)),
            }
        }
        course.unsaved |= course.remaining().is_empty();
        course
    }

    fn follow(
        &self,
        mailbox: &MailBox,
        message: &Message,
        course: &mut Course,
    ) -> Result<(), RouterError> {
        while !course.undone.is_empty() {
            let batch = course.take(BATCH_MAX);
            if batch.len() > 1 {
                match self.commit(mailbox, message, course, &batch) {
                    Ok(()) => continue,
                    Err(error) => tracing::debug!(%error, "a batch of deliveries is split"),
                }
            }
            course.put_back(batch);
            for _ in 0..course.undone.len().min(BATCH_MAX) {
                let one = course.take(1);
                if let Err(error) = self.commit(mailbox, message, course, &one) {
                    for (delivery, _) in one {
                        course.not_now(delivery, causes(&error));
                    }
                }
            }
        }
        if course.unsaved { self.commit(mailbox, message, course, &[]) } else { Ok(()) }
    }

    /// One record: deliveries, the report about what failed, and what remains in mail.box.
    fn commit(
        &self,
        mailbox: &MailBox,
        message: &Message,
        course: &mut Course,
        batch: &[(Delivery, Database)],
    ) -> Result<(), RouterError> {
        if let Some(fault) = &self.fault {
            batch.iter().for_each(|(delivery, _)| fault(&delivery.recipient));
        }
        let report = self.report(mailbox, message, course, batch)?;
        let remaining = course.remaining();
        let parked = remaining.len() == course.dead.len();
        let rest = match remaining.is_empty() {
            true => None,
            false => {
                Some(self.rest(mailbox, message, remaining, parked.then(|| course.cause()))?)
            }
        };
        let mut databases = vec![&mailbox.database];
        databases.extend(batch.iter().map(|(_, database)| database));
        if let Some(report) = &report {
            self.board.announce(report.unid);
        }
        let written = {
            let _access = mailbox.access();
            own(|| {
                self.store.write(&databases, |writer| {
                    for (_, database) in batch {
                        mailfile::deliver(writer, database, &message.prepared)?;
                    }
                    let id = report.as_ref().map(|r| writer.put_note(&mailbox.database, &r.boxed));
                    match &rest {
                        None => writer.delete_note(&mailbox.database, message.id, Stub::None)?,
                        Some(rest) => {
                            writer.put_note(&mailbox.database, rest)?;
                        }
                    }
                    Ok::<_, StoreError>(id.transpose()?.map(|put| put.id))
                })
            })
        };
        match (written, report) {
            (Ok(written), Some(report)) => {
                self.counters.reported();
                let unid = report.unid;
                let fresh = written.value.map(|id| report.fresh(id));
                self.board.post(Job::new(unid, mailbox.number, fresh));
            }
            (Ok(_), None) => {}
            (Err(error), report) => {
                if let Some(report) = report {
                    self.board.withdraw(&report.unid);
                }
                return Err(error.into());
            }
        }
        self.count(course, batch, message);
        course.saved();
        Ok(())
    }

    fn count(&self, course: &Course, batch: &[(Delivery, Database)], message: &Message) {
        self.counters.failed((course.failed.len() - course.told) as u64);
        let age = self.store.now().0 - message.deposited.0;
        self.counters.delivered(batch.len() as u64, age);
    }

    /// The report a record has to hold, if any.
    fn report(
        &self,
        mailbox: &MailBox,
        message: &Message,
        course: &Course,
        batch: &[(Delivery, Database)],
    ) -> Result<Option<Boxed>, RouterError> {
        if message.envelope.sender.is_none() {
            return Ok(None);
        }
        let failed = course.failed[course.told..].iter().map(|f| Fate::Failed(&f.recipient, f.why));
        let delivered = batch.iter().map(|(d, _)| Fate::Delivered(&d.recipient));
        let fates: Vec<_> = failed.chain(delivered).collect();
        let statuses = report::statuses(&fates);
        if statuses.is_empty() {
            return Ok(None);
        }
        let Some((meta, note)) = self.note(mailbox, &message.prepared.unid())? else {
            return Ok(None);
        };
        let whole = report::returns_whole(&message.envelope, meta.size);
        let bytes = self.returned(&note, meta.size, whole)?;
        let unid = self.store.new_unid();
        let about = About {
            envelope: &message.envelope,
            message: &bytes,
            whole,
            arrival: message.deposited,
            now: self.store.now(),
            unid,
        };
        let domain = self.directory.domains()?.into_iter().next();
        let domain = domain.unwrap_or_else(|| self.options.host_name.clone());
        let Some(built) = report::build(&about, statuses, &self.options.host_name, &domain) else {
            return Ok(None);
        };
        let to = message.envelope.sender.clone().unwrap_or_default();
        let recipients = vec![Recipient { address: to, ..Recipient::default() }];
        let envelope = Envelope { recipients, ..Envelope::default() };
        self.boxed(&built, envelope, unid).map(Some)
    }

    /// The message, or its header alone.
    fn returned(&self, note: &Note, size: u64, whole: bool) -> Result<Vec<u8>, RouterError> {
        let pieces = intake::content_of(note)?;
        let end = if whole { size } else { size.min(HEADER_BYTES_MAX) };
        let mut bytes = Vec::new();
        intake::read_range(&self.store, &pieces, 0..end, &mut bytes)?;
        if !whole {
            bytes.truncate(header_len(&bytes));
        }
        Ok(bytes)
    }

    /// The note that stays in mail.box.
    fn rest(
        &self,
        mailbox: &MailBox,
        message: &Message,
        remaining: Vec<Recipient>,
        dead: Option<String>,
    ) -> Result<PreparedNote, RouterError> {
        let unid = message.prepared.unid();
        let (meta, mut note) =
            self.note(mailbox, &unid)?.ok_or(RouterError::NotFound(QueueId(unid)))?;
        let envelope = Envelope { recipients: remaining, ..message.envelope.clone() };
        note.touch(self.store.now());
        let mut note = envelope::wrap(note, &envelope);
        if let Some(cause) = dead {
            envelope::set_state(&mut note, QueueState::Dead, Some(&cause));
        }
        Ok(PreparedNote::new(&note, meta.size, meta.date))
    }
}

enum Loaded {
    Waiting(Message),
    Parked(QueueState),
    Gone,
}

impl Course {
    fn take(&mut self, most: usize) -> Vec<(Delivery, Database)> {
        let rest = self.undone.split_off(most.min(self.undone.len()));
        std::mem::replace(&mut self.undone, rest)
    }

    fn put_back(&mut self, mut batch: Vec<(Delivery, Database)>) {
        batch.append(&mut self.undone);
        self.undone = batch;
    }

    /// Somebody cannot be reached now.
    fn not_now(&mut self, delivery: Delivery, cause: String) {
        let Delivery { recipient, kept, .. } = delivery;
        if !self.expired {
            return self.later.push((kept, cause));
        }
        if self.null_sender {
            self.dead.push(kept.clone());
        }
        self.failed.push(Failed { recipient, kept, why: Failure::Expired });
        self.unsaved = true;
    }

    /// Recipients that stay in mail.box after the next record.
    fn remaining(&self) -> Vec<Recipient> {
        let undone = self.undone.iter().map(|(delivery, _)| &delivery.kept);
        let later = self.later.iter().map(|(recipient, _)| recipient);
        undone.chain(later).chain(&self.dead).cloned().collect()
    }

    /// Why the dead ones are dead.
    fn cause(&self) -> String {
        let causes: Vec<_> = self
            .failed
            .iter()
            .map(|failed| format!("{}: {}", failed.recipient.address, failed.why.sentence()))
            .collect();
        causes.join(" ")
    }

    fn saved(&mut self) {
        self.unsaved = false;
        self.told = self.failed.len();
    }
}

/// Length of the header with its blank line.
fn header_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        at += line.len();
        if line == b"\n" || line == b"\r\n" {
            break;
        }
    }
    at
}
