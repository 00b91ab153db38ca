//! Creating, renaming and deleting databases; facts about them.

use std::path::{Component, Path};
use std::sync::atomic::Ordering;

use note::{Dbiid, ReplicaId};
use txlog::{Head, Lsn, RecordKind, Space};

use crate::handle::{remove_files, wal_path};
use crate::register::{Life, Row};
use crate::schema::ODS;
use crate::{Database, DatabaseInfo, NewDatabase, Quota, Result, Store, StoreError};

/// File name endings of databases: databases, mail boxes of the router, templates.
pub const ENDINGS: [&str; 3] = ["nsf", "box", "ntf"];
/// Bytes that making a database takes at most, its -wal included.
const NEW_FILE_BYTES: u64 = 256 << 10;
/// Longest path of a database, in bytes.
const PATH_BYTES_MAX: usize = 512;
/// Longest part of a path, in bytes; leaves room for "-journal".
const PART_BYTES_MAX: usize = 200;

/// Checks a path such as `mail/ada.nsf`.
pub(crate) fn check_path(path: &str) -> Result<()> {
    let bad = |reason| Err(StoreError::BadPath { path: path.to_owned(), reason });
    if path.is_empty() || path.len() > PATH_BYTES_MAX {
        return bad("its length");
    }
    if path.contains(['\0', '\\']) {
        return bad("it contains a character that is not allowed");
    }
    for part in path.split('/') {
        if part.is_empty() || part.len() > PART_BYTES_MAX || part.starts_with('.') {
            return bad("a part of it is empty, too long or begins with a dot");
        }
    }
    let only_names = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !only_names {
        return bad("it leaves the data directory");
    }
    match Path::new(path).extension().and_then(|ending| ending.to_str()) {
        Some(ending) if ENDINGS.contains(&ending) => Ok(()),
        _ => bad("it does not end in .nsf, .box or .ntf"),
    }
}

impl Store {
    /// Creates a database at a path below the data directory, such as `mail/ada.nsf`. It is
    /// logged and durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::BadPath`], [`StoreError::Exists`], trouble of log and file system.
    pub fn create(&self, path: &str, new: NewDatabase) -> Result<Database> {
        check_path(path)?;
        let _life = self.life.lock();
        if self.databases.read().contains_key(path) || self.file_path(path).exists() {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        self.need_room(&self.options.data_dir.join("x"), NEW_FILE_BYTES)?;
        let dbiid = self.new_dbiid();
        let row = Row {
            path: path.to_owned(),
            title: new.title,
            replica_id: new.replica_id.unwrap_or_else(|| ReplicaId(self.new_dbiid().0)),
            soft_delete: new.soft_delete,
            created: new.created.unwrap_or_else(|| self.now()),
            created_lsn: Lsn::ZERO,
            checkpointed_lsn: Lsn::ZERO,
        };
        self.need_life(true);
        let result = self.create_logged(dbiid, row);
        self.need_life(false);
        result
    }

    fn create_logged(&self, dbiid: Dbiid, row: Row) -> Result<Database> {
        let life = Life::Create(row.clone());
        let mut placed = row;
        let head = self.log_life(dbiid, &life, Space::Ordinary, |head| {
            placed.created_lsn = head.end;
            placed.checkpointed_lsn = head.end;
            self.register.insert(dbiid, placed.clone());
        })?;
        self.durable(head.end).wait()?;
        let handle = match self.make_file(dbiid, &placed) {
            Ok(handle) => handle,
            Err(error) => {
                self.log_life(dbiid, &Life::Delete, Space::Reserved, |_| {
                    self.register.remove(dbiid);
                })?;
                return Err(error);
            }
        };
        let database = Database::new(dbiid, &placed);
        {
            let mut state = database.0.state.lock();
            database.0.set_needed(Some(head.lsn), self.now().0);
            self.note_memory(&database.0, Some(&handle));
            state.handle = Some(handle);
            database.0.is_open.store(true, Ordering::Relaxed);
            self.cache.opened();
            database.0.last_used.store(self.cache.next_use(), Ordering::Relaxed);
        }
        self.databases.write().insert(placed.path, database.clone());
        self.trim_cache();
        Ok(database)
    }

    /// Appends a life record and updates the register. When a segment began in between, its head
    /// may lack the change, and the record is appended once more.
    pub(crate) fn log_life(
        &self,
        dbiid: Dbiid,
        life: &Life,
        space: Space,
        mut update: impl FnMut(&Head),
    ) -> Result<Head> {
        let payload = life.encode();
        loop {
            let before = self.register.snapshots();
            let head = self.log.append(RecordKind::Life, dbiid, &payload, space)?;
            update(&head);
            if self.register.snapshots() == before {
                return Ok(head);
            }
        }
    }

    /// Holds the log back while a life change is not yet visible in synced files.
    pub(crate) fn need_life(&self, needed: bool) {
        let lsn = if needed { self.log.appended().0 } else { u64::MAX };
        self.life_needed.store(lsn, Ordering::SeqCst);
    }

    /// Gives a database another path. Durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::BadPath`], [`StoreError::Exists`].
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        check_path(to)?;
        let _life = self.life.lock();
        let database = self.find(from)?;
        if self.databases.read().contains_key(to) || self.file_path(to).exists() {
            return Err(StoreError::Exists { path: to.to_owned() });
        }
        self.need_life(true);
        let result = self.rename_logged(&database, from, to);
        self.need_life(false);
        result
    }

