//! What an administrator may choose about the door.

use std::time::Duration;

/// Limits and choices of the SMTP door. `Settings::default()` is fit for use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the server in greeting, EHLO reply and trace header.
    pub host_name: String,
    /// Allows a password over a connection without TLS from any peer; loopback peers always may.
    pub plain_login: bool,
    /// Largest message in bytes (RFC 1870).
    pub message_bytes_max: u64,
    /// Most recipients of one message (RFC 5321 §4.5.3.1.8 asks for 100 or more).
    pub recipients_max: usize,
    /// Turns bare CR and bare LF in message data into CRLF instead of refusing the message.
    pub normalize_line_ends: bool,
    /// Longest command line in bytes, without CRLF (RFC 5321 §4.5.3.1.4 and RFC 4954 §4).
    pub line_bytes_max: usize,
    /// Received header lines with which a message counts as looping (RFC 5321 §6.3).
    pub hop_limit: u32,
    /// Messages that one connection may send.
    pub messages_max: u32,
    /// Refused commands after which the connection ends.
    pub faults_max: u32,
    /// Failed sign-ins after which the connection ends.
    pub login_failures_max: u32,
    /// Delay of the answer to a failed sign-in.
    pub login_failure_wait: Duration,
    /// Longest silence between commands (RFC 5321 §4.5.3.2.7: 5 minutes).
    pub command_wait: Duration,
    /// Longest silence within message data (RFC 5321 §4.5.3.2.5: 3 minutes).
    pub data_wait: Duration,
    /// Longest time for one message's data as a whole.
    pub message_wait: Duration,
    /// Connections open at once.
    pub connections_max: u64,
    /// Who signed in may only send from addresses of their own; administrators from any.
    pub own_addresses: bool,
    /// Addresses of groups count as own ones of their members.
    pub group_addresses: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            host_name: String::from("localhost"),
            plain_login: false,
            message_bytes_max: 50 * 1024 * 1024,
            recipients_max: 1_000,
            normalize_line_ends: false,
            line_bytes_max: 12 * 1024,
            hop_limit: 25,
            messages_max: 10_000,
            faults_max: 20,
            login_failures_max: 3,
            login_failure_wait: Duration::from_millis(500),
            command_wait: Duration::from_secs(300),
            data_wait: Duration::from_secs(180),
            message_wait: Duration::from_secs(30 * 60),
            connections_max: 5_000,
            own_addresses: true,
            group_addresses: false,
        }
    }
}
