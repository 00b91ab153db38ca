//! The POP3 door over a wire, with real databases below: dialogues, what is durable when, other
//! doors beside it, hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod beside;
mod client;
mod dialogues;
mod durable;
mod fixture;
mod hostile;
#[path = "../../../session/tests/stand/house.rs"]
mod house;
#[path = "../../../session/tests/stand/link.rs"]
mod link;
#[path = "../../../session/tests/stand/secure.rs"]
mod secure;
mod tls;
