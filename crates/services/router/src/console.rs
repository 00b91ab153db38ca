//! What the console does with messages in mail.box: look, hold, release, send elsewhere, delete.

use std::time::Duration;

use note::{Note, NoteClass, TimeDate, Unid};
use store::{NoteId, NoteMeta, PreparedNote, StoreError, Stub};

use crate::RouterError;
use crate::board::Job;
use crate::desk::Desk;
use crate::envelope::{self, Envelope, QueueId, Recipient};
use crate::mailbox::{MailBox, own};
use crate::status::{Filter, QueueState, QueuedMessage};

/// Notes looked at in one read.
const NOTES_AT_ONCE: usize = 256;
/// How long the console waits for a thread that has the message in its hands.
const CLAIM_WAIT: Duration = Duration::from_secs(10);
/// Recipients that a message can be sent on to.
const RESEND_MAX: usize = 100;

impl Desk {
    /// What lies in the mail.box databases and answers to the filter, oldest first.
    pub(crate) fn messages(
        &self,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<QueuedMessage>, RouterError> {
        let mut found = Vec::new();
        self.renew_mailboxes();
        for mailbox in self.mailboxes().iter().filter(|one| one.database.fenced().is_none()) {
            let mut after = NoteId(0);
            loop {
                let read = self.store.read(&mailbox.database, |reader| {
                    let metas = reader.notes(NoteClass::DOCUMENT, after, NOTES_AT_ONCE)?;
                    let notes = metas.into_iter().map(|meta| {
                        let note = reader.note(meta.id);
                        (meta, note)
                    });
                    Ok(notes.collect::<Vec<_>>())
                })?;
                self.store.durable(read.lsn).wait().map_err(StoreError::from)?;
                let Some((last, _)) = read.value.last() else {
                    break;
                };
                after = last.id;
                let rows = read.value.iter();
                let rows = rows.filter_map(|(meta, note)| self.queued(mailbox, meta, note));
                found.extend(rows.filter(|message| filter.takes(message)));
                if found.len() > limit.saturating_mul(2).saturating_add(NOTES_AT_ONCE) {
                    oldest(&mut found, limit);
                }
            }
        }
        oldest(&mut found, limit);
        Ok(found)
    }

    fn queued(
        &self,
        mailbox: &MailBox,
        meta: &NoteMeta,
        note: &Result<Option<Note>, StoreError>,
    ) -> Option<QueuedMessage> {
        let mut message = QueuedMessage {
            id: QueueId(meta.unid),
            mailbox: mailbox.path.clone(),
            state: QueueState::Held,
            sender: String::new(),
            recipients: Vec::new(),
            subject: String::new(),
            size: meta.size,
            date: meta.date,
            cause: None,
        };
        match note {
            Ok(None) => return None,
            Ok(Some(note)) => {
                let envelope = Envelope::read(note);
                message.state = envelope::state(note.text(envelope::STATE));
                message.sender = envelope.sender.unwrap_or_default();
                message.recipients = envelope.recipients.into_iter().map(|r| r.address).collect();
                message.subject = note.text("Subject").unwrap_or_default().to_owned();
                let stored = note.text(envelope::CAUSE).map(str::to_owned);
                message.cause = stored.or_else(|| self.board.cause(&meta.unid));
            }
            Err(error) => message.cause = Some(error.to_string()),
        }
        Some(message)
    }

    /// The mail.box a message lies in.
    fn place(&self, id: QueueId) -> Result<(usize, NoteMeta), RouterError> {
        self.renew_mailboxes();
        for mailbox in self.mailboxes() {
            let read = self.store.read(&mailbox.database, |reader| reader.note_by_unid(&id.0))?;
            if let Some(meta) = read.value {
                return Ok((mailbox.number, meta));
            }
        }
        Err(RouterError::NotFound(id))
    }

    /// Takes a message out of the hands of all threads.
    fn claim(&self, id: QueueId) -> Result<Claimed<'_>, RouterError> {
        let (mailbox, _) = self.place(id)?;
        let job = self.board.claim(&id.0, mailbox, CLAIM_WAIT).ok_or(RouterError::Busy(id))?;
        Ok(Claimed { desk: self, job: Some(job) })
    }

    /// Keeps a message back. Durable when it returns.
    pub(crate) fn hold(&self, id: QueueId, cause: &str) -> Result<(), RouterError> {
        let claimed = self.claim(id)?;
        self.edit(claimed.mailbox(), &id.0, |note| {
            envelope::set_state(note, QueueState::Held, Some(cause));
        })?;
        claimed.end(|desk, job| desk.board.park(job, QueueState::Held));
        tracing::info!(queue_id = %id, cause, "held");
        Ok(())
    }

