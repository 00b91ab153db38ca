//! Opening a database file: is it the right one, and does it say all it must; replay.

use std::sync::atomic::Ordering;

use note::Dbiid;
use rusqlite::ErrorCode;
use txlog::{Damage, LogError, Lsn};

use crate::apply::ApplyError;
use crate::bytes::{BytesError, Cursor};
use crate::database::{Shared, State};
use crate::handle::{Handle, OpenError, is_corrupt, remove_files};
use crate::op::Op;
use crate::record::ChangeRecord;
use crate::register::Row;
use crate::{Database, Result, Store, StoreError};

/// Memory that a replay takes before it is committed, in bytes.
const REPLAY_BYTES_MAX: u64 = 16 << 20;

/// Why a database cannot be opened.
pub(crate) enum Obstacle {
    /// It stays closed until somebody mends it.
    Fence(String),
    /// Trouble that may pass.
    Trouble(StoreError),
}

impl From<rusqlite::Error> for Obstacle {
    fn from(error: rusqlite::Error) -> Obstacle {
        if is_corrupt(&error) {
            Obstacle::Fence(error.to_string())
        } else {
            Obstacle::Trouble(StoreError::Sqlite(error))
        }
    }
}

impl From<ApplyError> for Obstacle {
    fn from(error: ApplyError) -> Obstacle {
        match error {
            ApplyError::Sqlite(error) if is_constraint(&error) => {
                Obstacle::Fence(error.to_string())
            }
            ApplyError::Sqlite(error) => Obstacle::from(error),
            other => Obstacle::Fence(other.to_string()),
        }
    }
}

impl From<BytesError> for Obstacle {
    fn from(error: BytesError) -> Obstacle {
        Obstacle::Fence(error.to_string())
    }
}

impl From<LogError> for Obstacle {
    fn from(error: LogError) -> Obstacle {
        match error {
            LogError::NotInLog { .. }
            | LogError::Damaged { .. }
            | LogError::DamagedRange { .. } => Obstacle::Fence(error.to_string()),
            other => Obstacle::Trouble(StoreError::Log(other)),
        }
    }
}

/// Whether SQLite says that rows contradict each other.
pub(crate) fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

impl Store {
    /// Opens the file of a locked database and brings it up to date.
    pub(crate) fn open_file(&self, database: &Database, state: &mut State) -> Result<()> {
        let shared = &database.0;
        if let Some(reason) = database.fenced() {
            return Err(StoreError::Fenced { path: database.path(), reason });
        }
        self.statistics.cache_opens.add(1);
        match self.open_sound(shared, state) {
            Ok(handle) => {
                shared.set_title(&handle.facts.title);
                state.handle = Some(handle);
                shared.is_open.store(true, Ordering::Relaxed);
                self.cache.opened();
                self.no_longer_pending(shared);
                Ok(())
            }
            Err(Obstacle::Fence(reason)) => Err(self.fence(shared, state, &reason)),
            Err(Obstacle::Trouble(error)) => Err(error),
        }
    }

    fn open_sound(&self, shared: &Shared, state: &mut State) -> Result<Handle, Obstacle> {
        let Some(row) = self.register.get(shared.dbiid) else {
            return Err(Obstacle::Fence("not in the register".to_owned()));
        };
        let mut handle = self.open_or_make(shared.dbiid, &row)?;
        if handle.facts.dbiid != shared.dbiid {
            let other = handle.facts.dbiid;
            return Err(Obstacle::Fence(format!("the file is that of another database, {other}")));
        }
        self.check_reach(shared.dbiid, &row, &handle)?;
        state.committed = handle.facts.applied_lsn;
        let count = self.replay(shared.dbiid, &state.records, &mut handle)?;
        self.statistics.replayed.add(count);
        if handle.facts.applied_lsn < row.checkpointed_lsn {
            return Err(Obstacle::Fence(format!(
                "the file says {} and can be brought to {}, but it was at {} before",
                state.committed, handle.facts.applied_lsn, row.checkpointed_lsn
            )));
        }
        state.applied = handle.facts.applied_lsn;
        state.is_unmade = false;
        state.forget_records(state.checkpointed.min(state.committed));
        shared.unsaved.store(state.records.len(), Ordering::Relaxed);
        self.note_memory(shared, Some(&handle));
        if count > 0 {
            let first = state.records.iter().find(|lsn| **lsn >= state.committed).copied();
            shared.need_from(|| first.unwrap_or(state.committed), self.now().0);
        }
        Ok(handle)
    }

    /// Opens the file, or makes it again when its creation is still in the log and it was never
    /// checkpointed.
    fn open_or_make(&self, dbiid: Dbiid, row: &Row) -> Result<Handle, Obstacle> {
        let path = self.file_path(&row.path);
        let mut opened = Handle::open(&path);
        let is_fit = opened.as_ref().is_ok_and(|handle| handle.facts.dbiid == dbiid);
        if !is_fit {
            drop(opened);
            // The place of a repaired file may have been taken before the crash only in the log.
            self.finish_repair(dbiid, &path).map_err(Obstacle::Trouble)?;
            opened = Handle::open(&path);
        }
        let reason = match opened {
            Ok(handle) => return Ok(handle),
            Err(OpenError::Newer(version)) => OpenError::Newer(version).to_string(),
            Err(OpenError::Trouble(error)) => {
                return Err(Obstacle::Trouble(StoreError::Sqlite(error)));
            }
            Err(other) if self.can_be_made_again(row) => {
                tracing::info!(path = %row.path, reason = %other, "database is made again");
                return self.make_file(dbiid, row).map_err(Obstacle::Trouble);
            }
            Err(other) => other.to_string(),
        };
        Err(Obstacle::Fence(reason))
    }

