//! Rewriting: what little is alive in adopted segments moves to the end of the log, so that their
//! files can be removed.
//!
//! The order on disk: blocks are appended again, then a *relocate* record that names their new
//! places; the catalog takes those over at its next checkpoint, which waits for the record; the
//! sync behind that makes it durable, and then [`Objects::synced`] removes the file. A crash before
//! the record is durable leaves everything as it was, and dead blocks in the log; one behind it is
//! replayed. Ordinary space is used, and only so much between two checkpoints, so that the log is
//! not filled by it.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use note::{Dbiid, ObjectHash};
use txlog::{Head, Lsn, RecordKind, Space};

use crate::catalog::Row;
use crate::checkpoint::BATCH_ROWS;
use crate::put::OpenPut;
use crate::record::{self, BlockAddress, Entry};
use crate::{AdoptedSegment, Objects, ObjectsError, RewriteReport};

/// Bytes of live blocks that are planned for at once.
const PLAN_BYTES_MAX: u64 = 256 << 20;
/// Bytes and objects that one relocate record is written for; one object may be longer.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_OBJECTS: usize = 64;
/// A file that takes less than one part in this many of the log's segments is small.
const SMALL_SHARE: u64 = 16;
/// So many small files are made one, however much of them is alive.
const SMALL_SEGMENTS_MIN: usize = 16;
/// What the log adds to a block: its record header and alignment, about.
const RECORD_BYTES: u64 = 28;

/// What is being rewritten.
#[derive(Default)]
pub(crate) struct Rewriting {
    victims: BTreeSet<u32>,
    /// Objects with blocks or their end in the victims.
    queue: VecDeque<ObjectHash>,
    /// Segments that cannot be emptied: left alone until the next start.
    stuck: BTreeSet<u32>,
}

/// An object whose blocks have been appended again.
struct Moved {
    /// The version that was read.
    from: Lsn,
    entry: Entry,
}

impl Objects {
    /// Start scan: a relocate record, in log order among the others.
    ///
    /// # Errors
    /// `Malformed` when the payload is not a relocate record.
    pub fn replay_relocate(&self, head: &Head, payload: &[u8]) -> Result<(), ObjectsError> {
        let entries = record::decode_relocate(head.lsn, payload)
            .ok_or(ObjectsError::Malformed { what: "relocate record", lsn: head.lsn })?;
        let mut state = self.state.lock();
        if head.lsn >= state.checkpointed {
            entries.into_iter().for_each(|entry| state.learn(Arc::new(entry)));
        }
        Ok(())
    }

    /// Moves about `budget_bytes` of live blocks out of adopted segments in which less than
    /// [`crate::ObjectsOptions::rewrite_live_percent`] is alive, and out of small ones when there
    /// are many. Call it again until nothing is
    /// left; while it waits, a checkpoint has to come first.
    ///
    /// # Errors
    /// `Append`, `Catalog`, `Log` and `Io` as their causes say; what was moved before stays moved,
    /// the rest is tried again by the next call.
    pub fn rewrite(&self, budget_bytes: u64) -> Result<RewriteReport, ObjectsError> {
        let mut rewriting = self.rewriting.lock();
        let mut report = RewriteReport::default();
        if rewriting.queue.is_empty() && self.state.lock().moved_bytes == 0 {
            self.plan(&mut rewriting, &mut report)?;
        }
        let outcome = self.rewrite_planned(&mut rewriting, budget_bytes, &mut report);
        report.left = rewriting.queue.len() as u64;
        let mut state = self.state.lock();
        state.moving = report.left > 0;
        report.waits |= state.moved_bytes > 0 && report.left == 0;
        drop(state);
        outcome.map(|()| report)
    }

