//! The object store: its parts, opening, the checkpoint gate and look-up of entries.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use note::{Dbiid, ObjectHash, TimeDate};
use txlog::sync::{Mutex, RwLock, RwLockReadGuard, thread_local};
use txlog::{Clock, Disk, Head, Log, Lsn};

use crate::catalog::{Catalog, Totals};
use crate::hot::Hot;
use crate::pins::Pins;
use crate::rebuild::{Counting, Rebuilt, may_help, rebuild};
use crate::record::{self, Entry};
use crate::rewrite::Rewriting;
use crate::segments::{Adopted, Loads, OpenPuts};
use crate::tail::Tail;
use crate::tend::Tending;
use crate::{ObjectsError, ObjectsOptions, TicketDelta};

/// What changes with every record; its lock is held for moments and nothing is called under it.
pub(crate) struct State {
    /// Since the checkpoint that was begun last.
    pub tail: Tail,
    /// What a running checkpoint writes.
    pub flushing: Option<Arc<Tail>>,
    pub loads: Loads,
    /// What pruned objects took (negative): taken off the loads by the next checkpoint, whose sync
    /// makes the pruning durable too.
    pub fading: Loads,
    pub open_puts: OpenPuts,
    /// Bytes of blocks that rewriting appended since the last checkpoint.
    pub moved_bytes: u64,
    /// Rewriting has more to move.
    pub moving: bool,
    pub checkpointed: Lsn,
    pub totals: Totals,
    pub touched: Touched,
    pub counting: Counting,
}

/// Counts that changed while a recount runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Running recounts.
    pub watchers: usize,
    pub counts: HashSet<(Dbiid, ObjectHash)>,
    pub gone: HashSet<Dbiid>,
}

impl State {
    fn count(&mut self, dbiid: Dbiid, deltas: &[TicketDelta]) {
        self.tail.count(dbiid, deltas);
        if self.touched.watchers > 0 {
            self.touched.counts.extend(deltas.iter().map(|delta| (dbiid, delta.hash)));
        }
    }

    fn drop_database(&mut self, dbiid: Dbiid) {
        self.tail.gone.insert(dbiid);
        if self.touched.watchers > 0 {
            self.touched.gone.insert(dbiid);
        }
    }

    pub(crate) fn learn(&mut self, entry: Arc<Entry>) {
        self.loads.add(&entry, 1);
        self.tail.insert(entry);
    }
}

/// The object store.
///
/// Lock order: `tending`, `rewriting`, `checkpointing`, `gate`, then for moments one of the others;
/// the log is never called with the lock of `state` held, since the log asks
/// [`Objects::is_live_segment`].
pub struct Objects {
    pub(crate) options: ObjectsOptions,
    pub(crate) log: Arc<Log>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) catalog: Catalog,
    pub(crate) adopted: Adopted,
    /// Held by whoever writes or walks the whole catalog: it stands still for everybody else.
    pub(crate) checkpointing: Mutex<()>,
    /// Shared: a record is appended and taken into the tail. Exclusive: a checkpoint is cut.
    pub(crate) gate: RwLock<()>,
    pub(crate) state: Mutex<State>,
    pub(crate) hot: Mutex<Hot>,
    /// When this process last compared the blocks of an object with its content.
    pub(crate) verified: Mutex<HashMap<ObjectHash, TimeDate>>,
    pub(crate) pins: Arc<Pins>,
    pub(crate) rewriting: Mutex<Rewriting>,
    pub(crate) tending: Mutex<Tending>,
    /// Objects that were found damaged, up to a number.
    pub(crate) damaged: Mutex<HashSet<ObjectHash>>,
    pub(crate) rebuilt: Option<Rebuilt>,
}

thread_local! {
    /// How many gates this thread has entered.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// Shared side of the checkpoint gate, see [`Objects::enter`].
#[must_use = "the gate is left when it is dropped"]
pub struct Entered<'a> {
    _gate: RwLockReadGuard<'a, ()>,
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        ENTERED.with(|entered| entered.set(entered.get() - 1));
    }
}

