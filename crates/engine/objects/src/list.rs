//! What is there, object by object, and what could be saved.

use std::collections::{BTreeMap, HashSet};

use note::{Dbiid, ObjectHash, TimeDate};

use crate::catalog::Row;
use crate::prune::before;
use crate::{Objects, ObjectsError, PruneOrder};

/// Most rows that one call of [`Objects::list`] gives.
const LIST_ROWS_MAX: usize = 10_000;
/// Most thresholds that one estimate looks at.
const THRESHOLDS_MAX: usize = 64;

/// Whether an object can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectState {
    /// Its blocks are known.
    Stored,
    /// It was found damaged since the start, and not written anew.
    Damaged,
    /// Notes refer to it, but it is not there.
    Missing,
    /// Its row in the catalog is damaged; nothing else is known of it.
    Malformed,
}

/// One object as [`Objects::list`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    /// Its name.
    pub hash: ObjectHash,
    /// Can it be read?
    pub state: ObjectState,
    /// Bytes of content.
    pub raw_bytes: u64,
    /// Bytes its blocks take in their records.
    pub stored_bytes: u64,
    /// References of notes over all databases.
    pub references: i64,
    /// Databases with references.
    pub databases: u64,
    /// The checkpoint that first saw no reference; `None` while there is one, and before that
    /// checkpoint.
    pub unreferenced_since: Option<TimeDate>,
    /// Segments its blocks stand in, ascending.
    pub segments: Vec<u32>,
}

/// A part of the list of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectPage {
    /// The objects, by hash.
    pub rows: Vec<ObjectFacts>,
    /// Where to go on; `None` at the end.
    pub next: Option<ObjectHash>,
}

/// What objects of at least one size stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThresholdEstimate {
    /// Content of at least this many bytes is counted.
    pub bytes_min: u64,
    /// Objects of this size.
    pub objects: u64,
    /// References to them.
    pub references: u64,
    /// Bytes of content, each object once.
    pub raw_bytes: u64,
    /// Bytes their blocks take.
    pub stored_bytes: u64,
    /// Bytes of content once per reference: what notes would hold inline.
    pub referenced_bytes: u64,
    /// What keeping them as objects saves: `referenced_bytes` less `stored_bytes`.
    pub saved_bytes: u64,
}

/// What [`Objects::estimate`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// One row per threshold asked for, ascending. Thresholds below the one the server ran with
    /// say what is stored, not what lower ones would have put there.
    pub thresholds: Vec<ThresholdEstimate>,
    /// Objects no note refers to.
    pub unreferenced: u64,
    /// Bytes their blocks take.
    pub unreferenced_bytes: u64,
    /// Of those, objects that the prune order would drop now.
    pub prunable: u64,
    /// Bytes their blocks take.
    pub prunable_bytes: u64,
    /// Bytes in adopted segments that belong to no object: what removing and rewriting give back.
    pub dead_bytes: u64,
    /// Bytes of all adopted segments.
    pub adopted_bytes: u64,
}