    pub(crate) fn can_be_made_again(&self, row: &Row) -> bool {
        row.created_lsn == row.checkpointed_lsn && row.created_lsn > self.oldest_lsn()
    }

    /// Makes the file of a database that has none, or a broken one.
    pub(crate) fn make_file(&self, dbiid: Dbiid, row: &Row) -> Result<Handle> {
        let path = self.file_path(&row.path);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
        remove_files(&path).map_err(|error| StoreError::io(&path, error))?;
        Handle::create(&path, dbiid, row).map_err(|error| {
            // Half a file is in the way of the next attempt.
            if let Err(error) = remove_files(&path) {
                tracing::warn!(path = %row.path, %error, "half a database file stays");
            }
            match error {
                OpenError::Trouble(error) => StoreError::Sqlite(error),
                other => StoreError::Damage { path: row.path.clone(), what: other.to_string() },
            }
        })
    }

    /// Whether everything behind what the file says can be read from the log.
    fn check_reach(&self, dbiid: Dbiid, row: &Row, handle: &Handle) -> Result<(), Obstacle> {
        let says = handle.facts.applied_lsn;
        let oldest = self.oldest_lsn();
        if says < row.checkpointed_lsn && says < oldest {
            return Err(Obstacle::Fence(format!(
                "the file says {says}, it was at {} before, and the log begins at {oldest}",
                row.checkpointed_lsn
            )));
        }
        if says > self.log.appended() {
            return Err(Obstacle::Fence(format!(
                "the file says {says}, which is not in the log yet"
            )));
        }
        if let Some(damage) = self.damage_of(dbiid, says) {
            let (start, end) = (damage.range.start, damage.range.end);
            return Err(Obstacle::Fence(format!(
                "the log is damaged from {start} to {end}, the file says {says}"
            )));
        }
        Ok(())
    }

    /// A stretch behind `says` that cannot be read and may hold records of the database. A file
    /// that is where the register has it lacks nothing before the position that was complete.
    pub(crate) fn damage_of(&self, dbiid: Dbiid, says: Lsn) -> Option<&Damage> {
        let registered = self.register.get(dbiid).map(|row| row.checkpointed_lsn);
        let is_where_it_was = registered.is_some_and(|registered| says >= registered);
        let says = if is_where_it_was { says.max(self.complete) } else { says };
        self.damage.iter().rfind(|damage| {
            let named = damage
                .dbiids
                .as_ref()
                .is_none_or(|dbiids| dbiids.iter().any(|named| *named == dbiid || named.is_none()));
            named && damage.range.end > says
        })
    }

    /// Applies the records that the file does not hold yet; tells how many.
    pub(crate) fn replay(
        &self,
        dbiid: Dbiid,
        records: &[Lsn],
        handle: &mut Handle,
    ) -> Result<u64, Obstacle> {
        let says = handle.facts.applied_lsn;
        let mut count = 0;
        for lsn in records.iter().copied().filter(|lsn| *lsn >= says) {
            let (head, payload) = self.log.read(lsn)?;
            handle.begin()?;
            replay_record(dbiid, &payload, handle)?;
            handle.facts.applied_lsn = head.end;
            count += 1;
            if handle.cache_bytes() > REPLAY_BYTES_MAX {
                self.write_replayed(handle)?;
            }
        }
        Ok(count)
    }

    /// A long replay is committed in between, so that it takes little memory; when the disk is
    /// full it goes on in memory as far as that is allowed.
    fn write_replayed(&self, handle: &mut Handle) -> Result<(), Obstacle> {
        if self.has_room(handle) {
            self.durable(handle.facts.applied_lsn).wait()?;
            Ok(handle.commit()?)
        } else if self.is_out_of_memory(handle) {
            Err(Obstacle::Trouble(StoreError::DiskFull))
        } else {
            Ok(())
        }
    }

    pub(crate) fn oldest_lsn(&self) -> Lsn {
        Lsn(self.oldest.load(Ordering::SeqCst))
    }
}

fn replay_record(dbiid: Dbiid, payload: &[u8], handle: &mut Handle) -> Result<(), Obstacle> {
    let record = ChangeRecord::decode(payload)?;
    let Some(section) = record.section(dbiid)? else {
        return Err(Obstacle::Fence("a log record of the database has no part of it".to_owned()));
    };
    let expected = handle.facts.change_seq.saturating_add(1);
    if section.change_seq != expected {
        let found = section.change_seq;
        return Err(Obstacle::Fence(format!("change {expected} is missing, {found} follows")));
    }
    handle.facts.change_seq = section.change_seq;
    let mut cursor = Cursor::new(section.ops);
    let mut target = handle.target();
    while !cursor.is_empty() {
        let op = Op::decode(&mut cursor, &record.blobs)?;
        target.apply(&op)?;
    }
    Ok(())
}
