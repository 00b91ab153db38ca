//! Reconciling the register with the files that are there, by the DBIID in each header.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use note::{Dbiid, ObjectHash};
use objects::{Pin, TicketDelta};
use txlog::{Lsn, RecordKind, Space};

use crate::carried::{CARRIED_AT_START_MAX, carried};
use crate::copy::row_of;
use crate::handle::{Handle, OpenError, remove_files, wal_path};
use crate::life::{ENDINGS, move_files};
use crate::private::LEFTOVERS;
use crate::record::{self, SectionFacts};
use crate::register::{Life, Row};
use crate::{Reader, Recovery, Result, Store, StoreError, unwatched};

/// Deepest folder below the data directory in which databases are looked for.
const DEPTH_MAX: usize = 16;
/// References in one record of an adopted database; a record must fit into a segment.
const DELTAS_MAX: usize = if cfg!(test) { 4 } else { 8_192 };

impl Store {
    /// Looks at files that the register does not know under their path. Tells the change records
    /// that were appended for adopted databases.
    pub(crate) fn reconcile(
        &self,
        deleted: &HashMap<Dbiid, String>,
        renamed: &HashMap<Dbiid, Vec<String>>,
        recovery: &mut Recovery,
    ) -> Result<HashMap<Dbiid, Vec<Lsn>>> {
        let mut counted = HashMap::new();
        let mut files = BTreeSet::new();
        list_files(&self.options.data_dir, "", 0, &mut files)?;
        let known: BTreeSet<String> =
            self.register.rows().into_values().map(|row| row.path).collect();
        for path in files.difference(&known) {
            let handle = match Handle::open(&self.file_path(path)) {
                Ok(handle) => handle,
                Err(error) => {
                    self.report_unknown(path, &error, recovery);
                    continue;
                }
            };
            let dbiid = handle.facts.dbiid;
            if deleted.contains_key(&dbiid) {
                drop(handle);
                self.set_aside(path)?;
            } else if let Some(row) = self.missing_row(dbiid, &files) {
                drop(handle);
                let unfinished = renamed.get(&dbiid).is_some_and(|old| old.contains(path));
                self.found(dbiid, &row, path, unfinished)?;
                if !unfinished {
                    recovery.moved.push((row.path, path.clone()));
                }
            } else if self.is_own(&handle).unwrap_or(false) {
                self.register_again(path, handle, recovery)?;
            } else {
                match self.adopt(path, handle, recovery) {
                    Ok(head) => counted.extend(head),
                    Err(StoreError::Sqlite(error)) => {
                        self.report_unknown(path, &OpenError::from(error), recovery);
                    }
                    Err(
                        error @ (StoreError::Damage { .. }
                        | StoreError::Decode(_)
                        | StoreError::Objects(_)),
                    ) => {
                        let error = OpenError::Unsound(error.to_string());
                        self.report_unknown(path, &error, recovery);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(counted)
    }

    /// Gives back the references of copies that were cut off before they were registered. Not
    /// while the log is damaged: they may be of a database whose place in the register was lost.
    pub(crate) fn drop_orphans<'a>(
        &self,
        counted: impl Iterator<Item = &'a Dbiid>,
        deleted: &HashMap<Dbiid, String>,
    ) -> Result<()> {
        for dbiid in counted.filter(|_| self.damage.is_empty()) {
            if self.register.get(*dbiid).is_none() && !deleted.contains_key(dbiid) {
                self.forget_database(*dbiid)?;
            }
        }
        Ok(())
    }

    fn report_unknown(&self, path: &str, error: &OpenError, recovery: &mut Recovery) {
        tracing::warn!(%path, %error, "file is not a database that can be served");
        recovery.fenced.push((path.to_owned(), error.to_string()));
    }

    /// The row of a registered database whose file is not where it should be.
    fn missing_row(&self, dbiid: Dbiid, files: &BTreeSet<String>) -> Option<Row> {
        self.register.get(dbiid).filter(|row| !files.contains(&row.path))
    }

    /// The file of a database that was deleted while the server went down: out of the way.
    fn set_aside(&self, path: &str) -> Result<()> {
        let file = self.file_path(path);
        let mut aside = file.clone().into_os_string();
        aside.push(".deleted");
        tracing::info!(%path, "file of a deleted database is renamed to end in .deleted");
        let wal = wal_path(&file);
        if wal.exists() {
            let aside_wal = wal_path(Path::new(&aside));
            std::fs::rename(&wal, aside_wal).map_err(|error| StoreError::io(&wal, error))?;
        }
        std::fs::rename(&file, &aside).map_err(|error| StoreError::io(&file, error))
    }

    /// The file of a database was found under another path: a rename that was not finished is
    /// finished, any other becomes a logged rename.
    fn found(&self, dbiid: Dbiid, row: &Row, path: &str, unfinished: bool) -> Result<()> {
        if unfinished {
            return move_files(&self.file_path(path), &self.file_path(&row.path));
        }
        tracing::warn!(from = %row.path, to = %path, "database was moved");
        let life = Life::Rename(path.to_owned());
        let head = self.log_life(dbiid, &life, Space::Reserved, |_| {
            self.register.update(dbiid, |row| row.path = path.to_owned());
        })?;
        Ok(self.durable(head.end).wait()?)
    }

    /// Whether a file whose DBIID is not registered may be a database of this server: its place in
    /// the register may stand in a part of the log that cannot be read, it is not ahead of the
    /// log, and the objects that it refers to are here.
    fn is_own(&self, handle: &Handle) -> Result<bool> {
        let is_possible = !self.damage.is_empty()
            && self.register.get(handle.facts.dbiid).is_none()
            && handle.facts.applied_lsn <= self.log.appended();
        if !is_possible || carried(&handle.conn)?.is_some() {
            return Ok(false);
        }
        for hash in references(handle)?.keys() {
            if !self.objects.has(hash)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Registers a database whose place in the register was lost, as it was: with its DBIID, to
    /// which its records in the log and the counts of its references belong.
    fn register_again(&self, path: &str, handle: Handle, recovery: &mut Recovery) -> Result<()> {
        let (dbiid, row) = (handle.facts.dbiid, row_of(path, &handle));
        drop(handle);
        self.sync_all()?;
        self.log_adopted(dbiid, row)?;
        tracing::error!(%path, %dbiid, "database was lost from the register and is in it again");
        recovery.registered_again.push(path.to_owned());
        Ok(())
    }

    /// Takes in a file from elsewhere, or a copy of a database, as a new database.
    fn adopt(
        &self,
        path: &str,
        mut handle: Handle,
        recovery: &mut Recovery,
    ) -> Result<Option<(Dbiid, Vec<Lsn>)>> {
        let counts = references(&handle)?;
        // What a self-contained copy carries becomes objects of this server.
        let pins = self.take_carried(&mut handle, CARRIED_AT_START_MAX, &mut unwatched)?;
        let unknown = self.first_unknown(&counts, &pins)?;
        if let Some(hash) = unknown {
            let reason = match carried(&handle.conn)? {
                Some(_) => "it is a large self-contained copy, to be imported".to_owned(),
                None => format!("it refers to object {hash}, which is not here"),
            };
            tracing::error!(%path, %reason, "foreign database is not served");
            recovery.fenced.push((path.to_owned(), reason));
            return Ok(None);
        }
        let dbiid = self.new_dbiid();
        self.give_identity(&mut handle, dbiid)?;
        let row = row_of(path, &handle);
        let change_seq = handle.facts.change_seq.saturating_add(1);
        drop(handle);
        self.sync_all()?;
        // The references first: a database that is registered has them all.
        let counted = self.count_adopted(dbiid, change_seq, counts)?;
        drop(pins);
        let life = Life::Adopt(row.clone());
        let placed = self.log_life(dbiid, &life, Space::Reserved, |_| {
            self.register.insert(dbiid, row.clone());
        })?;
        self.durable(placed.end).wait()?;
        self.counted_ahead.lock().remove(&dbiid);
        tracing::warn!(%path, %dbiid, "foreign file or copy became a database of its own");
        recovery.adopted.push(path.to_owned());
        Ok(Some((dbiid, counted)))
    }

    fn first_unknown(
        &self,
        counts: &HashMap<ObjectHash, i64>,
        pins: &HashMap<ObjectHash, Pin>,
    ) -> Result<Option<ObjectHash>> {
        // While a new catalog waits for its counts, what is there is what counts.
        let is_counted = !self.objects.recount_due();
        for hash in counts.keys().filter(|hash| !pins.contains_key(hash)) {
            let is_known = match is_counted {
                true => self.objects.references(hash)? > 0,
                false => self.objects.has(hash)?,
            };
            if !is_known {
                return Ok(Some(*hash));
            }
        }
        Ok(None)
    }

    /// A new DBIID means new UIDVALIDITY of all folders. The position of the file is that of this
    /// log's end: no record of the new database is before it.
    pub(crate) fn give_identity(&self, handle: &mut Handle, dbiid: Dbiid) -> Result<()> {
        handle.begin()?;
        let folders = {
            let mut statement = handle.conn.prepare("SELECT id FROM folder ORDER BY id")?;
            let ids = statement.query_map([], |row| row.get::<_, i64>(0))?;
            ids.collect::<rusqlite::Result<Vec<i64>>>()?
        };
        let now = u32::try_from(self.now().unix_seconds()).unwrap_or(0);
        let mut uidvalidity = handle.facts.uidvalidity.max(now);
        for id in folders {
            uidvalidity = uidvalidity.saturating_add(1);
            let sql = "UPDATE folder SET uidvalidity = ?2 WHERE id = ?1";
            handle.conn.execute(sql, rusqlite::params![id, uidvalidity])?;
        }
        handle.facts.uidvalidity = uidvalidity;
        handle.facts.dbiid = dbiid;
        handle.facts.applied_lsn = self.log.appended();
        Ok(handle.commit()?)
    }

    /// Logs the references of an adopted database as changes without results, the first of which
    /// has the number given.
    pub(crate) fn count_adopted(
        &self,
        dbiid: Dbiid,
        change_seq: u64,
        counts: HashMap<ObjectHash, i64>,
    ) -> Result<Vec<Lsn>> {
        if counts.is_empty() {
            return Ok(Vec::new());
        }
        self.counted_ahead.lock().insert(dbiid, counts.clone());
        let deltas: Vec<TicketDelta> =
            counts.into_iter().map(|(hash, count)| TicketDelta { hash, count }).collect();
        let (mut payload, mut lsns) = (Vec::new(), Vec::new());
        for (change_seq, deltas) in (change_seq..).zip(deltas.chunks(DELTAS_MAX)) {
            let section = SectionFacts { dbiid, change_seq, deltas, ops: &[] };
            record::encode(&mut payload, self.now(), &[], [section].into_iter());
            let entered = self.objects.enter();
            let head = self.log.append(RecordKind::Change, dbiid, &payload, Space::Reserved)?;
            self.objects.counted(&entered, head.lsn, dbiid, deltas);
            lsns.push(head.lsn);
        }
        Ok(lsns)
    }
}

pub(crate) fn references(handle: &Handle) -> Result<HashMap<ObjectHash, i64>> {
    let mut counts = HashMap::new();
    let reader = Reader { shared: None, handle };
    reader.each_reference(|hash| *counts.entry(hash).or_insert(0) += 1)?;
    Ok(counts)
}

/// Collects the paths of all files below `folder` that have the ending of a database.
fn list_files(
    folder: &Path,
    below: &str,
    depth: usize,
    files: &mut BTreeSet<String>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| StoreError::io(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| StoreError::io(folder, error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(|error| StoreError::io(folder, error))?;
        if kind.is_dir() && depth < DEPTH_MAX {
            list_files(&entry.path(), &path, depth + 1, files)?;
        } else if kind.is_file() {
            if has_ending(&path, &ENDINGS) {
                files.insert(path);
            } else if is_leftover(&path) {
                let file = entry.path();
                remove_files(&file).map_err(|error| StoreError::io(&file, error))?;
            }
        }
    }
    Ok(())
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending))
}

/// Whether maintenance that was cut off has left this file: `ada.nsf.work`, `ada.nsf.new`.
fn is_leftover(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or("", |(stem, _)| stem);
    has_ending(path, &LEFTOVERS) && has_ending(stem, &ENDINGS)
}
