//! Where messages come from, as the importer sees it.

use mailfile::Marks;
use note::{TimeDate, Unid};

use crate::{MigrateError, Problem};

/// What a message is told apart by, so that it is brought in once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// By its bytes and the folder; equal messages of one folder by their order.
    Content,
    /// By an id that the source knows before it has the bytes.
    Known(Unid),
}

/// A message that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is told apart by.
    pub identity: Identity,
    /// Its bytes, lines ending with CRLF.
    pub bytes: Vec<u8>,
    /// When it came in; the importer looks into the message when `None`.
    pub date: Option<TimeDate>,
    /// Flags and keywords.
    pub marks: Marks,
}

/// Where messages come from.
pub trait Source {
    /// Gives every message to `taker`, folder by folder.
    ///
    /// # Errors
    /// What keeps the whole from going on; a message that cannot be read is a [`Problem`] only.
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError>;
}

/// Who takes the messages.
pub trait Taker {
    /// The messages that follow belong into this folder (`/` between levels, `INBOX` first).
    ///
    /// # Errors
    /// The mail file is in trouble.
    fn folder(&mut self, name: &str) -> Result<(), MigrateError>;

    /// Takes a message into the current folder.
    ///
    /// # Errors
    /// The mail file is in trouble.
    fn message(&mut self, found: Found) -> Result<(), MigrateError>;

    /// Which of these were taken before; they count as there already.
    ///
    /// # Errors
    /// The mail file is in trouble.
    fn knows(&mut self, ids: &[Unid]) -> Result<Vec<bool>, MigrateError>;

    /// Notes something that is left out.
    fn problem(&mut self, problem: Problem);

    /// Tells how far the work is.
    ///
    /// # Errors
    /// [`MigrateError::Stopped`] when it shall go no further.
    fn progress(&mut self, done: u64, total: u64) -> Result<(), MigrateError>;

    /// Most bytes that one message may have.
    fn message_bytes_max(&self) -> u64;
}
