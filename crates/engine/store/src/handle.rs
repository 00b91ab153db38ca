//! An open database file: the connection, its settings, its open transaction.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use note::Dbiid;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Quota;
use crate::register::Row;
use crate::schema::{APPLICATION_ID, Facts, HEADER, ODS, ODS_MIN, SCHEMA, upgrade};
use crate::statements::Statements;

/// Page size of new files, in bytes. Files with other ones stay as they are until a compaction.
pub(crate) const PAGE_BYTES: usize = 2_048;
/// Prepared statements kept per connection.
const STATEMENTS_MAX: usize = 80;
/// Bytes and number of the slots in the pool of small memory of a connection.
const LOOKASIDE: (std::ffi::c_int, std::ffi::c_int) = (128, 32);
/// Page cache of a connection, in bytes.
pub(crate) const CACHE_BYTES: u64 = 1 << 20;
/// How long another opener of the file is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// Why a file could not be opened as a database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// There is no file.
    #[error("there is no file")]
    Missing,
    /// Not a database of this program, or its pages are broken.
    #[error("the file is not a sound database: {0}")]
    Unsound(String),
    /// Of a later version.
    #[error("structure version {0} is newer than {ODS}")]
    Newer(u32),
    /// The file system or SQLite is in trouble.
    #[error("the file cannot be opened")]
    Trouble(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        if is_corrupt(&error) || matches!(error, rusqlite::Error::QueryReturnedNoRows) {
            OpenError::Unsound(error.to_string())
        } else {
            OpenError::Trouble(error)
        }
    }
}

/// Whether SQLite says that stored bytes are wrong.
pub(crate) fn is_corrupt(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            matches!(failure.code, DatabaseCorrupt | NotADatabase)
                || message.as_deref().is_some_and(|text| text.starts_with("no such "))
        }
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::FromSqlConversionFailure(..) => true,
        _ => false,
    }
}

/// An open database file.
pub(crate) struct Handle {
    /// Before the connection, so that it is dropped first.
    pub prepared: Statements,
    pub conn: Connection,
    pub facts: Facts,
    /// Whether results stand in an open transaction.
    pub in_transaction: bool,
    /// How often the memory of the statements was wanted, and what it was when last looked at.
    statements: Cell<(u32, u64)>,
}

impl Handle {
    fn new(conn: Connection, facts: Facts) -> Handle {
        let prepared = Statements::new();
        Handle { prepared, conn, facts, in_transaction: false, statements: Cell::default() }
    }

