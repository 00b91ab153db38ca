//! Looking for damage in a private copy of a database.

use std::path::Path;

use note::Note;
use rusqlite::Connection;

use crate::handle::Handle;
use crate::prepared::unpack;
use crate::private::watched;
use crate::progress::{ROWS_BETWEEN, tell};
use crate::schema::Facts;
use crate::{Progress, Result, StoreError};

/// Findings told of one database.
const FINDINGS_MAX: usize = 20;

/// What is wrong with a file: its pages, every note, its counters.
///
/// # Errors
/// [`StoreError::Stopped`].
pub(crate) fn check(path: &Path, progress: &mut Progress<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    match Handle::open(path) {
        Err(error) => found.push(error.to_string()),
        Ok(mut handle) => match check_open(&mut handle, &mut found, progress) {
            Err(StoreError::Stopped) => return Err(StoreError::Stopped),
            Err(StoreError::Sqlite(error)) => found.push(error.to_string()),
            Err(error) => found.push(error.to_string()),
            Ok(()) => {}
        },
    }
    found.truncate(FINDINGS_MAX);
    Ok(found)
}

fn check_open(
    handle: &mut Handle,
    found: &mut Vec<String>,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut look = || tell(progress, "checking pages", 0, 0);
    found.extend(watched(&mut handle.conn, &mut look, check_pages)?);
    let conn = &handle.conn;
    let counts = crate::schema::counted(conn)?;
    check_notes(conn, counts.0.max(0) as u64, found, progress)?;
    let Facts { notes, logical_bytes, stubs, .. } = handle.facts;
    if counts != (notes, logical_bytes, stubs) {
        found.push("the header counts other notes than there are".to_owned());
    }
    let wrong = crate::updall::wrong_rows(conn)?;
    if wrong > 0 {
        found.push(format!("{wrong} counters or copies are wrong"));
    }
    let sql = "SELECT count(*) FROM entry WHERE NOT EXISTS (SELECT 1 FROM note
                 WHERE note.id = entry.note) OR folder NOT IN (SELECT id FROM folder)";
    let loose: i64 = conn.query_row(sql, [], |row| row.get(0))?;
    if loose > 0 {
        found.push(format!("{loose} entries have no note or no folder"));
    }
    Ok(())
}

fn check_pages(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare(&format!("PRAGMA integrity_check({FINDINGS_MAX})"))?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    rows.filter(|said| said.as_ref().map_or(true, |said| said != "ok")).collect()
}

fn check_notes(
    conn: &Connection,
    total: u64,
    found: &mut Vec<String>,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut statement = conn.prepare("SELECT id, unpacked, crc, body FROM note")?;
    let mut rows = statement.query([])?;
    let mut done = 0;
    while let Some(row) = rows.next()? {
        if done % ROWS_BETWEEN == 0 {
            tell(progress, "checking notes", done, total.max(done))?;
        }
        done += 1;
        let (id, unpacked, crc): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let what = match unpack(row.get(3)?, unpacked as u64, crc as u32) {
            Ok(bytes) => Note::decode(&bytes).err().map(|error| error.to_string()),
            Err(what) => Some(what.to_string()),
        };
        if let Some(what) = what {
            found.push(format!("note {id}: {what}"));
            if found.len() >= FINDINGS_MAX {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether rebuilding indexes and counters mends a private copy.
///
/// # Errors
/// [`StoreError::Stopped`].
pub(crate) fn is_mended(path: &Path, progress: &mut Progress<'_>) -> Result<bool> {
    let Ok(mut handle) = Handle::open(path) else { return Ok(false) };
    let mut mend = || -> Result<()> {
        handle.spill(true)?;
        handle.begin()?;
        crate::updall::rebuild(&handle.conn, &mut handle.facts, progress)?;
        Ok(handle.commit()?)
    };
    let mended = match mend() {
        Err(StoreError::Stopped) => return Err(StoreError::Stopped),
        mended => mended.is_ok(),
    };
    drop(handle);
    Ok(mended && check(path, progress)?.is_empty())
}
