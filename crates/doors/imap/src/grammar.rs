//! The command grammar (RFC 3501 §9): what clients send, taken apart.

mod cursor;
mod dates;
mod flags;
#[cfg(test)]
mod fuzz;
mod keys;
mod sets;

pub(crate) use cursor::{Bad, Cursor, Parse};
pub(crate) use dates::{Day, parse_date_time, print_date_time};
pub(crate) use flags::{FlagList, SYSTEM_FLAGS};
pub(crate) use keys::{Scope, SearchKey};
pub(crate) use sets::{Selection, SequenceSet};
