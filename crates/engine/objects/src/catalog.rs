//! The catalog: what is known of every object, in the SQLite file `catalog.db`
//! (`docs/formats/objects.md`).

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use note::{ObjectHash, TimeDate};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row as SqlRow, params};
use txlog::Lsn;
use txlog::sync::Mutex;

use crate::ObjectsError;
use crate::counts::Counts;
use crate::record::{self, Entry};
use crate::segments::{Load, Loads};
use crate::tail::{Change, Tail};

/// Format number of the catalog, SQLite's `user_version`.
const FORMAT: i64 = 2;
/// A format number from here on is damage.
const FORMATS_MAX: i64 = 256;
/// The write-ahead file is moved into the catalog when it passes this size.
const WAL_BYTES_MAX: u64 = 16 << 20;
/// How long a statement waits for the other connection.
const BUSY_WAIT: Duration = Duration::from_secs(5);

const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA temp_store = MEMORY;";

const SCHEMA: &str = "
    BEGIN;
    CREATE TABLE header (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        checkpointed_lsn INTEGER NOT NULL,
        objects INTEGER NOT NULL,
        reference_count INTEGER NOT NULL,
        unreferenced INTEGER NOT NULL,
        logical_bytes INTEGER NOT NULL,
        stored_bytes INTEGER NOT NULL,
        recount_due INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO header VALUES (1, 0, 0, 0, 0, 0, 0, 0);
    CREATE TABLE object (
        hash BLOB PRIMARY KEY,
        length INTEGER,
        end_lsn INTEGER,
        blocks BLOB,
        reference_count INTEGER NOT NULL,
        counts BLOB NOT NULL,
        idle_since INTEGER,
        crc INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX object_idle ON object (idle_since) WHERE idle_since IS NOT NULL;
    CREATE TABLE segment (
        id INTEGER PRIMARY KEY,
        blocks INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    );
    PRAGMA application_id = 0x4E4C4F42;
    PRAGMA user_version = 2;
    COMMIT;";

/// From format 1, whose segments did not count the ends of objects.
const UPGRADE: &str = "
    ALTER TABLE header ADD COLUMN recount_due INTEGER NOT NULL DEFAULT 0;
    PRAGMA user_version = 2;";

/// Says that the catalog is damaged, or that its successor is not finished: the next start makes it
/// anew.
const MARK_NAME: &str = "catalog.damaged";
/// What the files of a catalog end in.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

const COLUMNS: &str = "hash, length, end_lsn, blocks, counts, idle_since, crc";

/// Totals over all objects of the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub objects: i64,
    pub references: i64,
    pub unreferenced: i64,
    pub logical_bytes: i64,
    pub stored_bytes: i64,
}

impl Totals {
    /// Adds what `row` stands for `times` (1 or -1).
    pub(crate) fn add(&mut self, row: &Row, times: i64) {
        let references = row.counts.total();
        self.references += times * references;
        if let Some(entry) = &row.entry {
            self.objects += times;
            self.unreferenced += times * i64::from(references <= 0);
            self.logical_bytes += times * entry.length as i64;
            self.stored_bytes += times * entry.stored_bytes() as i64;
        }
    }
}

/// What the catalog holds for one hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub hash: ObjectHash,
    /// `None` when only counts are known.
    pub entry: Option<Arc<Entry>>,
    pub counts: Counts,
    /// Since when no note refers to it.
    pub idle_since: Option<TimeDate>,
}

impl Row {
    pub(crate) fn empty(hash: ObjectHash) -> Row {
        Row { hash, entry: None, counts: Counts::default(), idle_since: None }
    }

    /// Applies what changed since; returns the object that lost its place, if any.
    pub(crate) fn apply(&mut self, change: &Change) -> Option<Arc<Entry>> {
        self.counts.add_all(&change.deltas);
        let newer = change.entry.as_ref()?;
        match &self.entry {
            Some(known) if known.end_lsn >= newer.end_lsn => None,
            _ => self.entry.replace(Arc::clone(newer)),
        }
    }

