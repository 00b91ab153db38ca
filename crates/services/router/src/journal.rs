//! Mail journaling: a copy of what passes, with everybody who gets it, written with the record
//! that first moves the message on.

mod choice;

use directory::Mailbox;
use mailfile::intake::{self, Facts};
use note::{Item, ItemFlags, ItemValue, Note, Piece, TimeDate};
use store::{Database, PreparedNote, StoreError};

use crate::course::Message;
use crate::desk::{Boxed, Desk};
use crate::dispatch::causes;
use crate::envelope::{Envelope, QueueId, Recipient, return_path};
use crate::route::Plan;
use crate::{RouterError, RouterOptions};

pub use choice::JournalChoice;

/// Title of a journal database that the router makes.
const TITLE: &str = "Mail Journal";
const DAY_S: i64 = 86_400;

/// Items of a journaled message beside its own.
const SENDER: &str = "$JournalSender";
const USER: &str = "$JournalUser";
const RECIPIENTS: &str = "$JournalRecipients";
const EXPANDED: &str = "$JournalExpanded";

/// How mail is journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOptions {
    /// Where the copies go.
    pub to: JournalTo,
    /// Which messages.
    pub choice: JournalChoice,
    /// What becomes of mail while the journal database does not take it.
    pub in_trouble: JournalTrouble,
}

/// Where journaled mail goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalTo {
    /// Into a database of this server, made when it is missing at the start or at a change of the
    /// options.
    Database {
        /// Its path below the data directory.
        path: String,
        /// A new one is begun after so many days, with the date of the first in its name; 0:
        /// never.
        rollover_days: u32,
    },
    /// To an address, as a report with the message attached.
    Address(String),
}

/// What becomes of mail while the journal database does not take it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JournalTrouble {
    /// It waits in mail.box, for as long as that lasts.
    #[default]
    Hold,
    /// It goes on without being journaled; the log and the statistics say so.
    Pass,
}

/// What the next record of a message puts into the journal.
pub(crate) enum Entry {
    Copy { database: Database, prepared: PreparedNote },
    Report { note: Box<Note>, envelope: Envelope, size: u64 },
}

impl Entry {
    /// The database that takes part in the record.
    pub(crate) fn copy(&self) -> Option<(&Database, &PreparedNote)> {
        match self {
            Entry::Copy { database, prepared } => Some((database, prepared)),
            Entry::Report { .. } => None,
        }
    }
}

impl JournalTo {
    /// The address reports go to; `Err` says what is wrong with it.
    fn address(&self) -> Result<&str, String> {
        match self {
            JournalTo::Address(address) if is_address(address) => Ok(address),
            JournalTo::Address(address) => Err(format!("{address:?} is not a mail address")),
            JournalTo::Database { path, .. } => Err(format!("{path} is a database")),
        }
    }

    /// The path of the database at a time.
    pub(crate) fn path_at(&self, now: TimeDate) -> Option<String> {
        let JournalTo::Database { path, rollover_days } = self else { return None };
        if *rollover_days == 0 {
            return Some(path.clone());
        }
        let day = now.unix_seconds().div_euclid(DAY_S);
        let first = day - day.rem_euclid(i64::from(*rollover_days));
        let date = TimeDate::from_unix_seconds(first * DAY_S).to_string();
        let date: String = date.chars().take_while(|c| *c != 'T').filter(|c| *c != '-').collect();
        let (stem, end) = path.rsplit_once('.').map_or((&**path, ""), |(stem, end)| (stem, end));
        Some(if end.is_empty() { format!("{stem}-{date}") } else { format!("{stem}-{date}.{end}") })
    }
}

impl Desk {
    /// Begins to journal as the options say: the database is opened, and made when it is missing.
    pub(crate) fn start_journal(&self, options: &RouterOptions) {
        *self.journal.lock() = None;
        // Somebody who only looks after mail.box makes nothing.
        let Some(journal) = options.journal.as_ref().filter(|_| !options.begins_paused) else {
            return;
        };
        let cause = match journal.to.path_at(self.store.now()) {
            Some(path) => self.journal_at(&path).err().map(|error| causes(&error)),
            None => journal.to.address().err(),
        };
        if let Some(cause) = cause {
            tracing::error!(cause, "the journal cannot be used");
        }
    }

