//! Mail brought in from elsewhere and taken out again: mbox files, Maildirs, trees of `.eml` files,
//! IMAP servers.
//!
//! [`import()`] pulls messages out of a [`Source`] and puts them into a mail file, many in one
//! record of the log. A message gets a UNID made of what it is (its content and folder, or its
//! place on an IMAP server), and a message whose UNID is there already is passed over: a run that
//! was broken off anywhere, by whatever means, is simply repeated. Everything here is synchronous,
//! and holds a bounded number of bytes in memory.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod crlf;
mod eml;
mod error;
mod export;
mod folders;
mod identity;
mod imap;
mod import;
mod maildir;
mod mbox;
mod report;
mod source;
mod tree;

pub use eml::{EmlSink, EmlSource};
pub use error::MigrateError;
pub use export::{ExportOptions, Outgoing, Sink, export};
pub use imap::{Account, Dial, ImapSource, Security, Stream};
pub use import::{ImportOptions, MESSAGE_BYTES_MAX, import};
pub use maildir::{MaildirSink, MaildirSource};
pub use mbox::{MboxSink, MboxSource};
pub use report::{Problem, Report};
pub use source::{Found, Identity, Source, Taker};

/// Is told what is being done, how much of it is done and how much there is (0: nobody knows).
/// `Break` asks the work to stop in order.
pub type Progress<'a> = dyn FnMut(&str, u64, u64) -> std::ops::ControlFlow<()> + 'a;
