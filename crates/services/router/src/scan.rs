//! What waits in the mail.box databases: everything at the start, later what other hands changed.

use note::{NoteClass, NoteView, Unid};
use store::{Change, Reader, StoreError};

use crate::board::Job;
use crate::desk::Desk;
use crate::envelope::{self, Priority};
use crate::mailbox::MailBox;
use crate::status::QueueState;

/// Notes looked at in one read.
const NOTES_AT_ONCE: usize = 256;

/// A note that changed.
struct Seen {
    unid: Unid,
    /// `None` when it is gone.
    state: Option<QueueState>,
    priority: Priority,
}

impl Seen {
    fn new(unid: Unid, state: Option<QueueState>) -> Seen {
        Seen { unid, state, priority: Priority::Normal }
    }
}

impl Desk {
    /// Looks at what other hands changed (or at everything) and puts what waits on the board.
    pub(crate) fn scan(&self) {
        let everything = self.board.begin_scan();
        for mailbox in self.mailboxes() {
            let Some(since) = mailbox.scan_from(everything) else {
                continue;
            };
            match self.scan_mailbox(&mailbox, since) {
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
    fn scan_mailbox(&self, mailbox: &MailBox, since: u64) -> Result<u64, StoreError> {
        let mut seen = since;
        loop {
            let read = self.store.read(&mailbox.database, |reader| {
                let changes = reader.changes(seen, NOTES_AT_ONCE)?;
                let states = changes.iter().map(|change| look(reader, change));
                let states: Result<Vec<_>, _> = states.collect();
                Ok((states?, changes.last().map(Change::change_seq), reader.change_seq()))
            })?;
            let (states, last, current) = read.value;
            for Seen { unid, state, priority } in states {
                let job = Job { priority, ..Job::new(unid, mailbox.number, None) };
                match state {
                    Some(QueueState::Waiting) => self.board.post(job),
                    state => self.board.set_parked(unid, state),
                }
            }
            match last {
                Some(last) => seen = last,
                None => return Ok(current),
            }
        }
    }
}

/// What a change means. What cannot be read is held.
fn look(reader: &Reader<'_>, change: &Change) -> Result<Seen, StoreError> {
    let meta = match change {
        // What the router writes down for itself is no message.
        Change::Note(meta) if meta.class != NoteClass::DOCUMENT => {
            return Ok(Seen::new(meta.unid, None));
        }
        Change::Note(meta) if meta.deleted.is_none() => meta,
        Change::Note(meta) => return Ok(Seen::new(meta.unid, None)),
        Change::Stub(stub) => return Ok(Seen::new(stub.unid, None)),
    };
    let held = Seen::new(meta.unid, Some(QueueState::Held));
    let bytes = match reader.note_bytes(meta.id) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Seen::new(meta.unid, None)),
        Err(StoreError::Damage { what, .. }) => {
            tracing::error!(unid = %meta.unid, what, "a message in mail.box is damaged");
            return Ok(held);
        }
        Err(error) => return Err(error),
    };
    Ok(match NoteView::new(&bytes) {
        Ok(view) => Seen {
            unid: meta.unid,
            state: Some(envelope::state(view.text(envelope::STATE))),
            priority: Priority::parse(view.text(envelope::PRIORITY)),
        },
        Err(error) => {
            tracing::error!(unid = %meta.unid, %error, "a message in mail.box does not decode");
            held
        }
    })
}
