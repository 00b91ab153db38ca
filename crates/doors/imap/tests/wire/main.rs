//! The door over a wire, with real databases below: dialogues, structure of answers, sessions that
//! meet in one mailbox, limits.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod client;
mod dialogues;
mod durable;
mod fixture;
mod grammar;
mod hostile;
#[path = "../../../session/tests/stand/house.rs"]
mod house;
mod limits;
#[path = "../../../session/tests/stand/link.rs"]
mod link;
mod meeting;
mod responses;
mod resync;
#[path = "../../../session/tests/stand/secure.rs"]
mod secure;
mod stress;
mod structure;
mod tls;