impl Objects {
    /// Up to `limit` objects (from 1 to 10,000) behind `after`, in the order of their hashes, with
    /// what changed since the last checkpoint.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails.
    pub fn list(
        &self,
        after: Option<&ObjectHash>,
        limit: usize,
    ) -> Result<ObjectPage, ObjectsError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        let _standing = self.checkpointing.lock();
        let rows = self.catalog.rows(after, limit)?;
        let end = if rows.len() == limit { rows.last().map(hash_of) } else { None };
        let mut found: BTreeMap<ObjectHash, Result<Row, ObjectHash>> =
            rows.into_iter().map(|row| (hash_of(&row), row)).collect();
        let gone = self.apply_changes(&mut found, after, end);
        let is_cut = found.len() > limit;
        let mut page = ObjectPage::default();
        for (hash, row) in found.into_iter().take(limit) {
            page.next = Some(hash);
            let facts = match row {
                Ok(mut row) => {
                    row.counts.drop_gone(|dbiid| gone.contains(&dbiid));
                    self.facts(&row)
                }
                Err(hash) => ObjectFacts { state: ObjectState::Malformed, ..empty_facts(hash) },
            };
            page.rows.extend(Some(facts).filter(is_worth_telling));
        }
        page.next = page.next.filter(|_| is_cut || end.is_some());
        Ok(page)
    }

    /// Adds what the tail says of the hashes behind `after` and up to `end`; gives the databases
    /// that are gone.
    fn apply_changes(
        &self,
        found: &mut BTreeMap<ObjectHash, Result<Row, ObjectHash>>,
        after: Option<&ObjectHash>,
        end: Option<ObjectHash>,
    ) -> HashSet<Dbiid> {
        let state = self.state.lock();
        for (hash, change) in &state.tail.changes {
            if after.is_some_and(|after| hash <= after) || end.is_some_and(|end| *hash > end) {
                continue;
            }
            if let Ok(row) = found.entry(*hash).or_insert_with(|| Ok(Row::empty(*hash))) {
                row.apply(change);
            }
        }
        state.tail.gone.clone()
    }

    fn facts(&self, row: &Row) -> ObjectFacts {
        let references = row.counts.total();
        let databases = row.counts.iter().count() as u64;
        let unreferenced_since = row.idle_since.filter(|_| references <= 0);
        let known =
            ObjectFacts { references, databases, unreferenced_since, ..empty_facts(row.hash) };
        let Some(entry) = &row.entry else { return known };
        let is_damaged = self.damaged.lock().contains(&row.hash);
        let mut segments: Vec<u32> = entry.blocks.iter().map(|b| b.lsn.segment()).collect();
        segments.sort_unstable();
        segments.dedup();
        ObjectFacts {
            state: if is_damaged { ObjectState::Damaged } else { ObjectState::Stored },
            raw_bytes: entry.length,
            stored_bytes: entry.stored_bytes(),
            segments,
            ..known
        }
    }

    /// What objects of at least `thresholds` bytes stand for (64 thresholds at most), what `order`
    /// would prune, and what is dead in adopted segments. Walks the whole catalog.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails, `Io` when an adopted segment cannot be looked at.
    pub fn estimate(
        &self,
        thresholds: &[u64],
        order: &PruneOrder,
    ) -> Result<Estimate, ObjectsError> {
        let mut wanted: Vec<u64> = thresholds.iter().copied().take(THRESHOLDS_MAX).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let thresholds = wanted
            .into_iter()
            .map(|bytes_min| ThresholdEstimate { bytes_min, ..ThresholdEstimate::default() });
        let mut estimate = Estimate { thresholds: thresholds.collect(), ..Estimate::default() };
        {
            let _standing = self.checkpointing.lock();
            let tail = self.state.lock().tail.clone();
            let before = before(order);
            self.walk(&tail, &mut |row| {
                let changed = tail.changes.contains_key(&row.hash);
                let idle = row.idle_since.is_some_and(|since| since <= before);
                estimate.add(&row, idle && !changed && row.counts.is_empty());
            })?;
        }
        for found in self.adopted_segments()? {
            estimate.adopted_bytes += found.bytes;
            estimate.dead_bytes += found.bytes.saturating_sub(found.live_bytes);
        }
        Ok(estimate)
    }
}

impl Estimate {
    fn add(&mut self, row: &Row, may_go: bool) {
        let Some(entry) = &row.entry else { return };
        let (raw_bytes, stored_bytes) = (entry.length, entry.stored_bytes());
        let references = row.counts.total().max(0) as u64;
        if references == 0 {
            self.unreferenced += 1;
            self.unreferenced_bytes += stored_bytes;
            self.prunable += u64::from(may_go);
            self.prunable_bytes += if may_go { stored_bytes } else { 0 };
        }
        for one in self.thresholds.iter_mut().filter(|one| raw_bytes >= one.bytes_min) {
            one.objects += 1;
            one.references += references;
            one.raw_bytes += raw_bytes;
            one.stored_bytes += stored_bytes;
            one.referenced_bytes =
                one.referenced_bytes.saturating_add(raw_bytes.saturating_mul(references));
            one.saved_bytes = one.referenced_bytes.saturating_sub(one.stored_bytes);
        }
    }
}

fn hash_of(row: &Result<Row, ObjectHash>) -> ObjectHash {
    row.as_ref().map_or_else(|hash| *hash, |row| row.hash)
}

/// Counts that have come to nothing of an object that is not there tell nothing.
fn is_worth_telling(facts: &ObjectFacts) -> bool {
    facts.state != ObjectState::Missing || facts.databases > 0
}

fn empty_facts(hash: ObjectHash) -> ObjectFacts {
    ObjectFacts {
        hash,
        state: ObjectState::Missing,
        raw_bytes: 0,
        stored_bytes: 0,
        references: 0,
        databases: 0,
        unreferenced_since: None,
        segments: Vec::new(),
    }
}
