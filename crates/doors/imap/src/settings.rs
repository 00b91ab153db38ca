//! What an administrator may choose about the door.

use std::time::Duration;

/// Limits and choices of the IMAP door. `Settings::default()` is fit for use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Allows a password over a connection without TLS from any peer; loopback peers always may.
    pub plain_login: bool,
    /// Name of the server shown in the greeting.
    pub host_name: String,
    /// Product name and version for `ID` (RFC 2971).
    pub product: (String, String),
    /// Longest command line before sign-in, in bytes.
    pub line_bytes_max_guest: usize,
    /// Longest command line after sign-in, in bytes.
    pub line_bytes_max: usize,
    /// Largest message that `APPEND` takes, in bytes (RFC 7889).
    pub append_bytes_max: u64,
    /// Longest TLS handshake.
    pub handshake_wait: Duration,
    /// A connection that is not signed in ends after this time in all.
    pub guest_wait: Duration,
    /// A signed-in connection ends after this time without a command (RFC 3501 §5.4: >= 30
    /// minutes).
    pub idle_wait: Duration,
    /// One write to a client that does not read ends the connection after this time.
    pub write_wait: Duration,
    /// Failed sign-ins after which the connection ends.
    pub login_failures_max: u32,
    /// Delay of the answer to the first failed sign-in; doubles with each further one.
    pub login_failure_wait: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            plain_login: false,
            host_name: String::from("localhost"),
            product: (String::from("nelumbo"), String::from(env!("CARGO_PKG_VERSION"))),
            line_bytes_max_guest: 8 * 1024,
            line_bytes_max: 128 * 1024,
            append_bytes_max: 100 * 1024 * 1024,
            handshake_wait: Duration::from_secs(30),
            guest_wait: Duration::from_secs(120),
            idle_wait: Duration::from_secs(31 * 60),
            write_wait: Duration::from_secs(300),
            login_failures_max: 3,
            login_failure_wait: Duration::from_millis(500),
        }
    }
}
