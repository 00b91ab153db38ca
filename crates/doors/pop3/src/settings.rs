//! What an administrator may choose about the door.

use std::time::Duration;

/// Limits and choices of the POP3 door. `Settings::default()` is fit for use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Allows a password over a connection without TLS from any peer; loopback peers always may.
    pub plain_login: bool,
    /// Name of the server shown in the greeting.
    pub host_name: String,
    /// Product name for `IMPLEMENTATION` (RFC 2449 §6.9).
    pub product: String,
    /// Messages that were retrieved are marked as read at QUIT.
    pub mark_seen: bool,
    /// Longest command line in bytes, without its line end (RFC 2449 §4 asks for 255 with it).
    pub line_bytes_max: usize,
    /// Messages of a maildrop that one session sees; the oldest ones when there are more.
    pub messages_max: usize,
    /// Longest TLS handshake.
    pub handshake_wait: Duration,
    /// A connection that is not signed in ends after this time in all.
    pub guest_wait: Duration,
    /// A signed-in connection ends after this time without a command (RFC 1939 §3: >= 10
    /// minutes). Nothing is deleted then.
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
            product: String::from("nelumbo"),
            mark_seen: true,
            line_bytes_max: 1024,
            messages_max: 1_000_000,
            handshake_wait: Duration::from_secs(30),
            guest_wait: Duration::from_secs(120),
            idle_wait: Duration::from_secs(10 * 60),
            write_wait: Duration::from_secs(300),
            login_failures_max: 3,
            login_failure_wait: Duration::from_millis(500),
        }
    }
}