    /// The journal database with this path. Only the first use under a name makes it: one that is
    /// taken away keeps the mail waiting.
    fn journal_at(&self, path: &str) -> Result<Database, StoreError> {
        // Taken before every lock of the store, and never with one held.
        let mut used = self.journal.lock();
        let first = used.as_deref() != Some(path);
        let database = match self.store.database(path) {
            Err(StoreError::NotFound { .. }) if first => {
                let made = mailfile::create(&self.store, path, TITLE)?;
                tracing::info!(path, "a journal database was made");
                made
            }
            found => found?,
        };
        if first {
            *used = Some(path.to_owned());
        }
        Ok(database)
    }

    /// What the next record has to put into the journal for a message that has not been there.
    pub(crate) fn journal_entry(
        &self,
        message: &Message,
        plan: &Plan,
        options: &RouterOptions,
    ) -> Result<Option<Entry>, RouterError> {
        let Some(journal) = &options.journal else { return Ok(None) };
        let passes = !plan.deliveries.is_empty() || !plan.transfers.is_empty();
        let passes = passes || !plan.later.is_empty();
        if message.envelope.journaled || !passes || !self.is_chosen(journal, message, plan)? {
            return Ok(None);
        }
        let made = match journal.to.path_at(self.store.now()) {
            Some(path) => match self.journal_at(&path) {
                Ok(database) => journal_copy(message, plan, database),
                Err(error) => Err(RouterError::Journal { cause: causes(&error) }),
            },
            None => match journal.to.address() {
                Ok(address) => self.journal_report(address, message, plan),
                Err(cause) => Err(RouterError::Journal { cause }),
            },
        };
        match made {
            Err(RouterError::Journal { cause }) => {
                self.journal_failed(message, journal.in_trouble, cause).map(|()| None)
            }
            made => made.map(Some),
        }
    }

    /// The journal did not take a message: an error when it has to wait for that.
    pub(crate) fn journal_failed(
        &self,
        message: &Message,
        in_trouble: JournalTrouble,
        cause: String,
    ) -> Result<(), RouterError> {
        self.counters.journal_failed();
        match in_trouble {
            JournalTrouble::Hold => Err(RouterError::Journal { cause }),
            JournalTrouble::Pass => {
                let queue_id = QueueId(message.prepared.unid());
                tracing::warn!(%queue_id, cause, "a message goes on without being journaled");
                self.counters.journal_passed();
                Ok(())
            }
        }
    }

