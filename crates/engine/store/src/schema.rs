//! The structure of a database file (`docs/formats/database.md`) and the facts in its header.

use std::sync::Arc;

use note::{Dbiid, ReplicaId, TimeDate};
use rusqlite::{Connection, params};
use txlog::Lsn;

use crate::Quota;

/// `application_id` of a database file: "NLMB".
pub(crate) const APPLICATION_ID: i32 = 0x4E4C_4D42;
/// On-disk structure version, kept as `user_version`.
pub(crate) const ODS: u32 = 2;
/// The oldest structure version that is read; it is brought to [`ODS`] when it is opened.
pub(crate) const ODS_MIN: u32 = 1;

/// The table of the header.
pub(crate) const HEADER: &str = "
CREATE TABLE header(
  id INTEGER PRIMARY KEY CHECK(id = 1), dbiid INTEGER NOT NULL, replica_id INTEGER NOT NULL,
  title TEXT NOT NULL, soft_delete INTEGER NOT NULL, created INTEGER NOT NULL,
  change_seq INTEGER NOT NULL, checkpointed_lsn INTEGER NOT NULL, uidvalidity INTEGER NOT NULL,
  note_next INTEGER NOT NULL, folder_next INTEGER NOT NULL,
  notes INTEGER NOT NULL, stubs INTEGER NOT NULL, logical_bytes INTEGER NOT NULL,
  quota_limit INTEGER NOT NULL, quota_warn INTEGER NOT NULL);
";

