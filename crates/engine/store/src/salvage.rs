//! Saving what can be read of a damaged database into a new file.

use std::fs::File;
use std::path::Path;

use note::Note;
use rusqlite::{Connection, params};

use crate::handle::Handle;
use crate::pages::{Pages, Row, Value, page_bytes_of};
use crate::prepared::unpack;
use crate::progress::tell;
use crate::schema::Facts;
use crate::{Progress, Quota, Result, StoreError};

/// Pages read between two looks at whether to go on.
const PAGES_BETWEEN: u64 = 1_024;
/// Folder for notes whose entries were lost.
const RECOVERED: &str = "Recovered";

/// What was saved and what was not.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    /// Notes in the new file.
    pub notes: u64,
    /// Notes that the old file counted and that are not in the new one.
    pub lost_notes: u64,
    /// Entries of folders that the old file counted and that are not in the new one.
    pub lost_entries: u64,
    /// The header of the old file could be read; `facts` of the new file come from there.
    pub has_header: bool,
    /// The memory of expunged uids is complete.
    pub has_expunged: bool,
    /// Folders whose entries are not complete.
    pub torn_folders: Vec<i64>,
}

/// Reads the file `work` and writes what is sound in it into the new file, whose transaction is
/// open afterwards. Only the new file's DBIID and position are not those of the old one.
pub(crate) fn salvage(
    work: &Path,
    into: &mut Handle,
    progress: &mut Progress<'_>,
) -> Result<Saved> {
    let mut saved = Saved::default();
    into.begin()?;
    saved.has_expunged = copy_expunged(work, &into.conn);
    let file = File::open(work).map_err(|error| StoreError::io(work, error))?;
    let page_bytes = page_bytes_of(&file);
    let pages = Pages::new(file, page_bytes);
    let total = pages.count() as u64;
    pages.each_row(
        &mut |row| Ok(take(&row, into, &mut saved)?),
        &mut |number| match number as u64 % PAGES_BETWEEN {
            1 => tell(progress, "saving what is on sound pages", number as u64, total),
            _ => Ok(()),
        },
    )?;
    drop(pages);
    settle_entries(into, &mut saved)?;
    let counted = (into.facts.notes, saved.has_header);
    crate::updall::rebuild(&into.conn, &mut into.facts, progress)?;
    raise_ids(&into.conn, &mut into.facts)?;
    saved.notes = count(&into.conn, "SELECT count(*) FROM note")?;
    if let (before, true) = counted {
        saved.lost_notes = before.saturating_sub(into.facts.notes).max(0) as u64;
    }
    Ok(saved)
}

fn count(conn: &Connection, sql: &str) -> rusqlite::Result<u64> {
    conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count.max(0) as u64)
}

/// Brings the -wal into the file, and copies the uids that were expunged; false when that failed.
fn copy_expunged(work: &Path, into: &Connection) -> bool {
    let Ok(conn) = Connection::open(work) else { return false };
    // What cannot be written back is not read either.
    let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let copy = || -> rusqlite::Result<()> {
        let mut read = conn.prepare("SELECT folder, modseq, uid FROM expunged")?;
        let mut write = into.prepare("INSERT OR IGNORE INTO expunged VALUES(?1, ?2, ?3)")?;
        let mut rows = read.query([])?;
        while let Some(row) = rows.next()? {
            let (folder, modseq, uid): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            write.execute([folder, modseq, uid])?;
        }
        Ok(())
    };
    copy().is_ok()
}

fn is_unid(value: &Value) -> bool {
    value.blob().is_some_and(|bytes| bytes.len() == 16)
}

/// Takes a row into the new file when it is one of a known table. Of two rows of one key the later
/// stays.
fn take(row: &Row, into: &mut Handle, saved: &mut Saved) -> rusqlite::Result<()> {
    let values = row.values.as_slice();
    match (row.rowid, values.len()) {
        (Some(id), 14) if is_unid(&values[1]) => take_note(id, values, &into.conn),
        (Some(1), 14 | 16) if values[3].text().is_some() => {
            saved.has_header |= take_header(values, &mut into.facts).is_some();
            Ok(())
        }
        (Some(id), 10) if is_unid(&values[1]) => take_folder(id, values, &into.conn),
        (None, 9) if is_unid(&values[8]) => take_entry(values, &into.conn),
        (None, 5) if is_unid(&values[0]) => take_stub(values, &into.conn),
        _ => Ok(()),
    }
}