    fn rewrite_planned(
        &self,
        rewriting: &mut Rewriting,
        budget_bytes: u64,
        report: &mut RewriteReport,
    ) -> Result<(), ObjectsError> {
        while report.bytes < budget_bytes && !rewriting.queue.is_empty() {
            let moved_bytes = self.state.lock().moved_bytes;
            if moved_bytes >= self.options.rewrite_log_bytes_max || self.log.status().full {
                report.waits = true;
                return Ok(());
            }
            match self.move_some(rewriting, report) {
                Err(ObjectsError::Full) => {
                    report.waits = true;
                    return Ok(());
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// The adopted segments and what is alive in them. Opens those whose length is not known yet;
    /// those whose file is not there are left out.
    ///
    /// # Errors
    /// `Io` when a file cannot be opened.
    pub fn adopted_segments(&self) -> Result<Vec<AdoptedSegment>, ObjectsError> {
        let mut segments = Vec::new();
        for segment in self.adopted.ids() {
            let (load, fading) = {
                let state = self.state.lock();
                (state.loads.get(segment), state.fading.get(segment))
            };
            let blocks = (load.blocks + fading.blocks).max(0) as u64;
            let live_bytes = (load.bytes + fading.bytes).max(0) as u64 + blocks * RECORD_BYTES;
            let Some(bytes) = self.adopted.length(segment)? else { continue };
            segments.push(AdoptedSegment { segment, bytes, live_bytes, live_blocks: blocks });
        }
        Ok(segments)
    }

    /// Chooses segments, those with least alive first, and finds what is alive in them.
    fn plan(
        &self,
        rewriting: &mut Rewriting,
        report: &mut RewriteReport,
    ) -> Result<(), ObjectsError> {
        rewriting.victims.clear();
        if self.recount_due() {
            return Ok(());
        }
        let mut chosen = self.chosen(&rewriting.stuck)?;
        if chosen.is_empty() {
            return Ok(());
        }
        chosen.sort_by_key(|found| found.live_bytes);
        let mut planned = 0;
        for found in chosen {
            if planned > 0 && planned + found.live_bytes > PLAN_BYTES_MAX {
                break;
            }
            planned += found.live_bytes;
            rewriting.victims.insert(found.segment);
        }
        rewriting.queue = self.survivors(&rewriting.victims, &mut rewriting.stuck)?;
        report.segments = rewriting.victims.len() as u64;
        Ok(())
    }

    /// Segments that are worth emptying: enough of those in which little is alive, or enough small
    /// ones, that become one together.
    fn chosen(&self, stuck: &BTreeSet<u32>) -> Result<Vec<AdoptedSegment>, ObjectsError> {
        let percent = u64::from(self.options.rewrite_live_percent);
        let small = self.log.payload_bytes_max() * 2 / SMALL_SHARE;
        let mut found = self.adopted_segments()?;
        found.retain(|found| {
            found.live_blocks > 0
                && !stuck.contains(&found.segment)
                && !self.state.lock().open_puts.may_use(found.segment)
        });
        let (mut poor, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.live_bytes * 100 < found.bytes * percent);
        let (tiny, _): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| one.bytes < small);
        let tiny_poor = poor.iter().filter(|found| found.bytes < small).count();
        if tiny.len() + tiny_poor >= SMALL_SEGMENTS_MIN {
            poor.extend(tiny);
        } else if poor.len() < self.options.rewrite_segments_min.max(1) {
            poor.clear();
        }
        Ok(poor)
    }

    /// Objects with blocks or their end in `victims`: those of a database beside each other, in the
    /// order of their places. A victim in which nothing is found is stuck.
    fn survivors(
        &self,
        victims: &BTreeSet<u32>,
        stuck: &mut BTreeSet<u32>,
    ) -> Result<VecDeque<ObjectHash>, ObjectsError> {
        let mut found: Vec<(Option<Dbiid>, Lsn, ObjectHash)> = Vec::new();
        let (mut empty, mut seen) = (victims.clone(), HashSet::new());
        let mut look = |entry: &Entry, dbiid: Option<Dbiid>| {
            let places = entry.blocks.iter().map(|block| block.lsn).chain([entry.end_lsn]);
            let mut inside = places.filter(|lsn| victims.contains(&lsn.segment()));
            if let Some(first) = inside.next()
                && seen.insert(entry.hash)
            {
                found.push((dbiid, first, entry.hash));
                empty.remove(&first.segment());
                inside.for_each(|lsn| _ = empty.remove(&lsn.segment()));
            }
        };
        // what comes into the tail from now on has nothing in adopted segments
        for entry in self.unsaved_entries() {
            look(&entry, None);
        }
        let mut after = None;
        loop {
            let rows = self.catalog.rows(after.as_ref(), BATCH_ROWS)?;
            let Some(last) = rows.last() else { break };
            after = Some(*last.as_ref().map_or_else(|hash| hash, |row: &Row| &row.hash));
            for row in rows.into_iter().flatten() {
                if let Some(entry) = &row.entry {
                    look(entry, row.counts.iter().next().map(|(dbiid, _)| dbiid));
                }
            }
        }
        stuck.extend(empty);
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, _, hash)| hash).collect())
    }

