//! Pruning: objects that no note has referred to for long leave the catalog; adopted segments
//! without any object left are removed.
//!
//! The order on disk: the rows are deleted and the commit becomes durable with the sync that
//! follows the next checkpoint; only then may the log use the space of those blocks again, and only
//! then are files removed. A crash before that brings the objects back, whole.

use note::TimeDate;
use txlog::Lsn;

use crate::catalog::{IdlePlace, Row};
use crate::{Objects, ObjectsError, PruneReport};

/// Objects that leave in one go, with the checkpoint gate closed.
const BATCH_ROWS: usize = 128;

/// What is to be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOrder {
    /// The time now.
    pub now: TimeDate,
    /// How long an object must have been without references, in seconds.
    pub defer_s: u64,
    /// Only tell what would go.
    pub dry_run: bool,
    /// Stop after about this many objects.
    pub objects_max: u64,
}

/// Objects without references since then, or longer, may go.
pub(crate) fn before(order: &PruneOrder) -> TimeDate {
    let defer = i64::try_from(order.defer_s).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    TimeDate(order.now.0.saturating_sub(defer))
}

impl Objects {
    /// Everything that is due by the clock and by [`crate::ObjectsOptions::defer_s`].
    pub fn prune_order(&self) -> PruneOrder {
        let (now, defer_s) = (self.clock.now(), self.options.defer_s);
        PruneOrder { now, defer_s, dry_run: false, objects_max: u64::MAX }
    }

    /// Drops objects that no note has referred to for the time of deferred deletion; one that is
    /// referred to again before stays, and so does one that is pinned. What they took in adopted
    /// segments is dead from then on; [`Objects::synced`] removes files that are wholly dead,
    /// [`Objects::rewrite`] those that are nearly so.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails; what was pruned before that stays pruned.
    pub fn prune(&self, order: &PruneOrder) -> Result<PruneReport, ObjectsError> {
        let mut report = PruneReport { waits: self.recount_due(), ..PruneReport::default() };
        if report.waits {
            return Ok(report);
        }
        let before = before(order);
        let mut after = None;
        while report.objects < order.objects_max {
            after = self.prune_some(order, (before, after), &mut report)?;
            if after.is_none() {
                return Ok(report);
            }
        }
        report.more = true;
        Ok(report)
    }

    /// Goes through the next unreferenced objects; tells where it stopped.
    fn prune_some(
        &self,
        order: &PruneOrder,
        (before, after): (TimeDate, Option<IdlePlace>),
        report: &mut PruneReport,
    ) -> Result<Option<IdlePlace>, ObjectsError> {
        let _standing = self.checkpointing.lock();
        let found = self.catalog.idle_rows(before, after, BATCH_ROWS)?;
        let Some((last, _)) = found.last() else { return Ok(None) };
        let last = *last;
        let rows: Vec<Row> = found.into_iter().filter_map(|(_, row)| row).collect();
        // closed: nobody looks an object up to share it, and no reference is counted
        let _gate = self.gate.write();
        let leaving: Vec<Row> = rows.into_iter().filter(|row| self.may_go(row, report)).collect();
        if !order.dry_run && !leaving.is_empty() {
            self.delete(&leaving)?;
        }
        for entry in leaving.iter().filter_map(|row| row.entry.as_ref()) {
            report.objects += 1;
            report.logical_bytes += entry.length;
            report.stored_bytes += entry.stored_bytes();
        }
        Ok(Some(last))
    }

    fn may_go(&self, row: &Row, report: &mut PruneReport) -> bool {
        if row.entry.is_none() || !row.counts.is_empty() {
            return false;
        }
        if self.state.lock().tail.changes.contains_key(&row.hash) {
            report.changed += 1;
            return false;
        }
        let pinned = self.pins.is_pinned(&row.hash);
        report.pinned += u64::from(pinned);
        !pinned
    }

    fn delete(&self, rows: &[Row]) -> Result<(), ObjectsError> {
        let (lsn, totals) = {
            let state = self.state.lock();
            (state.checkpointed, state.totals)
        };
        let written = self.catalog.delete(rows, lsn, totals)?;
        let mut state = self.state.lock();
        state.totals = written.totals;
        state.fading.add_all(&written.displaced);
        drop(state);
        for row in rows {
            self.forget(&row.hash);
            self.verified.lock().remove(&row.hash);
        }
        Ok(())
    }

    /// Told after the sync that followed the checkpoint which returned `lsn`, and before the next
    /// one: what the catalog no longer names is not needed by any crash. Removes the adopted
    /// segments without a live block; who reads in one reads on. Returns how many it removed.
    ///
    /// # Errors
    /// `Io` when a file cannot be removed; it is tried again the next time.
    pub fn synced(&self, lsn: Lsn) -> Result<u64, ObjectsError> {
        let _standing = self.checkpointing.lock();
        if lsn != self.checkpointed_lsn() || self.recount_due() {
            return Ok(0);
        }
        let adopted = self.adopted.ids();
        let dead: Vec<u32> = adopted.into_iter().filter(|id| !self.is_live_segment(*id)).collect();
        for segment in &dead {
            self.adopted.remove(*segment)?;
        }
        if !dead.is_empty() {
            self.adopted.sync_dir()?;
            tracing::info!(segments = dead.len(), "adopted segments without objects are removed");
        }
        Ok(dead.len() as u64)
    }

    /// True when a checkpoint and the sync behind it would free space, or let rewriting go on.
    pub fn wants_checkpoint(&self) -> bool {
        let state = self.state.lock();
        let moved = state.moved_bytes;
        let enough = moved >= self.options.rewrite_log_bytes_max || !state.moving;
        !state.fading.is_empty() || (moved > 0 && enough)
    }
}