    fn rename_logged(&self, database: &Database, from: &str, to: &str) -> Result<()> {
        let shared = &database.0;
        let mut state = shared.state.lock();
        if state.is_behind() && database.fenced().is_none() {
            // The file may have to be made first. If it gets fenced, it is moved all the same.
            match self.open_file(database, &mut state) {
                Ok(()) | Err(StoreError::Fenced { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let life = Life::Rename(to.to_owned());
        let head = self.log_life(shared.dbiid, &life, Space::Reserved, |_| {
            self.register.update(shared.dbiid, |row| row.path = to.to_owned());
        })?;
        self.durable(head.end.max(state.applied)).wait()?;
        self.commit(shared, &mut state);
        self.drop_handle(shared, &mut state);
        if let Err(error) = move_files(&self.file_path(from), &self.file_path(to)) {
            let life = Life::Rename(from.to_owned());
            self.log_life(shared.dbiid, &life, Space::Reserved, |_| {
                self.register.update(shared.dbiid, |row| row.path = from.to_owned());
            })?;
            return Err(error);
        }
        shared.set_path(to);
        let mut databases = self.databases.write();
        databases.remove(from);
        databases.insert(to.to_owned(), database.clone());
        Ok(())
    }

    /// Deletes a database with all its notes. Durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub fn delete(&self, path: &str) -> Result<()> {
        let _life = self.life.lock();
        let database = self.find(path)?;
        self.need_life(true);
        let result = self.delete_logged(&database, path);
        self.need_life(false);
        result
    }

    fn delete_logged(&self, database: &Database, path: &str) -> Result<()> {
        let shared = &database.0;
        let mut state = shared.state.lock();
        let head = {
            let entered = self.objects.enter();
            self.log_life(shared.dbiid, &Life::Delete, Space::Reserved, |head| {
                self.register.remove(shared.dbiid);
                self.objects.database_deleted(&entered, head.lsn, shared.dbiid);
            })?
        };
        state.gone = true;
        state.records.clear();
        self.no_longer_pending(shared);
        self.drop_handle(shared, &mut state);
        shared.set_needed(None, self.now().0);
        self.databases.write().remove(path);
        self.durable(head.end).wait()?;
        let file = self.file_path(path);
        remove_files(&file).map_err(|error| StoreError::io(&file, error))?;
        sync_parent(&file)
    }

    /// Facts about all databases, in order of path.
    pub fn list(&self) -> Vec<DatabaseInfo> {
        self.paths().iter().filter_map(|path| self.info(path).ok()).collect()
    }

    /// Facts about one database, fenced or not.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; trouble at opening its file.
    pub fn info(&self, path: &str) -> Result<DatabaseInfo> {
        let database = self.find(path)?;
        let shared = &database.0;
        let file = self.file_path(path);
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
        let mut info = DatabaseInfo {
            path: path.to_owned(),
            title: database.title(),
            replica_id: shared.replica_id,
            dbiid: shared.dbiid,
            ods: 0,
            notes: 0,
            deleted: 0,
            size_bytes: length(&file) + length(&wal_path(&file)),
            logical_bytes: 0,
            quota: Quota::default(),
            checkpointed_lsn: Lsn::ZERO,
            applied_lsn: Lsn::ZERO,
            fenced: None,
        };
        let state = match self.lock_open(&database) {
            Ok(state) => state,
            Err(StoreError::Fenced { reason, .. }) => {
                info.fenced = Some(reason);
                return Ok(info);
            }
            Err(error) => return Err(error),
        };
        (info.checkpointed_lsn, info.applied_lsn) = (state.checkpointed, state.applied);
        if let Some(handle) = &state.handle {
            info.ods = ODS;
            info.title = handle.facts.title.to_string();
            info.notes = handle.facts.notes.max(0) as u64;
            info.deleted = handle.facts.stubs.max(0) as u64;
            info.quota = handle.facts.quota;
            info.logical_bytes = handle.facts.logical_bytes.max(0) as u64;
        }
        drop(state);
        self.trim_cache();
        Ok(info)
    }
}

/// Moves a closed database file and its -wal, and syncs the directories.
pub(crate) fn move_files(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
    // The -wal goes first: a file without its -wal would look older than it is.
    let wal = wal_path(from);
    if wal.exists() {
        std::fs::rename(&wal, wal_path(to)).map_err(|error| StoreError::io(&wal, error))?;
    }
    std::fs::rename(from, to).map_err(|error| StoreError::io(from, error))?;
    sync_parent(to)?;
    sync_parent(from)
}

/// Syncs the directory of a file.
pub(crate) fn sync_parent(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    let sync = || std::fs::File::open(folder)?.sync_all();
    sync().map_err(|error| StoreError::io(folder, error))
}
