//! What the directory takes and gives: people, groups, answers, errors.

use std::net::IpAddr;
use std::sync::Arc;

use note::{TimeDate, Unid};

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
    /// Largest message that the person may hand in, in bytes; 0: as large as the server takes.
    pub message_bytes_max: u64,
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
    /// What it is for (item GroupType).
    pub kind: GroupKind,
}

/// What a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupKind {
    /// Everything (type 0).
    #[default]
    MultiPurpose,
    /// Mail only (type 1).
    Mail,
    /// Access control lists only (type 2); takes no mail.
    AccessControl,
    /// Those who are denied access (type 3): its members cannot sign in; takes no mail.
    Deny,
    /// Servers (type 4); takes no mail.
    Servers,
}

impl GroupKind {
    /// All kinds; the place is the number in item GroupType.
    pub const ALL: [GroupKind; 5] = [
        GroupKind::MultiPurpose,
        GroupKind::Mail,
        GroupKind::AccessControl,
        GroupKind::Deny,
        GroupKind::Servers,
    ];

    /// Whether mail to the group goes to its members.
    pub fn takes_mail(self) -> bool {
        matches!(self, GroupKind::MultiPurpose | GroupKind::Mail)
    }

    /// The name that people write: `multi-purpose`, `mail`, `acl`, `deny`, `servers`.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::MultiPurpose => "multi-purpose",
            GroupKind::Mail => "mail",
            GroupKind::AccessControl => "acl",
            GroupKind::Deny => "deny",
            GroupKind::Servers => "servers",
        }
    }

    /// The kind of a name (in any letter case) or of a number from 0 to 4.
    pub fn parse(text: &str) -> Option<GroupKind> {
        let text = text.trim();
        let number = text.parse::<usize>().ok().and_then(|n| GroupKind::ALL.get(n));
        let named = || GroupKind::ALL.iter().find(|kind| kind.name().eq_ignore_ascii_case(text));
        number.or_else(named).copied()
    }

    /// As item GroupType holds it.
    pub(crate) fn number(self) -> &'static str {
        match self {
            GroupKind::MultiPurpose => "0",
            GroupKind::Mail => "1",
            GroupKind::AccessControl => "2",
            GroupKind::Deny => "3",
            GroupKind::Servers => "4",
        }
    }
}

/// A Mail-In Database document: mail for its name goes into a database that is nobody's mail file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailIn {
    /// The document's UNID.
    pub unid: Unid,
    /// Item FullName.
    pub name: String,
    /// Internet address; empty when there is none.
    pub internet_address: String,
    /// Further names and addresses.
    pub aliases: Vec<String>,
    /// Path of the database below `data/`.
    pub path: String,
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
    /// One mail-in database.
    MailIn(MailIn),
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
    /// New short name.
    pub short_name: Option<String>,
    /// New internet address.
    pub internet_address: Option<String>,
    /// New path of the mail file; the file is neither moved nor made.
    pub mail_file: Option<String>,
    /// New aliases.
    pub aliases: Option<Vec<String>>,
    /// `Some(None)` ends forwarding.
    pub forward: Option<Option<String>>,
    /// Sign-in refused or allowed again.
    pub disabled: Option<bool>,
    /// Largest message to hand in, in bytes; 0: as large as the server takes.
    pub message_bytes_max: Option<u64>,
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
    /// What it is for.
    pub kind: GroupKind,
}

/// Changes of a group; `None` leaves as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupChange {
    /// `Some("")`: no address any more.
    pub internet_address: Option<String>,
    /// New members in place of all.
    pub members: Option<Vec<String>>,
    /// What it is for.
    pub kind: Option<GroupKind>,
}

/// New names of a person; `None` leaves as it is. The old ones stay as aliases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewName {
    /// New full name.
    pub full_name: Option<String>,
    /// New short name. Without a new internet address an address made of the old one follows.
    pub short_name: Option<String>,
    /// New internet address.
    pub internet_address: Option<String>,
}

/// A mail-in database to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewMailIn {
    /// Its name.
    pub name: String,
    /// Path below `data/`; it is made as a mail file unless it is there.
    pub path: String,
    /// Default: none; the name at a local domain works in any case when it is a local part.
    pub internet_address: Option<String>,
    /// Further names or addresses.
    pub aliases: Vec<String>,
}

/// How the directory answers; may be changed at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Bytes of documents kept in memory.
    pub cache_bytes: usize,
    /// What separates a name from the rest of a local part that is for its owner alone:
    /// `ada+news@` is `ada@`. Empty: nothing does.
    pub subaddress: String,
    /// Failed sign-ins of one name from one address after which sign-in is refused; 0: never. From
    /// all addresses together ten times as many.
    pub lockout_failures: u32,
    /// Minutes for which it is refused, and within which failures count.
    pub lockout_minutes: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 16 << 20,
            subaddress: "+".to_owned(),
            lockout_failures: 10,
            lockout_minutes: 15,
        }
    }
}

/// Somebody who cannot sign in for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedOut {
    /// The name as it was last given.
    pub name: String,
    /// The address that tried; `None`: from everywhere.
    pub address: Option<IpAddr>,
    /// Failures that count.
    pub failures: u32,
    /// Until when.
    pub until: TimeDate,
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
    /// Sign-in is refused after too many failures, whether anybody has the name or not: answer as
    /// for a wrong password.
    #[error("sign-in is refused after too many failures")]
    LockedOut {
        /// Until when.
        until: TimeDate,
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