    fn crc(&self, blocks: Option<&[u8]>, counts: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.hash.0);
        let (length, end) = self.entry.as_ref().map_or((0, 0), |e| (e.length, e.end_lsn.0));
        crc.update(&length.to_le_bytes());
        crc.update(&end.to_le_bytes());
        crc.update(blocks.unwrap_or_default());
        crc.update(counts);
        crc.update(&self.idle_since.map_or(0, |since| since.0).to_le_bytes());
        crc.finalize()
    }

    fn decode(row: &SqlRow<'_>) -> rusqlite::Result<Result<Row, ObjectHash>> {
        let hash: Vec<u8> = row.get(0)?;
        let hash = ObjectHash(hash.try_into().unwrap_or_default());
        let length: Option<i64> = row.get(1)?;
        let end: Option<i64> = row.get(2)?;
        let blocks: Option<Vec<u8>> = row.get(3)?;
        let counts: Vec<u8> = row.get(4)?;
        let idle_since = row.get::<_, Option<i64>>(5)?.map(TimeDate);
        let crc: i64 = row.get(6)?;
        let decoded = Counts::decode(&counts).and_then(|known| {
            let entry = match (length, end, &blocks) {
                (Some(length), Some(end), Some(blocks)) => {
                    let (length, end_lsn) = (length as u64, Lsn(end as u64));
                    let blocks = record::decode_blocks(blocks, length)?;
                    Some(Arc::new(Entry { hash, length, end_lsn, blocks }))
                }
                _ => None,
            };
            Some(Row { hash, entry, counts: known, idle_since })
        });
        let sound = decoded.filter(|r| i64::from(r.crc(blocks.as_deref(), &counts)) == crc);
        Ok(sound.ok_or(hash))
    }
}

/// Where an unreferenced object stands among all: since when, and its hash.
pub(crate) type IdlePlace = (TimeDate, ObjectHash);

/// What writing a tail, or deleting rows, changed.
pub(crate) struct Written {
    pub totals: Totals,
    /// Blocks of objects that lost their place (negative).
    pub displaced: Loads,
}

/// What an opened catalog says first.
pub(crate) struct Opened {
    pub catalog: Catalog,
    pub checkpointed: Lsn,
    pub totals: Totals,
    pub loads: Loads,
    /// References are to be counted anew.
    pub recount_due: bool,
}

/// The catalog: one connection that writes at checkpoints, one that looks things up meanwhile.
pub(crate) struct Catalog {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    dir: PathBuf,
    is_marked: AtomicBool,
}

impl Catalog {
    /// Opens `dir/catalog.db`; makes it unless there are adopted segments whose objects it must
    /// have known.
    ///
    /// # Errors
    /// `CatalogLost`, `CatalogDamaged`, `CatalogFormat` as their names say.
    pub(crate) fn open(dir: &Path, adopted: usize) -> Result<Opened, ObjectsError> {
        if dir.join(MARK_NAME).try_exists()? {
            let reason = "it was found damaged, or not finished".to_owned();
            return Err(ObjectsError::CatalogDamaged { reason });
        }
        Catalog::open_unmarked(dir, adopted).map_err(lacks_nothing)
    }

