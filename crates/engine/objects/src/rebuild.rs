//! A catalog made anew, when it is lost, damaged or an old copy: the objects are found in the
//! segments, the references are counted in the databases afterwards.
//!
//! All ends and relocations of known objects lie in segments that are kept, so adopted segments and
//! log together name every object that notes refer to. What was pruned and still lies there comes
//! back without references, and goes again when its time has come. References are not known until
//! [`Objects::resync`] has compared them all; nothing is pruned or removed before.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use note::{Dbiid, ObjectHash, TimeDate};
use txlog::{Head, Log, Lsn, Payload, RecordKind};

use crate::catalog::{Catalog, Opened};
use crate::record::{self, Entry};
use crate::segments::Adopted;
use crate::store::Touched;
use crate::tail::Tail;
use crate::{Objects, ObjectsError};

/// Objects that are written to the catalog in one go.
const BATCH_OBJECTS: usize = 4_096;

/// How a catalog was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// What was wrong with the one that was there.
    pub reason: String,
    /// Segments that were searched; the log's own are searched by the replay.
    pub segments: u64,
    /// Objects that were found in them.
    pub objects: u64,
    /// Stretches and records in them that could not be read.
    pub unreadable: u64,
}

/// What is known of references while they are counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counting {
    /// Not all references have been counted since the catalog was made anew.
    pub is_due: bool,
    /// Counts that are still to be compared; `None` when all are.
    unsure: Option<HashSet<(Dbiid, ObjectHash)>>,
}

impl Counting {
    pub fn new(is_due: bool) -> Counting {
        Counting { is_due, unsure: None }
    }

    /// Takes note of a comparison that left alone what changed meanwhile, and whole databases
    /// unless `is_whole`. True when with it all references have been compared.
    pub fn compared(&mut self, touched: Touched, is_whole: bool) -> bool {
        if !self.is_due || !is_whole {
            return false;
        }
        let Touched { mut counts, gone, .. } = touched;
        counts.retain(|pair| !gone.contains(&pair.0));
        let left = match self.unsure.take() {
            Some(unsure) => unsure.intersection(&counts).copied().collect(),
            None => counts,
        };
        self.is_due = !left.is_empty();
        self.unsure = Some(left);
        !self.is_due
    }
}

/// Can a catalog in this state be made anew?
pub(crate) fn may_help(error: &ObjectsError) -> bool {
    matches!(
        error,
        ObjectsError::CatalogLost { .. }
            | ObjectsError::CatalogStale { .. }
            | ObjectsError::CatalogDamaged { .. }
    )
}

/// Puts the old catalog aside and makes a new one from the segments.
pub(crate) fn rebuild(
    dir: &Path,
    adopted: &Adopted,
    log: &Log,
    now: TimeDate,
    reason: &ObjectsError,
) -> Result<(Opened, Rebuilt), ObjectsError> {
    let (ids, end) = (adopted.ids(), log.appended());
    if let Some(last) = ids.last().filter(|last| **last >= end.segment()) {
        // another log was begun, and would take the names of these segments
        return Err(ObjectsError::LogReplaced { checkpointed: Lsn::new(*last, 0), end });
    }
    tracing::error!(%reason, segments = ids.len(), "the object catalog is made anew");
    Catalog::set_aside(dir)?;
    let opened = Catalog::open_unmarked(dir, 0)?;
    let begin = Lsn::new(log.status().oldest_needed_lsn.segment(), 0);
    let own = log.segments();
    let mut search = Search {
        log,
        there: ids.iter().chain(&own).copied().collect(),
        found: Vec::new(),
        unreadable: 0,
    };
    let mut writing = Writing { catalog: &opened.catalog, tail: Tail::default(), begin, now };
    // those that await their release are not scanned by the replay
    let waiting = own.into_iter().filter(|id| *id < begin.segment());
    let all: BTreeSet<u32> = ids.into_iter().chain(waiting).collect();
    for id in &all {
        search.segment(adopted, *id);
        writing.take(&mut search.found)?;
    }
    writing.flush()?;
    drop(writing);
    let unreadable = search.unreadable;
    drop(opened);
    let opened = Catalog::finish_rebuilding(dir, begin)?;
    let (segments, objects) = (all.len() as u64, opened.totals.objects.max(0) as u64);
    let reason = reason.to_string();
    tracing::warn!(segments, objects, unreadable, "the object catalog is made anew");
    Ok((opened, Rebuilt { reason, segments, objects, unreadable }))
}

struct Search<'a> {
    log: &'a Log,
    /// Segments that are there.
    there: HashSet<u32>,
    found: Vec<Entry>,
    unreadable: u64,
}

impl Search<'_> {
    /// Collects the objects of one segment; what cannot be read is passed over.
    fn segment(&mut self, adopted: &Adopted, id: u32) {
        let Search { log, there, found, unreadable } = self;
        let mut visit = |head: &Head, payload: &mut dyn Payload| match objects_of(head, payload) {
            Some(entries) => found.extend(entries.into_iter().filter(|entry| {
                entry.blocks.iter().all(|block| there.contains(&block.lsn.segment()))
            })),
            None => *unreadable += 1,
        };
        let scanned = match adopted.file(id) {
            Ok(file) => log.scan_segment(id, file.as_deref(), &mut visit),
            Err(source) => {
                Err(txlog::LogError::Disk { action: "open", path: adopted.path(id), source })
            }
        };
        match scanned {
            Ok(stretches) => *unreadable += stretches,
            Err(error) => {
                tracing::error!(segment = id, %error, "its objects cannot be found");
                *unreadable += 1;
            }
        }
    }
}

/// The objects that a record names; `None` when it cannot be read.
fn objects_of(head: &Head, payload: &mut dyn Payload) -> Option<Vec<Entry>> {
    match head.kind {
        RecordKind::ObjectEnd => {
            record::decode_end(head.lsn, payload.get().ok()?).map(|entry| vec![entry])
        }
        RecordKind::Relocate => record::decode_relocate(head.lsn, payload.get().ok()?),
        _ => Some(Vec::new()),
    }
}

struct Writing<'a> {
    catalog: &'a Catalog,
    tail: Tail,
    begin: Lsn,
    now: TimeDate,
}

impl Writing<'_> {
    fn take(&mut self, found: &mut Vec<Entry>) -> Result<(), ObjectsError> {
        for entry in found.drain(..) {
            self.tail.insert(Arc::new(entry));
            if self.tail.changes.len() >= BATCH_OBJECTS {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ObjectsError> {
        let tail = std::mem::take(&mut self.tail);
        let totals = self.catalog.totals()?;
        self.catalog.write(&tail, (self.begin, self.now), totals).map(drop)
    }
}

impl Objects {
    /// How the catalog was made anew at this start, if it was.
    pub fn rebuilt(&self) -> Option<&Rebuilt> {
        self.rebuilt.as_ref()
    }

    /// True from the making of a new catalog until [`Objects::resync`] has compared the references
    /// of all databases, also over restarts: nothing is pruned or removed before.
    pub fn recount_due(&self) -> bool {
        self.state.lock().counting.is_due
    }

    /// Is there an object of this hash?
    ///
    /// # Errors
    /// `Catalog` when SQLite fails, `Malformed` when the row is damaged.
    pub fn has(&self, hash: &ObjectHash) -> Result<bool, ObjectsError> {
        Ok(self.entry(hash)?.is_some())
    }
}