fn take_header(values: &[Value], facts: &mut Facts) -> Option<()> {
    let number = |at: usize| values[at].number();
    // A file of structure version 1 has none.
    let quota = |at: usize| values.get(at).and_then(Value::number).unwrap_or(0).max(0) as u64;
    let title = values[3].text()?;
    let read = Facts {
        dbiid: facts.dbiid,
        replica_id: note::ReplicaId(number(2)? as u64),
        title: title.into(),
        soft_delete: number(4)? != 0,
        created: note::TimeDate(number(5)?),
        change_seq: number(6)? as u64,
        applied_lsn: txlog::Lsn(number(7)? as u64),
        uidvalidity: u32::try_from(number(8)?).ok()?,
        note_next: number(9)?,
        folder_next: number(10)?,
        notes: number(11)?,
        stubs: number(12)?,
        logical_bytes: number(13)?,
        quota: Quota { limit_bytes: quota(14), warn_bytes: quota(15) },
    };
    *facts = read;
    Some(())
}

/// A note is taken when its body is what was written.
fn take_note(id: i64, values: &[Value], conn: &Connection) -> rusqlite::Result<()> {
    let Some(note) = sound_note(values) else { return Ok(()) };
    let number = |at: usize| values[at].number().unwrap_or(0);
    let hashes: Vec<u8> = note.tickets().iter().flat_map(|ticket| ticket.hash.0).collect();
    conn.prepare_cached("DELETE FROM note WHERE unid = ?1 AND change_seq < ?2")?
        .execute(params![&note.oid.unid.0, number(5)])?;
    conn.prepare_cached(
        "INSERT OR IGNORE INTO note(id, unid, class, sequence, modified, change_seq, size, date,
           seen, deleted, hashes, unpacked, crc, body)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        id,
        &note.oid.unid.0,
        note.class.0,
        note.oid.sequence,
        note.oid.sequence_time.0,
        number(5),
        number(6).max(0),
        number(7),
        number(8) != 0,
        values[9].number(),
        (!hashes.is_empty()).then_some(hashes),
        number(11),
        number(12),
        values[13].blob(),
    ])?;
    Ok(())
}

fn sound_note(values: &[Value]) -> Option<Note> {
    let unpacked = u64::try_from(values[11].number()?).ok()?;
    let crc = u32::try_from(values[12].number()?).ok()?;
    let bytes = unpack(values[13].blob()?.to_vec(), unpacked, crc).ok()?;
    let note = Note::decode(&bytes).ok()?;
    (values[1].blob()? == note.oid.unid.0.as_slice()).then_some(note)
}

fn take_folder(id: i64, values: &[Value], conn: &Connection) -> rusqlite::Result<()> {
    let number = |at: usize| values[at].number().unwrap_or(0);
    let Some(name) = values[2].text() else { return Ok(()) };
    conn.execute("DELETE FROM folder WHERE id = ?1 AND modseq < ?2", [id, number(5)])?;
    conn.execute(
        "INSERT OR IGNORE INTO folder(id, unid, name, uidvalidity, uidnext, modseq, messages,
           unseen, special_use, subscribed) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            id,
            values[1].blob(),
            name,
            u32::try_from(number(3)).unwrap_or(0),
            u32::try_from(number(4)).unwrap_or(u32::MAX).max(1),
            number(5),
            number(6),
            number(7),
            values[8].text(),
            number(9) != 0,
        ],
    )?;
    Ok(())
}

fn take_entry(values: &[Value], conn: &Connection) -> rusqlite::Result<()> {
    let number = |at: usize| values[at].number().unwrap_or(0);
    let sound = (1..7).filter(|at| *at != 4).all(|at| values[at].number().is_some());
    if !sound || u32::try_from(number(1)).is_err() {
        return Ok(());
    }
    conn.prepare_cached("DELETE FROM entry WHERE folder = ?1 AND uid = ?2 AND modseq < ?3")?
        .execute([number(0), number(1), number(2)])?;
    conn.prepare_cached(
        "INSERT OR IGNORE INTO entry(folder, uid, modseq, flags, keywords, note, size, date, unid)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        number(0),
        number(1),
        number(2),
        number(3) & 0xFFFF,
        values[4].text().unwrap_or_default(),
        number(5),
        number(6),
        number(7),
        values[8].blob(),
    ])?;
    Ok(())
}

fn take_stub(values: &[Value], conn: &Connection) -> rusqlite::Result<()> {
    let number = |at: usize| values[at].number().unwrap_or(0);
    conn.prepare_cached("INSERT OR IGNORE INTO stub VALUES(?1, ?2, ?3, ?4, ?5)")?
        .execute(params![values[0].blob(), number(1), number(2), number(3), number(4)])?;
    Ok(())
}

