//! Self-contained copies: a file outside of the server that carries the objects its notes refer
//! to, and taking such a file in.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use note::{Note, ObjectHash, Ticket};
use objects::{ObjectsError, Pin};
use rusqlite::{Connection, OptionalExtension, params};

use crate::handle::{Handle, OpenError};
use crate::life::{check_path, sync_parent};
use crate::prepared::{pack, unpack};
use crate::private::{NEW, Private, finish_file, is_cut_off, step};
use crate::progress::{ROWS_BETWEEN, tell};
use crate::reconcile::references;
use crate::{Database, Exported, Progress, Result, Store, StoreError};

/// The table of the objects in a self-contained copy.
const CARRIED: &str = "CREATE TABLE carried(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL, unpacked INTEGER NOT NULL, crc INTEGER NOT NULL,
  body BLOB NOT NULL)";
/// Bytes written into a copy between two commits.
const BATCH_BYTES: u64 = 32 << 20;
/// Most bytes of carried objects that a start takes in by itself.
pub(crate) const CARRIED_AT_START_MAX: u64 = 256 << 20;

impl Store {
    /// Writes a self-contained copy of a database to a file outside of the data directory: it
    /// carries the objects that its notes refer to, so that it can be taken elsewhere and
    /// [taken in](Store::import) there. The database is locked while its file is copied.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::BadPath`],
    /// [`StoreError::Exists`], [`StoreError::Stopped`]; trouble of log, objects and file system.
    pub fn export(&self, from: &str, file: &Path, progress: &mut Progress<'_>) -> Result<Exported> {
        let _one = self.maintenance.lock();
        let database = self.database(from)?;
        self.refuse_inside(file)?;
        // References of a database that is never registered: they keep the objects meanwhile.
        let dbiid = self.new_dbiid();
        let result = self.export_counted(&database, dbiid, file, progress);
        if !is_cut_off() {
            self.forget_database(dbiid)?;
        }
        self.trim_cache();
        result
    }

    fn refuse_inside(&self, file: &Path) -> Result<()> {
        self.refuse_data(file)?;
        if file.exists() {
            return Err(StoreError::Exists { path: file.display().to_string() });
        }
        Ok(())
    }

    /// Nothing but the store itself may touch files in the data directory.
    fn refuse_data(&self, file: &Path) -> Result<()> {
        let bad = |reason| StoreError::BadPath { path: file.display().to_string(), reason };
        if file.file_name().is_none() {
            return Err(bad("it names no file"));
        }
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let real = |path: &Path| path.canonicalize().map_err(|error| StoreError::io(path, error));
        let data = real(&self.options.data_dir)?;
        // The file may be a link into the directory.
        let is_inside = real(folder)?.starts_with(&data)
            || file.canonicalize().is_ok_and(|file| file.starts_with(&data));
        if is_inside { Err(bad("it lies in the data directory")) } else { Ok(()) }
    }

