//! What the directory takes and gives: people, groups, answers, errors.

use std::sync::Arc;

use note::Unid;

/// A Person document as the rest of the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The document's UNID.
    pub unid: Unid,
    /// Canonical full name, `CN=Ada Lovelace/O=Demo`.
    pub full_name: String,
    /// Short name, also the local part of the internet address.
    pub short_name: String,
    /// Internet address, `ada@demo.test`; empty when there is none.
    pub internet_address: String,
    /// Further full names and addresses.
    pub aliases: Vec<String>,
    /// Path of the mail file below `data/`; empty when the person has none.
    pub mail_file: String,
    /// Forwarding address (item MailAddress).
    pub forward: Option<String>,
    /// Stands, directly or through groups, in the Server document's Administrator item.
    pub admin: bool,
    /// Sign-in is refused.
    pub disabled: bool,
}

/// A Group document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The document's UNID.
    pub unid: Unid,
    /// Item ListName.
    pub name: String,
    /// Internet address; empty when there is none.
    pub internet_address: String,
    /// Members as written: names of people and groups, internet addresses.
    pub members: Vec<String>,
    /// May be used for mail (GroupType 0 or 1).
    pub mail: bool,
}

/// What group expansion needs of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRef {
    /// Identity, for loop protection.
    pub unid: Unid,
    /// Item ListName.
    pub name: Arc<str>,
    /// Members as written.
    pub members: Arc<[String]>,
}

/// Where mail for an address goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// A mail file of this server.
    MailFile {
        /// Path below `data/`.
        path: Arc<str>,
        /// Canonical name of the owner.
        name: Arc<str>,
    },
    /// A mail group.
    Group(GroupRef),
    /// The person's mail goes to another address.
    Forward(String),
    /// The domain is not one of ours.
    OtherDomain,
    /// The domain is ours, the name is nobody's (or has no mail).
    Unknown,
    /// More than one entry answers to this name.
    Ambiguous,
}

/// The answer of [`crate::Directory::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One person.
    Person(Person),
    /// One group.
    Group(Group),
    /// Several entries answer to this name: their names.
    Ambiguous(Vec<String>),
    /// Nobody.
    Unknown,
}

/// A password for a new or changed person.
#[derive(Clone, PartialEq, Eq)]
pub enum NewPassword {
    /// Plain text, hashed before it is stored.
    Plain(Vec<u8>),
    /// An Argon2 PHC string made by [`crate::Directory::hash_password`].
    Hashed(String),
}

/// A person to register.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewPerson {
    /// Full name, canonical or abbreviated; without organisation the server's is taken.
    pub full_name: String,
    /// Short name; must be a valid local part.
    pub short_name: String,
    /// Default: short name at the primary domain.
    pub internet_address: Option<String>,
    /// Further full names or addresses.
    pub aliases: Vec<String>,
    /// Default: `mail/SHORT.nsf`.
    pub mail_file: Option<String>,
    /// Forwarding address.
    pub forward: Option<String>,
    /// `None`: cannot sign in.
    pub password: Option<NewPassword>,
}

/// Changes of a person; `None` leaves as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonChange {
    /// New full name.
    pub full_name: Option<String>,
    /// New internet address.
    pub internet_address: Option<String>,
    /// New aliases.
    pub aliases: Option<Vec<String>>,
    /// `Some(None)` ends forwarding.
    pub forward: Option<Option<String>>,
    /// Sign-in refused or allowed again.
    pub disabled: Option<bool>,
    /// New password.
    pub password: Option<NewPassword>,
}

/// A group to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewGroup {
    /// List name.
    pub name: String,
    /// Default: none; the list name at a local domain works in any case when it is a local part.
    pub internet_address: Option<String>,
    /// Members: names or addresses.
    pub members: Vec<String>,
}

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewPassword(..)")
    }
}

/// What can go wrong in the directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// `names.nsf` cannot be read or written: answer temporarily.
    #[error("the directory cannot be used")]
    Store(#[from] store::StoreError),
    /// A mail file could not be made.
    #[error("the mail file {path} cannot be made")]
    MailFile {
        /// Path below `data/`.
        path: String,
        /// Why.
        source: store::StoreError,
    },
    /// Too many sign-ins wait for a hash: answer temporarily.
    #[error("too many sign-ins at once")]
    Busy,
    /// The hash function or the source of randomness failed.
    #[error("a password hash cannot be computed")]
    Hash,
    /// The asker gave something that cannot be: a name, an address, a duplicate.
    #[error("{0}")]
    Refused(String),
    /// Nobody has this name.
    #[error("there is no {kind} named {name}")]
    NotFound {
        /// `person`, `group`, `server` or `document`.
        kind: &'static str,
        /// As asked.
        name: String,
    },
    /// The name means several entries.
    #[error("{name} is ambiguous: {candidates:?}")]
    Ambiguous {
        /// As asked.
        name: String,
        /// Full names of those who answer to it.
        candidates: Vec<String>,
    },
}

impl From<crate::password::NoHash> for DirectoryError {
    fn from(reason: crate::password::NoHash) -> DirectoryError {
        match reason {
            crate::password::NoHash::Busy => DirectoryError::Busy,
            crate::password::NoHash::Failed => DirectoryError::Hash,
        }
    }
}
