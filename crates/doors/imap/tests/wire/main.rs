//! The door over a wire, with real databases below: dialogues, structure of answers, sessions that
//! meet in one mailbox, limits.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod client;
mod dialogues;
mod durable;
mod fixture;
mod grammar;
mod hostile;
mod limits;
mod meeting;
mod responses;
mod resync;
mod stress;
mod structure;
mod tls;
