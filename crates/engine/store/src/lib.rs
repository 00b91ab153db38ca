//! Database files: notes, folders, flags, deletion, change feed; their register; recovery.
//!
//! A write changes rows in an open transaction and appends its results to the shared log as one
//! record; the file is committed and synced later, in checkpoint rounds, and brought up to date
//! from the log after a crash. See `docs/formats/database.md` and `docs/formats/change-record.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod apply;
mod bytes;
mod cache;
mod compact;
mod copy;
mod database;
mod error;
mod fixup;
mod handle;
mod life;
mod op;
mod opening;
mod options;
mod pages;
mod prepared;
mod private;
mod reader;
mod reconcile;
mod record;
mod recovery;
mod register;
mod replay;
mod round;
mod salvage;
mod schema;
mod statistics;
mod store;
mod updall;
mod values;
mod write;
mod writer;

pub use database::{Database, Watch, Watcher};
pub use error::StoreError;
pub use options::{NewDatabase, StoreOptions};
pub use prepared::PreparedNote;
pub use reader::Reader;
pub use store::Store;
pub use values::{
    Change, Changed, Compacted, DatabaseInfo, Entry, EntryFlags, Fixed, Folder, FolderId, NoteId,
    NoteMeta, Put, Read, Recovery, Replayed, Stub, StubMeta, Updated, Written,
};
pub use write::Writer;

/// Result of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests;