    /// Takes a message up again, for other recipients when there are any in `to`. Durable when it
    /// returns.
    pub(crate) fn release(&self, id: QueueId, to: &[String]) -> Result<(), RouterError> {
        if to.len() > RESEND_MAX {
            return Err(RouterError::TooManyRecipients { max: RESEND_MAX });
        }
        let claimed = self.claim(id)?;
        self.edit(claimed.mailbox(), &id.0, |note| {
            if !to.is_empty() {
                let recipient = |address: &String| Recipient {
                    address: address.trim().to_owned(),
                    ..Recipient::default()
                };
                let recipients = to.iter().map(recipient).collect();
                let envelope = Envelope { recipients, ..Envelope::read(note) };
                envelope::rewrap(note, &envelope);
            }
            envelope::set_state(note, QueueState::Waiting, None);
            envelope::set_crashes(note, 0);
            envelope::set_retry(note, None);
        })?;
        claimed.end(|desk, job| {
            desk.board.retry(Job::new(job.unid, job.mailbox, None), Duration::ZERO);
        });
        tracing::info!(queue_id = %id, to = to.join(","), "released");
        Ok(())
    }

    /// Deletes a message; durable when it returns.
    pub(crate) fn remove(&self, id: QueueId) -> Result<(), RouterError> {
        let claimed = self.claim(id)?;
        let database = self.mailbox(claimed.mailbox()).database.clone();
        let written = own(|| {
            self.store.write_reserved(&[&database], |writer| {
                let meta = writer.reader(&database)?.note_by_unid(&id.0)?;
                match meta {
                    Some(meta) => writer.delete_note(&database, meta.id, Stub::None).map(|()| true),
                    None => Ok::<_, StoreError>(false),
                }
            })
        })?;
        claimed.end(|desk, job| desk.board.done(&job.unid));
        self.store.durable(written.lsn).wait().map_err(StoreError::from)?;
        if !written.value {
            return Err(RouterError::NotFound(id));
        }
        tracing::info!(queue_id = %id, "removed from mail.box");
        Ok(())
    }

    /// Notes that a message ended a thread; how often it did by now. Held when that is too often.
    pub(crate) fn crashed(
        &self,
        mailbox: usize,
        unid: &Unid,
        most: u32,
        cause: &str,
    ) -> Result<u32, RouterError> {
        let mut crashes = 0;
        self.edit(mailbox, unid, |note| {
            crashes = Envelope::read(note).crashes.saturating_add(1);
            envelope::set_crashes(note, crashes);
            if crashes >= most {
                let cause = format!("ended a thread of the router {crashes} times: {cause}");
                envelope::set_state(note, QueueState::Held, Some(&cause));
            }
        })?;
        Ok(crashes)
    }

    /// Notes how often a message was put off, and until when.
    pub(crate) fn keep_retry(
        &self,
        mailbox: usize,
        unid: &Unid,
        retry: (u32, TimeDate),
    ) -> Result<(), RouterError> {
        self.edit(mailbox, unid, |note| envelope::set_retry(note, Some(retry)))
    }

    /// Changes the note of a message; durable when it returns.
    fn edit(
        &self,
        number: usize,
        unid: &Unid,
        change: impl FnOnce(&mut Note),
    ) -> Result<(), RouterError> {
        let mailbox = self.mailbox(number);
        let database = &mailbox.database;
        let now = self.store.now();
        let written = own(|| {
            self.store.write_reserved(&[database], |writer| {
                let reader = writer.reader(database)?;
                let Some(meta) = reader.note_by_unid(unid)? else { return Ok(false) };
                let Some(mut note) = reader.note(meta.id)? else { return Ok(false) };
                note.touch(now);
                change(&mut note);
                let prepared = PreparedNote::new(&note, meta.size, meta.date);
                writer.put_note(database, &prepared)?;
                Ok::<_, StoreError>(true)
            })
        })?;
        self.store.durable(written.lsn).wait().map_err(StoreError::from)?;
        if written.value { Ok(()) } else { Err(RouterError::NotFound(QueueId(*unid))) }
    }
}

fn oldest(messages: &mut Vec<QueuedMessage>, limit: usize) {
    messages.sort_by_key(|message| message.date);
    messages.truncate(limit);
}

/// A message in the hands of the console; it is dispatched again when nobody says else.
struct Claimed<'a> {
    desk: &'a Desk,
    job: Option<Job>,
}

impl Claimed<'_> {
    fn mailbox(&self) -> usize {
        self.job.as_ref().map_or(0, |job| job.mailbox)
    }

    fn end(mut self, how: impl FnOnce(&Desk, Job)) {
        if let Some(job) = self.job.take() {
            how(self.desk, job);
        }
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.desk.board.retry(job, Duration::ZERO);
        }
    }
}
