//! Rebuilding what follows from the rest: indexes and counters.

use rusqlite::Connection;

use crate::schema::Facts;
use crate::{Database, Result, Store, StoreError, Updated};

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

impl Store {
    /// Rebuilds the indexes of a database and counts its folders anew. It is locked meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::Damage`] when the rows
    /// themselves are broken ([`Store::fixup`] helps); nothing was changed then.
    pub fn updall(&self, path: &str) -> Result<Updated> {
        let _one = self.maintenance.lock();
        let database = self.database(path)?;
        let mended = self.updall_one(&database)?;
        self.trim_cache();
        Ok(Updated { path: path.to_owned(), mended })
    }

    pub(crate) fn updall_one(&self, database: &Database) -> Result<u64> {
        let mut state = self.lock_committed(database)?;
        let Some(handle) = state.handle.as_mut() else { return Err(StoreError::Aborted) };
        handle.begin()?;
        let saved = handle.facts.clone();
        let mended = match rebuild(&handle.conn, &mut handle.facts) {
            Ok(mended) => mended,
            Err(error) => {
                handle.facts = saved;
                // Closing rolls back; everything was committed before.
                self.drop_handle(&database.0, &mut state);
                let path = database.path();
                return Err(StoreError::Damage { path, what: error.to_string() });
            }
        };
        if self.commit(&database.0, &mut state) { Ok(mended) } else { Err(StoreError::Aborted) }
    }
}

/// Rebuilds all indexes and counters; tells how many rows were wrong.
pub(crate) fn rebuild(conn: &Connection, facts: &mut Facts) -> rusqlite::Result<u64> {
    conn.execute_batch("REINDEX")?;
    let mut mended = 0;
    for sql in MENDS {
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

/// Notes that are not softly deleted, bytes of all notes, stubs.
pub(crate) fn counted(conn: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = "SELECT (SELECT count(*) FROM note WHERE deleted IS NULL),
                 (SELECT ifnull(sum(size), 0) FROM note), (SELECT count(*) FROM stub)";
    conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}
