//! Verifying what is stored, and counting references anew.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use note::{Dbiid, ObjectHash};

use crate::catalog::Row;
use crate::counts::Counts;
use crate::record::Entry;
use crate::report::DamagedBlock;
use crate::store::Touched;
use crate::{
    Difference, Objects, ObjectsError, ResyncReport, TicketDelta, VerifyReport, VerifySlice,
};

/// Counts that change while it lives are left alone by [`Objects::resync`].
#[must_use = "counts are watched only while it lives"]
pub struct Recount<'a>(&'a Objects);

impl Drop for Recount<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.touched.watchers -= 1;
        if state.touched.watchers == 0 {
            state.touched = Touched::default();
        }
    }
}

/// Most objects that are remembered as damaged.
const DAMAGED_MAX: usize = 65_536;
/// Rows taken from the catalog in one go by a part of a verification.
const SLICE_ROWS: usize = 64;

impl Objects {
    /// Verifies as [`Objects::verify`] does, in parts: the objects of the catalog behind `after`,
    /// by hash, until about `budget_bytes` of content are read.
    ///
    /// # Errors
    /// As [`Objects::verify`].
    pub fn verify_slice(
        &self,
        after: Option<ObjectHash>,
        budget_bytes: u64,
    ) -> Result<VerifySlice, ObjectsError> {
        let mut slice = VerifySlice { next: after, ..VerifySlice::default() };
        loop {
            let rows = self.catalog.rows(slice.next.as_ref(), SLICE_ROWS)?;
            if rows.is_empty() {
                slice.next = None;
                return Ok(slice);
            }
            for row in rows {
                if slice.report.bytes >= budget_bytes {
                    return Ok(slice);
                }
                slice.next = Some(self.verify_row(row, &mut slice.report)?);
            }
        }
    }

    fn verify_row(
        &self,
        row: Result<Row, ObjectHash>,
        report: &mut VerifyReport,
    ) -> Result<ObjectHash, ObjectsError> {
        let row = match row {
            Ok(row) => row,
            Err(hash) => {
                report.malformed.push(hash);
                return Ok(hash);
            }
        };
        match self.load_entry(&row.hash) {
            Ok(Some(entry)) => self.verify_object(&entry, report)?,
            Ok(None) if row.entry.is_none() && row.counts.total() > 0 => {
                report.missing.push(row.hash);
            }
            Ok(None) | Err(ObjectsError::Malformed { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(row.hash)
    }

    /// Remembers that an object was found damaged.
    pub(crate) fn note_damage(&self, hash: &ObjectHash) {
        let mut damaged = self.damaged.lock();
        if damaged.len() < DAMAGED_MAX {
            damaged.insert(*hash);
        }
    }

    /// Reads every block of every object that is known at the call and checks it against its
    /// checksum, and the whole against its hash. `progress` gets (objects done, objects in all).
    ///
    /// # Errors
    /// `Catalog` when SQLite fails; `Log` or `Io` when the disk is in trouble.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyReport, ObjectsError> {
        let mut report = VerifyReport::default();
        let known = self.known(&mut report)?;
        for (done, hash) in known.iter().enumerate() {
            progress(done as u64, known.len() as u64);
            if let Some(entry) = self.load_entry(hash)? {
                self.verify_object(&entry, &mut report)?;
            }
        }
        progress(known.len() as u64, known.len() as u64);
        Ok(report)
    }

    /// Hashes of all objects; what is referred to and not there goes to the report.
    fn known(&self, report: &mut VerifyReport) -> Result<Vec<ObjectHash>, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let tail = self.state.lock().tail.clone();
        let mut known = Vec::new();
        report.malformed = self.walk(&tail, &mut |row| match row.entry {
            Some(_) => known.push(row.hash),
            None if row.counts.total() > 0 => report.missing.push(row.hash),
            None => {}
        })?;
        Ok(known)
    }

    fn verify_object(
        &self,
        entry: &Arc<Entry>,
        report: &mut VerifyReport,
    ) -> Result<(), ObjectsError> {
        let mut hasher = blake3::Hasher::new();
        let mut raw = Vec::new();
        let damaged_before = report.damaged.len();
        for (index, block) in entry.blocks.iter().enumerate() {
            raw.clear();
            report.blocks += 1;
            report.bytes += u64::from(block.raw_bytes);
            match self.read_block(entry, index, 0..block.raw_bytes as usize, &mut raw) {
                Ok(()) => drop(hasher.update(&raw)),
                Err(ObjectsError::Damage { .. }) if self.is_superseded(entry) => return Ok(()),
                Err(ObjectsError::Damage { hash, block, lsn, reason }) => {
                    report.damaged.push(DamagedBlock { hash, block, lsn, reason });
                }
                Err(error) => return Err(error),
            }
        }
        report.objects += 1;
        let mut sound = report.damaged.len() == damaged_before;
        if sound && hasher.finalize().as_bytes() != &entry.hash.0 {
            report.mismatched.push(entry.hash);
            sound = false;
        }
        if sound {
            self.damaged.lock().remove(&entry.hash);
        } else {
            self.note_damage(&entry.hash);
        }
        Ok(())
    }

    /// Begins a recount beside running writers: take it before the first database is counted, drop
    /// it after [`Objects::resync`].
    pub fn recount(&self) -> Recount<'_> {
        self.state.lock().touched.watchers += 1;
        Recount(self)
    }