    fn is_chosen(
        &self,
        journal: &JournalOptions,
        message: &Message,
        plan: &Plan,
    ) -> Result<bool, RouterError> {
        let (choice, envelope) = (&journal.choice, &message.envelope);
        if choice.takes_all() || envelope.sender.as_ref().is_some_and(|s| choice.takes_sender(s)) {
            return Ok(true);
        }
        let given = envelope.recipients.iter().map(|recipient| &*recipient.address);
        for name in given.chain(expanded(plan)) {
            // Members of groups may be there by name.
            let taken = match is_address(name) {
                true => choice.takes_recipient(name),
                false => choice.takes_recipient(&self.address_of(name)?),
            };
            if taken {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The report for a journaling address: what the envelope says, and the message as it is. Only
    /// what stands around the message is new; its parts are those that all recipients share.
    fn journal_report(
        &self,
        address: &str,
        message: &Message,
        plan: &Plan,
    ) -> Result<Entry, RouterError> {
        let note = plain_note(message)?;
        let pieces = intake::content_of(&note)?;
        let (front, end) = self.around(address, message, plan)?;
        let mut bytes = front.clone();
        intake::read_range(&self.store, &pieces, 0..u64::MAX, &mut bytes)?;
        bytes.extend_from_slice(&end);
        let mut all = vec![Piece::Inline(front)];
        all.extend(pieces);
        all.push(Piece::Inline(end));
        let date = self.store.now();
        let facts = Facts { unid: self.store.new_unid(), date, extra: self.route_items(date) };
        let note = Box::new(intake::compose(&bytes, all, &facts));
        let recipients = vec![Recipient { address: address.to_owned(), ..Recipient::default() }];
        let envelope = Envelope { recipients, own: true, journaled: true, ..Envelope::default() };
        Ok(Entry::Report { note, envelope, size: bytes.len() as u64 })
    }

    /// What stands before and after the message in a report.
    fn around(
        &self,
        address: &str,
        message: &Message,
        plan: &Plan,
    ) -> Result<(Vec<u8>, Vec<u8>), RouterError> {
        let (host, domain) = self.names()?;
        let id = QueueId(message.prepared.unid());
        let date = message::print_date(self.store.now().unix_seconds());
        let envelope = &message.envelope;
        let mut text = format!(
            "{}From: Mail System <postmaster@{domain}>\r\nTo: <{address}>\r\n\
             Subject: Journaled message {id}\r\nDate: {date}\r\n\
             Message-ID: <journal-{id}@{host}>\r\n\
             Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/mixed; boundary=\"journal-{id}\"\r\n\r\n--journal-{id}\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n",
            return_path(&None)
        );
        let mut line = |name: &str, value: &str| {
            let value = value.chars().map(|c| if c.is_control() { ' ' } else { c });
            text.extend(name.chars().chain(": ".chars()).chain(value).chain("\r\n".chars()));
        };
        line("Sender", envelope.sender.as_deref().unwrap_or("<>"));
        if let Some(user) = &envelope.authenticated {
            line("User", user);
        }
        envelope.recipients.iter().for_each(|recipient| line("Recipient", &recipient.address));
        expanded(plan).for_each(|name| line("Expanded", name));
        text.push_str(&format!("\r\n--journal-{id}\r\nContent-Type: message/rfc822\r\n"));
        text.push_str("Content-Transfer-Encoding: 8bit\r\n\r\n");
        Ok((text.into_bytes(), format!("\r\n--journal-{id}--\r\n").into_bytes()))
    }

    /// The report as a message of its own.
    pub(crate) fn boxed_report(&self, entry: &Entry) -> Option<Boxed> {
        let Entry::Report { note, envelope, size } = entry else { return None };
        Some(self.reboxed(note, envelope.clone(), *size, self.store.now()))
    }
}

fn is_address(text: &str) -> bool {
    Mailbox::parse(text).is_ok_and(|found| !found.domain.is_empty())
}

/// Whom the message goes to after groups and forwards; those that cannot be told now as they are.
fn expanded(plan: &Plan) -> impl Iterator<Item = &str> {
    let deliveries = plan.deliveries.iter().map(|delivery| &*delivery.recipient.address);
    let transfers = plan.transfers.iter().map(|transfer| &*transfer.recipient.address);
    let later = plan.later.iter().map(|(recipient, _)| &*recipient.address);
    deliveries.chain(transfers).chain(later)
}

/// The message as recipients get it.
fn plain_note(message: &Message) -> Result<Note, RouterError> {
    let encoded = message.prepared.encoded()?;
    Note::decode(&encoded).map_err(|error| StoreError::Decode(error).into())
}

/// The message for the journal database, with what its envelope says.
fn journal_copy(message: &Message, plan: &Plan, database: Database) -> Result<Entry, RouterError> {
    let mut note = plain_note(message)?;
    let envelope = &message.envelope;
    let mut put = |name: &str, value: ItemValue| {
        note.put(Item::new(name, value, ItemFlags::SUMMARY));
    };
    put(SENDER, envelope.sender.clone().unwrap_or_default().into());
    if let Some(user) = &envelope.authenticated {
        put(USER, user.clone().into());
    }
    let given = envelope.recipients.iter().map(|recipient| recipient.address.clone());
    put(RECIPIENTS, given.collect::<Vec<_>>().into());
    put(EXPANDED, expanded(plan).map(str::to_owned).collect::<Vec<_>>().into());
    let prepared = PreparedNote::new(&note, message.prepared.size(), message.deposited);
    Ok(Entry::Copy { database, prepared })
}
