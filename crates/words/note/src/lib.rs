//! Values of the note model: ids, times, items, notes, their binary form, hierarchical names.
//!
//! Pure values: no files, sockets, clocks or threads. The binary layout is described in
//! `docs/formats/note.md` and pinned by a fixture.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod bytes;
mod decode;
mod encode;
mod flags;
mod ids;
mod item;
mod model;
mod names;
mod time;
mod view;

pub use decode::{DecodeError, ITEMS_MAX, NAME_BYTES_MAX};
pub use flags::{ItemFlags, NoteClass};
pub use ids::{Dbiid, IdError, ObjectHash, OriginatorId, ReplicaId, Unid};
pub use item::{Eol, Item, ItemValue, Piece, Recipe, Ticket};
pub use model::Note;
pub use names::{DistinguishedName, NameError};
pub use time::TimeDate;
pub use view::{ItemView, NoteView};
