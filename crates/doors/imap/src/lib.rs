//! The IMAP door: sessions, grammar and replies of IMAP4rev1 (RFC 3501) over mail files.
//!
//! [`Door::serve_connection`] runs one connection to its end. Work that touches a database runs on
//! the pool; a reply leaves only after everything it was made of is durable, and that wait lies
//! outside the pool.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cmd;
mod door;
mod fetch;
mod grammar;
mod input;
mod listing;
mod names;
mod news;
mod reply;
mod search;
mod selected;
mod session;
mod settings;
mod stats;
mod text;

pub use door::{Door, Parts};
pub use settings::Settings;
pub use stats::Stats;