/// The other tables, and indexes.
pub(crate) const SCHEMA: &str = "
CREATE TABLE note(
  id INTEGER PRIMARY KEY, unid BLOB NOT NULL, class INTEGER NOT NULL, sequence INTEGER NOT NULL,
  modified INTEGER NOT NULL, change_seq INTEGER NOT NULL, size INTEGER NOT NULL,
  date INTEGER NOT NULL, seen INTEGER NOT NULL, deleted INTEGER, hashes BLOB,
  unpacked INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX note_unid ON note(unid);
CREATE INDEX note_change ON note(change_seq);
CREATE INDEX note_deleted ON note(deleted) WHERE deleted IS NOT NULL;
CREATE TABLE stub(
  unid BLOB PRIMARY KEY, class INTEGER NOT NULL, sequence INTEGER NOT NULL,
  change_seq INTEGER NOT NULL, deleted INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX stub_change ON stub(change_seq);
CREATE TABLE folder(
  id INTEGER PRIMARY KEY, unid BLOB NOT NULL, name TEXT NOT NULL UNIQUE,
  uidvalidity INTEGER NOT NULL, uidnext INTEGER NOT NULL, modseq INTEGER NOT NULL,
  messages INTEGER NOT NULL, unseen INTEGER NOT NULL, special_use TEXT,
  subscribed INTEGER NOT NULL);
CREATE TABLE entry(
  folder INTEGER NOT NULL, uid INTEGER NOT NULL, modseq INTEGER NOT NULL, flags INTEGER NOT NULL,
  keywords TEXT NOT NULL, note INTEGER NOT NULL, size INTEGER NOT NULL, date INTEGER NOT NULL,
  unid BLOB NOT NULL, PRIMARY KEY(folder, uid)) WITHOUT ROWID;
CREATE INDEX entry_modseq ON entry(folder, modseq);
CREATE INDEX entry_note ON entry(note);
CREATE TABLE expunged(
  folder INTEGER NOT NULL, modseq INTEGER NOT NULL, uid INTEGER NOT NULL,
  PRIMARY KEY(folder, modseq, uid)) WITHOUT ROWID;
";

/// The header of a database; ahead of the file while a transaction is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub dbiid: Dbiid,
    pub replica_id: ReplicaId,
    pub title: Arc<str>,
    pub soft_delete: bool,
    pub created: TimeDate,
    /// Number of the last change.
    pub change_seq: u64,
    /// Behind the last record whose results are here.
    pub applied_lsn: Lsn,
    /// UIDVALIDITY given to the last folder.
    pub uidvalidity: u32,
    /// Local id of the next note.
    pub note_next: i64,
    /// Local id of the next folder.
    pub folder_next: i64,
    /// Notes that are not softly deleted.
    pub notes: i64,
    /// Deletion stubs.
    pub stubs: i64,
    /// Sum of the logical sizes of the notes that are not softly deleted.
    pub logical_bytes: i64,
    /// How many logical bytes there may be.
    pub quota: Quota,
}

impl Facts {
    /// Reads the header of a file of any structure version that is read.
    pub fn load(conn: &Connection, ods: u32) -> rusqlite::Result<Facts> {
        let quota = if ods < 2 { "0, 0" } else { "quota_limit, quota_warn" };
        let sql = format!(
            "SELECT dbiid, replica_id, title, soft_delete, created, change_seq,
            checkpointed_lsn, uidvalidity, note_next, folder_next, notes, stubs, logical_bytes,
            {quota} FROM header WHERE id = 1"
        );
        conn.query_row(&sql, [], |row| {
            Ok(Facts {
                dbiid: Dbiid(row.get::<_, i64>(0)? as u64),
                replica_id: ReplicaId(row.get::<_, i64>(1)? as u64),
                title: Arc::from(row.get::<_, String>(2)?),
                soft_delete: row.get(3)?,
                created: TimeDate(row.get(4)?),
                change_seq: row.get::<_, i64>(5)? as u64,
                applied_lsn: Lsn(row.get::<_, i64>(6)? as u64),
                uidvalidity: row.get(7)?,
                note_next: row.get(8)?,
                folder_next: row.get(9)?,
                notes: row.get(10)?,
                stubs: row.get(11)?,
                logical_bytes: row.get(12)?,
                quota: Quota {
                    limit_bytes: row.get::<_, i64>(13)?.max(0) as u64,
                    warn_bytes: row.get::<_, i64>(14)?.max(0) as u64,
                },
            })
        })
    }

    /// Counts notes and their logical bytes. The numbers may come from a damaged file, so that
    /// nothing here may overflow.
    pub fn count(&mut self, notes: i64, logical_bytes: i64) {
        self.notes = self.notes.saturating_add(notes);
        self.logical_bytes = self.logical_bytes.saturating_add(logical_bytes);
    }

    pub fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql =
            "INSERT OR REPLACE INTO header(id, dbiid, replica_id, title, soft_delete, created,
            change_seq, checkpointed_lsn, uidvalidity, note_next, folder_next, notes, stubs,
            logical_bytes, quota_limit, quota_warn)
            VALUES(1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        conn.prepare_cached(sql)?.execute(params![
            self.dbiid.0 as i64,
            self.replica_id.0 as i64,
            &*self.title,
            self.soft_delete,
            self.created.0,
            self.change_seq as i64,
            self.applied_lsn.0 as i64,
            self.uidvalidity,
            self.note_next,
            self.folder_next,
            self.notes,
            self.stubs,
            self.logical_bytes,
            i64::try_from(self.quota.limit_bytes).unwrap_or(i64::MAX),
            i64::try_from(self.quota.warn_bytes).unwrap_or(i64::MAX),
        ])?;
        Ok(())
    }
}

/// Brings an older file to [`ODS`] in a transaction that is open; gives its header.
pub(crate) fn upgrade(conn: &Connection, ods: u32) -> rusqlite::Result<Facts> {
    let mut facts = Facts::load(conn, ods)?;
    // Version 1 had no quota, and counted the bytes of softly deleted notes too.
    (facts.notes, facts.logical_bytes, facts.stubs) = counted(conn)?;
    conn.execute_batch(&format!("DROP TABLE header; {HEADER} PRAGMA user_version={ODS};"))?;
    facts.save(conn)?;
    Ok(facts)
}

/// Notes that are not softly deleted, their logical bytes, stubs.
pub(crate) fn counted(conn: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = "SELECT count(*), ifnull(sum(size), 0), (SELECT count(*) FROM stub) FROM note
               WHERE deleted IS NULL";
    conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}
