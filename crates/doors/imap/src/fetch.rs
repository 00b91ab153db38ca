//! FETCH (RFC 3501 §6.4.5, §7.4.2): what may be asked for, and how it is written.

mod envelope;
mod items;
mod run;
mod section;
mod structure;

pub(crate) use items::{Item, Items};
pub(crate) use run::{Progress, Run};
