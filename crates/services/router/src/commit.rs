//! One record of a message in work: deliveries, what becomes of it, and what follows from it.

use mailfile::intake;
use mailfile::rules::Verdict;
use mailfile::{Outcome, Usage};
use note::Note;
use store::{Database, NoteId, NoteMeta, PreparedNote, StoreError, Stub, Writer, Written};

use crate::RouterError;
use crate::board::Job;
use crate::course::{Course, Local, Message};
use crate::desk::{Boxed, Desk};
use crate::dispatch::causes;
use crate::envelope::{self, Envelope, Notify, QueueId, Recipient};
use crate::journal::Entry;
use crate::mailbox::{MailBox, own};
use crate::report::{self, About, Fate};
use crate::status::QueueState;
use crate::telling;

/// Bytes looked at for the header that goes back in a report.
const HEADER_BYTES_MAX: u64 = 64 * 1024;
/// Mail files in a row whose rules may forward one message.
const FORWARDS_MAX: usize = 16;
/// Why a record was not written.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// The quota of the mail file with this place in the batch is used up.
    OverQuota(usize),
    /// The journal did not take its copy; why.
    Journal(String),
    Trouble(RouterError),
}

impl From<StoreError> for Interrupted {
    fn from(error: StoreError) -> Interrupted {
        Interrupted::Trouble(error.into())
    }
}

impl From<RouterError> for Interrupted {
    fn from(error: RouterError) -> Interrupted {
        Interrupted::Trouble(error)
    }
}

impl From<Interrupted> for RouterError {
    fn from(interrupted: Interrupted) -> RouterError {
        match interrupted {
            Interrupted::Trouble(error) => error,
            Interrupted::OverQuota(_) => RouterError::OverQuota,
            Interrupted::Journal(cause) => RouterError::Journal { cause },
        }
    }
}

/// What a record holds besides deliveries.
struct Draft {
    /// New messages: a report, what rules forward, what goes to several hosts.
    new: Vec<Boxed>,
    reports: u64,
    /// The note that stays in mail.box.
    rest: Option<PreparedNote>,
}

/// What was written.
struct Done {
    new: Vec<NoteId>,
    warnings: Vec<(usize, Usage)>,
}

impl Desk {
    /// Writes one record: deliveries, the report about what failed, what rules forward, what goes
    /// to several hosts, and what remains in mail.box.
    pub(crate) fn commit(
        &self,
        mailbox: &MailBox,
        message: &Message,
        course: &mut Course,
        batch: &[Local],
    ) -> Result<Written<()>, Interrupted> {
        if let Some(fault) = &self.fault {
            batch.iter().for_each(|local| fault(&local.delivery.recipient));
        }
        let draft = self.draft(mailbox, message, course, batch)?;
        draft.new.iter().for_each(|new| self.board.announce(new.unid));
        let journal = course.journal.as_ref();
        let written = match self.write(mailbox, (message, journal), batch, &draft) {
            Ok(written) => written,
            Err(error) => {
                draft.new.iter().for_each(|new| self.board.withdraw(&new.unid));
                return Err(error);
            }
        };
        self.count(course, batch, message);
        if course.journal.is_some() {
            self.counters.journaled();
        }
        for _ in 0..draft.reports {
            self.counters.reported();
        }
        for (new, id) in draft.new.into_iter().zip(written.value.new) {
            let unid = new.unid;
            let fresh = new.fresh(id, mailbox.database.dbiid());
            self.board.post(Job::new(unid, mailbox.number, Some(fresh)));
        }
        course.saved();
        for (at, usage) in written.value.warnings {
            self.warn_owner(&batch[at].delivery.recipient.address, usage);
        }
        Ok(Written { value: (), lsn: written.lsn })
    }

