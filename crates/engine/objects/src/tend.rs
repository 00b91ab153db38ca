//! What the store does by itself, in small parts: pruning, rewriting, verifying.

use note::{ObjectHash, TimeDate};

use crate::{Objects, ObjectsError, ObjectsOptions, PruneOrder};

/// Objects pruned by one call.
const PRUNE_OBJECTS: u64 = 1_024;
/// Bytes moved by one call.
const REWRITE_BYTES: u64 = 8 << 20;

/// What is due when.
pub(crate) struct Tending {
    care_at: TimeDate,
    pruning: bool,
    rewriting: bool,
    verify_at: TimeDate,
    /// The object that was verified last.
    verified: Option<ObjectHash>,
}

fn later(now: TimeDate, seconds: u64) -> TimeDate {
    let micros = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    TimeDate(now.0.saturating_add(micros))
}

/// True when `at` has come, or is further away than it was ever set: the clock was turned back.
fn is_due(at: TimeDate, now: TimeDate, interval_s: u64) -> bool {
    now >= at || at > later(now, interval_s)
}

impl Tending {
    /// At the start nothing is due.
    pub(crate) fn new(now: TimeDate, options: &ObjectsOptions) -> Tending {
        let first = later(now, options.care_interval_s);
        Tending {
            care_at: first,
            pruning: false,
            rewriting: false,
            verify_at: first,
            verified: None,
        }
    }
}

impl Objects {
    /// Does a part of what is due: prunes, else rewrites, else verifies. Cheap when nothing is;
    /// meant to be called every second.
    ///
    /// # Errors
    /// As [`Objects::prune`], [`Objects::rewrite`] and [`Objects::verify`]; the next call goes on.
    pub fn tend(&self) -> Result<(), ObjectsError> {
        let Some(mut tending) = self.tending.try_lock() else { return Ok(()) };
        let now = self.clock.now();
        // What was begun is ended first, however short the interval is.
        if !tending.rewriting && is_due(tending.care_at, now, self.options.care_interval_s) {
            tending.care_at = later(now, self.options.care_interval_s);
            tending.pruning = true;
        }
        if tending.pruning {
            return self.tend_pruning(&mut tending);
        }
        if tending.rewriting {
            return self.tend_rewriting(&mut tending);
        }
        self.tend_verifying(&mut tending, now)
    }

    fn tend_pruning(&self, tending: &mut Tending) -> Result<(), ObjectsError> {
        let report =
            self.prune(&PruneOrder { objects_max: PRUNE_OBJECTS, ..self.prune_order() })?;
        if report.objects > 0 {
            tracing::info!(objects = report.objects, bytes = report.stored_bytes, "pruned");
        }
        tending.pruning = report.more;
        tending.rewriting = !report.more;
        Ok(())
    }

    fn tend_rewriting(&self, tending: &mut Tending) -> Result<(), ObjectsError> {
        let report = self.rewrite(REWRITE_BYTES)?;
        if report.objects > 0 {
            tracing::debug!(objects = report.objects, bytes = report.bytes, "rewritten");
        }
        tending.rewriting = report.waits || report.left > 0;
        Ok(())
    }

    fn tend_verifying(&self, tending: &mut Tending, now: TimeDate) -> Result<(), ObjectsError> {
        let Self { options, .. } = self;
        let longest = options.verify_interval_s.max(options.care_interval_s);
        let rests = tending.verified.is_none() && !is_due(tending.verify_at, now, longest);
        if rests || options.verify_slice_bytes == 0 {
            return Ok(());
        }
        let slice = self.verify_slice(tending.verified, options.verify_slice_bytes)?;
        if !slice.report.is_clean() {
            tracing::error!(report = ?slice.report, "objects are damaged");
        }
        tending.verified = slice.next;
        if slice.next.is_none() {
            tending.verify_at = later(now, options.verify_interval_s);
        }
        Ok(())
    }
}
