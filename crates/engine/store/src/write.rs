//! The course of a write: locks, savepoints, one record, or nothing.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use note::{Dbiid, NoteClass, ObjectHash, TimeDate};
use objects::TicketDelta;
use parking_lot::MutexGuard;
use txlog::{Lsn, RecordKind, Space};

use crate::apply::ApplyError;
use crate::database::State;
use crate::handle::{Handle, is_corrupt};
use crate::op::Op;
use crate::prepared::PreparedNote;
use crate::reader::Reader;
use crate::record::{self, SECTIONS_MAX, SectionFacts};
use crate::schema::Facts;
use crate::sql::Sql;
use crate::{Changed, Database, Result, Store, StoreError, Written};

/// The databases of one write while they are locked.
///
/// Each method changes rows and notes the result; when the closure succeeds the results become
/// one record of the log, else nothing has happened.
pub struct Writer<'a> {
    store: &'a Store,
    now: TimeDate,
    space: Space,
    parts: Vec<Part<'a>>,
    blobs: Vec<PreparedNote>,
    /// A result was applied half; the write cannot succeed any more.
    broken: bool,
}

/// One database of a write.
struct Part<'a> {
    database: &'a Database,
    state: MutexGuard<'a, State>,
    /// The header before the first result; `Some` while the savepoint is open.
    saved: Option<Facts>,
    ops: Vec<u8>,
    deltas: Vec<TicketDelta>,
    /// Classes of the notes that were changed.
    classes: NoteClass,
    /// Why the database must not be served any more.
    damage: Option<String>,
}