    /// As [`Catalog::open`], whatever the mark says.
    pub(crate) fn open_unmarked(dir: &Path, adopted: usize) -> Result<Opened, ObjectsError> {
        let path = dir.join("catalog.db");
        let mut writer = Connection::open(&path)?;
        settle_plans(&writer)?;
        writer.busy_timeout(BUSY_WAIT)?;
        writer.execute_batch(SETTINGS)?;
        match writer.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
            0 if adopted > 0 => return Err(ObjectsError::CatalogLost { segments: adopted }),
            0 => writer.execute_batch(SCHEMA)?,
            1 => upgrade(&mut writer)?,
            FORMAT => {}
            found if (FORMAT..FORMATS_MAX).contains(&found) => {
                return Err(ObjectsError::CatalogFormat { found, known: FORMAT });
            }
            found => {
                let reason = format!("its format is {found}");
                return Err(ObjectsError::CatalogDamaged { reason });
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(&path, flags)?;
        settle_plans(&reader)?;
        reader.busy_timeout(BUSY_WAIT)?;
        reader.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;")?;
        let (checkpointed, totals, recount_due) = load_header(&writer)?;
        let loads = load_segments(&writer)?;
        let catalog = Catalog {
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            dir: dir.to_owned(),
            is_marked: AtomicBool::new(false),
        };
        Ok(Opened { catalog, checkpointed, totals, loads, recount_due })
    }

    /// Puts the files of a catalog out of the way of one that is made anew. Until that is finished,
    /// a mark says so.
    ///
    /// # Errors
    /// `Io` when a file cannot be renamed.
    pub(crate) fn set_aside(dir: &Path) -> Result<(), ObjectsError> {
        let had_mark = dir.join(MARK_NAME).try_exists()?;
        mark(dir)?;
        for ending in ENDINGS {
            let from = dir.join(format!("catalog.db{ending}"));
            let to = dir.join(format!("catalog.db.damaged{ending}"));
            // what an unfinished attempt left is not worth keeping
            let is_ours = had_mark && to.try_exists()?;
            let moved = if is_ours { fs::remove_file(&from) } else { fs::rename(&from, &to) };
            match moved {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(File::open(dir)?.sync_all()?)
    }

    /// Makes a catalog that was made anew the catalog, durably, and opens it.
    pub(crate) fn finish_rebuilding(dir: &Path, begin: Lsn) -> Result<Opened, ObjectsError> {
        let opened = Catalog::open_unmarked(dir, 0)?;
        {
            let writer = opened.catalog.writer.lock();
            write_header(&writer, begin, opened.totals)?;
            write_recount_due(&writer, true)?;
        }
        opened.catalog.backfill()?;
        File::open(dir.join("catalog.db"))?.sync_all()?;
        File::open(dir)?.sync_all()?;
        fs::remove_file(dir.join(MARK_NAME))?;
        File::open(dir)?.sync_all()?;
        Ok(Opened { checkpointed: begin, recount_due: true, ..opened })
    }

    /// Remembers for the next start that the catalog is damaged.
    fn watch<T>(&self, result: Result<T, ObjectsError>) -> Result<T, ObjectsError> {
        if let Err(ObjectsError::CatalogDamaged { .. } | ObjectsError::Malformed { .. }) = &result {
            self.note_damage();
        }
        result
    }

    /// Marks the catalog, once.
    fn note_damage(&self) {
        if self.is_marked.swap(true, Ordering::Relaxed) {
            return;
        }
        match mark(&self.dir) {
            Ok(()) => {
                tracing::error!("the object catalog is damaged: the next start makes it anew")
            }
            Err(error) => tracing::error!(%error, "the damaged object catalog cannot be marked"),
        }
    }

    /// The totals as they are stored.
    pub(crate) fn totals(&self) -> Result<Totals, ObjectsError> {
        Ok(load_header(&self.writer.lock())?.1)
    }

    /// The row of one hash.
    pub(crate) fn row(&self, hash: &ObjectHash) -> Result<Option<Row>, ObjectsError> {
        let malformed = |_| ObjectsError::Malformed { what: "catalog row", lsn: Lsn::ZERO };
        let found = find_row(&self.reader.lock(), hash).map_err(ObjectsError::from);
        self.watch(found.and_then(|row| row.transpose().map_err(malformed)))
    }

    /// Up to `limit` rows behind `after`, by hash; a malformed one gives its hash alone.
    pub(crate) fn rows(
        &self,
        after: Option<&ObjectHash>,
        limit: usize,
    ) -> Result<Vec<Result<Row, ObjectHash>>, ObjectsError> {
        let found = self.watch(rows(&self.reader.lock(), after, limit))?;
        if found.iter().any(Result::is_err) {
            self.note_damage();
        }
        Ok(found)
    }

    /// Writes a tail and commits; nothing is changed when that fails.
    pub(crate) fn write(
        &self,
        tail: &Tail,
        (lsn, now): (Lsn, TimeDate),
        totals: Totals,
    ) -> Result<Written, ObjectsError> {
        self.watch(self.write_tail(tail, (lsn, now), totals))
    }

    fn write_tail(
        &self,
        tail: &Tail,
        (lsn, now): (Lsn, TimeDate),
        totals: Totals,
    ) -> Result<Written, ObjectsError> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction()?;
        let mut session = Session::new(&transaction, tail, now, totals);
        session.write_changes()?;
        session.drop_gone()?;
        session.write_segments()?;
        let Session { totals, displaced, .. } = session;
        write_header(&transaction, lsn, totals)?;
        if tail.is_counted {
            write_recount_due(&transaction, false)?;
        }
        transaction.commit()?;
        Ok(Written { totals, displaced })
    }

    /// Up to `limit` rows without reference since `before` or earlier, behind the place `after`;
    /// a malformed one gives its place alone.
    pub(crate) fn idle_rows(
        &self,
        before: TimeDate,
        after: Option<IdlePlace>,
        limit: usize,
    ) -> Result<Vec<(IdlePlace, Option<Row>)>, ObjectsError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM object WHERE idle_since IS NOT NULL AND idle_since <= ?1
             AND (idle_since, hash) > (?2, ?3) ORDER BY idle_since, hash LIMIT ?4"
        );
        let found = self.watch(self.select_idle(&sql, (before, after), limit))?;
        if found.iter().any(|(_, row)| row.is_none()) {
            self.note_damage();
        }
        Ok(found)
    }