    fn write(
        &self,
        mailbox: &MailBox,
        (message, journal): (&Message, Option<&Entry>),
        batch: &[Local],
        draft: &Draft,
    ) -> Result<Written<Done>, Interrupted> {
        let mut databases = vec![&mailbox.database];
        databases.extend(batch.iter().map(|local| &local.database));
        let copy = journal.and_then(Entry::copy);
        databases.extend(copy.map(|(database, _)| database));
        let write = |writer: &mut Writer<'_>| {
            let mut done = Done { new: Vec::new(), warnings: Vec::new() };
            if let Some((database, prepared)) = copy {
                put_into_journal(writer, database, prepared)?;
            }
            for (at, Local { database, verdict, .. }) in batch.iter().enumerate() {
                match mailfile::deliver(writer, database, &message.prepared, verdict)? {
                    Outcome::Delivered { warn: Some(usage), .. } => done.warnings.push((at, usage)),
                    Outcome::OverQuota(_) => return Err(Interrupted::OverQuota(at)),
                    Outcome::Delivered { .. } | Outcome::Already | Outcome::Discarded => {}
                }
            }
            for new in &draft.new {
                done.new.push(writer.put_note(&mailbox.database, &new.boxed)?.id);
            }
            match &draft.rest {
                None => writer.delete_note(&mailbox.database, message.id, Stub::None)?,
                Some(rest) => {
                    writer.put_note(&mailbox.database, rest)?;
                }
            }
            Ok(done)
        };
        let _access = mailbox.access();
        // What another host has taken has to be marked also when the log is full: else it would
        // go there again and again.
        let gives_back = batch.is_empty() && draft.new.is_empty() && copy.is_none();
        let written = own(|| match gives_back {
            true => self.store.write_reserved(&databases, write),
            false => self.store.write(&databases, write),
        });
        written.map_err(|error| of_journal(error, copy.map(|(database, _)| database)))
    }

    fn draft(
        &self,
        mailbox: &MailBox,
        message: &Message,
        course: &Course,
        batch: &[Local],
    ) -> Result<Draft, RouterError> {
        let fates = course.fates(batch);
        let remaining = course.remaining();
        let forwards: Vec<&Local> =
            batch.iter().filter(|local| may_forward(message, local)).collect();
        let journaled = course.journal.as_ref().and_then(|entry| self.boxed_report(entry));
        let mut draft = Draft { new: journaled.into_iter().collect(), reports: 0, rest: None };
        if fates.is_empty() && remaining.is_empty() && forwards.is_empty() && !course.must_split() {
            return Ok(draft);
        }
        let unid = message.prepared.unid();
        let (meta, note) =
            self.note(mailbox, &unid)?.ok_or(RouterError::NotFound(QueueId(unid)))?;
        if !fates.is_empty()
            && let Some(report) = self.report(message, (&meta, &note), fates)?
        {
            draft.new.push(report);
            draft.reports = 1;
        }
        for local in forwards {
            let owner = self.address_of(&local.delivery.recipient.address)?;
            let envelope = forwarded(message, local, &owner);
            draft.new.push(self.reboxed(&note, envelope, meta.size, self.store.now()));
        }
        if course.must_split() {
            for (_, recipients) in course.by_destination() {
                let journaled = course.will_be_journaled();
                let before = message.envelope.clone();
                let envelope = Envelope { recipients, journaled, retry: None, ..before };
                draft.new.push(self.reboxed(&note, envelope, meta.size, message.deposited));
            }
        }
        if !remaining.is_empty() {
            draft.rest = Some(self.rest(message, course, (meta, note), remaining));
        }
        Ok(draft)
    }

    /// The note that stays in mail.box.
    fn rest(
        &self,
        message: &Message,
        course: &Course,
        (meta, mut note): (NoteMeta, Note),
        remaining: Vec<Recipient>,
    ) -> PreparedNote {
        let dead = remaining.len() == course.dead.len();
        let delay_told = course.delay_told;
        let journaled = course.will_be_journaled();
        let before = message.envelope.clone();
        let envelope = Envelope { recipients: remaining, delay_told, journaled, ..before };
        note.touch(self.store.now());
        let mut note = envelope::wrap(note, &envelope);
        if dead {
            envelope::set_state(&mut note, QueueState::Dead, Some(&course.cause()));
        }
        PreparedNote::new(&note, meta.size, meta.date)
    }

    /// The report about a message, if one can be made.
    fn report(
        &self,
        message: &Message,
        (meta, note): (&NoteMeta, &Note),
        fates: Vec<Fate>,
    ) -> Result<Option<Boxed>, RouterError> {
        let whole = report::returns_whole(&message.envelope, meta.size, &fates);
        let bytes = self.returned(note, meta.size, whole)?;
        let unid = self.store.new_unid();
        let about = About {
            envelope: &message.envelope,
            message: &bytes,
            whole,
            arrival: message.deposited,
            now: self.store.now(),
            unid,
        };
        let (host, domain) = self.names()?;
        let Some(built) = report::build(&about, fates, &host, &domain) else {
            return Ok(None);
        };
        let to = message.envelope.sender.clone().unwrap_or_default();
        let recipients = vec![Recipient { address: to, ..Recipient::default() }];
        let envelope = Envelope { recipients, own: true, ..Envelope::default() };
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

    fn count(&self, course: &Course, batch: &[Local], message: &Message) {
        let queue_id = QueueId(message.prepared.unid());
        for failed in &course.failed[course.told..] {
            let (to, why) = (&failed.recipient.address, &failed.why);
            tracing::info!(%queue_id, to, status = why.status(), %why, "not delivered");
        }
        self.counters.failed((course.failed.len() - course.told) as u64);
        if batch.is_empty() {
            return;
        }
        let (now, size) = (self.store.now(), message.prepared.size());
        self.counters.delivered(batch.len() as u64, now, now.0 - message.deposited.0, size);
        telling::delivered(message, batch);
    }
}

