//! Checking a database, and saving what can be saved of a damaged one.

use std::path::{Path, PathBuf};

use note::Dbiid;
use rusqlite::Connection;
use txlog::Lsn;

use crate::bytes::Cursor;
use crate::check::{check, is_mended};
use crate::copy::row_of;
use crate::database::State;
use crate::handle::{Handle, OpenError, wal_path};
use crate::life::{move_files, sync_parent};
use crate::op::Op;
use crate::private::{NEW, Private, WORK, beside, finish_file, is_cut_off, step};
use crate::reconcile::references;
use crate::record::ChangeRecord;
use crate::register::Row;
use crate::salvage::{Saved, salvage};
use crate::{Database, Fixed, Progress, Result, Store, StoreError, unwatched};

/// Ending of a repaired file that waits for its place.
const FIXED: &str = "fixed";
/// Ending of a damaged file that was replaced.
const DAMAGED: &str = "damaged";

impl Store {
    /// Checks a database, fenced or not: its pages, every note, its counters. What can be mended
    /// without loss is mended in place. Else, with `rebuild`, everything that is sound is saved
    /// into a new file with a new DBIID, and the damaged one is kept beside it, ending in
    /// `.damaged`; folders get a new UIDVALIDITY unless it is sure that no uid of them was lost.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Damage`] when a rebuild is needed and not wanted, or
    /// nothing is left to rebuild from; trouble of log and file system.
    pub fn fixup(&self, path: &str, rebuild: bool) -> Result<Fixed> {
        self.fixup_with(path, rebuild, &mut unwatched)
    }

    /// As [`Store::fixup`], watched. A repair that has begun to write a new file can be stopped
    /// until that is whole; the database stays fenced then when it was found damaged.
    ///
    /// # Errors
    /// As [`Store::fixup`]; [`StoreError::Stopped`].
    pub fn fixup_with(
        &self,
        path: &str,
        rebuild: bool,
        progress: &mut Progress<'_>,
    ) -> Result<Fixed> {
        let _one = self.maintenance.lock();
        let database = self.find(path)?;
        let result = self.fixup_one(&database, rebuild, progress);
        self.trim_cache();
        result
    }

    fn fixup_one(
        &self,
        database: &Database,
        rebuild: bool,
        progress: &mut Progress<'_>,
    ) -> Result<Fixed> {
        let path = database.path();
        let file = self.file_path(&path);
        let mut found = Vec::new();
        match self.copy_for_check(database, &file, progress) {
            Ok(work) => {
                found = check(&work.0, progress)?;
                if found.is_empty() {
                    return Ok(Fixed { path, ..Fixed::default() });
                }
                if is_mended(&work.0, progress)? {
                    drop(work);
                    let mended = self.updall_one(database, progress)?;
                    return Ok(Fixed { path, found, mended, ..Fixed::default() });
                }
            }
            Err(StoreError::Fenced { reason, .. }) => found.push(reason),
            Err(error) => return Err(error),
        }
        if !rebuild {
            return Err(StoreError::Damage { path, what: found.join("; ") });
        }
        let dbiid = self.new_dbiid();
        let result = self.repair(database, &file, dbiid, progress);
        if result.is_err() && self.register.get(dbiid).is_none() && !is_cut_off() {
            self.forget_database(dbiid)?;
        }
        Ok(Fixed { found, ..result? })
    }

