//! The desk: what deposits, workers and the console work with.

use std::sync::Arc;

use directory::{Directory, Found, Mailbox};
use mailfile::MailFiles;
use mailfile::intake::{self, Facts};
use note::{Dbiid, Note, TimeDate, Unid};
use objects::Pin;
use parking_lot::{Mutex, RwLock};
use store::{NoteId, NoteMeta, PreparedNote, Store, StoreError, Written};

use crate::board::{Board, Fresh, Job};
use crate::envelope::{self, Deposit, Envelope, QueueId, Recipient};
use crate::figures::Counters;
use crate::mailbox::{self, MailBox, own};
use crate::options::MAILBOXES_MAX;
use crate::{RouterError, RouterOptions};

/// What deposits, workers and the console share.
pub(crate) struct Desk {
    pub store: Arc<Store>,
    pub files: Arc<MailFiles>,
    pub directory: Arc<Directory>,
    /// The name of this server, for the items that say where a message came by.
    server: String,
    options: RwLock<Arc<RouterOptions>>,
    /// Only grows, so that a place in it stays valid.
    mailboxes: RwLock<Vec<Arc<MailBox>>>,
    pub board: Arc<Board>,
    /// The journal database that was used last.
    pub journal: Mutex<Option<String>>,
    /// Held while the closed destinations are written down.
    pub lockouts: Mutex<()>,
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
    pub(crate) fn fresh(self, id: NoteId, file: Dbiid) -> Arc<Fresh> {
        let bytes = self.prepared.encoded_len();
        let Boxed { prepared, envelope, deposited, .. } = self;
        Arc::new(Fresh { id, file, prepared, envelope, deposited, bytes })
    }
}

