//! Checkpoints of the catalog, and what is answered from catalog and tail together.

use std::sync::Arc;

use note::ObjectHash;
use txlog::Lsn;

use crate::catalog::{Row, Totals, Written};
use crate::tail::Tail;
use crate::{Objects, ObjectsError, ObjectsStatus};

/// Rows taken from the catalog in one go.
pub(crate) const BATCH_ROWS: usize = 512;

impl Objects {
    /// Writes the in-memory tail to the catalog and commits; returns the new `checkpointed_lsn`.
    ///
    /// Waits until the log is durable up to it. The commit itself is not synced: between this call
    /// and a `syncfs` of the file system the log must not give up any segment, and afterwards only
    /// what is before the returned position.
    ///
    /// # Errors
    /// `Log` when the log does not become durable, `Catalog` when SQLite fails; the tail is kept
    /// and the next checkpoint writes it.
    pub fn checkpoint(&self) -> Result<Lsn, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let (tail, lsn) = self.cut();
        let lsn = lsn.max(self.checkpointed_lsn());
        if tail.is_empty() && lsn == self.checkpointed_lsn() && !self.is_fading() {
            self.state.lock().flushing = None;
            return Ok(lsn);
        }
        match self.write_tail(&tail, lsn) {
            Ok(written) => self.settle(&tail, written, lsn),
            Err(error) => {
                self.put_back(&tail);
                return Err(error);
            }
        }
        if let Err(error) = self.catalog.backfill_when_long() {
            tracing::warn!(%error, "write-ahead file of the object catalog stays long");
        }
        Ok(lsn)
    }

    /// Moves the catalog's write-ahead file into `catalog.db` and truncates it.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails; nothing is lost then.
    pub fn truncate_wal(&self) -> Result<(), ObjectsError> {
        let _standing = self.checkpointing.lock();
        self.catalog.backfill()
    }

    fn is_fading(&self) -> bool {
        !self.state.lock().fading.is_empty()
    }

    /// Ends the tail at a position of the log: what is before it is in the tail that is returned.
    fn cut(&self) -> (Arc<Tail>, Lsn) {
        let _gate = self.gate.write();
        let lsn = self.log.appended();
        let mut state = self.state.lock();
        let tail = Arc::new(std::mem::take(&mut state.tail));
        state.flushing = Some(Arc::clone(&tail));
        (tail, lsn)
    }

    fn write_tail(&self, tail: &Tail, lsn: Lsn) -> Result<Written, ObjectsError> {
        self.log.durable(lsn).wait()?;
        let totals = self.state.lock().totals;
        self.catalog.write(tail, (lsn, self.clock.now()), totals)
    }

    fn settle(&self, tail: &Tail, written: Written, lsn: Lsn) {
        let mut state = self.state.lock();
        state.flushing = None;
        for displaced in &tail.displaced {
            state.loads.add(displaced, -1);
        }
        state.loads.add_all(&written.displaced);
        let faded = std::mem::take(&mut state.fading);
        state.loads.add_all(&faded);
        state.totals = written.totals;
        state.moved_bytes = 0;
        state.checkpointed = lsn;
    }

    fn put_back(&self, older: &Tail) {
        let mut state = self.state.lock();
        state.flushing = None;
        state.tail.merge_older(older);
    }

    /// References to an object over all databases.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails, `Malformed` when the row is damaged.
    pub fn references(&self, hash: &ObjectHash) -> Result<i64, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let (change, gone) = {
            let state = self.state.lock();
            (state.tail.changes.get(hash).cloned().unwrap_or_default(), state.tail.gone.clone())
        };
        let mut row = self.catalog.row(hash)?.unwrap_or_else(|| Row::empty(*hash));
        row.apply(&change);
        row.counts.drop_gone(|dbiid| gone.contains(&dbiid));
        Ok(row.counts.total())
    }

    /// Totals over all objects. Costs a look-up per object that changed since the last checkpoint,
    /// a walk over the catalog when a database was deleted since.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails.
    pub fn status(&self) -> Result<ObjectsStatus, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let (tail, mut totals, segments) = {
            let state = self.state.lock();
            (state.tail.clone(), state.totals, state.loads.live())
        };
        if tail.gone.is_empty() {
            self.add_changes(&tail, &mut totals)?;
        } else {
            totals = Totals::default();
            self.walk(&tail, &mut |row| totals.add(&row, 1))?;
        }
        Ok(ObjectsStatus {
            objects: totals.objects.max(0) as u64,
            references: totals.references,
            unreferenced: totals.unreferenced.max(0) as u64,
            logical_bytes: totals.logical_bytes.max(0) as u64,
            stored_bytes: totals.stored_bytes.max(0) as u64,
            segments,
            adopted: self.adopted.count() as u64,
            damaged: self.damaged.lock().len() as u64,
            recount_due: self.recount_due(),
        })
    }

    fn add_changes(&self, tail: &Tail, totals: &mut Totals) -> Result<(), ObjectsError> {
        for (hash, change) in &tail.changes {
            let row = match self.catalog.row(hash) {
                Err(ObjectsError::Malformed { .. }) => continue,
                row => row?,
            };
            let mut row = match row {
                Some(row) => {
                    totals.add(&row, -1);
                    row
                }
                None => Row::empty(*hash),
            };
            row.apply(change);
            totals.add(&row, 1);
        }
        Ok(())
    }

    /// Visits every row of the catalog with the tail applied, and what the tail alone knows. The
    /// caller holds `checkpointing`. Returns the hashes of damaged rows.
    pub(crate) fn walk(
        &self,
        tail: &Tail,
        visit: &mut dyn FnMut(Row),
    ) -> Result<Vec<ObjectHash>, ObjectsError> {
        let (mut damaged, mut after) = (Vec::new(), None);
        let mut unseen = tail.changes.clone();
        let gone = |dbiid| tail.gone.contains(&dbiid);
        loop {
            let rows = self.catalog.rows(after.as_ref(), BATCH_ROWS)?;
            let last = rows.len() < BATCH_ROWS;
            for row in rows {
                let mut row = match row {
                    Ok(row) => row,
                    Err(hash) => {
                        damaged.push(hash);
                        after = Some(hash);
                        continue;
                    }
                };
                after = Some(row.hash);
                if let Some(change) = unseen.remove(&row.hash) {
                    row.apply(&change);
                }
                row.counts.drop_gone(gone);
                visit(row);
            }
            if last {
                break;
            }
        }
        for (hash, change) in unseen {
            let mut row = Row::empty(hash);
            row.apply(&change);
            row.counts.drop_gone(gone);
            visit(row);
        }
        Ok(damaged)
    }
}