    fn export_counted(
        &self,
        database: &Database,
        dbiid: note::Dbiid,
        file: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Exported> {
        let new = Private::new(file, NEW)?;
        {
            let mut state = self.lock_committed(database)?;
            self.count_for(&state, dbiid)?;
            self.drop_handle(&database.0, &mut state);
            self.copy_files(&self.file_path(&database.0.path()), &new.0, progress)?;
        }
        step()?;
        let mut handle = open_copy(&new.0, &database.path())?;
        self.give_identity(&mut handle, self.new_dbiid())?;
        handle.spill(true)?;
        let objects = self.carry(&mut handle, progress)?;
        let notes = handle.facts.notes.max(0) as u64;
        finish_file(handle, &new.0)?;
        step()?;
        std::fs::rename(&new.0, file).map_err(|error| StoreError::io(file, error))?;
        sync_parent(file)?;
        let bytes = std::fs::metadata(file).map_or(0, |facts| facts.len());
        Ok(Exported { path: database.path(), notes, objects, bytes })
    }

    /// Writes the objects into the copy; tells how many.
    fn carry(&self, handle: &mut Handle, progress: &mut Progress<'_>) -> Result<u64> {
        handle.begin()?;
        handle.conn.execute_batch(CARRIED)?;
        let mut seen = HashSet::new();
        let (mut content, mut written, mut after) = (Vec::new(), 0, 0);
        let total = with_objects(&handle.conn)?;
        let mut done = 0;
        while let Some((id, tickets)) = next_tickets(&handle.conn, after)? {
            (after, done) = (id, done + 1);
            for ticket in tickets {
                if !seen.insert(ticket.hash) {
                    continue;
                }
                tell(progress, "writing attachments and bodies", done, total.max(done))?;
                content.clear();
                self.objects.read(&ticket, 0..ticket.length, &mut content)?;
                written += put_carried(&handle.conn, &ticket.hash, &content)?;
            }
            if written > BATCH_BYTES {
                written = 0;
                handle.commit()?;
                handle.truncate()?;
                handle.begin()?;
            }
        }
        handle.commit()?;
        Ok(seen.len() as u64)
    }

    /// Takes a file in as a new database: a self-contained copy, or a file whose objects are all
    /// here. It lies outside of the data directory and stays as it is. Objects that it carries
    /// become objects of this server. DBIID and UIDVALIDITYs are new. Durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::BadPath`], [`StoreError::Exists`], [`StoreError::Damage`] when it is no sound
    /// database, [`StoreError::NoObject`], [`StoreError::Stopped`]; trouble of log, objects and
    /// file system.
    pub fn import(&self, file: &Path, to: &str, progress: &mut Progress<'_>) -> Result<Database> {
        check_path(to)?;
        self.refuse_data(file)?;
        let _one = self.maintenance.lock();
        self.refuse_taken(to)?;
        let dbiid = self.new_dbiid();
        let result = self.import_counted(file, to, dbiid, progress);
        if result.is_err() && self.register.get(dbiid).is_none() && !is_cut_off() {
            self.forget_database(dbiid)?;
        }
        self.trim_cache();
        result
    }

    fn import_counted(
        &self,
        file: &Path,
        to: &str,
        dbiid: note::Dbiid,
        progress: &mut Progress<'_>,
    ) -> Result<Database> {
        let target = self.file_path(to);
        let folder = target.parent().unwrap_or(&target);
        std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
        let new = Private::new(&target, NEW)?;
        self.copy_files(file, &new.0, progress)?;
        step()?;
        let mut handle = open_copy(&new.0, &file.display().to_string())?;
        handle.spill(true)?;
        let mut pins = self.take_carried(&mut handle, u64::MAX, progress)?;
        handle.commit()?;
        handle.conn.execute_batch("PRAGMA incremental_vacuum")?;
        self.pin_all(&handle, to, &mut pins, progress)?;
        let change_seq = handle.facts.change_seq.saturating_add(1);
        self.count_adopted(dbiid, change_seq, references(&handle)?)?;
        drop(pins);
        handle.facts.change_seq = change_seq;
        self.give_identity(&mut handle, dbiid)?;
        let row = crate::copy::row_of(to, &handle);
        finish_file(handle, &new.0)?;
        step()?;
        self.register_copy(&new.0, dbiid, row)
    }

    /// Makes objects of what a file carries, in its transaction; the pins keep them until they
    /// are counted. Nothing is taken when it is more than `bytes_max`.
    pub(crate) fn take_carried(
        &self,
        handle: &mut Handle,
        bytes_max: u64,
        progress: &mut Progress<'_>,
    ) -> Result<HashMap<ObjectHash, Pin>> {
        let mut pins = HashMap::new();
        let Some((total, bytes)) = carried(&handle.conn)? else { return Ok(pins) };
        if bytes > bytes_max {
            return Ok(pins);
        }
        handle.begin()?;
        let mut after = 0;
        while let Some((id, hash, content)) = next_carried(&handle.conn, after)? {
            after = id;
            tell(progress, "taking in attachments and bodies", pins.len() as u64, total)?;
            let pin = self.put_object(&content)?;
            if pin.ticket.hash.0.as_slice() != hash {
                let what = format!("carried object {id} is not what its hash says");
                return Err(StoreError::Damage { path: "the file".to_owned(), what });
            }
            pins.insert(pin.ticket.hash, pin);
        }
        handle.conn.execute_batch("DROP TABLE carried")?;
        Ok(pins)
    }

    /// Stores content; a log that is full is checkpointed once.
    fn put_object(&self, content: &[u8]) -> Result<Pin> {
        match self.objects.put(content) {
            Err(ObjectsError::Full) => {
                self.checkpoint_round()?;
                Ok(self.objects.put(content)?)
            }
            put => Ok(put?),
        }
    }

    /// Pins every object that the notes refer to.
    fn pin_all(
        &self,
        handle: &Handle,
        path: &str,
        pins: &mut HashMap<ObjectHash, Pin>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let total = with_objects(&handle.conn)?;
        let (mut after, mut done) = (0, 0);
        while let Some((id, tickets)) = next_tickets(&handle.conn, after)? {
            if done % ROWS_BETWEEN == 0 {
                tell(progress, "looking for attachments and bodies", done, total.max(done))?;
            }
            (after, done) = (id, done + 1);
            for ticket in tickets {
                if let std::collections::hash_map::Entry::Vacant(vacant) = pins.entry(ticket.hash) {
                    let pin = self.objects.pin(&ticket)?.ok_or_else(|| StoreError::NoObject {
                        path: path.to_owned(),
                        hash: ticket.hash.to_string(),
                    })?;
                    vacant.insert(pin);
                }
            }
        }
        Ok(())
    }
}

fn open_copy(copy: &Path, name: &str) -> Result<Handle> {
    Handle::open(copy).map_err(|error| match error {
        OpenError::Trouble(error) => StoreError::Sqlite(error),
        other => {
            let what = format!("its copy cannot be opened: {other}");
            StoreError::Damage { path: name.to_owned(), what }
        }
    })
}

/// How many notes refer to objects.
fn with_objects(conn: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM note WHERE hashes IS NOT NULL";
    conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count.max(0) as u64)
}

