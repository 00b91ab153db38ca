//! The texts of the statements that changes and readers use.

/// Names the statements and their texts.
macro_rules! statements {
    ($($name:ident: $($text:expr),+;)+) => {
        /// A statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sql {
            $($name),+
        }

        /// How many statements there are.
        pub(crate) const SQL_COUNT: usize = TEXTS.len();

        pub(crate) const TEXTS: &[&str] = &[$(concat!($($text),+)),+];
    };
}

impl Sql {
    /// Its text.
    pub fn text(self) -> &'static str {
        TEXTS[self as usize]
    }
}

macro_rules! columns {
    (note) => {
        "id, unid, class, sequence, change_seq, modified, size, date, seen, deleted"
    };
    (folder) => {
        "id, unid, name, uidvalidity, uidnext, modseq, messages, unseen, special_use, subscribed"
    };
    (entry) => {
        "uid, modseq, flags, keywords, note, size, date, unid"
    };
}

// A change of many rows at once makes SQLite open a journal of the statement, and to close that it
// walks over all that the write has done before: what may be long is done row by row, by key.
statements! {
    Save: "SAVEPOINT w";
    Keep: "RELEASE w";

    InsertNote: "INSERT INTO note(id, unid, class, sequence, modified, change_seq, size, date,
        seen, deleted, hashes, unpacked, crc, body)
        VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, NULL, ?9, ?10, ?11, ?12)";
    UpdateNote: "UPDATE note SET class = ?3, sequence = ?4, modified = ?5, change_seq = ?6,
        size = ?7, date = ?8, hashes = ?9, unpacked = ?10, crc = ?11, body = ?12
        WHERE id = ?1 AND unid = ?2";
    UpdateEntriesOfNote: "UPDATE entry SET size = ?2, date = ?3 WHERE note = ?1";
    DeleteNote: "DELETE FROM note WHERE id = ?1 AND unid = ?2
        RETURNING size, deleted IS NULL, class, sequence";
    InsertStub: "INSERT INTO stub(unid, class, sequence, change_seq, deleted)
        VALUES(?1, ?2, ?3, ?4, ?5)";
    DeleteStub: "DELETE FROM stub WHERE unid = ?1";
    MarkDeleted: "UPDATE note SET deleted = ?3, change_seq = ?4
        WHERE id = ?1 AND unid = ?2 AND (deleted IS NULL) = (?3 IS NOT NULL) RETURNING size";
    MarkSeen: "UPDATE note SET seen = ?3 WHERE id = ?1 AND unid = ?2 AND seen <> ?3";

    InsertFolder: "INSERT INTO folder(id, unid, name, uidvalidity, uidnext, modseq, messages,
        unseen, special_use, subscribed) VALUES(?1, ?2, ?3, ?4, 1, ?5, 0, 0, ?6, 0)";
    RenameFolder: "UPDATE folder SET name = ?3 WHERE id = ?1 AND unid = ?2";
    DeleteFolder: "DELETE FROM folder WHERE id = ?1 AND unid = ?2";
    DeleteEntries: "DELETE FROM entry WHERE folder = ?1";
    DeleteExpunged: "DELETE FROM expunged WHERE folder = ?1";
    Subscribe: "UPDATE folder SET subscribed = ?3 WHERE id = ?1 AND unid = ?2";

    InsertEntry: "INSERT INTO entry(folder, uid, modseq, flags, keywords, note, size, date, unid)
        VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    FolderGrows: "UPDATE folder SET uidnext = ?3 + 1, modseq = ?4, messages = messages + 1,
        unseen = unseen + ?5 WHERE id = ?1 AND unid = ?2 AND uidnext <= ?3";
    SetFlags: "UPDATE entry SET flags = ?3, keywords = ?4, modseq = ?5
        WHERE folder = ?1 AND uid = ?2 AND (flags & 16) = (?3 & 16)";
    SetFlag: "UPDATE entry SET flags = (flags & ~?3) | ?4, modseq = ?5
        WHERE folder = ?1 AND uid = ?2";
    FolderChanges: "UPDATE folder SET modseq = ?3 WHERE id = ?1 AND unid = ?2";
    FolderSeen: "UPDATE folder SET modseq = ?2, unseen = unseen + ?3 WHERE id = ?1";
    DeleteEntry: "DELETE FROM entry WHERE folder = ?1 AND uid = ?2 AND note = ?3";
    InsertExpunged: "INSERT INTO expunged(folder, modseq, uid) VALUES(?1, ?2, ?3)";
    FolderShrinks: "UPDATE folder SET modseq = ?3, messages = messages - 1, unseen = unseen - ?4
        WHERE id = ?1 AND unid = ?2";

    NoteByUnid: "SELECT ", columns!(note), " FROM note WHERE unid = ?1";
    NoteById: "SELECT ", columns!(note), " FROM note WHERE id = ?1";
    IdOfNote: "SELECT id, class FROM note WHERE unid = ?1";
    MarksOfNote: "SELECT unid, class, seen, deleted IS NOT NULL FROM note WHERE id = ?1";
    SizeOfNote: "SELECT size, date, deleted IS NULL FROM note WHERE id = ?1 AND unid = ?2";
    NoteBody: "SELECT unpacked, crc, body FROM note WHERE id = ?1";
    NoteHashes: "SELECT hashes FROM note WHERE id = ?1";
    AllHashes: "SELECT hashes FROM note WHERE hashes IS NOT NULL";
    Notes: "SELECT ", columns!(note),
        " FROM note WHERE id > ?1 AND class & ?2 <> 0 AND deleted IS NULL ORDER BY id LIMIT ?3";
    ChangedNotes: "SELECT ", columns!(note),
        " FROM note WHERE change_seq > ?1 AND change_seq <= ?2 ORDER BY change_seq LIMIT ?3";
    ChangedIds: "SELECT id FROM note WHERE change_seq > ?1 LIMIT ?2";
    ChangedStubs: "SELECT unid, class, sequence, change_seq, deleted FROM stub
        WHERE change_seq > ?1 AND change_seq <= ?2 ORDER BY change_seq LIMIT ?3";
    SoftDeleted: "SELECT ", columns!(note),
        " FROM note WHERE deleted < ?1 ORDER BY deleted, id LIMIT ?2";

    Folders: "SELECT ", columns!(folder), " FROM folder ORDER BY name";
    FolderCount: "SELECT count(*) FROM folder";
    // A sum in floating point cannot overflow, and is exact up to 2^53.
    FolderBytes: "SELECT total(size) FROM entry WHERE folder = ?1";
    FirstUnseen: "SELECT (SELECT uid FROM entry WHERE folder = ?1 AND flags & 16 = 0
        ORDER BY uid LIMIT 1) FROM folder WHERE id = ?1 AND unseen > 0";
    FolderById: "SELECT ", columns!(folder), " FROM folder WHERE id = ?1";
    FolderByName: "SELECT ", columns!(folder), " FROM folder WHERE name = ?1";
    NextOfFolder: "SELECT unid, uidnext FROM folder WHERE id = ?1";

    Entries: "SELECT ", columns!(entry),
        " FROM entry WHERE folder = ?1 AND uid BETWEEN ?2 AND ?3 ORDER BY uid LIMIT ?4";
    Entry: "SELECT ", columns!(entry), " FROM entry WHERE folder = ?1 AND uid = ?2";
    MarksOfEntry: "SELECT flags, note FROM entry WHERE folder = ?1 AND uid = ?2";
    EntriesOfNote: "SELECT folder, uid FROM entry WHERE note = ?1 ORDER BY folder, uid";
    IsInFolder: "SELECT 1 FROM entry WHERE note = ?1 LIMIT 1";
    Uids: "SELECT uid FROM entry WHERE folder = ?1 ORDER BY uid";
    ChangedEntries: "SELECT ", columns!(entry), " FROM entry INDEXED BY entry_modseq
        WHERE folder = ?1 AND modseq > ?2 AND uid > ?3 ORDER BY uid LIMIT ?4";
    Expunged: "SELECT uid, modseq FROM expunged WHERE folder = ?1 AND modseq > ?2
        ORDER BY modseq, uid";
}
