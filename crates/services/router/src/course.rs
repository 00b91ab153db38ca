//! How far a message in work has come.

use std::sync::Arc;

use mailfile::rules::Verdict;
use message::dsn::Action;
use note::TimeDate;
use store::{Database, NoteId, PreparedNote};

use crate::envelope::{Envelope, Recipient};
use crate::journal::Entry;
use crate::report::Fate;
use crate::route::{Delivery, Failed, Failure, Transfer};

/// A message in work.
pub(crate) struct Message {
    /// Its note in mail.box.
    pub id: NoteId,
    /// As recipients get it.
    pub prepared: PreparedNote,
    pub envelope: Envelope,
    pub deposited: TimeDate,
}

/// A delivery whose mail file is open, with what the owner's rules say.
pub(crate) struct Local {
    pub delivery: Delivery,
    pub database: Database,
    pub verdict: Verdict,
}

#[derive(Default)]
pub(crate) struct Course {
    pub undone: Vec<Local>,
    pub transfers: Vec<Transfer>,
    /// Who cannot be reached now, and why.
    pub later: Vec<(Recipient, String)>,
    pub failed: Vec<Failed>,
    /// How many of the failures a record holds already.
    pub told: usize,
    /// What else the next record has to tell the sender.
    pub fates: Vec<Fate>,
    /// Failures that cannot be told to anybody: the sender is the null sender.
    pub dead: Vec<Recipient>,
    /// The note in mail.box does not say yet what remains.
    pub unsaved: bool,
    /// Delivery was tried for too long: who still cannot be reached here now fails.
    pub expired: bool,
    /// The sender knows that the message is late.
    pub delay_told: bool,
    /// Nobody is told about failures.
    pub null_sender: bool,
    /// Why transfers wait.
    pub last_error: Option<String>,
    /// What the next record puts into the journal.
    pub journal: Option<Entry>,
    /// An earlier record put it there, or it is not to be there.
    pub journaled: bool,
}

impl Course {
    pub(crate) fn take(&mut self, most: usize) -> Vec<Local> {
        let rest = self.undone.split_off(most.min(self.undone.len()));
        std::mem::replace(&mut self.undone, rest)
    }

    pub(crate) fn put_back(&mut self, mut batch: Vec<Local>) {
        batch.append(&mut self.undone);
        self.undone = batch;
    }

    /// Somebody cannot be reached now.
    pub(crate) fn not_now(&mut self, delivery: Delivery, cause: String) {
        let Delivery { recipient, kept, .. } = delivery;
        if !self.expired {
            return self.later.push((kept, cause));
        }
        self.fail(Failed { recipient, kept, why: Failure::Expired(cause) });
    }

    /// Somebody cannot be reached at all.
    pub(crate) fn fail(&mut self, failed: Failed) {
        // Who wants to hear of no failure is not mourned: it stays nowhere.
        if self.null_sender && failed.recipient.notify.failure {
            self.dead.push(failed.kept.clone());
        }
        self.failed.push(failed);
        self.unsaved = true;
    }

    /// The sender hears once that those who wait do so for long.
    pub(crate) fn tell_delay(&mut self, transfers_wait: Option<&str>) {
        let fate = |recipient: &Recipient, cause: &str| {
            let wanted = recipient.notify.delay;
            wanted.then(|| Fate::delayed(recipient, cause))
        };
        let later = self.later.iter().filter_map(|(recipient, cause)| fate(recipient, cause));
        let mut fates: Vec<Fate> = later.collect();
        if let Some(cause) = transfers_wait {
            fates.extend(self.transfers.iter().filter_map(|t| fate(&t.recipient, cause)));
        }
        if !fates.is_empty() && !self.null_sender {
            self.fates.append(&mut fates);
            (self.delay_told, self.unsaved) = (true, true);
        }
    }

    /// Whether the journal has it after the next record.
    pub(crate) fn will_be_journaled(&self) -> bool {
        self.journaled || self.journal.is_some()
    }

    /// Recipients that stay in mail.box after the next record.
    pub(crate) fn remaining(&self) -> Vec<Recipient> {
        let undone = self.undone.iter().map(|local| &local.delivery.kept);
        let transfers = self.transfers.iter().filter(|_| !self.must_split());
        let transfers = transfers.map(|transfer| &transfer.kept);
        let later = self.later.iter().map(|(recipient, _)| recipient);
        undone.chain(transfers).chain(later).chain(&self.dead).cloned().collect()
    }

    /// Whether transfers become messages of their own: a message in mail.box waits for people of
    /// this server or for one destination, so that none waits for another.
    pub(crate) fn must_split(&self) -> bool {
        let Some(first) = self.transfers.first() else { return false };
        !self.later.is_empty()
            || !self.dead.is_empty()
            || self.transfers.iter().any(|transfer| transfer.destination != first.destination)
    }

    /// The transfers by destination.
    pub(crate) fn by_destination(&self) -> Vec<(Arc<str>, Vec<Recipient>)> {
        let mut groups: Vec<(Arc<str>, Vec<Recipient>)> = Vec::new();
        for Transfer { destination, recipient, .. } in &self.transfers {
            match groups.iter_mut().find(|(name, _)| name == destination) {
                Some((_, recipients)) => recipients.push(recipient.clone()),
                None => groups.push((destination.clone(), vec![recipient.clone()])),
            }
        }
        groups
    }

    /// Why the dead ones are dead.
    pub(crate) fn cause(&self) -> String {
        let causes: Vec<_> = self
            .failed
            .iter()
            .map(|failed| format!("{}: {}", failed.recipient.address, failed.why.sentence()))
            .collect();
        causes.join(" ")
    }

    /// What the next record has to tell the sender, with the deliveries in it.
    pub(crate) fn fates(&self, batch: &[Local]) -> Vec<Fate> {
        if self.null_sender {
            return Vec::new();
        }
        let failed = self.failed[self.told..].iter().filter(|f| f.recipient.notify.failure);
        let failed = failed.map(|failed| Fate::failed(&failed.recipient, &failed.why));
        let delivered = batch.iter().map(|local| &local.delivery.recipient);
        let delivered = delivered.filter(|recipient| recipient.notify.success);
        let delivered = delivered.map(|recipient| Fate::succeeded(recipient, Action::Delivered));
        failed.chain(self.fates.iter().cloned()).chain(delivered).collect()
    }

    /// A record holds it now.
    pub(crate) fn saved(&mut self) {
        if self.must_split() {
            self.transfers.clear();
        }
        self.journaled |= self.journal.take().is_some();
        self.unsaved = false;
        self.told = self.failed.len();
        self.fates.clear();
    }
}
