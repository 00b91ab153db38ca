//! How far a long piece of work has come, and stopping it.

use std::ops::ControlFlow;

use crate::{Result, StoreError};

/// How often long loops tell how far they are: after so many rows.
pub(crate) const ROWS_BETWEEN: u64 = 512;

/// How far a piece of work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which part of the work is done: a few words such as "copying the file".
    pub what: &'static str,
    /// How much of this part is done.
    pub done: u64,
    /// How much this part is, in the unit of `done` (bytes, notes, pages); 0 when not known.
    pub total: u64,
}

/// Called now and then by long work, on the thread that does it and with no lock of the store
/// that others wait for, unless the part says "locked". `Break` stops the work, which then ends
/// with [`StoreError::Stopped`] and has changed nothing; after the last point at which that is
/// possible the answer is not heeded.
pub type Progress<'a> = dyn FnMut(Step) -> ControlFlow<()> + 'a;

/// A [`Progress`] that does not care.
///
/// ```
/// assert!(store::unwatched(store::Step { what: "", done: 0, total: 0 }).is_continue());
/// ```
pub fn unwatched(_: Step) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Tells how far the work is; an error when it is to stop.
pub(crate) fn tell(
    progress: &mut Progress<'_>,
    what: &'static str,
    done: u64,
    total: u64,
) -> Result<()> {
    match progress(Step { what, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(StoreError::Stopped),
    }
}
