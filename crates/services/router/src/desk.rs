//! The desk: what deposits, workers and the console work with.

use std::sync::Arc;

use directory::Directory;
use mailfile::intake::{self, Facts};
use note::{Note, NoteClass, NoteView, TimeDate, Unid};
use objects::Pin;
use store::{Change, NoteId, NoteMeta, PreparedNote, Reader, Store, StoreError, Stub, Written};

use crate::board::{Board, Fresh, Job};
use crate::envelope::{self, Deposit, Envelope, QueueId, Recipient};
use crate::mailbox::{self, MailBox, own};
use crate::status::{Counters, QueueState, QueuedMessage};
use crate::{MAILBOXES_MAX, RouterError, RouterOptions};

/// Notes looked at in one read.
const NOTES_AT_ONCE: usize = 256;

/// What deposits, workers and the console share.
pub(crate) struct Desk {
    pub store: Arc<Store>,
    pub directory: Arc<Directory>,
    pub options: RouterOptions,
    pub mailboxes: Vec<MailBox>,
    pub board: Arc<Board>,
    pub counters: Counters,
    /// Called with each recipient of a record before it is written; tests let it panic.
    pub fault: Option<Fault>,
}

/// Something that happens before a delivery.
pub(crate) type Fault = Box<dyn Fn(&Recipient) + Send + Sync>;

/// A message as a note of mail.box and as recipients get it.
pub(crate) struct Boxed {
    pub unid: Unid,
    pub boxed: PreparedNote,
    prepared: PreparedNote,
    envelope: Envelope,
    deposited: TimeDate,
    /// Keep the objects until the note is written.
    _pins: Vec<Pin>,
}

impl Boxed {
    /// What dispatch needs, once the note has its id.
    pub(crate) fn fresh(self, id: NoteId) -> Arc<Fresh> {
        let bytes = self.prepared.encoded_len();
        let Boxed { prepared, envelope, deposited, .. } = self;
        Arc::new(Fresh { id, prepared, envelope, deposited, bytes })
    }
}

