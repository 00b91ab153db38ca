//! The demo domain: a botanical garden with twelve people, groups and some weeks of mail.
//!
//! People, groups and messages stand as text in `demo/` of this crate; dates are told relative
//! to the day the demo is made.

mod compose;
mod make;
#[cfg(test)]
mod making;
mod passwords;
mod people;
mod place;
mod script;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;

pub use make::{Credentials, DemoError, check_place, make, settings};

/// The password of everybody, on loopback.
pub const PASSWORD: &str = "demo";
/// The domain.
pub const DOMAIN: &str = "demo.test";
/// Most people that `--users` adds.
pub const USERS_MAX: u32 = 100_000;

/// How to make and run the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Data directory.
    pub dir: PathBuf,
    /// Added to every port number.
    pub port_offset: u16,
    /// People u0001 … to have in addition.
    pub users: u32,
    /// Address to listen on.
    pub bind: IpAddr,
    /// Internet domain.
    pub domain: String,
    /// Password of everybody; `None`: [`PASSWORD`] on loopback, else a random one each.
    pub password: Option<String>,
    /// Whether the twelve people find mail.
    pub mail: bool,
}

/// Ports of the doors, before the offset.
pub const PORTS: &[(crate::Key, &str, u16)] = &[
    (crate::Key::ListenSmtp, "SMTP", 2025),
    (crate::Key::ListenSubmission, "submission", 2587),
    (crate::Key::ListenSmtps, "SMTPS", 2465),
    (crate::Key::ListenImap, "IMAP", 2143),
    (crate::Key::ListenImaps, "IMAPS", 2993),
    (crate::Key::ListenPop3, "POP3", 2110),
    (crate::Key::ListenPop3s, "POP3S", 2995),
    (crate::Key::ListenMetrics, "metrics", 2090),
];
