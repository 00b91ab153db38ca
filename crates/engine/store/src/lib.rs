//! Database files: notes, folders, flags, deletion, change feed; their register; recovery.
//!
//! A write changes rows in an open transaction and appends its results to the shared log as one
//! record; the file is committed and synced later, in checkpoint rounds, and brought up to date
//! from the log after a crash. See `docs/formats/database.md` and `docs/formats/change-record.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod apply;
mod cache;
mod carried;
mod check;
mod compact;
mod copy;
mod copy_notes;
mod database;
mod error;
mod fixup;
mod handle;
mod life;
mod op;
mod opening;
mod options;
mod pages;
mod pool;
mod prepared;
mod private;
mod progress;
mod reader;
mod reconcile;
mod record;
mod recovery;
mod register;
mod replay;
mod room;
mod round;
mod salvage;
mod schema;
mod sql;
mod statements;
mod statistics;
mod store;
mod updall;
mod values;
mod write;
mod writer;

use note::bytes;

pub use copy::CopyOptions;
pub use database::{Database, Watch, Watcher};
pub use error::StoreError;
pub use options::{NewDatabase, StoreOptions};
pub use prepared::PreparedNote;
pub use progress::{Progress, Step, unwatched};
pub use reader::{NoteVisit, Reader};
pub use room::{FileSystems, Room};
pub use store::{References, Store};
pub use values::{
    Change, Changed, Compacted, CopiedNotes, DatabaseInfo, Entry, EntryFlags, Exported, Fixed,
    Folder, FolderId, NoteId, NoteMeta, Put, Quota, Read, Recovery, Replayed, Stub, StubMeta,
    Updated, Written,
};
pub use write::Writer;

/// Result of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests;
