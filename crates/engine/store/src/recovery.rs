//! Opening a store: scan of the log, register, files, replay.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use note::Dbiid;
use objects::Objects;
use parking_lot::{Mutex, RwLock};
use txlog::{Damage, Head, Log, LogError, Lsn, Payload, RecordKind};

use crate::bytes::BytesError;
use crate::cache::Cache;
use crate::record::ChangeRecord;
use crate::register::{Extent, Life, Register, Row, decode_rows};
use crate::round::Rounds;
use crate::statistics::Statistics;
use crate::{Database, Recovery, Result, Store, StoreError, StoreOptions};

/// What the scan of the log found.
pub(crate) struct Scan<'a> {
    objects: &'a Objects,
    pub rows: BTreeMap<Dbiid, Row>,
    /// Databases deleted in the part of the log that was scanned, with their last path.
    pub deleted: HashMap<Dbiid, String>,
    /// Earlier paths of databases that were renamed.
    pub renamed: HashMap<Dbiid, Vec<String>>,
    /// Change records with a section of each database.
    pub records: HashMap<Dbiid, Vec<Lsn>>,
    pub damage: Vec<Damage>,
    pub records_scanned: u64,
    /// Objects whose end record cannot be read.
    pub lost_objects: Vec<String>,
}

/// A record whose payload cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

