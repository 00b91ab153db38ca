//! What the end-to-end tests share: a server of their own, and ways to talk to it.
//!
//! The tests start the product's binary and know it by its ports and commands alone; nothing of the
//! server is linked in here. A failure in this crate panics: only tests use it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "everything in here is test code")]

mod program;
mod script;
mod server;
mod talk;
mod tree;
mod wire;

pub use program::{Outcome, bounded, cargo_folder, nelumbo, run, tool};
pub use script::{Account, Verdict, play};
pub use server::{Example, Server};
pub use talk::{Line, Reply, Talk};
pub use tree::{Node, demand_body, demand_envelope};
pub use wire::{Case, Protocol};
