//! What SEARCH, SORT and THREAD share: charset and keys, results, and the work in slices.

mod program;
mod returns;
mod slices;

pub(crate) use program::{Program, find};
pub(crate) use returns::Returns;
pub(crate) use slices::slices;