impl Scan<'_> {
    fn visit(&mut self, head: &Head, payload: &mut dyn Payload) {
        self.records_scanned += 1;
        let result = match head.kind {
            RecordKind::Change => self.change(head, payload),
            RecordKind::Life => self.life(head, payload),
            RecordKind::Checkpoint => self.checkpoint(payload),
            RecordKind::ObjectEnd => return self.object_end(head, payload),
            RecordKind::ObjectBlock | RecordKind::Relocate => Ok(()),
        };
        if let Err(error) = result {
            tracing::error!(lsn = %head.lsn, kind = ?head.kind, %error, "log record is unusable");
            let dbiids = (!head.dbiid.is_none()).then(|| vec![head.dbiid]);
            self.damage.push(Damage { range: head.lsn..head.end, dbiids });
        }
    }

    fn object_end(&mut self, head: &Head, payload: &mut dyn Payload) {
        if head.lsn < self.objects.checkpointed_lsn() {
            return;
        }
        let result = match payload.get() {
            Ok(payload) => {
                self.objects.replay_end(head, payload).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = result {
            tracing::error!(lsn = %head.lsn, %error, "end of an object is unusable");
            self.lost_objects.push(format!("object at {}: {error}", head.lsn));
        }
    }

    fn change(&mut self, head: &Head, payload: &mut dyn Payload) -> Result<(), Unusable> {
        if !head.dbiid.is_none() {
            self.records.entry(head.dbiid).or_default().push(head.lsn);
            if head.lsn < self.objects.checkpointed_lsn() {
                return Ok(());
            }
        }
        for section in ChangeRecord::decode(payload.get()?)?.sections()? {
            if head.dbiid.is_none() {
                self.records.entry(section.dbiid).or_default().push(head.lsn);
            }
            self.objects.replay_counts(head.lsn, section.dbiid, &section.deltas);
        }
        Ok(())
    }

    fn life(&mut self, head: &Head, payload: &mut dyn Payload) -> Result<(), Unusable> {
        let dbiid = head.dbiid;
        match Life::decode(payload.get()?, head.end)? {
            Life::Create(row) | Life::Adopt(row) => {
                // The record may stand twice when a segment began in between.
                self.rows.insert(dbiid, row);
            }
            Life::Rename(path) => {
                if let Some(row) = self.rows.get_mut(&dbiid) {
                    let old = std::mem::replace(&mut row.path, path);
                    self.renamed.entry(dbiid).or_default().push(old);
                }
            }
            Life::Delete => {
                let path = self.rows.remove(&dbiid).map(|row| row.path).unwrap_or_default();
                self.deleted.entry(dbiid).or_insert(path);
                self.objects.replay_database_deleted(head.lsn, dbiid);
            }
        }
        Ok(())
    }

    /// A head of a segment may be older than the life record before it; what the scan has seen
    /// itself is newer.
    fn checkpoint(&mut self, payload: &mut dyn Payload) -> Result<(), Unusable> {
        let (extent, rows) = decode_rows(payload.get()?)?;
        for (dbiid, row) in rows {
            if self.deleted.contains_key(&dbiid) {
                continue;
            }
            match self.rows.get_mut(&dbiid) {
                Some(known) => {
                    known.checkpointed_lsn = known.checkpointed_lsn.max(row.checkpointed_lsn);
                    if extent == Extent::Round {
                        known.title = row.title;
                    }
                }
                None => {
                    self.rows.insert(dbiid, row);
                }
            }
        }
        Ok(())
    }
}

impl Store {
    /// Opens a store, or makes a new one: scans the log, reconciles the register with the files,
    /// replays what the files do not hold yet. Databases that cannot be brought up to date are
    /// fenced; the others are served.
    ///
    /// # Errors
    /// Trouble of log, object store and file system that concerns all databases.
    pub fn open(options: StoreOptions) -> Result<(Arc<Store>, Recovery)> {
        let data = &options.data_dir;
        std::fs::create_dir_all(data).map_err(|error| StoreError::io(data, error))?;
        let (disk, clock) = (Arc::clone(&options.disk), Arc::clone(&options.clock));
        let (log, opened) = Log::open(options.log.clone(), Arc::clone(&disk), Arc::clone(&clock))?;
        let objects = Objects::open(options.objects.clone(), Arc::clone(&log), disk, clock)?;
        let file_systems = file_systems(data, &options.objects.dir)?;
        let mut scan = Scan {
            objects: &objects,
            rows: BTreeMap::new(),
            deleted: HashMap::new(),
            renamed: HashMap::new(),
            records: HashMap::new(),
            damage: opened.damage.clone(),
            records_scanned: 0,
            lost_objects: Vec::new(),
        };
        scan_log(&log, opened.oldest, &mut scan)?;
        let Scan { rows, deleted, renamed, records, damage, records_scanned, lost_objects, .. } =
            scan;
        let register = Arc::new(Register::new(rows));
        let head = Arc::clone(&register);
        log.set_segment_head(Box::new(move || head.snapshot()));
        let mut recovery = Recovery {
            records_scanned,
            discarded_bytes: opened.discarded_bytes,
            damage: damage.iter().map(|damage| format!("{:?}", damage.range)).collect(),
            ..Recovery::default()
        };
        recovery.damage.extend(lost_objects);
        let store = Store {
            rounds: Mutex::new(Rounds::new(options.clock.now())),
            options,
            log,
            objects,
            register,
            databases: RwLock::new(HashMap::new()),
            life: Mutex::new(()),
            life_needed: AtomicU64::new(u64::MAX),
            cache: Cache::default(),
            statistics: Statistics::default(),
            oldest: AtomicU64::new(opened.oldest.0),
            damage,
            file_systems,
            closed: AtomicBool::new(false),
        };
        let mut records = records;
        for (dbiid, lsn) in store.reconcile(&deleted, &renamed, &mut recovery)? {
            records.entry(dbiid).or_default().push(lsn);
        }
        store.take_in(records, &mut recovery)?;
        Ok((Arc::new(store), recovery))
    }

    /// Makes the handles of all registered databases, and replays those that are behind.
    fn take_in(
        &self,
        mut records: HashMap<Dbiid, Vec<Lsn>>,
        recovery: &mut Recovery,
    ) -> Result<()> {
        let rows = self.register.rows();
        recovery.databases = rows.len();
        let now = self.now().0;
        for (dbiid, row) in &rows {
            let database = Database::new(*dbiid, row);
            let list = records.remove(dbiid).unwrap_or_default();
            let first = list.iter().find(|lsn| **lsn >= row.checkpointed_lsn).copied();
            let remade = self.is_to_be_made(row);
            database.0.set_needed(if remade { Some(row.created_lsn) } else { first }, now);
            database.0.state.lock().records = list;
            self.databases.write().insert(row.path.clone(), database.clone());
            if remade || first.is_some() || !self.file_path(&row.path).exists() {
                self.bring_up(&database, remade, recovery)?;
            }
            self.trim_cache();
        }
        Ok(())
    }

    fn is_to_be_made(&self, row: &Row) -> bool {
        self.can_be_made_again(row) && !self.file_path(&row.path).exists()
    }

    fn bring_up(&self, database: &Database, remade: bool, recovery: &mut Recovery) -> Result<()> {
        let before = self.statistics.replayed.get();
        match self.lock_open(database) {
            Ok(_) => {
                let sections = self.statistics.replayed.get() - before;
                recovery.sections_replayed += sections;
                recovery.databases_replayed += usize::from(sections > 0);
                if remade {
                    recovery.recreated.push(database.path());
                }
                Ok(())
            }
            Err(StoreError::Fenced { path, reason }) => {
                recovery.fenced.push((path, reason));
                Ok(())
            }
            Err(StoreError::Log(error)) => Err(StoreError::Log(error)),
            Err(error) => {
                // Trouble of this one file: it is tried again when it is used.
                tracing::warn!(database = ?database, %error, "database is not replayed yet");
                Ok(())
            }
        }
    }
}

fn scan_log(log: &Log, oldest: Lsn, scan: &mut Scan<'_>) -> Result<()> {
    let result = log.scan(oldest, &mut |head, payload| {
        scan.visit(head, payload);
        ControlFlow::Continue(())
    });
    Ok(result?)
}

/// The file systems of the databases and of the object store, each once.
fn file_systems(data: &Path, objects: &Path) -> Result<Vec<File>> {
    use std::os::unix::fs::MetadataExt;
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    for path in [data, objects] {
        let file = File::open(path).map_err(|error| StoreError::io(path, error))?;
        let device = file.metadata().map_err(|error| StoreError::io(path, error))?.dev();
        if seen.insert(device) {
            files.push(file);
        }
    }
    Ok(files)
}