    fn copy_for_check(
        &self,
        database: &Database,
        file: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Private> {
        let work = Private::new(file, WORK)?;
        let mut state = self.lock_committed(database)?;
        self.drop_handle(&database.0, &mut state);
        self.copy_files(file, &work.0, progress)?;
        Ok(work)
    }

    /// From here on nothing is written into the database.
    fn repair(
        &self,
        database: &Database,
        file: &Path,
        dbiid: Dbiid,
        progress: &mut Progress<'_>,
    ) -> Result<Fixed> {
        let shared = &database.0;
        let path = database.path();
        let Some(row) = self.register.get(shared.dbiid) else {
            return Err(StoreError::NotFound { path });
        };
        let work = Private::new(file, WORK)?;
        let records = {
            let mut state = self.lock_for_repair(database)?;
            self.drop_handle(shared, &mut state);
            self.copy_files(file, &work.0, progress)?;
            state.records.clone()
        };
        let new = Private::new(file, NEW)?;
        let mut handle = self.new_file(&new.0, dbiid, &row)?;
        handle.spill(true)?;
        let mut saved = salvage(&work.0, &mut handle, progress)?;
        drop(work);
        step()?;
        let lost_changes = self.replay_sound(shared.dbiid, &records, &mut handle, &saved)?;
        let reached = handle.facts.applied_lsn >= self.registered_lsn(shared.dbiid, &row);
        let is_current = saved.has_header && lost_changes == 0 && reached;
        if !is_current || !saved.has_expunged {
            saved.torn_folders = all_folders(&handle.conn)?;
        }
        self.renew_folders(&mut handle, &saved.torn_folders)?;
        let row = self.finish_repaired(handle, &new.0, file)?;
        self.replace(database, dbiid, row)?;
        let Saved { notes, lost_notes, lost_entries, .. } = saved;
        let aside = format!("{path}.{DAMAGED}");
        let dbiid = Some(dbiid);
        let lost = (lost_notes, lost_entries, lost_changes);
        Ok(Fixed { path, notes, lost, dbiid, aside: Some(aside), ..Fixed::default() })
    }

    fn registered_lsn(&self, dbiid: Dbiid, row: &Row) -> Lsn {
        self.register.get(dbiid).map_or(row.checkpointed_lsn, |row| row.checkpointed_lsn)
    }

    fn lock_for_repair<'a>(
        &self,
        database: &'a Database,
    ) -> Result<parking_lot::MutexGuard<'a, State>> {
        if database.fenced().is_none() {
            match self.lock_committed(database) {
                Ok(mut state) => {
                    self.fence(&database.0, &mut state, "it is being repaired");
                    return Ok(state);
                }
                Err(StoreError::Fenced { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let state = database.0.state.lock();
        if state.gone {
            return Err(StoreError::NotFound { path: database.path() });
        }
        Ok(state)
    }

    fn new_file(&self, path: &Path, dbiid: Dbiid, row: &Row) -> Result<Handle> {
        let row = Row { created_lsn: Lsn::ZERO, ..row.clone() };
        Handle::create(path, dbiid, &row).map_err(|error| match error {
            OpenError::Trouble(error) => StoreError::Sqlite(error),
            other => StoreError::Damage { path: row.path, what: other.to_string() },
        })
    }

    /// Applies the results that the log holds behind what the file said, as far as they fit what
    /// was saved; tells how many did not.
    fn replay_sound(
        &self,
        dbiid: Dbiid,
        records: &[Lsn],
        handle: &mut Handle,
        saved: &Saved,
    ) -> Result<u64> {
        let says = if saved.has_header { handle.facts.applied_lsn } else { Lsn::ZERO };
        let mut lost = 0;
        for lsn in records.iter().copied().filter(|lsn| *lsn >= says) {
            let Ok((head, payload)) = self.log.read(lsn) else {
                lost += 1;
                continue;
            };
            lost += apply_sound(dbiid, &payload, handle)?;
            handle.facts.applied_lsn = head.end;
        }
        Ok(lost)
    }

    fn renew_folders(&self, handle: &mut Handle, ids: &[i64]) -> Result<()> {
        let now = u32::try_from(self.now().unix_seconds()).unwrap_or(0);
        for id in ids {
            let next = handle.facts.uidvalidity.saturating_add(1).max(now);
            handle.facts.uidvalidity = next;
            let sql = "UPDATE folder SET uidvalidity = ?2 WHERE id = ?1";
            handle.conn.execute(sql, rusqlite::params![id, next])?;
        }
        Ok(())
    }

    /// Counts the references of the new file, and lets it lie ready beside the damaged one.
    fn finish_repaired(&self, mut handle: Handle, new: &Path, file: &Path) -> Result<Row> {
        let counts = references(&handle)?;
        let (dbiid, change_seq) = (handle.facts.dbiid, handle.facts.change_seq.saturating_add(1));
        handle.facts.change_seq = change_seq;
        self.count_adopted(dbiid, change_seq, counts)?;
        handle.facts.applied_lsn = self.log.appended();
        let path = self.relative(file);
        let row = row_of(&path, &handle);
        finish_file(handle, new)?;
        step()?;
        let fixed = beside(file, FIXED);
        std::fs::rename(new, &fixed).map_err(|error| StoreError::io(&fixed, error))?;
        sync_parent(&fixed)?;
        Ok(row)
    }

    fn relative(&self, file: &Path) -> String {
        let below = file.strip_prefix(&self.options.data_dir).unwrap_or(file);
        below.to_string_lossy().into_owned()
    }

    /// The repaired database takes the place of the damaged one. When that is cut off after it was
    /// logged, opening the database finishes it.
    fn replace(&self, database: &Database, dbiid: Dbiid, row: Row) -> Result<()> {
        let _life = self.life.lock();
        let shared = &database.0;
        let mut state = shared.state.lock();
        if state.gone || *shared.path() != *row.path {
            return Err(StoreError::NotFound { path: row.path });
        }
        let file = self.file_path(&row.path);
        let path = row.path.clone();
        let repaired = self.log_adopted(dbiid, row)?;
        self.forget_database(shared.dbiid)?;
        self.durable(self.log.appended()).wait()?;
        state.gone = true;
        state.records.clear();
        self.no_longer_pending(shared);
        shared.set_needed(None, self.now().0);
        let result = step().and_then(|()| finish_replacing(&file));
        // When the file is not in place yet, the first use tries again.
        self.databases.write().insert(path, repaired);
        self.counted_ahead.lock().remove(&dbiid);
        result
    }

    /// Puts a repaired file into its place when that was cut off; tells whether there was one.
    pub(crate) fn finish_repair(&self, dbiid: Dbiid, file: &Path) -> Result<bool> {
        match Handle::open(&beside(file, FIXED)) {
            Ok(handle) if handle.facts.dbiid == dbiid => drop(handle),
            _ => return Ok(false),
        }
        finish_replacing(file)?;
        Ok(true)
    }
}

/// The damaged file goes aside, the repaired one takes its place.
fn finish_replacing(file: &Path) -> Result<()> {
    let aside: PathBuf = beside(file, DAMAGED);
    if file.exists() {
        crate::handle::remove_files(&aside).map_err(|error| StoreError::io(&aside, error))?;
        move_files(file, &aside)?;
        step()?;
    }
    let fixed = beside(file, FIXED);
    let wal = wal_path(&fixed);
    match std::fs::remove_file(&wal) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io(&wal, error));
        }
        _ => {}
    }
    std::fs::rename(&fixed, file).map_err(|error| StoreError::io(&fixed, error))?;
    sync_parent(file)
}

fn all_folders(conn: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = conn.prepare("SELECT id FROM folder ORDER BY id")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Applies the results of one record that fit; tells how many did not.
fn apply_sound(dbiid: Dbiid, payload: &[u8], handle: &mut Handle) -> Result<u64> {
    let Ok(record) = ChangeRecord::decode(payload) else { return Ok(1) };
    let Ok(Some(section)) = record.section(dbiid) else { return Ok(1) };
    let mut lost = u64::from(section.change_seq != handle.facts.change_seq.saturating_add(1));
    handle.facts.change_seq = handle.facts.change_seq.max(section.change_seq);
    let mut cursor = Cursor::new(section.ops);
    while !cursor.is_empty() {
        let Ok(op) = Op::decode(&mut cursor, &record.blobs) else { return Ok(lost + 1) };
        let saved = handle.facts.clone();
        handle.conn.execute_batch("SAVEPOINT f")?;
        if handle.target().apply(&op).is_ok() {
            handle.conn.execute_batch("RELEASE f")?;
        } else {
            handle.conn.execute_batch("ROLLBACK TO f; RELEASE f")?;
            handle.facts = saved;
            lost += 1;
        }
    }
    Ok(lost)
}
