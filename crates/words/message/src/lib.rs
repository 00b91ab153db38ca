//! Messages as they travel (RFC 5322, MIME): structure, envelope, exact split into pieces.
//!
//! Pure values and grammar: no files, sockets, clocks or threads. [`parse`] is total, runs once
//! over the bytes in linear time, and keeps to [`Limits`]. Offsets it tells are into the bytes it
//! was given. [`plan`] splits a message so that its pieces give it back byte for byte.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod charset;
mod collate;
mod content;
mod cursor;
mod date;
pub mod dsn;
mod envelope;
mod fields;
mod items;
mod params;
mod plan;
mod preview;
mod print;
mod scan;
mod structure;
mod subject;
mod summary;
mod transfer;
pub mod utf7;
mod wire;
mod words;

#[cfg(test)]
#[path = "tests/corpus.rs"]
mod corpus;

pub use address::parse_addresses;
pub use charset::{decode_charset, knows_charset};
pub use collate::{casemap, casemap_ascii};
pub use date::{parse_date, parse_day, print_date};
pub use fields::{Fields, header_bytes, headers, unfold};
pub use items::{note_items, print_address};
pub use plan::{INLINE_BYTES_MAX, Planned, plan};
pub use preview::PREVIEW_CHARS_MAX;
pub use print::encode_param;
pub use scan::parse;
pub use structure::{Address, Defects, Envelope, Kind, Limits, Parsed, Part};
pub use subject::{BaseSubject, base_subject};
pub use summary::{AddressView, AddressesView, EnvelopeView};
pub use summary::{SUMMARY_VERSION, SummaryError, SummaryView, summary_decode, summary_encode};
pub use transfer::{decode_text, decode_transfer};
pub use wire::{stored_range, write_wire};
pub use words::{decode_words, encode_words};