/// Drops entries without a note, makes folders for entries that have none, and finds a place for
/// notes whose entries are lost.
fn settle_entries(into: &mut Handle, saved: &mut Saved) -> rusqlite::Result<()> {
    let conn = &into.conn;
    conn.execute_batch(
        "DELETE FROM entry WHERE NOT EXISTS
           (SELECT 1 FROM note WHERE note.id = entry.note AND note.unid = entry.unid);
         DELETE FROM stub WHERE unid IN (SELECT unid FROM note);",
    )?;
    let mut lost = 0_i64;
    {
        let sql = "SELECT id, messages - (SELECT count(*) FROM entry WHERE folder = folder.id)
                   FROM folder";
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let missing: i64 = row.get(1)?;
            if missing != 0 {
                saved.torn_folders.push(row.get(0)?);
                lost = lost.saturating_add(missing.max(0));
            }
        }
    }
    saved.lost_entries = lost as u64;
    let orphans = "SELECT DISTINCT folder FROM entry WHERE folder NOT IN (SELECT id FROM folder)";
    let ids = {
        let mut statement = conn.prepare(orphans)?;
        let ids = statement.query_map([], |row| row.get(0))?;
        ids.collect::<rusqlite::Result<Vec<i64>>>()?
    };
    for id in ids {
        make_folder(conn, id, &format!("{RECOVERED} {id}"), saved)?;
    }
    if !saved.torn_folders.is_empty() {
        rehome(into, saved)?;
    }
    into.conn.execute_batch(
        "UPDATE folder SET uidnext = max(uidnext,
           1 + (SELECT ifnull(max(uid), 0) FROM entry WHERE folder = folder.id));",
    )
}

/// Puts notes that are in no folder any more into one of their own.
fn rehome(into: &mut Handle, saved: &mut Saved) -> rusqlite::Result<()> {
    let conn = &into.conn;
    let homeless = "deleted IS NULL AND class & 1 AND id NOT IN (SELECT note FROM entry)";
    if count(conn, &format!("SELECT count(*) FROM note WHERE {homeless}"))? == 0 {
        return Ok(());
    }
    let sql = "SELECT 1 + max(ifnull((SELECT max(id) FROM folder), 0),
                 ifnull((SELECT max(folder) FROM entry), 0))";
    let next: i64 = conn.query_row(sql, [], |row| row.get(0))?;
    let id = next.max(into.facts.folder_next);
    make_folder(conn, id, RECOVERED, saved)?;
    let sql = format!(
        "INSERT INTO entry(folder, uid, modseq, flags, keywords, note, size, date, unid)
         SELECT {id}, row_number() OVER (ORDER BY id), change_seq, seen * 16, '', id, size, date,
           unid FROM note WHERE {homeless}"
    );
    conn.execute(&sql, [])?;
    Ok(())
}

fn make_folder(conn: &Connection, id: i64, name: &str, saved: &mut Saved) -> rusqlite::Result<()> {
    let taken = "SELECT count(*) FROM folder WHERE name = ?1";
    let mut free = name.to_owned();
    while conn.query_row(taken, [&free], |row| row.get::<_, i64>(0))? > 0 {
        free.push('+');
    }
    conn.execute(
        "INSERT INTO folder(id, unid, name, uidvalidity, uidnext, modseq, messages, unseen,
           special_use, subscribed) VALUES(?1, randomblob(16), ?2, 0, 1, 1, 0, 0, NULL, 1)",
        params![id, free],
    )?;
    saved.torn_folders.push(id);
    Ok(())
}

/// Numbers that must never be given out again are at least behind those that are there.
fn raise_ids(conn: &Connection, facts: &mut Facts) -> rusqlite::Result<()> {
    let sql =
        "SELECT ifnull((SELECT max(id) FROM note), 0), ifnull((SELECT max(id) FROM folder), 0),
        ifnull((SELECT max(uidvalidity) FROM folder), 0),
        max(ifnull((SELECT max(change_seq) FROM note), 0),
            ifnull((SELECT max(change_seq) FROM stub), 0),
            ifnull((SELECT max(modseq) FROM folder), 0),
            ifnull((SELECT max(modseq) FROM entry), 0))";
    let (note, folder, validity, change): (i64, i64, u32, i64) =
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    facts.note_next = facts.note_next.max(note.saturating_add(1));
    facts.folder_next = facts.folder_next.max(folder.saturating_add(1));
    facts.uidvalidity = facts.uidvalidity.max(validity);
    facts.change_seq = facts.change_seq.max(change.max(0) as u64);
    Ok(())
}
