//! A database seen as mailboxes: folders, uids, flags, messages and their bytes, as plain facts.
//!
//! Nothing here knows a protocol. Everything is synchronous; what was read or written is named by
//! an [`txlog::Lsn`], and the asker waits for that position to be durable before showing it to
//! anybody.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod briefs;
mod changes;
mod deliver;
mod error;
mod file;
#[cfg(test)]
mod fixture;
mod flags;
mod folders;
pub mod intake;
mod messages;
mod names;
pub mod quota;
mod removal;
pub mod rules;
pub mod search;
mod shelf;
mod sort;
mod thread;
pub mod trash;
mod uids;

pub use changes::{Missed, Polled};
pub use deliver::{Outcome, create, deliver};
pub use error::MailError;
pub use file::{MailFile, MailFiles};
pub use flags::{FlagChange, FlagMode, Marks};
pub use folders::{Snapshot, Status};
pub use messages::{Appended, Copied, Flagged, Loaded, NewMessage, Opened};
pub use names::{INBOX, NAME_BYTES_MAX, canonical_name};
pub use quota::Usage;
pub use sort::{Criterion, SortKey, Sorter};
pub use thread::{Algorithm, Forest, Threader};
pub use uids::{Difference, UidList};
