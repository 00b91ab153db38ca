//! mail.box and the router: deposit, dispatch, group expansion, delivery, delivery reports.
//!
//! A message is one note in one of the mail.box databases until all its recipients are done. Each
//! step of a delivery (notes in mail files, what remains in mail.box, a report to the sender) is
//! one record of the transaction log, so a crash leaves either all of it or nothing.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod board;
mod commit;
mod console;
mod courier;
mod course;
mod crew;
mod desk;
mod dispatch;
mod envelope;
mod figures;
mod journal;
mod lockouts;
mod mailbox;
mod options;
mod report;
mod route;
mod scan;
mod status;
mod telling;
mod transfer;
mod warning;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use directory::Directory;
use store::{Store, StoreError, Written};

use crew::Crew;
use desk::Desk;

pub use courier::{Answer, Courier, Line, Parcel, ReadBytes, Said, Trouble};
pub use envelope::{
    Deposit, Notify, Priority, QueueId, Recipient, Ret, ReversePath, received_count, return_path,
};
pub use figures::{RouterStats, StatRow};
pub use journal::{JournalChoice, JournalOptions, JournalTo, JournalTrouble};
pub use options::{
    DELIVERY_THREADS_MAX, DayWindow, MAILBOXES_MAX, OverQuota, RouterOptions, TRANSFER_THREADS_MAX,
};
pub use status::{Filter, QueueState, QueuedMessage, TransferRow};