    /// Makes a new file. Nothing is synced; it is made again from the log if it gets lost.
    pub fn create(path: &Path, dbiid: Dbiid, row: &Row) -> Result<Handle, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.execute_batch(&format!(
            "PRAGMA synchronous=OFF; PRAGMA page_size={PAGE_BYTES};
             PRAGMA auto_vacuum=INCREMENTAL;"
        ))?;
        configure(&conn)?;
        let facts = Facts {
            dbiid,
            replica_id: row.replica_id,
            title: Arc::from(row.title.as_str()),
            soft_delete: row.soft_delete,
            created: row.created,
            change_seq: 0,
            applied_lsn: row.created_lsn,
            uidvalidity: 0,
            note_next: 1,
            folder_next: 1,
            notes: 0,
            stubs: 0,
            logical_bytes: 0,
            quota: Quota::default(),
        };
        conn.execute_batch("BEGIN")?;
        conn.execute_batch(HEADER)?;
        conn.execute_batch(SCHEMA)?;
        conn.execute_batch(&format!(
            "PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={ODS};"
        ))?;
        facts.save(&conn)?;
        conn.execute_batch("COMMIT; PRAGMA synchronous=NORMAL;")?;
        Ok(Handle::new(conn, facts))
    }

    /// Opens an existing file.
    pub fn open(path: &Path) -> Result<Handle, OpenError> {
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_file() => {}
            _ => return Err(OpenError::Missing),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn)?;
        let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if number("application_id")? != i64::from(APPLICATION_ID) {
            return Err(OpenError::Unsound("it was not made by this program".to_owned()));
        }
        let ods = match u32::try_from(number("user_version")?) {
            Ok(found) if found > ODS => return Err(OpenError::Newer(found)),
            Ok(found) if found >= ODS_MIN => found,
            _ => return Err(OpenError::Unsound("unknown structure version".to_owned())),
        };
        conn.execute_batch("PRAGMA synchronous=NORMAL;")?;
        let facts = Facts::load(&conn, ods)?;
        let mut handle = Handle::new(conn, facts);
        if ods < ODS {
            // Committed with the next change, or done again at the next start.
            handle.begin()?;
            handle.facts = upgrade(&handle.conn, ods)?;
        }
        Ok(handle)
    }

    /// Opens the transaction that stays open until the next checkpoint.
    pub fn begin(&mut self) -> rusqlite::Result<()> {
        if !self.in_transaction {
            self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            self.in_transaction = true;
        }
        Ok(())
    }

    /// Lets a transaction write pages before its commit when they are more than the page cache
    /// holds (`wanted`), or keeps them in memory, as it is at first. What was done is committed.
    /// With it a full disk ends the transaction: everything before must be committed.
    pub fn spill(&mut self, wanted: bool) -> rusqlite::Result<()> {
        self.commit()?;
        self.conn.execute_batch(if wanted {
            "PRAGMA cache_spill=ON"
        } else {
            "PRAGMA cache_spill=OFF"
        })
    }

    /// Memory of the page cache and of the open transaction, in bytes. Cheap.
    pub fn cache_bytes(&self) -> u64 {
        self.status(rusqlite::ffi::SQLITE_DBSTATUS_CACHE_USED)
    }

    /// Memory of the prepared statements, in bytes. Looking is dear, so that it is what it was at
    /// the last call whose number is a power of two or a multiple of 256.
    pub fn statement_bytes(&self) -> u64 {
        let (calls, mut bytes) = self.statements.get();
        let calls = calls.wrapping_add(1);
        if calls.is_power_of_two() || calls.is_multiple_of(256) {
            bytes = self.status(rusqlite::ffi::SQLITE_DBSTATUS_STMT_USED);
        }
        self.statements.set((calls, bytes));
        bytes
    }

    #[allow(unsafe_code)]
    fn status(&self, what: std::ffi::c_int) -> u64 {
        let (mut now, mut highest) = (0, 0);
        // SAFETY: the connection is open for as long as `self` lives, is used by this thread
        // alone meanwhile, and both numbers outlive the call.
        let code = unsafe {
            let conn = self.conn.handle();
            rusqlite::ffi::sqlite3_db_status(conn, what, &mut now, &mut highest, 0)
        };
        if code == rusqlite::ffi::SQLITE_OK { u64::try_from(now).unwrap_or(0) } else { 0 }
    }

    /// Gives up prepared statements and the pages that can be read again.
    pub fn ease(&self) {
        self.prepared.clear();
        self.conn.flush_prepared_statement_cache();
        self.statements.take();
        if let Err(error) = self.conn.release_memory() {
            tracing::debug!(%error, "memory of an idle database stays");
        }
    }

    /// Whether SQLite rolled back the open transaction on its own.
    pub fn is_lost(&self) -> bool {
        self.in_transaction && self.conn.is_autocommit()
    }

    /// Writes the header and commits. The log must be durable up to the applied LSN.
    pub fn commit(&mut self) -> rusqlite::Result<()> {
        if self.in_transaction {
            self.facts.save(&self.conn)?;
            self.conn.prepare_cached("COMMIT")?.execute([])?;
            self.in_transaction = false;
        }
        Ok(())
    }

    /// Writes the pages of the -wal into the file without syncing; both must be synced before
    /// (the -wal) and after (the file), the second before the next commit or [`Handle::truncate`].
    pub fn write_back(&mut self) -> rusqlite::Result<()> {
        self.conn.execute_batch("PRAGMA synchronous=OFF")?;
        let result = self.checkpoint("PASSIVE");
        self.conn.execute_batch("PRAGMA synchronous=NORMAL")?;
        result
    }

    /// Cuts the -wal to nothing after its pages were written back and synced.
    pub fn truncate(&mut self) -> rusqlite::Result<()> {
        self.conn.execute_batch("PRAGMA synchronous=OFF")?;
        let result = self.checkpoint("TRUNCATE");
        self.conn.execute_batch("PRAGMA synchronous=NORMAL")?;
        result
    }

    /// Makes the file whole by itself, synced, with an empty -wal. Nothing may be uncommitted.
    pub fn settle(&mut self) -> rusqlite::Result<()> {
        self.conn.execute_batch("PRAGMA synchronous=FULL")?;
        let busy: i64 =
            self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        self.conn.execute_batch("PRAGMA synchronous=NORMAL")?;
        if busy == 0 {
            return Ok(());
        }
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        Err(rusqlite::Error::SqliteFailure(busy, None))
    }

    fn checkpoint(&self, mode: &str) -> rusqlite::Result<()> {
        self.conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
    }
}

fn configure(conn: &Connection) -> Result<(), OpenError> {
    conn.busy_timeout(BUSY_WAIT)?;
    bound_lookaside(conn)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Plans do not depend on bound values, so that statements are not prepared again for them.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=0;
         PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF; PRAGMA cache_spill=OFF;",
    )?;
    conn.execute_batch(&format!("PRAGMA cache_size=-{}", CACHE_BYTES / 1_024))?;
    let mode: String = conn.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(OpenError::Unsound(format!("journal mode is {mode}")));
    }
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(())
}

/// Keeps SQLite's pool of small memory of the connection small: by default it is 48 KiB, for each
/// of thousands of open databases.
#[allow(unsafe_code)]
fn bound_lookaside(conn: &Connection) -> rusqlite::Result<()> {
    let what = rusqlite::ffi::SQLITE_DBCONFIG_LOOKASIDE;
    let none = std::ptr::null_mut::<std::ffi::c_void>();
    // SAFETY: the connection is open and nothing of the pool is in use right after the opening;
    // without a buffer SQLite allocates the slots itself, of the size and number that are given.
    let code = unsafe {
        let (bytes, slots): (std::ffi::c_int, std::ffi::c_int) = LOOKASIDE;
        rusqlite::ffi::sqlite3_db_config(conn.handle(), what, none, bytes, slots)
    };
    match code {
        rusqlite::ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)),
    }
}

/// Path of the write-ahead file beside a database file.
pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Removes a database file and what SQLite keeps beside it; absent files are fine.
pub(crate) fn remove_files(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