    fn select_idle(
        &self,
        sql: &str,
        (before, after): (TimeDate, Option<IdlePlace>),
        limit: usize,
    ) -> Result<Vec<(IdlePlace, Option<Row>)>, ObjectsError> {
        let reader = self.reader.lock();
        let mut select = reader.prepare_cached(sql)?;
        let (since, hash) = after.map_or((i64::MIN, Vec::new()), |(s, h)| (s.0, h.0.to_vec()));
        let rows = select.query_map(params![before.0, since, hash, limit as i64], |sql_row| {
            let since = TimeDate(sql_row.get(5)?);
            Ok(match Row::decode(sql_row)? {
                Ok(row) => ((since, row.hash), Some(row)),
                Err(hash) => ((since, hash), None),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Deletes rows, each as it stands in the catalog, and commits; nothing is changed when that
    /// fails.
    pub(crate) fn delete(
        &self,
        rows: &[Row],
        lsn: Lsn,
        totals: Totals,
    ) -> Result<Written, ObjectsError> {
        self.watch(self.delete_rows(rows, lsn, totals))
    }

    fn delete_rows(
        &self,
        rows: &[Row],
        lsn: Lsn,
        mut totals: Totals,
    ) -> Result<Written, ObjectsError> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction()?;
        let mut displaced = Loads::default();
        for row in rows {
            totals.add(row, -1);
            if let Some(entry) = &row.entry {
                displaced.add(entry, -1);
            }
            delete_row(&transaction, &row.hash)?;
        }
        write_segments(&transaction, &displaced)?;
        write_header(&transaction, lsn, totals)?;
        transaction.commit()?;
        Ok(Written { totals, displaced })
    }

    /// Moves the write-ahead file into the catalog when it has grown long.
    pub(crate) fn backfill_when_long(&self) -> Result<(), ObjectsError> {
        match fs::metadata(self.dir.join("catalog.db-wal")) {
            Ok(facts) if facts.len() > WAL_BYTES_MAX => self.backfill(),
            _ => Ok(()),
        }
    }

    /// Moves the write-ahead file into the catalog and truncates it.
    pub(crate) fn backfill(&self) -> Result<(), ObjectsError> {
        let writer = self.writer.lock();
        let moved = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.watch(moved.map_err(ObjectsError::from))
    }
}

/// Keeps SQLite from preparing a statement again for each new bound value.
fn settle_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// A catalog whose tables are not what they should be is damaged.
fn lacks_nothing(error: ObjectsError) -> ObjectsError {
    match error {
        ObjectsError::Catalog(rusqlite::Error::SqliteFailure(failure, reason))
            if failure.extended_code == rusqlite::ffi::SQLITE_ERROR =>
        {
            ObjectsError::CatalogDamaged { reason: reason.unwrap_or_default() }
        }
        other => other,
    }
}

/// Leaves a mark for the next start, durably.
fn mark(dir: &Path) -> io::Result<()> {
    File::create(dir.join(MARK_NAME))?.sync_all()?;
    File::open(dir)?.sync_all()
}

/// Brings a catalog of format 1 up to date.
fn upgrade(db: &mut Connection) -> Result<(), ObjectsError> {
    let transaction = db.transaction()?;
    let (mut loads, mut after) = (Loads::default(), None);
    loop {
        let found = rows(&transaction, after.as_ref(), WALK_ROWS)?;
        let Some(last) = found.last() else { break };
        after = Some(*last.as_ref().map_or_else(|hash| hash, |row| &row.hash));
        for entry in found.iter().flatten().filter_map(|row| row.entry.as_ref()) {
            loads.add(entry, 1);
        }
    }
    transaction.execute("DELETE FROM segment", [])?;
    write_segments(&transaction, &loads)?;
    transaction.execute_batch(UPGRADE)?;
    Ok(transaction.commit()?)
}

fn load_header(db: &Connection) -> rusqlite::Result<(Lsn, Totals, bool)> {
    let sql = "SELECT checkpointed_lsn, objects, reference_count, unreferenced, logical_bytes,
               stored_bytes, recount_due FROM header WHERE id = 1";
    db.query_row(sql, [], |row| {
        let totals = Totals {
            objects: row.get(1)?,
            references: row.get(2)?,
            unreferenced: row.get(3)?,
            logical_bytes: row.get(4)?,
            stored_bytes: row.get(5)?,
        };
        Ok((Lsn(row.get::<_, i64>(0)? as u64), totals, row.get(6)?))
    })
}

fn write_recount_due(db: &Connection, is_due: bool) -> rusqlite::Result<()> {
    db.execute("UPDATE header SET recount_due = ?1 WHERE id = 1", [is_due]).map(|_| ())
}

fn write_header(db: &Connection, lsn: Lsn, totals: Totals) -> rusqlite::Result<()> {
    let sql = "UPDATE header SET checkpointed_lsn = ?1, objects = ?2, reference_count = ?3,
               unreferenced = ?4, logical_bytes = ?5, stored_bytes = ?6 WHERE id = 1";
    let Totals { objects, references, unreferenced, logical_bytes, stored_bytes } = totals;
    let values = [lsn.0 as i64, objects, references, unreferenced, logical_bytes, stored_bytes];
    db.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn load_segments(db: &Connection) -> rusqlite::Result<Loads> {
    let mut select = db.prepare("SELECT id, blocks, bytes FROM segment")?;
    let loads = select
        .query_map([], |row| Ok((row.get(0)?, Load { blocks: row.get(1)?, bytes: row.get(2)? })))?;
    loads.collect::<rusqlite::Result<_>>().map(Loads)
}

fn find_row(
    db: &Connection,
    hash: &ObjectHash,
) -> rusqlite::Result<Option<Result<Row, ObjectHash>>> {
    let sql = format!("SELECT {COLUMNS} FROM object WHERE hash = ?1");
    db.prepare_cached(&sql)?.query_row([&hash.0[..]], Row::decode).optional()
}

fn rows(
    db: &Connection,
    after: Option<&ObjectHash>,
    limit: usize,
) -> Result<Vec<Result<Row, ObjectHash>>, ObjectsError> {
    let sql = format!("SELECT {COLUMNS} FROM object WHERE hash > ?1 ORDER BY hash LIMIT ?2");
    let mut select = db.prepare_cached(&sql)?;
    let after = after.map_or(&[][..], |hash| &hash.0[..]);
    let rows = select.query_map(params![after, limit as i64], Row::decode)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn delete_row(db: &Connection, hash: &ObjectHash) -> rusqlite::Result<()> {
    let sql = "DELETE FROM object WHERE hash = ?1";
    db.prepare_cached(sql)?.execute([&hash.0[..]]).map(|_| ())
}

/// Adds changes to the loads of segments.
fn write_segments(db: &Connection, changes: &Loads) -> rusqlite::Result<()> {
    let sql = "INSERT INTO segment (id, blocks, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (id)
               DO UPDATE SET blocks = blocks + ?2, bytes = bytes + ?3";
    for (segment, load) in &changes.0 {
        db.prepare_cached(sql)?.execute(params![segment, load.blocks, load.bytes])?;
    }
    db.execute("DELETE FROM segment WHERE blocks = 0", []).map(|_| ())
}

fn write_row(db: &Connection, row: &Row) -> rusqlite::Result<()> {
    if row.entry.is_none() && row.counts.is_empty() {
        return delete_row(db, &row.hash);
    }
    let blocks = row.entry.as_ref().map(|entry| {
        let mut out = Vec::new();
        record::encode_blocks(&entry.blocks, &mut out);
        out
    });
    let counts = row.counts.encode();
    let crc = row.crc(blocks.as_deref(), &counts);
    let sql = "INSERT OR REPLACE INTO object (hash, length, end_lsn, blocks, reference_count,
               counts, idle_since, crc) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    db.prepare_cached(sql)?.execute(params![
        &row.hash.0[..],
        row.entry.as_ref().map(|entry| entry.length as i64),
        row.entry.as_ref().map(|entry| entry.end_lsn.0 as i64),
        blocks,
        row.counts.total(),
        counts,
        row.idle_since.map(|since| since.0),
        crc,
    ])?;
    Ok(())
}

/// Rows looked at in one go when a whole table is walked.
const WALK_ROWS: usize = 512;

/// One transaction that writes a tail.
struct Session<'a> {
    db: &'a Connection,
    tail: &'a Tail,
    now: TimeDate,
    totals: Totals,
    gained: Loads,
    displaced: Loads,
}

impl<'a> Session<'a> {
    fn new(db: &'a Connection, tail: &'a Tail, now: TimeDate, totals: Totals) -> Self {
        let (gained, displaced) = (Loads::default(), Loads::default());
        Session { db, tail, now, totals, gained, displaced }
    }

    /// In the order of hashes, so that neighbours share pages.
    fn write_changes(&mut self) -> Result<(), ObjectsError> {
        let mut changes: Vec<_> = self.tail.changes.iter().collect();
        changes.sort_unstable_by_key(|(hash, _)| **hash);
        for (hash, change) in changes {
            if change.entry.is_none() && change.deltas.is_empty() {
                continue;
            }
            match find_row(self.db, hash)? {
                None => self.write_change(Row::empty(*hash), change, false)?,
                Some(Ok(row)) => self.write_change(row, change, true)?,
                Some(Err(_)) if change.entry.is_some() => {
                    tracing::error!(%hash, "damaged catalog row is replaced");
                    self.write_change(Row::empty(*hash), change, false)?;
                }
                Some(Err(_)) => tracing::error!(%hash, "damaged catalog row is left alone"),
            }
        }
        Ok(())
    }

    fn write_change(
        &mut self,
        mut row: Row,
        change: &Change,
        stood: bool,
    ) -> Result<(), ObjectsError> {
        if stood {
            self.totals.add(&row, -1);
        }
        let before = row.entry.as_ref().map(|entry| entry.end_lsn);
        if let Some(displaced) = row.apply(change) {
            self.displaced.add(&displaced, -1);
        }
        match (&row.entry, &change.entry) {
            (Some(entry), _) if before != Some(entry.end_lsn) => self.gained.add(entry, 1),
            // what came was older than what stands
            (Some(kept), Some(came)) if kept.end_lsn != came.end_lsn => {
                self.displaced.add(came, -1);
                self.gained.add(came, 1);
            }
            _ => {}
        }
        row.counts.drop_gone(|dbiid| self.tail.gone.contains(&dbiid));
        self.settle(&mut row)
    }

    /// Writes a row whose counts have changed.
    fn settle(&mut self, row: &mut Row) -> Result<(), ObjectsError> {
        let idle = row.counts.total() <= 0;
        row.idle_since = if idle { row.idle_since.or(Some(self.now)) } else { None };
        self.totals.add(row, 1);
        Ok(write_row(self.db, row)?)
    }

    fn drop_gone(&mut self) -> Result<(), ObjectsError> {
        if self.tail.gone.is_empty() {
            return Ok(());
        }
        let mut after = None;
        loop {
            let rows = rows(self.db, after.as_ref(), WALK_ROWS)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(match last {
                Ok(row) => row.hash,
                Err(hash) => *hash,
            });
            for mut row in rows.into_iter().flatten() {
                let before = row.clone();
                if row.counts.drop_gone(|dbiid| self.tail.gone.contains(&dbiid)) {
                    self.totals.add(&before, -1);
                    self.settle(&mut row)?;
                }
            }
        }
    }

    fn write_segments(&self) -> Result<(), ObjectsError> {
        let mut changes = self.gained.clone();
        changes.add_all(&self.displaced);
        Ok(write_segments(self.db, &changes)?)
    }
}