/// What can go wrong at a deposit or in the router.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// The store cannot take it now.
    #[error("mail.box or a mail file cannot be used")]
    Store(#[from] StoreError),
    /// The message could not be taken in.
    #[error("the message cannot be stored")]
    Intake(#[from] mailfile::intake::IntakeError),
    /// A message in mail.box cannot be read back.
    #[error("the message cannot be read")]
    Content(#[from] mailfile::intake::ContentError),
    /// The directory is in trouble.
    #[error("the directory cannot be asked")]
    Directory(#[from] directory::DirectoryError),
    /// A worker thread could not be started.
    #[error("a delivery thread cannot be started")]
    Thread(#[from] std::io::Error),
    /// A deposit without recipients.
    #[error("a message needs at least one recipient")]
    NoRecipients,
    /// The router has been stopped.
    #[error("the router is stopped")]
    Stopped,
    /// No message in mail.box has this queue id.
    #[error("there is no message {0} in mail.box")]
    NotFound(QueueId),
    /// A thread has the message in its hands for longer than the console waits.
    #[error("message {0} is being worked on, try again")]
    Busy(QueueId),
    /// More recipients than a message can be sent on to.
    #[error("a message can be sent on to {max} recipients")]
    TooManyRecipients {
        /// The limit.
        max: usize,
    },
    /// The journal does not take a message that has to be journaled.
    #[error("the journal does not take the message: {cause}")]
    Journal {
        /// What happened.
        cause: String,
    },
    /// A mail file filled up while the last record of a message was written.
    #[error("the mail file is full")]
    OverQuota,
}

/// How long a stop waits for transfers in the middle of a dialogue.
const STOP_WAIT: Duration = Duration::from_secs(10);
/// What `hold` gives as the cause.
const HELD_BY_HAND: &str = "held by the administrator";

/// The router of this server. Dropping it stops it.
pub struct Router {
    desk: Arc<Desk>,
    delivery: Crew,
    transfer: Crew,
}

impl Router {
    /// Opens (or makes) the mail.box databases, takes up what waits and starts the threads.
    ///
    /// # Errors
    /// A mail.box cannot be opened or read, a thread cannot be started.
    pub fn start(
        store: Arc<Store>,
        directory: Arc<Directory>,
        options: RouterOptions,
    ) -> Result<Arc<Router>, RouterError> {
        Router::start_with(store, directory, options, None)
    }

    fn start_with(
        store: Arc<Store>,
        directory: Arc<Directory>,
        options: RouterOptions,
        fault: Option<desk::Fault>,
    ) -> Result<Arc<Router>, RouterError> {
        let desk = Arc::new(Desk::open(store, directory, options, fault)?);
        let delivery = Crew::new("router", worker::run);
        let transfer = Crew::new("transfer", transfer::run);
        let router = Router { desk, delivery, transfer };
        router.start_threads()?;
        Ok(Arc::new(router))
    }

    /// Starts the threads that are missing; those that are too many end by themselves.
    fn start_threads(&self) -> Result<(), RouterError> {
        let options = self.desk.options();
        self.delivery.start(options.delivery_threads(), &self.desk)?;
        self.transfer.start(options.transfer_threads(), &self.desk)?;
        Ok(())
    }

    /// Works by other options from now on, all of them: databases and threads are added, or end
    /// when they have nothing left to do. What waits for other hosts is tried anew; a transfer in
    /// the middle of a dialogue comes to its end.
    ///
    /// # Errors
    /// A mail.box cannot be opened, a thread cannot be started.
    pub fn configure(&self, options: RouterOptions) -> Result<(), RouterError> {
        self.desk.configure(options)?;
        self.start_threads()
    }

    /// Puts one message into the least busy mail.box. It is promised, and a 250 may be answered,
    /// when the log is durable up to the position given.
    ///
    /// # Errors
    /// The store cannot take it now; no recipients; the router is stopped.
    pub fn deposit(&self, deposit: Deposit<'_>) -> Result<Written<QueueId>, RouterError> {
        self.desk.deposit(&deposit)
    }

    /// Whether mail for a domain that is not one of ours is carried on.
    pub fn carries(&self, domain: &str) -> bool {
        let options = self.desk.options();
        let courier = options.courier.as_ref();
        courier.is_some_and(|courier| courier.destination(&domain.to_lowercase()).is_some())
    }

    /// Messages that wait, are worked on or wait for a retry or another host.
    pub fn pending(&self) -> usize {
        self.desk.board.counts().waiting
    }

    /// Figures for statistics.
    pub fn stats(&self) -> RouterStats {
        let counts = self.desk.board.counts();
        let mailboxes = self.desk.mailboxes();
        let boxes = mailboxes.iter().map(|mailbox| mailbox.counts());
        let (accesses, conflicts) =
            boxes.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let mut stats = RouterStats {
            waiting: counts.waiting as u64,
            dead: counts.dead as u64,
            held: counts.held as u64,
            accesses,
            conflicts,
            threads: self.delivery.alive() as u64,
            threads_active: counts.working.saturating_sub(counts.transferring) as u64,
            transfer_threads: self.transfer.alive() as u64,
            transfer_threads_active: counts.transferring as u64,
            mailboxes: mailboxes.len() as u64,
            ..RouterStats::default()
        };
        self.desk.counters.fill(&mut stats, self.desk.store.now());
        stats
    }

    /// What lies in the mail.box databases and answers to the filter, oldest first, at most
    /// `limit`.
    ///
    /// # Errors
    /// A mail.box cannot be read.
    pub fn messages(
        &self,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<QueuedMessage>, RouterError> {
        self.desk.messages(filter, limit)
    }

    /// The destinations that mail waits for.
    pub fn transfers(&self) -> Vec<TransferRow> {
        self.desk.board.transfers()
    }

    /// Makes every waiting retry due now, or opens one destination; how many messages that are.
    pub fn route_now(&self, destination: Option<&str>) -> usize {
        self.desk.board.retry_now(destination)
    }

    /// Keeps a message back until somebody releases it. Durable when it returns.
    ///
    /// # Errors
    /// There is no such message, a thread has it, or its mail.box is in trouble.
    pub fn hold(&self, id: QueueId) -> Result<(), RouterError> {
        self.desk.hold(id, HELD_BY_HAND)
    }

    /// Takes a held or dead message up again. Durable when it returns.
    ///
    /// # Errors
    /// There is no such message, a thread has it, or its mail.box is in trouble.
    pub fn release(&self, id: QueueId) -> Result<(), RouterError> {
        self.desk.release(id, &[])
    }

    /// Takes a message up again for other recipients than those it still has; without any, for
    /// these. Durable when it returns.
    ///
    /// # Errors
    /// As [`Router::release`]; too many recipients.
    pub fn resend(&self, id: QueueId, to: &[String]) -> Result<(), RouterError> {
        self.desk.release(id, to)
    }

    /// Deletes a message from mail.box. Durable when it returns.
    ///
    /// # Errors
    /// There is no such message, a thread has it, or its mail.box is in trouble.
    pub fn remove(&self, id: QueueId) -> Result<(), RouterError> {
        self.desk.remove(id)
    }

    /// Delivers and transfers nothing until [`Router::resume`]; deposits go on.
    pub fn pause(&self) {
        self.desk.board.set_paused(true);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.desk.board.set_paused(false);
    }

    /// Whether nothing is delivered by order.
    pub fn is_paused(&self) -> bool {
        self.desk.board.is_paused()
    }

    /// Waits until nothing is ready or worked on; retries that are not due and destinations that
    /// cannot be reached do not count.
    pub fn wait_idle(&self) {
        self.desk.board.wait_idle();
    }

    /// Finishes the messages in work and ends the threads; what waits stays in mail.box. A
    /// transfer in the middle of a dialogue is broken off: its message stays too.
    pub fn stop(&self) {
        self.desk.board.stop();
        if let Some(courier) = &self.desk.options().courier {
            courier.stop();
        }
        self.delivery.join(None);
        self.transfer.join(Some(STOP_WAIT));
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