    /// Compares the counts with what the databases hold and mends them. What changed since a
    /// [`Recount`] was taken is left alone; without one, nothing may have changed since the count.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails; nothing is mended then.
    pub fn resync(
        &self,
        counted: HashMap<(Dbiid, ObjectHash), i64>,
    ) -> Result<ResyncReport, ObjectsError> {
        self.resync_without(counted, &[])
    }

    /// As [`Objects::resync`], but leaves the counts of `uncounted` databases alone: they could not
    /// be read. While there are any, [`Objects::recount_due`] stays as it is.
    ///
    /// # Errors
    /// As [`Objects::resync`].
    pub fn resync_without(
        &self,
        counted: HashMap<(Dbiid, ObjectHash), i64>,
        uncounted: &[Dbiid],
    ) -> Result<ResyncReport, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let (tail, touched) = {
            let _gate = self.gate.write();
            let state = self.state.lock();
            (state.tail.clone(), state.touched.clone())
        };
        let mut wanted: HashMap<ObjectHash, Counts> = HashMap::new();
        for ((dbiid, hash), count) in counted {
            wanted.entry(hash).or_default().add(dbiid, count);
        }
        let uncounted: HashSet<Dbiid> = uncounted.iter().copied().collect();
        let is_whole = uncounted.is_empty();
        let mut comparison = Comparison { touched, uncounted, report: ResyncReport::default() };
        self.walk(&tail, &mut |row| {
            let wanted = wanted.remove(&row.hash).unwrap_or_default();
            comparison.compare(&row, &wanted);
        })?;
        for (hash, wanted) in wanted {
            comparison.compare(&Row::empty(hash), &wanted);
        }
        let Comparison { touched, report, .. } = comparison;
        let mut state = self.state.lock();
        for found in &report.differences {
            let Difference { hash, dbiid, catalog, counted } = *found;
            state.tail.count(dbiid, &[TicketDelta { hash, count: counted - catalog }]);
        }
        state.tail.is_counted |= state.counting.compared(touched, is_whole);
        Ok(report)
    }
}

struct Comparison {
    touched: Touched,
    uncounted: HashSet<Dbiid>,
    report: ResyncReport,
}

impl Comparison {
    fn compare(&mut self, row: &Row, wanted: &Counts) {
        for (dbiid, catalog) in row.counts.iter() {
            self.compare_count(row.hash, dbiid, (catalog, wanted.get(dbiid)));
        }
        for (dbiid, counted) in wanted.iter().filter(|(dbiid, _)| row.counts.get(*dbiid) == 0) {
            self.compare_count(row.hash, dbiid, (0, counted));
        }
        let settled = wanted.iter().any(|(dbiid, _)| !self.is_touched(row.hash, dbiid));
        if row.entry.is_none() && settled {
            self.report.missing.push(row.hash);
        }
    }

    fn is_touched(&self, hash: ObjectHash, dbiid: Dbiid) -> bool {
        self.uncounted.contains(&dbiid)
            || self.touched.gone.contains(&dbiid)
            || self.touched.counts.contains(&(dbiid, hash))
    }

    fn compare_count(&mut self, hash: ObjectHash, dbiid: Dbiid, (catalog, counted): (i64, i64)) {
        if self.is_touched(hash, dbiid) {
            self.report.skipped += 1;
            return;
        }
        self.report.compared += 1;
        if catalog != counted {
            self.report.differences.push(Difference { hash, dbiid, catalog, counted });
        }
    }
}
