//! Opening a store: scan of the log, register, files.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use note::Dbiid;
use objects::Objects;
use parking_lot::{Mutex, RwLock};
use txlog::{Damage, Head, Log, LogError, Lsn, Payload, RecordKind};

use crate::bytes::BytesError;
use crate::cache::Cache;
use crate::pool::Pool;
use crate::record::{ChangeRecord, names_of_damaged};
use crate::register::{Extent, Life, Register, Row, decode_rows};
use crate::room::Waiting;
use crate::round::Rounds;
use crate::statistics::Statistics;
use crate::{Database, Recovery, Replayed, Result, Store, StoreError, StoreOptions};

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
    /// Every database's file holds all its changes before this position.
    pub complete: Lsn,
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
            RecordKind::ObjectEnd | RecordKind::Relocate => return self.object(head, payload),
            RecordKind::ObjectBlock => Ok(()),
        };
        if let Err(error) = result {
            tracing::error!(lsn = %head.lsn, kind = ?head.kind, %error, "log record is unusable");
            let dbiids = match (head.kind, head.dbiid.is_none()) {
                (RecordKind::Change, true) => payload.raw().ok().and_then(names_of_damaged),
                (RecordKind::Life, true) => None,
                (RecordKind::Change | RecordKind::Life, false) => Some(vec![head.dbiid]),
                // It says nothing of what is in a database.
                _ => Some(Vec::new()),
            };
            self.damage.push(Damage { range: head.lsn..head.end, dbiids });
        }
    }

    fn object(&mut self, head: &Head, payload: &mut dyn Payload) {
        if head.lsn < self.objects.checkpointed_lsn() {
            return;
        }
        let result = match payload.get() {
            Ok(payload) if head.kind == RecordKind::Relocate => {
                self.objects.replay_relocate(head, payload).map_err(|error| error.to_string())
            }
            Ok(payload) => {
                self.objects.replay_end(head, payload).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = result {
            tracing::error!(lsn = %head.lsn, %error, "record of an object is unusable");
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
        let (extent, complete, rows) = decode_rows(payload.get()?)?;
        self.complete = self.complete.max(complete);
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
    /// Opens a store, or makes a new one: scans the log and reconciles the register with the
    /// files. What the files do not hold yet is replayed when a database is used first, or by
    /// [`Store::replay_pending`]; until then it holds the log. Databases that cannot be brought up
    /// to date are fenced; the others are served.
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
            complete: Lsn::ZERO,
            records_scanned: 0,
            lost_objects: Vec::new(),
        };
        scan_log(&log, opened.oldest, &mut scan)?;
        let Scan { rows, deleted, renamed, records, damage, complete, .. } = scan;
        let (records_scanned, lost_objects) = (scan.records_scanned, scan.lost_objects);
        let register = Arc::new(Register::new(rows));
        let head = Arc::clone(&register);
        log.set_segment_head(Box::new(move || head.snapshot()));
        let mut recovery = Recovery {
            records_scanned,
            discarded_bytes: opened.discarded_bytes,
            catalog_rebuilt: objects.rebuilt().cloned(),
            damage: damage.iter().map(|damage| format!("{:?}", damage.range)).collect(),
            ..Recovery::default()
        };
        recovery.damage.extend(lost_objects);
        let store = Store {
            maintenance: Mutex::new(()),
            rounds: Mutex::new(Rounds::new(options.clock.now())),
            queue: Mutex::new(VecDeque::new()),
            pending: AtomicUsize::new(0),
            options,
            log,
            objects,
            register,
            databases: RwLock::new(HashMap::new()),
            life: Mutex::new(()),
            life_needed: AtomicU64::new(u64::MAX),
            cache: Cache::default(),
            waiting: Waiting::default(),
            pool: Pool::default(),
            counted_ahead: Mutex::default(),
            statistics: Statistics::default(),
            oldest: AtomicU64::new(opened.oldest.0),
            damage,
            complete,
            file_systems,
            closed: AtomicBool::new(false),
        };
        let mut records = records;
        for (dbiid, lsns) in store.reconcile(&deleted, &renamed, &mut recovery)? {
            records.entry(dbiid).or_default().extend(lsns);
        }
        store.drop_orphans(records.keys(), &deleted)?;
        store.take_in(records, &mut recovery)?;
        Ok((Arc::new(store), recovery))
    }

    /// Makes the handles of all registered databases. Those that are behind what the log holds
    /// are replayed later; what cannot be served is looked at now.
    fn take_in(
        &self,
        mut records: HashMap<Dbiid, Vec<Lsn>>,
        recovery: &mut Recovery,
    ) -> Result<()> {
        let rows = self.register.rows();
        recovery.databases = rows.len();
        for (dbiid, row) in &rows {
            let database = Database::new(*dbiid, row);
            let list = records.remove(dbiid).unwrap_or_default();
            self.databases.write().insert(row.path.clone(), database.clone());
            self.take_in_one(&database, row, list, recovery)?;
        }
        self.queue_pending();
        Ok(())
    }

    fn take_in_one(
        &self,
        database: &Database,
        row: &Row,
        records: Vec<Lsn>,
        recovery: &mut Recovery,
    ) -> Result<()> {
        let shared = &database.0;
        let mut behind = records.iter().copied().filter(|lsn| *lsn >= row.checkpointed_lsn);
        let first = behind.next();
        let count = behind.count() + usize::from(first.is_some());
        let is_missing = !self.file_path(&row.path).exists();
        let is_unmade = is_missing && self.can_be_made_again(row);
        shared.set_needed(if is_unmade { Some(row.created_lsn) } else { first }, self.now().0);
        shared.unsaved.store(count, Ordering::Relaxed);
        {
            let mut state = shared.state.lock();
            state.records = records;
            state.is_unmade = is_unmade;
        }
        let is_damaged = self.damage_of(shared.dbiid, row.checkpointed_lsn).is_some();
        if (is_missing && !is_unmade) || is_damaged {
            let mut replayed = Replayed::default();
            self.bring_up(database, &mut replayed)?;
            recovery.fenced.append(&mut replayed.fenced);
            self.trim_cache();
        } else if is_unmade || count > 0 {
            shared.is_pending.store(true, Ordering::Relaxed);
            self.pending.fetch_add(1, Ordering::Relaxed);
            recovery.databases_pending += 1;
            recovery.records_pending += count as u64;
        }
        Ok(())
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
