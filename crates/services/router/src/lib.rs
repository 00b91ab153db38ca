//! mail.box and the router: deposit, dispatch, group expansion, delivery, delivery reports.
//!
//! A message is one note in one of the mail.box databases until all its recipients are done. Each
//! step of a delivery (notes in mail files, what remains in mail.box, a report to the sender) is
//! one record of the transaction log, so a crash leaves either all of it or nothing.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod board;
mod desk;
mod dispatch;
mod envelope;
mod mailbox;
mod report;
mod route;
mod status;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;

use directory::Directory;
use parking_lot::Mutex;
use store::{Store, StoreError, Written};

use board::Job;
use desk::Desk;
use mailbox::MailBox;

pub use envelope::{
    Deposit, Notify, QueueId, Recipient, Ret, ReversePath, received_count, return_path,
};
pub use status::{QueueState, QueuedMessage, RouterStats, StatRow};

/// Most mail.box databases.
pub const MAILBOXES_MAX: usize = 10;
/// Most delivery threads.
pub const DELIVERY_THREADS_MAX: usize = 25;

/// How a router works.
#[derive(Debug, Clone)]
pub struct RouterOptions {
    /// Number of mail.box databases, 1 to 10.
    pub mailboxes: usize,
    /// Delivery threads, 1 to 25.
    pub delivery_threads: usize,
    /// Most Received headers a message may carry.
    pub hop_limit: u32,
    /// The name this server gives itself in reports.
    pub host_name: String,
}

impl Default for RouterOptions {
    fn default() -> RouterOptions {
        RouterOptions {
            mailboxes: 2,
            delivery_threads: 2,
            hop_limit: 25,
            host_name: "localhost".to_owned(),
        }
    }
}

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
}

/// The router of this server. Dropping it stops it.
pub struct Router {
    desk: Arc<Desk>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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
        let threads = options.delivery_threads.clamp(1, DELIVERY_THREADS_MAX);
        let desk = Arc::new(Desk::open(store, directory, options, fault)?);
        let router = Router { desk: desk.clone(), threads: Mutex::new(Vec::new()) };
        for number in 0..threads {
            let desk = desk.clone();
            let thread = std::thread::Builder::new()
                .name(format!("router-{number}"))
                .spawn(move || worker::run(&desk))?;
            router.threads.lock().push(thread);
        }
        Ok(Arc::new(router))
    }

    /// Puts one message into the least busy mail.box. It is promised, and a 250 may be answered,
    /// when the log is durable up to the position given.
    ///
    /// # Errors
    /// The store cannot take it now; no recipients; the router is stopped.
    pub fn deposit(&self, deposit: Deposit<'_>) -> Result<Written<QueueId>, RouterError> {
        self.desk.deposit(&deposit)
    }

    /// Messages that wait, are worked on or wait for a retry.
    pub fn pending(&self) -> usize {
        self.desk.board.counts().waiting
    }

    /// Figures for statistics.
    pub fn stats(&self) -> RouterStats {
        let counts = self.desk.board.counts();
        let boxes = self.desk.mailboxes.iter().map(MailBox::counts);
        let (accesses, conflicts) =
            boxes.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let mut stats = RouterStats {
            waiting: counts.waiting as u64,
            dead: counts.dead as u64,
            held: counts.held as u64,
            accesses,
            conflicts,
            threads: self.threads.lock().len() as u64,
            threads_active: counts.working as u64,
            mailboxes: self.desk.mailboxes.len() as u64,
            ..RouterStats::default()
        };
        self.desk.counters.fill(&mut stats);
        stats
    }

    /// What lies in the mail.box databases, oldest first, at most `limit`.
    ///
    /// # Errors
    /// A mail.box cannot be read.
    pub fn messages(&self, limit: usize) -> Result<Vec<QueuedMessage>, RouterError> {
        self.desk.messages(limit)
    }

    /// Makes every waiting retry due now.
    pub fn route_now(&self) {
        self.desk.board.retry_now();
    }

    /// Takes a held or dead message up again. Durable when it returns.
    ///
    /// # Errors
    /// There is no such message, or its mail.box is in trouble.
    pub fn release(&self, id: QueueId) -> Result<(), RouterError> {
        let (number, _) = self.desk.place(id)?;
        self.desk.set_state(number, &id.0, QueueState::Waiting, None)?;
        self.desk.board.set_parked(id.0, None);
        self.desk.board.post(Job::new(id.0, number, None));
        Ok(())
    }

    /// Deletes a message from mail.box. Durable when it returns.
    ///
    /// # Errors
    /// There is no such message, or its mail.box is in trouble.
    pub fn remove(&self, id: QueueId) -> Result<(), RouterError> {
        self.desk.remove(id)
    }

    /// Waits until nothing is ready or worked on; retries that are not due do not count.
    pub fn wait_idle(&self) {
        self.desk.board.wait_idle();
    }

    /// Finishes the messages in work and ends the threads; what waits stays in mail.box.
    pub fn stop(&self) {
        self.desk.board.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.join().is_err() {
                tracing::error!("a delivery thread ended by a panic");
            }
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