/// Refuses a log that is not the one the catalog was made of.
fn check_log(log: &Log, checkpointed: Lsn) -> Result<(), ObjectsError> {
    let status = log.status();
    let (oldest, end) = (status.oldest_needed_lsn, status.appended_lsn);
    if oldest.segment() > checkpointed.segment() {
        return Err(ObjectsError::CatalogStale { checkpointed, oldest });
    }
    if end < checkpointed {
        return Err(ObjectsError::LogReplaced { checkpointed, end });
    }
    Ok(())
}

impl Objects {
    /// Opens the catalog in `options.dir`; makes it when neither it nor adopted segments are there,
    /// and makes it anew from the segments when it is lost, damaged or older than what the log
    /// still holds (see [`Objects::rebuilt`], [`Objects::recount_due`]).
    ///
    /// Then the log is to be replayed from [`Objects::checkpointed_lsn`].
    ///
    /// # Errors
    /// `LogReplaced` when the log is another one, `CatalogFormat` when a newer program wrote the
    /// catalog, `Catalog` and `Io` when the disk fails.
    pub fn open(
        options: ObjectsOptions,
        log: Arc<Log>,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Objects>, ObjectsError> {
        std::fs::create_dir_all(&options.dir)?;
        let options = options.bounded();
        let adopted = Adopted::open(&options.dir, disk)?;
        let opened = Catalog::open(&options.dir, adopted.count());
        let opened =
            opened.and_then(|opened| check_log(&log, opened.checkpointed).map(|()| opened));
        let (opened, rebuilt) = match opened {
            Ok(opened) => (opened, None),
            Err(reason) if may_help(&reason) => {
                let (opened, rebuilt) =
                    rebuild(&options.dir, &adopted, &log, clock.now(), &reason)?;
                (opened, Some(rebuilt))
            }
            Err(error) => return Err(error),
        };
        let state = State {
            tail: Tail::default(),
            flushing: None,
            loads: opened.loads,
            fading: Loads::default(),
            open_puts: OpenPuts::default(),
            moved_bytes: 0,
            moving: false,
            checkpointed: opened.checkpointed,
            totals: opened.totals,
            touched: Touched::default(),
            counting: Counting::new(opened.recount_due),
        };
        let tending = Tending::new(clock.now(), &options);
        Ok(Arc::new(Objects {
            options,
            log,
            clock,
            catalog: opened.catalog,
            adopted,
            checkpointing: Mutex::new(()),
            gate: RwLock::new(()),
            state: Mutex::new(state),
            hot: Mutex::new(Hot::default()),
            verified: Mutex::new(HashMap::new()),
            pins: Arc::new(Pins::default()),
            rewriting: Mutex::new(Rewriting::default()),
            tending: Mutex::new(tending),
            damaged: Mutex::new(HashSet::new()),
            rebuilt,
        }))
    }

    /// The catalog holds everything before this position: the log must be replayed from here.
    pub fn checkpointed_lsn(&self) -> Lsn {
        self.state.lock().checkpointed
    }

    /// Start scan: an object end record. Records are fed in log order; what the catalog holds
    /// already is passed over.
    ///
    /// # Errors
    /// `Malformed` when the payload is not an end record.
    pub fn replay_end(&self, head: &Head, payload: &[u8]) -> Result<(), ObjectsError> {
        let entry = record::decode_end(head.lsn, payload)
            .ok_or(ObjectsError::Malformed { what: "end of an object", lsn: head.lsn })?;
        let mut state = self.state.lock();
        if head.lsn >= state.checkpointed {
            state.learn(Arc::new(entry));
        }
        Ok(())
    }

    /// Start scan: ticket deltas of one section of a change record.
    pub fn replay_counts(&self, lsn: Lsn, dbiid: Dbiid, deltas: &[TicketDelta]) {
        let mut state = self.state.lock();
        if lsn >= state.checkpointed {
            state.count(dbiid, deltas);
        }
    }

    /// Start scan: a database was deleted.
    pub fn replay_database_deleted(&self, lsn: Lsn, dbiid: Dbiid) {
        let mut state = self.state.lock();
        if lsn >= state.checkpointed {
            state.drop_database(dbiid);
        }
    }

    /// Shared gate: appending a change record and [`Objects::counted`] happen inside one `Entered`,
    /// so that no checkpoint is cut between them. May be nested on one thread. Hold it briefly, and
    /// call nothing inside that walks the catalog (checkpoint, status, references, resync).
    pub fn enter(&self) -> Entered<'_> {
        // a second plain read would wait for a waiting checkpoint, which waits for the first
        let nested = ENTERED.with(Cell::get) > 0;
        let gate = if nested { self.gate.read_recursive() } else { self.gate.read() };
        ENTERED.with(|entered| entered.set(entered.get() + 1));
        Entered { _gate: gate, _stays_on_its_thread: PhantomData }
    }