/// Opens as many mail.box databases as are wanted, and those of an earlier, larger setting, which
/// still hold mail. The mail in one that is fenced waits for its repair; another takes its place.
fn open_mailboxes(
    store: &Store,
    wanted: usize,
    board: &Arc<Board>,
) -> Result<Vec<MailBox>, StoreError> {
    let missing = |path: &str| matches!(store.database(path), Err(StoreError::NotFound { .. }));
    let mut mailboxes = Vec::new();
    let mut last_error = None;
    for path in (0..MAILBOXES_MAX).map(mailbox::path) {
        if mailboxes.len() >= wanted && missing(&path) {
            continue;
        }
        match MailBox::open(store, mailboxes.len(), path, board) {
            Ok(mailbox) => mailboxes.push(mailbox),
            Err(error @ StoreError::Fenced { .. }) => {
                tracing::error!(%error, "the mail in this mail.box is not delivered");
                last_error = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match last_error {
        Some(error) if mailboxes.is_empty() => Err(error),
        _ => Ok(mailboxes),
    }
}

impl Desk {
    /// Opens (or makes) the mail.box databases and takes up what waits.
    pub(crate) fn open(
        store: Arc<Store>,
        directory: Arc<Directory>,
        options: RouterOptions,
        fault: Option<Fault>,
    ) -> Result<Desk, RouterError> {
        let board = Arc::new(Board::default());
        let wanted = options.mailboxes.clamp(1, MAILBOXES_MAX);
        let mailboxes = open_mailboxes(&store, wanted, &board)?;
        let counters = Counters::default();
        let desk = Desk { store, directory, options, mailboxes, board, counters, fault };
        desk.scan();
        Ok(desk)
    }

    /// Takes a message in and makes both forms of its note.
    pub(crate) fn boxed(
        &self,
        message: &[u8],
        envelope: Envelope,
        unid: Unid,
    ) -> Result<Boxed, RouterError> {
        let date = self.store.now();
        let taken = intake::intake(&self.store, message, &Facts { unid, date, extra: Vec::new() })?;
        let note = envelope::wrap(taken.note, &envelope);
        Ok(Boxed {
            unid,
            boxed: PreparedNote::new(&note, taken.size, date),
            prepared: taken.prepared,
            envelope,
            deposited: date,
            _pins: taken.pins,
        })
    }

    /// Writes a message into the least busy mail.box and puts it up for dispatch.
    pub(crate) fn deposit(&self, deposit: &Deposit<'_>) -> Result<Written<QueueId>, RouterError> {
        if deposit.recipients.is_empty() {
            return Err(RouterError::NoRecipients);
        }
        if self.board.is_stopping() {
            return Err(RouterError::Stopped);
        }
        let unid = self.store.new_unid();
        let boxed = self.boxed(deposit.message, Envelope::of(deposit), unid)?;
        let number = self.least_busy();
        let mailbox = &self.mailboxes[number];
        self.board.announce(unid);
        let written = {
            let _access = mailbox.access();
            own(|| {
                self.store.write(&[&mailbox.database], |writer| {
                    writer.put_note(&mailbox.database, &boxed.boxed)
                })
            })
        };
        match written {
            Ok(Written { value: put, lsn }) => {
                self.counters.deposited();
                self.board.post(Job::new(unid, number, Some(boxed.fresh(put.id))));
                Ok(Written { value: QueueId(unid), lsn })
            }
            Err(error) => {
                self.board.withdraw(&unid);
                Err(RouterError::Store(error))
            }
        }
    }

    /// The mail.box with the fewest writes going on; of equals the least used. One that is fenced
    /// is taken only when all are.
    fn least_busy(&self) -> usize {
        let wanted = self.options.mailboxes.clamp(1, MAILBOXES_MAX);
        let boxes = self.mailboxes.iter().take(wanted).enumerate();
        let served = boxes.filter(|(_, mailbox)| mailbox.database.fenced().is_none());
        let loads = served.map(|(number, mailbox)| (mailbox.load(), mailbox.counts().0, number));
        loads.min().map_or(0, |(_, _, number)| number)
    }

    /// The note of a message in a mail.box.
    pub(crate) fn note(
        &self,
        mailbox: &MailBox,
        unid: &Unid,
    ) -> Result<Option<(NoteMeta, Note)>, StoreError> {
        let read = self.store.read(&mailbox.database, |reader| {
            let Some(meta) = reader.note_by_unid(unid)? else {
                return Ok(None);
            };
            Ok(reader.note(meta.id)?.map(|note| (meta, note)))
        })?;
        Ok(read.value)
    }

    /// Writes a state into the note of a message.
    pub(crate) fn set_state(
        &self,
        number: usize,
        unid: &Unid,
        state: QueueState,
        cause: Option<&str>,
    ) -> Result<(), RouterError> {
        let mailbox = &self.mailboxes[number];
        let (meta, mut note) =
            self.note(mailbox, unid)?.ok_or(RouterError::NotFound(QueueId(*unid)))?;
        note.touch(self.store.now());
        envelope::set_state(&mut note, state, cause);
        let prepared = PreparedNote::new(&note, meta.size, meta.date);
        let written = own(|| {
            self.store.write_reserved(&[&mailbox.database], |writer| {
                writer.put_note(&mailbox.database, &prepared)
            })
        })?;
        self.store.durable(written.lsn).wait().map_err(StoreError::from)?;
        Ok(())
    }

    /// Looks at what other hands changed (or at everything) and puts what waits on the board.
    pub(crate) fn scan(&self) {
        let everything = self.board.begin_scan();
        for (number, mailbox) in self.mailboxes.iter().enumerate() {
            let Some(since) = mailbox.scan_from(everything) else {
                continue;
            };
            match self.scan_mailbox(number, since) {
                Ok(upto) => mailbox.scanned(upto),
                Err(error) => {
                    mailbox.scan_again();
                    let path = mailbox.path.as_str();
                    tracing::warn!(path, %error, "the changes of a mail.box cannot be read");
                }
            }
        }
        self.board.end_scan();
    }

    /// Takes up everything in a mail.box after a change; gives the change it came to.
    pub(crate) fn scan_mailbox(&self, number: usize, since: u64) -> Result<u64, StoreError> {
        let mailbox = &self.mailboxes[number];
        let mut seen = since;
        loop {
            let read = self.store.read(&mailbox.database, |reader| {
                let changes = reader.changes(seen, NOTES_AT_ONCE)?;
                let states = changes.iter().map(|change| waiting_or_parked(reader, change));
                let states: Result<Vec<_>, _> = states.collect();
                Ok((states?, changes.last().map(Change::change_seq), reader.change_seq()))
            })?;
            let (states, last, current) = read.value;
            for (unid, state) in states {
                match state {
                    Some(QueueState::Waiting) => self.board.post(Job::new(unid, number, None)),
                    state => self.board.set_parked(unid, state),
                }
            }
            match last {
                Some(last) => seen = last,
                None => return Ok(current),
            }
        }
    }

    /// Everything in the mail.box databases, oldest first.
    pub(crate) fn messages(&self, limit: usize) -> Result<Vec<QueuedMessage>, RouterError> {
        let mut found = Vec::new();
        let served = self.mailboxes.iter().filter(|mailbox| mailbox.database.fenced().is_none());
        for mailbox in served {
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
                for (meta, note) in &read.value {
                    found.extend(self.queued(mailbox, meta, note));
                }
            }
        }
        found.sort_by_key(|message| message.date);
        found.truncate(limit);
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
    pub(crate) fn place(&self, id: QueueId) -> Result<(usize, NoteMeta), RouterError> {
        for (number, mailbox) in self.mailboxes.iter().enumerate() {
            let read = self.store.read(&mailbox.database, |reader| reader.note_by_unid(&id.0))?;
            if let Some(meta) = read.value {
                return Ok((number, meta));
            }
        }
        Err(RouterError::NotFound(id))
    }

    /// Deletes a message; durable when it returns.
    pub(crate) fn remove(&self, id: QueueId) -> Result<(), RouterError> {
        let (number, meta) = self.place(id)?;
        let database = &self.mailboxes[number].database;
        let written = own(|| {
            self.store.write_reserved(&[database], |writer| {
                writer.delete_note(database, meta.id, Stub::None)
            })
        })?;
        self.board.set_parked(id.0, None);
        self.store.durable(written.lsn).wait().map_err(StoreError::from)?;
        Ok(())
    }
}

/// State of a note that changed; `None` when it is gone. What cannot be read is held.
fn waiting_or_parked(
    reader: &Reader<'_>,
    change: &Change,
) -> Result<(Unid, Option<QueueState>), StoreError> {
    let meta = match change {
        Change::Note(meta) if meta.deleted.is_none() => meta,
        Change::Note(meta) => return Ok((meta.unid, None)),
        Change::Stub(stub) => return Ok((stub.unid, None)),
    };
    let bytes = match reader.note_bytes(meta.id) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok((meta.unid, None)),
        Err(StoreError::Damage { what, .. }) => {
            tracing::error!(unid = %meta.unid, what, "a message in mail.box is damaged");
            return Ok((meta.unid, Some(QueueState::Held)));
        }
        Err(error) => return Err(error),
    };
    let state = match NoteView::new(&bytes) {
        Ok(view) => envelope::state(view.text(envelope::STATE)),
        Err(error) => {
            tracing::error!(unid = %meta.unid, %error, "a message in mail.box does not decode");
            QueueState::Held
        }
    };
    Ok((meta.unid, Some(state)))
}
