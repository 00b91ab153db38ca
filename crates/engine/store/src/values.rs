//! Values that the store gives out.

use std::ops::{BitAnd, BitOr, Not};

use note::{Dbiid, NoteClass, ReplicaId, TimeDate, Unid};
use txlog::Lsn;

/// Local id of a note in one database; never used again in that database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NoteId(pub i64);

/// Local id of a folder in one database; never used again in that database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FolderId(pub i64);

/// Flags of a folder entry (RFC 9051 §2.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntryFlags(pub u16);

impl EntryFlags {
    /// No flag.
    pub const NONE: EntryFlags = EntryFlags(0);
    /// \Answered
    pub const ANSWERED: EntryFlags = EntryFlags(1);
    /// \Flagged
    pub const FLAGGED: EntryFlags = EntryFlags(2);
    /// \Deleted
    pub const DELETED: EntryFlags = EntryFlags(4);
    /// \Draft
    pub const DRAFT: EntryFlags = EntryFlags(8);
    /// \Seen: the read mark of the note, shown in every entry of it.
    pub const SEEN: EntryFlags = EntryFlags(16);

    /// Whether all flags of `other` are set here.
    pub fn contains(self, other: EntryFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for EntryFlags {
    type Output = EntryFlags;
    fn bitor(self, other: EntryFlags) -> EntryFlags {
        EntryFlags(self.0 | other.0)
    }
}

impl BitAnd for EntryFlags {
    type Output = EntryFlags;
    fn bitand(self, other: EntryFlags) -> EntryFlags {
        EntryFlags(self.0 & other.0)
    }
}

impl Not for EntryFlags {
    type Output = EntryFlags;
    fn not(self) -> EntryFlags {
        EntryFlags(!self.0)
    }
}

/// What is known of a note without reading its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteMeta {
    /// Local id.
    pub id: NoteId,
    /// Universal id.
    pub unid: Unid,
    /// Kind of note.
    pub class: NoteClass,
    /// Revision.
    pub sequence: u32,
    /// Change of the database that made the note what it is.
    pub change_seq: u64,
    /// When the revision was made.
    pub modified: TimeDate,
    /// Logical size in bytes: what the owner would call its size.
    pub size: u64,
    /// Date of the note for its owner, for a message the internal date.
    pub date: TimeDate,
    /// The owner's read mark.
    pub seen: bool,
    /// When the note went to soft deletion, if it did.
    pub deleted: Option<TimeDate>,
}

/// One line of the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A note that was made, changed, softly deleted or restored.
    Note(NoteMeta),
    /// A note that was deleted for good.
    Stub(StubMeta),
}

impl Change {
    /// Its place in the feed.
    pub fn change_seq(&self) -> u64 {
        match self {
            Change::Note(meta) => meta.change_seq,
            Change::Stub(stub) => stub.change_seq,
        }
    }
}

/// The memory of a deleted note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubMeta {
    /// Universal id of the note that was deleted.
    pub unid: Unid,
    /// Its kind.
    pub class: NoteClass,
    /// Its last revision.
    pub sequence: u32,
    /// Change of the database that deleted it.
    pub change_seq: u64,
    /// When it was deleted.
    pub deleted: TimeDate,
}

/// Whether the deletion of a note is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stub {
    /// A deletion stub tells replicas and readers of the feed.
    Keep,
    /// Nothing remains.
    None,
}

/// A folder: an ordered set of notes with uids (in a mail file: an IMAP mailbox).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Local id.
    pub id: FolderId,
    /// Universal id.
    pub unid: Unid,
    /// Whole name; "/" separates levels.
    pub name: String,
    /// UIDVALIDITY (RFC 9051 §2.3.1.1), greater than that of every earlier folder.
    pub uidvalidity: u32,
    /// The uid that the next entry gets.
    pub uidnext: u32,
    /// Highest modseq of the folder (RFC 7162 HIGHESTMODSEQ), never 0.
    pub modseq: u64,
    /// Number of entries.
    pub messages: u32,
    /// Number of entries without \Seen.
    pub unseen: u32,
    /// Special use (RFC 6154) such as `\Sent`.
    pub special_use: Option<String>,
    /// Whether the owner subscribed to it.
    pub subscribed: bool,
}

/// A note in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Ascending, never used again in the folder.
    pub uid: u32,
    /// Change of the database that made the entry what it is.
    pub modseq: u64,
    /// Flags, with the note's read mark among them.
    pub flags: EntryFlags,
    /// Keywords in the order given.
    pub keywords: Vec<String>,
    /// The note.
    pub note: NoteId,
    /// Logical size of the note in bytes.
    pub size: u64,
    /// Date of the note, for a message the internal date.
    pub date: TimeDate,
    /// Universal id of the note.
    pub unid: Unid,
}

/// How many logical bytes a database may hold; a property of it that nobody but its user enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Most logical bytes; 0: no limit.
    pub limit_bytes: u64,
    /// Logical bytes from which on the owner is warned; 0: never.
    pub warn_bytes: u64,
}

