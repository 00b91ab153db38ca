//! Compacting: a database is copied without its holes, and the copy takes its place.

use std::path::Path;

use rusqlite::Connection;

use crate::handle::{Handle, PAGE_BYTES};
use crate::life::sync_parent;
use crate::private::{NEW, Private, WORK, finish_file, step, watched};
use crate::progress::tell;
use crate::{Compacted, Database, Progress, Result, Store, StoreError, unwatched};

impl Store {
    /// Copies a database without its free pages, in order of its keys, and puts the copy in its
    /// place. It is served meanwhile, except for two moments: while its file is copied, and while
    /// the last changes are applied to the new one. DBIID, uids and everything else stay. Needs
    /// free space for two copies. A crash leaves the old file or the new one.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`]; trouble of log and file system, after
    /// which the old file is in place.
    pub fn compact(&self, path: &str) -> Result<Compacted> {
        self.compact_with(path, &mut unwatched)
    }

    /// As [`Store::compact`], watched.
    ///
    /// # Errors
    /// As [`Store::compact`]; [`StoreError::Stopped`].
    pub fn compact_with(&self, path: &str, progress: &mut Progress<'_>) -> Result<Compacted> {
        let _one = self.maintenance.lock();
        let database = self.database(path)?;
        let result = self.compact_kept(&database, progress);
        self.keep_no_longer(&database);
        self.trim_cache();
        result
    }

    fn compact_kept(&self, database: &Database, progress: &mut Progress<'_>) -> Result<Compacted> {
        let file = self.file_path(&database.path());
        let work = Private::new(&file, WORK)?;
        let new = Private::new(&file, NEW)?;
        self.copy_kept(database, &work.0, progress)?;
        step()?;
        let bytes_before = length_of(&file) + length_of(&crate::handle::wal_path(&file));
        self.need_room(&new.0, length_of(&work.0))?;
        copy_without_holes(&work.0, &new.0, progress)?;
        drop(work);
        tell(progress, "applying the changes since", 0, 0)?;
        step()?;
        let mut handle = Handle::open(&new.0).map_err(|error| StoreError::Damage {
            path: database.path(),
            what: format!("its copy cannot be opened: {error}"),
        })?;
        self.catch_up(database, &mut handle)?;
        self.put_in_place(database, handle, &new.0)?;
        let path = database.path();
        let bytes_after = length_of(&self.file_path(&path));
        Ok(Compacted { path, bytes_before, bytes_after })
    }

    /// Applies what was logged since the copy was made, without the lock of the database.
    fn catch_up(&self, database: &Database, handle: &mut Handle) -> Result<()> {
        let records = database.0.state.lock().records.clone();
        self.replay_copy(database, &records, handle)
    }

    fn replay_copy(
        &self,
        database: &Database,
        records: &[txlog::Lsn],
        handle: &mut Handle,
    ) -> Result<()> {
        use crate::opening::Obstacle;
        match self.replay(database.dbiid(), records, handle) {
            Ok(_) => Ok(()),
            Err(Obstacle::Trouble(error)) => Err(error),
            Err(Obstacle::Fence(what)) => Err(StoreError::Damage { path: database.path(), what }),
        }
    }

    /// The new file takes the place of the old one, with the last changes applied to it.
    fn put_in_place(&self, database: &Database, mut handle: Handle, new: &Path) -> Result<()> {
        let _life = self.life.lock();
        let mut state = self.lock_committed(database)?;
        self.replay_copy(database, &state.records, &mut handle)?;
        if handle.facts.applied_lsn != state.applied {
            return Err(StoreError::Aborted);
        }
        finish_file(handle, new)?;
        step()?;
        // The old file gets whole by itself: its -wal must not meet the new one.
        if let Some(old) = &mut state.handle {
            old.settle()?;
        }
        self.drop_handle(&database.0, &mut state);
        let file = self.file_path(&database.0.path());
        let wal = crate::handle::wal_path(&file);
        match std::fs::remove_file(&wal) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io(&wal, error));
            }
            _ => {}
        }
        step()?;
        std::fs::rename(new, &file).map_err(|error| StoreError::io(&file, error))?;
        step()?;
        sync_parent(&file)?;
        self.statistics.compacted.add(1);
        Ok(())
    }
}

fn length_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |facts| facts.len())
}

fn copy_without_holes(from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<()> {
    let mut conn = Connection::open(from)?;
    conn.execute_batch(&format!(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF; PRAGMA page_size={PAGE_BYTES};"
    ))?;
    let target = to.to_str().ok_or(StoreError::BadPath {
        path: to.display().to_string(),
        reason: "its directory has a name that is not UTF-8",
    })?;
    let total = length_of(from);
    watched(
        &mut conn,
        &mut || tell(progress, "writing without free pages", length_of(to).min(total), total),
        |conn| conn.execute("VACUUM INTO ?1", [target]).map(drop),
    )
}
