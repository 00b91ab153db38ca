//! Copying a database within the server.

use std::path::Path;

use note::{Dbiid, ReplicaId};
use txlog::{Lsn, Space};

use crate::database::State;
use crate::handle::{Handle, remove_files};
use crate::life::{check_path, sync_parent};
use crate::private::{NEW, Private, finish_file, is_cut_off, step};
use crate::reconcile::references;
use crate::register::{Life, Row};
use crate::{Database, Progress, Result, Store, StoreError, unwatched};

/// How a copy is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyOptions {
    /// The copy is no replica of the first: it gets a replica id of its own.
    pub new_replica: bool,
}

impl Store {
    /// Makes a copy of a database, with a DBIID and UIDVALIDITYs of its own; it shares the objects,
    /// which are counted for it. With `new_replica` it is no replica of the first. The first is
    /// locked while its file is copied. Durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::BadPath`],
    /// [`StoreError::Exists`]; trouble of log and file system.
    pub fn copy(&self, from: &str, to: &str, new_replica: bool) -> Result<Database> {
        self.copy_with(from, to, CopyOptions { new_replica }, &mut unwatched)
    }

    /// As [`Store::copy`], watched.
    ///
    /// # Errors
    /// As [`Store::copy`]; [`StoreError::Stopped`].
    pub fn copy_with(
        &self,
        from: &str,
        to: &str,
        options: CopyOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Database> {
        check_path(to)?;
        let _one = self.maintenance.lock();
        let database = self.database(from)?;
        self.refuse_taken(to)?;
        let dbiid = self.new_dbiid();
        let replica_id = options.new_replica.then(|| ReplicaId(self.new_dbiid().0));
        let result = self.copy_counted(&database, to, dbiid, replica_id, progress);
        if result.is_err() && self.register.get(dbiid).is_none() && !is_cut_off() {
            // References that were counted already are given back.
            self.forget_database(dbiid)?;
        }
        self.trim_cache();
        result
    }

    pub(crate) fn refuse_taken(&self, path: &str) -> Result<()> {
        if self.databases.read().contains_key(path) || self.file_path(path).exists() {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        Ok(())
    }

    fn copy_counted(
        &self,
        database: &Database,
        to: &str,
        dbiid: Dbiid,
        replica_id: Option<ReplicaId>,
        progress: &mut Progress<'_>,
    ) -> Result<Database> {
        let file = self.file_path(to);
        let folder = file.parent().unwrap_or(&file);
        std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
        let new = Private::new(&file, NEW)?;
        {
            let mut state = self.lock_committed(database)?;
            self.count_for(&state, dbiid)?;
            self.drop_handle(&database.0, &mut state);
            self.copy_files(&self.file_path(&database.0.path()), &new.0, progress)?;
        }
        step()?;
        let mut handle = Handle::open(&new.0).map_err(|error| StoreError::Damage {
            path: database.path(),
            what: format!("its copy cannot be opened: {error}"),
        })?;
        if let Some(replica_id) = replica_id {
            handle.facts.replica_id = replica_id;
        }
        handle.facts.change_seq = handle.facts.change_seq.saturating_add(1);
        self.give_identity(&mut handle, dbiid)?;
        let row = row_of(to, &handle);
        finish_file(handle, &new.0)?;
        step()?;
        self.register_copy(&new.0, dbiid, row)
    }

    /// While the first is locked nobody takes an object away from it, so that the copy finds all.
    pub(crate) fn count_for(&self, state: &State, dbiid: Dbiid) -> Result<()> {
        let Some(handle) = &state.handle else { return Err(StoreError::Aborted) };
        let change_seq = handle.facts.change_seq.saturating_add(1);
        self.count_adopted(dbiid, change_seq, references(handle)?)?;
        Ok(())
    }

    /// The file first: one that is not registered is taken in at the next start.
    pub(crate) fn register_copy(&self, new: &Path, dbiid: Dbiid, row: Row) -> Result<Database> {
        let _life = self.life.lock();
        self.refuse_taken(&row.path)?;
        let (path, file) = (row.path.clone(), self.file_path(&row.path));
        std::fs::rename(new, &file).map_err(|error| StoreError::io(&file, error))?;
        sync_parent(&file)?;
        let result = step().and_then(|()| self.log_adopted(dbiid, row));
        if let Ok(database) = &result {
            self.databases.write().insert(path, database.clone());
            self.counted_ahead.lock().remove(&dbiid);
        } else if self.register.get(dbiid).is_none() && !is_cut_off() {
            remove_files(&file).map_err(|error| StoreError::io(&file, error))?;
        }
        result
    }

    /// Registers a database whose file is in place. Durable when this returns.
    pub(crate) fn log_adopted(&self, dbiid: Dbiid, row: Row) -> Result<Database> {
        let life = Life::Adopt(row.clone());
        let placed = self.log_life(dbiid, &life, Space::Reserved, |_| {
            self.register.insert(dbiid, row.clone());
        })?;
        self.durable(placed.end).wait()?;
        Ok(Database::new(dbiid, &row))
    }

    /// Logs that there is no database of this DBIID, so that no references of it are counted.
    pub(crate) fn forget_database(&self, dbiid: Dbiid) -> Result<()> {
        let entered = self.objects.enter();
        self.log_life(dbiid, &Life::Delete, Space::Reserved, |head| {
            self.register.remove(dbiid);
            self.objects.database_deleted(&entered, head.lsn, dbiid);
        })?;
        self.counted_ahead.lock().remove(&dbiid);
        Ok(())
    }
}

/// The row of a file that is taken in as a database of its own.
pub(crate) fn row_of(path: &str, handle: &Handle) -> Row {
    Row {
        path: path.to_owned(),
        title: handle.facts.title.to_string(),
        replica_id: handle.facts.replica_id,
        soft_delete: handle.facts.soft_delete,
        created: handle.facts.created,
        created_lsn: Lsn::ZERO,
        checkpointed_lsn: handle.facts.applied_lsn,
    }
}