/// Result of putting a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Local id.
    pub id: NoteId,
    /// Whether no note of this UNID was there before.
    pub created: bool,
}

/// A value read from a database.
#[derive(Debug, Clone)]
pub struct Read<T> {
    /// What was read.
    pub value: T,
    /// A reply made of the value waits until the log is durable up to here.
    pub lsn: Lsn,
}

/// The result of a write.
#[derive(Debug, Clone)]
pub struct Written<T> {
    /// What the closure gave.
    pub value: T,
    /// The write is promised when the log is durable up to here.
    pub lsn: Lsn,
}

/// Told to watchers of a database right after a change was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Number of the change.
    pub change_seq: u64,
    /// Nothing of it may be shown before the log is durable up to here.
    pub lsn: Lsn,
    /// Classes of the notes that were put, replaced, softly deleted, restored or deleted; none
    /// when the change concerns only folders, entries, flags or the database.
    pub classes: NoteClass,
}

/// Facts about one database.
#[derive(Debug, Clone)]
pub struct DatabaseInfo {
    /// Path below the data directory.
    pub path: String,
    /// Title.
    pub title: String,
    /// Replica id.
    pub replica_id: ReplicaId,
    /// Instance id.
    pub dbiid: Dbiid,
    /// Structure version of the file; 0 when it cannot be read.
    pub ods: u32,
    /// Notes that are not softly deleted.
    pub notes: u64,
    /// Deletion stubs.
    pub deleted: u64,
    /// Bytes of the file and its -wal.
    pub size_bytes: u64,
    /// Sum of the logical sizes of the notes that are not softly deleted.
    pub logical_bytes: u64,
    /// How many logical bytes it may hold.
    pub quota: Quota,
    /// Everything below is in the file and synced.
    pub checkpointed_lsn: Lsn,
    /// Everything below is in the open transaction.
    pub applied_lsn: Lsn,
    /// Why the database is not served, if so.
    pub fenced: Option<String>,
}

/// What a start found and did.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// Databases in the register.
    pub databases: usize,
    /// Log records looked at.
    pub records_scanned: u64,
    /// Databases that are to be replayed, see [`crate::Store::replay_pending`].
    pub databases_pending: usize,
    /// Log records, counted once for each database, that may have to be replayed.
    pub records_pending: u64,
    /// Files found under another path than registered: (old path, new path).
    pub moved: Vec<(String, String)>,
    /// Foreign files and copies that got a new instance id.
    pub adopted: Vec<String>,
    /// Files whose place in the register was lost to damage of the log: registered again, with
    /// their own instance ids.
    pub registered_again: Vec<String>,
    /// How the catalog of objects was made anew, if it was.
    pub catalog_rebuilt: Option<objects::Rebuilt>,
    /// Databases found to be fenced at once, with the reason.
    pub fenced: Vec<(String, String)>,
    /// Bytes of unfinished groups at the end of the log.
    pub discarded_bytes: u64,
    /// Damaged ranges that the log reported, in words.
    pub damage: Vec<String>,
}

/// What a step of replaying did, see [`crate::Store::replay_pending`].
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// Databases that are up to date now and were not before.
    pub databases: usize,
    /// Sections of change records applied to them.
    pub sections: u64,
    /// Databases made again because their creation had not reached the disk.
    pub recreated: Vec<String>,
    /// Databases that were fenced, with the reason.
    pub fenced: Vec<(String, String)>,
    /// Databases that are still to be looked at.
    pub left: usize,
}

/// What compacting a database gave, see [`crate::Store::compact`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Path of the database.
    pub path: String,
    /// Bytes of its file and -wal before.
    pub bytes_before: u64,
    /// Bytes of its file afterwards.
    pub bytes_after: u64,
}

/// What a self-contained copy holds, see [`crate::Store::export`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Path of the database.
    pub path: String,
    /// Notes that are not softly deleted.
    pub notes: u64,
    /// Objects that it carries.
    pub objects: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What became of notes that were to be copied, see [`crate::Store::copy_notes`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopiedNotes {
    /// Notes that were copied.
    pub copied: u64,
    /// Notes that were there already.
    pub already: u64,
    /// Notes that are not in the first database, or softly deleted there.
    pub missing: Vec<Unid>,
    /// Notes that were not looked at because it was stopped.
    pub left: u64,
}

/// What rebuilding found, see [`crate::Store::updall`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// Path of the database.
    pub path: String,
    /// Rows whose counters or copies were wrong.
    pub mended: u64,
}

/// What checking a database found and did, see [`crate::Store::fixup`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fixed {
    /// Path of the database.
    pub path: String,
    /// What was found, in words; nothing: the database is sound.
    pub found: Vec<String>,
    /// Rows whose counters or copies were mended in place.
    pub mended: u64,
    /// Notes that were saved into a new file.
    pub notes: u64,
    /// What is not in the new file: notes, entries of folders, results of changes that the log
    /// held and that did not fit any more.
    pub lost: (u64, u64, u64),
    /// The new DBIID, when a new file was made.
    pub dbiid: Option<Dbiid>,
    /// Path of the damaged file that was replaced.
    pub aside: Option<String>,
}
