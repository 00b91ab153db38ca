//! Counting the references to objects after the catalog was made anew, beside everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Running;
use crate::admin;
use crate::progress::Unheard;

/// Time between two tries.
const EVERY: Duration = Duration::from_secs(3600);
/// Passes of one try: what changes while it is counted is left for the next.
const PASSES_MAX: usize = 10;

/// When it was tried, and whether it is being done.
#[derive(Default)]
pub(super) struct Recount {
    begun: Option<Instant>,
    is_busy: Arc<AtomicBool>,
}

impl Recount {
    /// Begins a try on a thread of its own when one is due.
    pub(super) fn look(&mut self, running: &Arc<Running>) {
        let is_time = self.begun.is_none_or(|begun| begun.elapsed() >= EVERY);
        if !is_time || !running.site.store.objects().recount_due() {
            return;
        }
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        self.begun = Some(Instant::now());
        let (running, is_busy) = (running.clone(), self.is_busy.clone());
        let builder = std::thread::Builder::new().name("recount".to_owned());
        let begun = builder.spawn(move || {
            let _done = Done(is_busy);
            count(&running);
        });
        if let Err(error) = begun {
            self.is_busy.store(false, Ordering::Release);
            tracing::error!(%error, "the references to objects cannot be counted");
        }
    }
}

struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn count(running: &Running) {
    let objects = running.site.store.objects();
    for _ in 0..PASSES_MAX {
        match admin::recount(&running.site.store, &mut Unheard) {
            Ok((report, uncounted)) => tracing::info!(
                compared = report.compared,
                differences = report.differences.len(),
                not_counted = uncounted.len(),
                "the references to objects were counted"
            ),
            Err(failure) => return tracing::warn!("references were not counted: {failure}"),
        }
        if !objects.recount_due() || running.is_stopping() {
            return;
        }
    }
}