    /// Takes the ticket deltas of one section of the change record that was appended at `lsn`
    /// inside the same `Entered`.
    pub fn counted(&self, _: &Entered<'_>, lsn: Lsn, dbiid: Dbiid, deltas: &[TicketDelta]) {
        debug_assert!(lsn > Lsn::ZERO, "a record has a position");
        if !deltas.is_empty() {
            self.state.lock().count(dbiid, deltas);
        }
    }

    /// Drops every reference of a database whose deletion was appended at `lsn` inside the same
    /// `Entered`. Its DBIID must never be counted again.
    pub fn database_deleted(&self, _: &Entered<'_>, lsn: Lsn, dbiid: Dbiid) {
        debug_assert!(lsn > Lsn::ZERO, "a record has a position");
        self.state.lock().drop_database(dbiid);
    }

    /// True when a segment holds a block of a known object, or of one that is being written: the
    /// log must not use its space again.
    pub fn is_live_segment(&self, segment: u32) -> bool {
        let state = self.state.lock();
        state.loads.is_live(segment) || state.open_puts.may_use(segment)
    }

    /// True while somebody holds a [`crate::Pin`] of the object.
    pub fn is_pinned(&self, hash: &ObjectHash) -> bool {
        self.pins.is_pinned(hash)
    }

    /// Where an adopted segment lies: `dir/S0000012.TXN`.
    pub fn adopted_path(&self, segment: u32) -> PathBuf {
        self.adopted.path(segment)
    }

    /// The log has given up a segment. If it moved it to its adopted path, blocks are read there;
    /// if not, nothing changes.
    pub fn adopted(&self, segment: u32) {
        if let Err(error) = self.adopted.notice(segment) {
            tracing::warn!(segment, %error, "adopted segment cannot be opened yet");
        }
    }

    /// Takes an object whose end record is in the log into the tail.
    pub(crate) fn learn(&self, entry: Arc<Entry>) {
        let hash = entry.hash;
        self.state.lock().learn(entry);
        self.forget(&hash);
    }

    /// Drops what was looked up and found out of an object.
    pub(crate) fn forget(&self, hash: &ObjectHash) {
        self.hot.lock().remove(hash);
        self.damaged.lock().remove(hash);
    }

    /// What is known of an object; may be stale for a moment when the object was written anew.
    pub(crate) fn entry(&self, hash: &ObjectHash) -> Result<Option<Arc<Entry>>, ObjectsError> {
        if let Some(entry) = self.hot.lock().get(hash) {
            return Ok(Some(entry));
        }
        self.load_entry(hash)
    }

    /// What is known of an object, looked up in tail and catalog.
    pub(crate) fn load_entry(&self, hash: &ObjectHash) -> Result<Option<Arc<Entry>>, ObjectsError> {
        let epoch = self.hot.lock().epoch();
        let entry = match self.unsaved_entry(hash) {
            Some(entry) => Some(entry),
            None => self.catalog.row(hash)?.and_then(|row| row.entry),
        };
        if let Some(entry) = &entry {
            self.hot.lock().insert_since(epoch, Arc::clone(entry));
        }
        Ok(entry)
    }

    /// What came since the last checkpoint; known without a look into the catalog.
    pub(crate) fn unsaved_entry(&self, hash: &ObjectHash) -> Option<Arc<Entry>> {
        let state = self.state.lock();
        let flushing = || state.flushing.as_ref().and_then(|tail| tail.entry(hash));
        state.tail.entry(hash).or_else(flushing)
    }
}