thread_local! {
    static PAYLOAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Longest payload buffer that a thread keeps.
const PAYLOAD_KEPT_MAX: usize = 1 << 20;

impl Store {
    /// Changes up to 64 databases in one atomic step.
    ///
    /// The closure gets a [`Writer`] and sees its own changes. When it returns `Ok`, one record is
    /// appended; the change is promised when the log is durable up to [`Written::lsn`]. When it
    /// returns `Err`, or the log does not take the record, nothing has happened. The closure must
    /// not use the store for the same databases, and should be short: it holds their locks.
    ///
    /// # Errors
    /// Those of the closure; [`StoreError`] when a database cannot be used or the log is full.
    pub fn write<T, E: From<StoreError>>(
        &self,
        databases: &[&Database],
        f: impl FnOnce(&mut Writer<'_>) -> Result<T, E>,
    ) -> Result<Written<T>, E> {
        self.write_in(databases, Space::Ordinary, f)
    }

    /// As [`Store::write`], for what gives space back (expunge, delete): it may use the reserve of
    /// a log that is full.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_reserved<T, E: From<StoreError>>(
        &self,
        databases: &[&Database],
        f: impl FnOnce(&mut Writer<'_>) -> Result<T, E>,
    ) -> Result<Written<T>, E> {
        self.write_in(databases, Space::Reserved, f)
    }

    fn write_in<T, E: From<StoreError>>(
        &self,
        databases: &[&Database],
        space: Space,
        f: impl FnOnce(&mut Writer<'_>) -> Result<T, E>,
    ) -> Result<Written<T>, E> {
        let result = {
            self.refuse_when_full(space)?;
            let mut writer = self.lock_all(databases, space)?;
            match f(&mut writer) {
                Ok(value) => Ok(Written { value, lsn: writer.finish()? }),
                Err(error) => Err(error),
            }
        };
        self.trim_cache();
        self.trim_held();
        result
    }

    fn lock_all<'a>(&'a self, databases: &[&'a Database], space: Space) -> Result<Writer<'a>> {
        let mut sorted: Vec<&'a Database> = databases.to_vec();
        sorted.sort_by_key(|database| database.dbiid());
        sorted.dedup_by_key(|database| database.dbiid());
        if sorted.len() > SECTIONS_MAX {
            let (count, max) = (sorted.len(), SECTIONS_MAX);
            return Err(StoreError::TooManyDatabases { count, max });
        }
        let mut parts = Vec::with_capacity(sorted.len());
        for database in sorted {
            let state = self.lock_open(database)?;
            parts.push(Part::new(database, state));
        }
        let now = self.now();
        Ok(Writer { store: self, now, space, parts, blobs: Vec::new(), broken: false })
    }
}

impl<'a> Writer<'a> {
    /// The time of this write.
    pub fn now(&self) -> TimeDate {
        self.now
    }

    /// Reads a database of this write, with the changes made so far.
    ///
    /// # Errors
    /// [`StoreError::NotInWrite`].
    pub fn reader(&self, database: &Database) -> Result<Reader<'_>> {
        let part = &self.parts[self.find(database)?];
        let handle = part.handle()?;
        Ok(Reader { shared: Some(&part.database.0), handle })
    }

    pub(crate) fn store(&self) -> &'a Store {
        self.store
    }

    fn find(&self, database: &Database) -> Result<usize> {
        let dbiid = database.dbiid();
        let at = self.parts.iter().position(|part| part.database.dbiid() == dbiid);
        at.ok_or(StoreError::NotInWrite(dbiid))
    }

    pub(crate) fn facts(&self, database: &Database) -> Result<&Facts> {
        Ok(&self.parts[self.find(database)?].handle()?.facts)
    }

    /// The number of the change that this write makes in a database.
    pub(crate) fn change_seq(&mut self, database: &Database) -> Result<u64> {
        let at = self.find(database)?;
        self.parts[at].touch()?;
        Ok(self.parts[at].handle()?.facts.change_seq)
    }

    /// Index of a note among the blobs of the record.
    pub(crate) fn blob_index(&mut self, prepared: &PreparedNote) -> usize {
        match self.blobs.iter().position(|blob| blob.is_same(prepared)) {
            Some(index) => index,
            None => {
                self.blobs.push(prepared.clone());
                self.blobs.len() - 1
            }
        }
    }

    /// Applies a result and notes it.
    pub(crate) fn emit(&mut self, database: &Database, op: &Op<'_>) -> Result<()> {
        let at = self.find(database)?;
        if self.broken {
            return Err(StoreError::Aborted);
        }
        let part = &mut self.parts[at];
        part.touch()?;
        let handle = part.handle_mut()?;
        match handle.target().apply(op) {
            Ok(()) => {
                op.encode(&mut part.ops);
                Ok(())
            }
            Err(error) => {
                self.broken = true;
                Err(part.explain(error))
            }
        }
    }

    /// Notes that a note of a class was changed.
    pub(crate) fn touch_class(&mut self, database: &Database, class: NoteClass) -> Result<()> {
        let at = self.find(database)?;
        self.parts[at].classes.0 |= class.0;
        Ok(())
    }

    /// Notes that a database gained or lost references to objects.
    pub(crate) fn count(
        &mut self,
        database: &Database,
        hashes: impl Iterator<Item = ObjectHash>,
        count: i64,
    ) -> Result<()> {
        let at = self.find(database)?;
        let deltas = &mut self.parts[at].deltas;
        for hash in hashes {
            match deltas.iter_mut().find(|delta| delta.hash == hash) {
                Some(delta) => delta.count += count,
                None => deltas.push(TicketDelta { hash, count }),
            }
        }
        Ok(())
    }

    /// Appends the record; gives the LSN up to which the log must be durable.
    fn finish(mut self) -> Result<Lsn> {
        if self.broken || self.parts.iter().any(Part::is_lost) {
            return Err(StoreError::Aborted);
        }
        self.parts.iter_mut().for_each(|part| part.deltas.retain(|delta| delta.count != 0));
        let touched = self.parts.iter().filter(|part| part.is_touched()).count();
        if touched == 0 {
            let applied = self.parts.iter().map(|part| part.state.applied).max();
            return Ok(applied.unwrap_or(Lsn::ZERO));
        }
        let end = PAYLOAD.with_borrow_mut(|payload| {
            let result = self.append(payload);
            if payload.capacity() > PAYLOAD_KEPT_MAX {
                *payload = Vec::new();
            }
            result
        })?;
        self.store.statistics.writes.add(1);
        self.store.statistics.sections.add(touched as u64);
        Ok(end)
    }

    fn append(&mut self, payload: &mut Vec<u8>) -> Result<Lsn> {
        let touched: Vec<&Part<'_>> = self.parts.iter().filter(|part| part.is_touched()).collect();
        record::encode(payload, self.now, &self.blobs, touched.iter().map(|part| part.section()));
        let dbiid = match touched.as_slice() {
            [only] => only.database.dbiid(),
            _ => Dbiid::NONE,
        };
        let log = self.store.log();
        for part in &touched {
            part.database.0.need_from(|| log.appended(), self.now.0);
        }
        let head = {
            let objects = self.store.objects();
            let entered = objects.enter();
            let head = log.append(RecordKind::Change, dbiid, payload, self.space)?;
            for part in touched.iter().filter(|part| !part.deltas.is_empty()) {
                objects.counted(&entered, head.lsn, part.database.dbiid(), &part.deltas);
            }
            head
        };
        self.store.statistics.record_bytes.add(payload.len() as u64);
        for part in &mut self.parts {
            part.appended(head.lsn, head.end);
            self.store.note_memory(&part.database.0, part.state.handle.as_ref());
        }
        Ok(head.end)
    }
}

impl Drop for Writer<'_> {
    /// Whatever was not appended is undone, also when the closure panicked.
    fn drop(&mut self) {
        let mut undone = false;
        for part in &mut self.parts {
            undone |= !part.ops.is_empty();
            part.roll_back();
            if part.is_lost() {
                self.store.lost(&part.database.0, &mut part.state);
            }
            if let Some(reason) = part.damage.take() {
                self.store.fence(&part.database.0, &mut part.state, &reason);
            }
        }
        if undone {
            self.store.statistics.rollbacks.add(1);
        }
    }
}

impl<'a> Part<'a> {
    fn new(database: &'a Database, state: MutexGuard<'a, State>) -> Part<'a> {
        let (ops, deltas) = (Vec::new(), Vec::new());
        Part { database, state, saved: None, ops, deltas, classes: NoteClass(0), damage: None }
    }

    fn handle(&self) -> Result<&Handle> {
        self.state.handle.as_ref().ok_or(StoreError::Aborted)
    }

    fn handle_mut(&mut self) -> Result<&mut Handle> {
        self.state.handle.as_mut().ok_or(StoreError::Aborted)
    }

    fn is_lost(&self) -> bool {
        self.state.handle.as_ref().is_none_or(Handle::is_lost)
    }

    fn is_touched(&self) -> bool {
        self.saved.is_some() && !self.ops.is_empty()
    }

    /// Opens the savepoint before the first result.
    fn touch(&mut self) -> Result<()> {
        if self.is_lost() {
            // Without the transaction a statement would go into the file past the log.
            return Err(StoreError::Aborted);
        }
        if self.saved.is_some() {
            return Ok(());
        }
        let handle = self.handle_mut()?;
        handle.begin()?;
        handle.sqlite().run(Sql::Save, &[])?;
        let saved = handle.facts.clone();
        handle.facts.change_seq = handle.facts.change_seq.saturating_add(1);
        self.saved = Some(saved);
        Ok(())
    }

    fn section(&self) -> SectionFacts<'_> {
        let change_seq = self.state.handle.as_ref().map_or(0, |handle| handle.facts.change_seq);
        let (deltas, ops) = (self.deltas.as_slice(), self.ops.as_slice());
        SectionFacts { dbiid: self.database.dbiid(), change_seq, deltas, ops }
    }

    /// The record is in the log: the results stay.
    fn appended(&mut self, lsn: Lsn, end: Lsn) {
        if !self.is_touched() {
            return;
        }
        let saved = self.saved.take();
        let classes = std::mem::replace(&mut self.classes, NoteClass(0));
        self.ops.clear();
        self.state.records.push(lsn);
        self.database.0.unsaved.store(self.state.records.len(), Ordering::Relaxed);
        self.state.applied = end;
        let Some(handle) = self.state.handle.as_mut() else { return };
        handle.facts.applied_lsn = end;
        if saved.is_some_and(|saved| saved.title != handle.facts.title) {
            self.database.0.set_title(&handle.facts.title);
        }
        let change_seq = handle.facts.change_seq;
        if let Err(error) = release_savepoint(handle) {
            // The record stands: the database is replayed from the log when it is used next.
            tracing::warn!(database = ?self.database, %error, "savepoint was not released");
            self.state.handle = None;
        }
        self.database.0.notify(Changed { change_seq, lsn: end, classes });
    }

    fn roll_back(&mut self) {
        let Some(saved) = self.saved.take() else { return };
        self.ops.clear();
        let Some(handle) = self.state.handle.as_mut() else { return };
        handle.facts = saved;
        if handle.is_lost() {
            return;
        }
        if let Err(error) = handle.conn.execute_batch("ROLLBACK TO w; RELEASE w") {
            tracing::warn!(database = ?self.database, %error, "savepoint was not rolled back");
            self.state.handle = None;
        }
    }

    /// The error of a result that was not applied; damage is remembered.
    fn explain(&mut self, error: ApplyError) -> StoreError {
        match error {
            ApplyError::Sqlite(error) if !is_corrupt(&error) => StoreError::Sqlite(error),
            error => {
                let (path, what) = (self.database.path(), error.to_string());
                self.damage = Some(what.clone());
                StoreError::Damage { path, what }
            }
        }
    }
}

fn release_savepoint(handle: &Handle) -> rusqlite::Result<()> {
    handle.sqlite().run(Sql::Keep, &[])?;
    Ok(())
}
