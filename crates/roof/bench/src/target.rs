//! The server under load: where it listens and who its people are.

use std::net::IpAddr;

/// How a connection is secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// In the clear.
    #[default]
    None,
    /// By STARTTLS or STLS before the sign-in.
    Upgrade,
    /// From the first byte.
    Implicit,
}

/// Where one protocol of the server is spoken.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address, looked up once at the start.
    pub address: IpAddr,
    /// The name as it was given, for TLS and `Host:`.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How the connection is secured. Certificates are not checked: the driver measures, it keeps
    /// no secrets.
    pub tls: Tls,
}

/// The server under load. A protocol without an endpoint is not spoken.
#[derive(Debug, Clone)]
pub struct Target {
    /// Mail goes in here.
    pub smtp: Option<Endpoint>,
    /// Mailboxes are read here.
    pub imap: Option<Endpoint>,
    /// Maildrops are read here.
    pub pop3: Option<Endpoint>,
    /// Webmail.
    pub http: Option<Endpoint>,
    /// Names are looked up here.
    pub ldap: Option<Endpoint>,
    /// Below this entry of the directory; empty: below the one that the server takes then.
    pub ldap_base: String,
    /// The people.
    pub people: People,
}

/// The people of the server: the first is number 1.
#[derive(Debug, Clone)]
pub struct People {
    /// What stands in front of the number in an address.
    pub before: String,
    /// The least number of digits.
    pub digits: usize,
    /// What stands behind the number, `@` and domain included.
    pub after: String,
    /// The password of everybody.
    pub password: String,
    /// How many people take part.
    pub count: u32,
}

impl People {
    /// The address of person `number` (from 1), by which this person signs in too.
    #[must_use]
    pub fn address(&self, number: u32) -> String {
        let Self { before, digits, after, .. } = self;
        format!("{before}{number:0digits$}{after}")
    }

    /// The domain of everybody.
    #[must_use]
    pub fn domain(&self) -> &str {
        self.after.rsplit('@').next().unwrap_or_default()
    }
}