/// Puts a message into the journal; one that is there already stays as it is.
fn put_into_journal(
    writer: &mut Writer<'_>,
    journal: &Database,
    prepared: &PreparedNote,
) -> Result<(), Interrupted> {
    match mailfile::deliver(writer, journal, prepared, &Verdict::default()) {
        Ok(Outcome::OverQuota(usage)) => {
            let (used, limit) = (usage.used_bytes, usage.quota.limit_bytes);
            let path = journal.path();
            Err(Interrupted::Journal(format!("{path} is full: {used} of {limit} bytes")))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(Interrupted::Journal(causes(&error))),
    }
}

/// Tells trouble with the journal from other trouble.
fn of_journal(error: Interrupted, journal: Option<&Database>) -> Interrupted {
    let path = match &error {
        Interrupted::Trouble(RouterError::Store(
            StoreError::NotFound { path }
            | StoreError::Fenced { path, .. }
            | StoreError::Damage { path, .. },
        )) => path,
        _ => return error,
    };
    match journal {
        Some(journal) if *path == *journal.path() => {
            let Interrupted::Trouble(trouble) = &error else { return error };
            Interrupted::Journal(causes(trouble))
        }
        _ => error,
    }
}

/// Whether the rules of a mail file forward a message that they have not forwarded before.
fn may_forward(message: &Message, local: &Local) -> bool {
    let (path, before) = (&*local.delivery.path, &message.envelope.forwarded);
    if local.verdict.forward.is_empty() {
        return false;
    }
    let fresh = before.len() < FORWARDS_MAX && !before.iter().any(|one| one == path);
    if !fresh {
        tracing::info!(queue_id = %message.prepared.unid(), path, "forwarding in a circle ends");
    }
    fresh
}

/// The envelope of what the rules of a mail file forward. Its owner hears of a failure, not the
/// sender, who knows nothing of the rule; of what came with the null sender nobody does.
fn forwarded(message: &Message, local: &Local, owner: &str) -> Envelope {
    let before = &message.envelope;
    let notify = match &before.sender {
        Some(_) => Notify { success: false, ..Notify::default() },
        None => Notify::NEVER,
    };
    let recipient = |address: &String| Recipient {
        address: address.clone(),
        original: Some(format!("rfc822;{owner}")),
        notify,
    };
    let mut path = before.forwarded.clone();
    path.push(local.delivery.path.to_string());
    Envelope {
        sender: before.sender.as_ref().map(|_| owner.to_owned()),
        recipients: local.verdict.forward.iter().map(recipient).collect(),
        hops: before.hops.saturating_add(1),
        priority: before.priority,
        forwarded: path,
        ..Envelope::default()
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