/// The next note that refers to objects, and its tickets.
fn next_tickets(conn: &Connection, after: i64) -> Result<Option<(i64, Vec<Ticket>)>> {
    let sql = "SELECT id, unpacked, crc, body FROM note
               WHERE id > ?1 AND hashes IS NOT NULL ORDER BY id LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    let row = statement.query_row([after], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, Vec<u8>>(3)?))
    });
    let Some((id, unpacked, crc, body)) = row.optional()? else { return Ok(None) };
    let bytes = unpack(body, unpacked as u64, crc as u32).map_err(|what| StoreError::Damage {
        path: "the file".to_owned(),
        what: format!("note {id}: {what}"),
    })?;
    Ok(Some((id, Note::decode(&bytes)?.tickets())))
}

/// Adds an object; gives the bytes it takes.
fn put_carried(conn: &Connection, hash: &ObjectHash, content: &[u8]) -> Result<u64> {
    let packed = pack(content);
    let (unpacked, body) = match &packed {
        Some(packed) => (content.len() as i64, packed.as_slice()),
        None => (0, content),
    };
    let sql = "INSERT INTO carried(hash, unpacked, crc, body) VALUES(?1, ?2, ?3, ?4)";
    let values = params![&hash.0, unpacked, crc32fast::hash(body), body];
    conn.prepare_cached(sql)?.execute(values)?;
    Ok(body.len() as u64)
}

/// How many objects a file carries and their bytes at least, when it is a self-contained copy.
pub(crate) fn carried(conn: &Connection) -> rusqlite::Result<Option<(u64, u64)>> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'carried'";
    if conn.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let sql = "SELECT count(*), total(max(unpacked, length(body))) FROM carried";
    let (count, bytes) =
        conn.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)))?;
    Ok(Some((count.max(0) as u64, bytes as u64)))
}

/// A carried object: its number, its hash as it stands there, its content.
type CarriedObject = (i64, Vec<u8>, Vec<u8>);

/// The next carried object.
fn next_carried(conn: &Connection, after: i64) -> Result<Option<CarriedObject>> {
    let sql = "SELECT id, hash, unpacked, crc, body FROM carried WHERE id > ?1 ORDER BY id LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    let row = statement.query_row([after], |row| {
        let (unpacked, crc): (i64, i64) = (row.get(2)?, row.get(3)?);
        Ok((row.get(0)?, row.get(1)?, unpacked, crc, row.get::<_, Vec<u8>>(4)?))
    });
    let Some((id, hash, unpacked, crc, body)) = row.optional()? else { return Ok(None) };
    let content = unpack(body, unpacked as u64, crc as u32).map_err(|what| StoreError::Damage {
        path: "the file".to_owned(),
        what: format!("carried object {id}: {what}"),
    })?;
    Ok(Some((id, hash, content)))
}
