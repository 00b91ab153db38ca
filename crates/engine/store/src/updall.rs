//! Rebuilding what follows from the rest: indexes and counters.

use rusqlite::Connection;

use crate::handle::is_corrupt;
use crate::opening::is_constraint;
use crate::progress::tell;
use crate::schema::{Facts, counted};
use crate::{Database, Progress, Result, Store, StoreError, Updated, unwatched};

/// Statements that mend what is kept twice; each tells how many rows were wrong.
const MENDS: [&str; 3] = [
    "UPDATE entry SET flags = (flags & ~16) | (CASE (SELECT seen FROM note WHERE id = entry.note)
       WHEN 1 THEN 16 ELSE 0 END)
     WHERE (flags & 16 <> 0) <> (SELECT seen <> 0 FROM note WHERE id = entry.note)",
    "UPDATE entry SET (size, date, unid) = (SELECT size, date, unid FROM note WHERE id = entry.note)
     WHERE (size, date, unid) <> (SELECT size, date, unid FROM note WHERE id = entry.note)",
    "UPDATE folder SET
       messages = (SELECT count(*) FROM entry WHERE folder = folder.id),
       unseen = (SELECT count(*) FROM entry WHERE folder = folder.id AND flags & 16 = 0)
     WHERE (messages, unseen) <> (SELECT count(*), ifnull(sum(flags & 16 = 0), 0)
       FROM entry WHERE folder = folder.id)",
];

/// Tables whose indexes are built anew.
const TABLES: [&str; 5] = ["note", "stub", "folder", "entry", "expunged"];

impl Store {
    /// Rebuilds the indexes of a database and counts its folders anew. It is locked meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::Damage`] when the rows
    /// themselves are broken ([`Store::fixup`] helps); nothing was changed then.
    pub fn updall(&self, path: &str) -> Result<Updated> {
        self.updall_with(path, &mut unwatched)
    }

    /// As [`Store::updall`], watched.
    ///
    /// # Errors
    /// As [`Store::updall`]; [`StoreError::Stopped`].
    pub fn updall_with(&self, path: &str, progress: &mut Progress<'_>) -> Result<Updated> {
        let _one = self.maintenance.lock();
        let database = self.database(path)?;
        let mended = self.updall_one(&database, progress)?;
        self.trim_cache();
        Ok(Updated { path: path.to_owned(), mended })
    }

    pub(crate) fn updall_one(
        &self,
        database: &Database,
        progress: &mut Progress<'_>,
    ) -> Result<u64> {
        let mut state = self.lock_committed(database)?;
        let Some(handle) = state.handle.as_mut() else { return Err(StoreError::Aborted) };
        handle.spill(true)?;
        handle.begin()?;
        let saved = handle.facts.clone();
        let mended = match rebuild(&handle.conn, &mut handle.facts, progress) {
            Ok(mended) => mended,
            Err(error) => {
                handle.facts = saved;
                // Closing rolls back; everything was committed before.
                self.drop_handle(&database.0, &mut state);
                return Err(explain(database, error));
            }
        };
        if self.commit(&database.0, &mut state) {
            state.handle.as_mut().map_or(Ok(()), |handle| handle.spill(false))?;
            return Ok(mended);
        }
        // Without the rest of the disk nothing of it is kept.
        self.drop_handle(&database.0, &mut state);
        Err(if self.is_disk_full() { StoreError::DiskFull } else { StoreError::Aborted })
    }
}

fn explain(database: &Database, error: StoreError) -> StoreError {
    match error {
        StoreError::Sqlite(error) if is_corrupt(&error) || is_constraint(&error) => {
            StoreError::Damage { path: database.path(), what: error.to_string() }
        }
        other => other,
    }
}

/// Rebuilds all indexes and counters; tells how many rows were wrong.
pub(crate) fn rebuild(
    conn: &Connection,
    facts: &mut Facts,
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let total = (TABLES.len() + MENDS.len()) as u64;
    let mut parts = 0..total;
    let mut next = |progress: &mut Progress<'_>| {
        tell(progress, "building indexes and counters (locked)", parts.next().unwrap_or(0), total)
    };
    for table in TABLES {
        next(progress)?;
        conn.execute_batch(&format!("REINDEX {table}"))?;
    }
    let mut mended = 0;
    for sql in MENDS {
        next(progress)?;
        mended += conn.execute(sql, [])? as u64;
    }
    let (notes, logical_bytes, stubs) = counted(conn)?;
    let counts = (facts.notes, facts.logical_bytes, facts.stubs);
    mended += u64::from(counts != (notes, logical_bytes, stubs));
    (facts.notes, facts.logical_bytes, facts.stubs) = (notes, logical_bytes, stubs);
    Ok(mended)
}

/// Rows that [`rebuild`] would mend, the header aside.
pub(crate) fn wrong_rows(conn: &Connection) -> rusqlite::Result<u64> {
    conn.execute_batch("SAVEPOINT u")?;
    let count = || MENDS.iter().map(|sql| conn.execute(sql, [])).sum::<rusqlite::Result<usize>>();
    let count = count();
    conn.execute_batch("ROLLBACK TO u; RELEASE u")?;
    count.map(|count| count as u64)
}
