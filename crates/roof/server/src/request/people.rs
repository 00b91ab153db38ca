//! People in requests.

use serde::{Deserialize, Serialize};

/// A person to register.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct UserAdd {
    /// Full name, `Ada Lovelace` or `Ada Lovelace/Demo`.
    pub full_name: String,
    /// Short name, the local part of the address.
    pub short_name: String,
    /// The password; without one the person cannot sign in.
    pub password: Option<Secret>,
    /// Further names and addresses.
    pub aliases: Vec<String>,
    /// Mail goes on to this address.
    pub forward: Option<String>,
    /// Becomes an administrator.
    pub admin: bool,
}

/// A change of a person; `None` leaves as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct UserSet {
    /// Any name form.
    pub name: String,
    /// Replaces the aliases.
    pub aliases: Option<Vec<String>>,
    /// Replaces the forwarding address; empty ends forwarding.
    pub forward: Option<String>,
    /// Most bytes that the mail file may hold; 0: no limit.
    #[serde(default)]
    pub quota_bytes: Option<u64>,
    /// Bytes from which the person is warned; 0: never.
    #[serde(default)]
    pub warn_bytes: Option<u64>,
    /// Largest message that the person may hand in, in bytes; 0: as the server.
    #[serde(default)]
    pub message_bytes_max: Option<u64>,
    /// Refuses or allows sign-in.
    pub disabled: Option<bool>,
    /// Makes or unmakes an administrator.
    pub admin: Option<bool>,
}

/// A rule for incoming mail, as people write it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct RuleText {
    /// Its name.
    pub name: String,
    /// Whether it is applied.
    pub enabled: bool,
    /// Whether one condition suffices.
    pub any: bool,
    /// Conditions such as `sender contains @example.org`; none: every message.
    pub conditions: Vec<String>,
    /// Actions such as `move Lists`.
    pub actions: Vec<String>,
}

/// A password on its way; never shown.
#[derive(Clone, Serialize, Deserialize, PartialEq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}