/// Opens as many mail.box databases as are wanted, and those of an earlier, larger setting, which
/// still hold mail. The mail in one that is fenced waits for its repair; another takes its place.
/// Those in `open` are open already.
fn open_mailboxes(
    store: &Store,
    wanted: usize,
    board: &Arc<Board>,
    open: &mut Vec<Arc<MailBox>>,
) -> Result<(), StoreError> {
    let missing = |path: &str| matches!(store.database(path), Err(StoreError::NotFound { .. }));
    let mut last_error = None;
    for path in (0..MAILBOXES_MAX).map(mailbox::path) {
        let known = open.iter().any(|mailbox| mailbox.path == path);
        if known || (open.len() >= wanted && missing(&path)) {
            continue;
        }
        match MailBox::open(store, open.len(), path, board) {
            Ok(mailbox) => open.push(Arc::new(mailbox)),
            Err(error @ StoreError::Fenced { .. }) => {
                tracing::error!(%error, "the mail in this mail.box is not delivered");
                last_error = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match last_error {
        Some(error) if open.is_empty() => Err(error),
        _ => Ok(()),
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
        board.set_paused(options.begins_paused);
        let mut mailboxes = Vec::new();
        open_mailboxes(&store, options.mailboxes(), &board, &mut mailboxes)?;
        let desk = Desk {
            files: MailFiles::new(store.clone()),
            server: directory.server_name()?,
            store,
            directory,
            options: RwLock::new(Arc::new(options)),
            mailboxes: RwLock::new(mailboxes),
            board,
            journal: Mutex::default(),
            lockouts: Mutex::default(),
            counters: Counters::default(),
            fault,
        };
        desk.start_journal(&desk.options());
        desk.restore_lockouts();
        desk.set_threads();
        desk.scan();
        Ok(desk)
    }

    /// Takes other options from now on.
    pub(crate) fn configure(&self, options: RouterOptions) -> Result<(), RouterError> {
        self.renew_mailboxes();
        open_mailboxes(&self.store, options.mailboxes(), &self.board, &mut self.mailboxes.write())?;
        self.start_journal(&options);
        *self.options.write() = Arc::new(options);
        self.set_threads();
        self.board.replan();
        self.board.ask_scan();
        Ok(())
    }

    /// Opens anew what a repair has replaced under the same path; whether there was such a one.
    pub(crate) fn renew_mailboxes(&self) -> bool {
        let mut renewed = false;
        for place in self.mailboxes.write().iter_mut() {
            let current = self.store.database(&place.path).map(|current| current.dbiid());
            if current.is_ok_and(|current| current != place.database.dbiid()) {
                match MailBox::open(&self.store, place.number, place.path.clone(), &self.board) {
                    Ok(mailbox) => (*place, renewed) = (Arc::new(mailbox), true),
                    Err(error) => tracing::warn!(%error, "a mail.box cannot be opened anew"),
                }
            }
        }
        if renewed {
            tracing::info!("mail.box was repaired and is opened anew");
            self.board.ask_scan();
        }
        renewed
    }

    /// The same when an error may come from it.
    pub(crate) fn renew_after(&self, error: &RouterError) -> bool {
        matches!(error, RouterError::Store(StoreError::NotFound { .. })) && self.renew_mailboxes()
    }

    fn set_threads(&self) {
        let options = self.options();
        let (delivery, transfer) = (options.delivery_threads(), options.transfer_threads());
        self.board.set_threads(delivery, transfer, options.threads_each());
    }

    pub(crate) fn options(&self) -> Arc<RouterOptions> {
        self.options.read().clone()
    }

    pub(crate) fn mailbox(&self, number: usize) -> Arc<MailBox> {
        self.mailboxes.read()[number].clone()
    }

    pub(crate) fn mailboxes(&self) -> Vec<Arc<MailBox>> {
        self.mailboxes.read().clone()
    }

    /// The host name for reports, and the domain they come from.
    pub(crate) fn names(&self) -> Result<(String, String), RouterError> {
        let host = self.options().host_name.clone();
        let domain = self.directory.domains()?.into_iter().next();
        let domain = domain.unwrap_or_else(|| host.clone());
        Ok((host, domain))
    }

    /// The internet address of somebody who is known by any name.
    pub(crate) fn address_of(&self, name: &str) -> Result<String, RouterError> {
        if Mailbox::parse(name).is_ok_and(|mailbox| !mailbox.domain.is_empty()) {
            return Ok(name.to_owned());
        }
        let found = match self.directory.find(name)? {
            Found::Person(person) => person.internet_address,
            _ => String::new(),
        };
        match found.is_empty() {
            true => Ok(format!("postmaster@{}", self.names()?.1)),
            false => Ok(found),
        }
    }

    /// The items that say by which server and when a message came in.
    pub(crate) fn route_items(&self, date: TimeDate) -> Vec<note::Item> {
        intake::route_items(&self.server, date)
    }

    /// Takes a message in and makes both forms of its note.
    pub(crate) fn boxed(
        &self,
        message: &[u8],
        envelope: Envelope,
        unid: Unid,
    ) -> Result<Boxed, RouterError> {
        let date = self.store.now();
        let extra = self.route_items(date);
        let taken = intake::intake(&self.store, message, &Facts { unid, date, extra })?;
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

    /// The message of a note in mail.box as a message of its own.
    pub(crate) fn reboxed(
        &self,
        note: &Note,
        envelope: Envelope,
        size: u64,
        date: TimeDate,
    ) -> Boxed {
        let unid = self.store.new_unid();
        let mut plain = envelope::unwrap_message(note.clone());
        plain.oid.unid = unid;
        let prepared = PreparedNote::new(&plain, size, date);
        let note = envelope::wrap(plain, &envelope);
        let boxed = PreparedNote::new(&note, size, date);
        Boxed { unid, boxed, prepared, envelope, deposited: date, _pins: Vec::new() }
    }

    /// Writes a message into the least busy mail.box and puts it up for dispatch.
    pub(crate) fn deposit(&self, deposit: &Deposit<'_>) -> Result<Written<QueueId>, RouterError> {
        if deposit.recipients.is_empty() {
            return Err(RouterError::NoRecipients);
        }
        self.enter(deposit.message, Envelope::of(deposit))
    }

    pub(crate) fn enter(
        &self,
        message: &[u8],
        envelope: Envelope,
    ) -> Result<Written<QueueId>, RouterError> {
        if self.board.is_stopping() {
            return Err(RouterError::Stopped);
        }
        let unid = self.store.new_unid();
        let boxed = self.boxed(message, envelope, unid)?;
        self.board.announce(unid);
        let mut written = self.put(&boxed);
        if written.as_ref().is_err_and(|error| self.renew_after(error)) {
            written = self.put(&boxed);
        }
        match written {
            Ok((mailbox, Written { value: id, lsn })) => {
                self.counters.deposited();
                let fresh = boxed.fresh(id, mailbox.database.dbiid());
                self.board.post(Job::new(unid, mailbox.number, Some(fresh)));
                Ok(Written { value: QueueId(unid), lsn })
            }
            Err(error) => {
                self.board.withdraw(&unid);
                Err(error)
            }
        }
    }

    /// Writes a note into the least busy mail.box.
    fn put(&self, boxed: &Boxed) -> Result<(Arc<MailBox>, Written<NoteId>), RouterError> {
        let mailbox = self.least_busy();
        let written = {
            let _access = mailbox.access();
            own(|| {
                self.store.write::<_, StoreError>(&[&mailbox.database], |writer| {
                    Ok(writer.put_note(&mailbox.database, &boxed.boxed)?.id)
                })
            })?
        };
        Ok((mailbox, written))
    }

    /// The mail.box with the fewest writes going on; of equals the least used. One that is fenced
    /// is taken only when all are, one beyond the setting never.
    fn least_busy(&self) -> Arc<MailBox> {
        let wanted = self.options.read().mailboxes();
        let mailboxes = self.mailboxes.read();
        let boxes = mailboxes.iter().take(wanted);
        let served = boxes.filter(|mailbox| mailbox.database.fenced().is_none());
        let least = served.min_by_key(|mailbox| (mailbox.load(), mailbox.counts().0));
        least.unwrap_or(&mailboxes[0]).clone()
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
}