    fn unsaved_entries(&self) -> Vec<Arc<Entry>> {
        let state = self.state.lock();
        let tails = state.flushing.iter().map(|tail| &**tail).chain([&state.tail]);
        tails.flat_map(|tail| tail.changes.values()).filter_map(|c| c.entry.clone()).collect()
    }

    /// Appends the blocks of some objects again and says so with one relocate record.
    fn move_some(
        &self,
        rewriting: &mut Rewriting,
        report: &mut RewriteReport,
    ) -> Result<(), ObjectsError> {
        let _open = OpenPut::begin(self);
        let start = report.bytes;
        let (mut taken, mut moved) = (Vec::new(), Vec::new());
        let mut outcome = Ok(());
        while report.bytes - start < BATCH_BYTES && moved.len() < BATCH_OBJECTS {
            let Some(hash) = rewriting.queue.pop_front() else { break };
            taken.push(hash);
            match self.copy(&hash, rewriting, report) {
                Ok(copied) => moved.extend(copied),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.state.lock().moved_bytes += report.bytes - start;
        let outcome = outcome.and_then(|()| self.relocate(moved));
        match outcome {
            Ok((objects, bytes)) => {
                report.objects += objects;
                report.bytes += bytes;
                self.state.lock().moved_bytes += bytes;
            }
            Err(error) => {
                taken.into_iter().rev().for_each(|hash| rewriting.queue.push_front(hash));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Appends the blocks of one object that are in victims again, as they are.
    fn copy(
        &self,
        hash: &ObjectHash,
        rewriting: &mut Rewriting,
        report: &mut RewriteReport,
    ) -> Result<Option<Moved>, ObjectsError> {
        let Some(entry) = self.load_entry(hash)? else { return Ok(None) };
        let is_victim = |block: &BlockAddress| rewriting.victims.contains(&block.lsn.segment());
        let ends_there = rewriting.victims.contains(&entry.end_lsn.segment());
        if !ends_there && !entry.blocks.iter().any(is_victim) {
            return Ok(None);
        }
        let mut blocks = entry.blocks.clone();
        let mut record = Vec::new();
        for (index, block) in blocks.iter_mut().enumerate().filter(|(_, block)| is_victim(block)) {
            let payload = match self.load_block(&entry, index, &mut record) {
                Ok(payload) => payload,
                Err(ObjectsError::Damage { .. }) if self.is_superseded(&entry) => return Ok(None),
                Err(error @ ObjectsError::Damage { .. }) => {
                    tracing::error!(%error, "its segment is not rewritten");
                    self.note_damage(hash);
                    rewriting.stuck.insert(block.lsn.segment());
                    report.damaged += 1;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            let head =
                self.log.append(RecordKind::ObjectBlock, Dbiid::NONE, payload, Space::Ordinary)?;
            block.lsn = head.lsn;
            report.blocks += 1;
            report.bytes += payload.len() as u64;
        }
        let Entry { hash, length, end_lsn, .. } = *entry;
        Ok(Some(Moved { from: end_lsn, entry: Entry { hash, length, end_lsn, blocks } }))
    }

    /// Says where objects stand now, unless they were written anew or pruned meanwhile. Returns
    /// of how many it was true, and the bytes of the record.
    fn relocate(&self, moved: Vec<Moved>) -> Result<(u64, u64), ObjectsError> {
        let _gate = self.gate.write();
        let mut entries = Vec::with_capacity(moved.len());
        for Moved { from, entry } in moved {
            let known = self.load_entry(&entry.hash)?;
            if known.is_some_and(|known| known.end_lsn == from) {
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            return Ok((0, 0));
        }
        let payload = record::encode_relocate(&entries);
        let head = self.log.append(RecordKind::Relocate, Dbiid::NONE, &payload, Space::Ordinary)?;
        let count = entries.len() as u64;
        for mut entry in entries {
            entry.end_lsn = head.lsn;
            self.learn(Arc::new(entry));
        }
        Ok((count, payload.len() as u64))
    }
}
