//! The POP3 door: the INBOX of a mail file as a maildrop (RFC 1939), with CAPA (RFC 2449), STLS
//! (RFC 2595) and AUTH (RFC 5034).
//!
//! [`Door::serve_connection`] runs one connection to its end. A session sees the maildrop as it was
//! at sign-in, and is the only one on it. Nothing is deleted before QUIT; the reply to QUIT leaves
//! after the deletions are durable.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cmd;
mod door;
mod lines;
mod locks;
mod maildrop;
mod octets;
mod reply;
mod sending;
mod session;
mod settings;
mod stats;

pub use door::{Door, Parts};
pub use settings::Settings;
pub use stats::Stats;
