//! What a command asks of the owner of a data directory, and what it is told.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing asked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Ends the server in order.
    Stop,
    /// Reads the configuration and the certificate again.
    Reload,
    /// What the server is doing.
    Status,
    /// One line of the console.
    Console {
        /// The line as typed.
        line: String,
    },
    /// Registers a person.
    UserAdd(UserAdd),
    /// Changes a person.
    UserSet(UserSet),
    /// Sets a password.
    UserPasswd {
        /// Any name form.
        name: String,
        /// The new password.
        password: Secret,
    },
    /// Gives a person another full name.
    UserRename {
        /// Any name form.
        name: String,
        /// The new full name.
        full_name: String,
    },
    /// Removes a person; the mail file stays unless `with_mail`.
    UserRemove {
        /// Any name form.
        name: String,
        /// Also deletes the mail file.
        with_mail: bool,
    },
    /// All people.
    UserList,
    /// Adds a group.
    GroupAdd {
        /// List name.
        name: String,
        /// Internet address, if it has one of its own.
        address: Option<String>,
        /// Names or addresses.
        members: Vec<String>,
    },
    /// Removes a group.
    GroupRemove {
        /// List name.
        name: String,
    },
    /// All groups.
    GroupList,
    /// Shows the members of a group, after adding and removing some.
    GroupMembers {
        /// List name.
        name: String,
        /// Names to add.
        add: Vec<String>,
        /// Names to take out.
        remove: Vec<String>,
    },
    /// All databases.
    DbList,
    /// Makes a database.
    DbCreate {
        /// Path below `data/`.
        path: String,
        /// Its title.
        title: String,
        /// Whether it is a mail file.
        mail: bool,
    },
    /// Facts of one database, or of all.
    DbInfo {
        /// Path below `data/`.
        path: Option<String>,
    },
    /// Shows the notes of a database.
    DbCat {
        /// Path below `data/`.
        path: String,
        /// UNID or note id of a single note.
        note: Option<String>,
    },
    /// Takes care of databases.
    DbCare {
        /// What is done.
        care: Care,
        /// Databases, directories or lists (`.ind`) below `data/`; none: every database.
        paths: Vec<String>,
    },
    /// Copies a database.
    DbCopy {
        /// Path below `data/`.
        from: String,
        /// Path below `data/` of the copy.
        to: String,
        /// Whether the copy is no replica of the first.
        new_replica: bool,
    },
    /// Gives a database another path.
    DbMove {
        /// Path below `data/`.
        from: String,
        /// The new path below `data/`.
        to: String,
    },
    /// Deletes a database.
    DbRemove {
        /// Path below `data/`.
        path: String,
    },
    /// Totals of the object store.
    ObjectsStatus,
    /// Reads every object and checks it.
    ObjectsVerify,
    /// Compares the counts of the object store with the databases, and mends them.
    ObjectsResync,
    /// State of the transaction log.
    LogStatus,
}

impl Request {
    /// Whether the sessions of the person it is about must end: who was there by an old password,
    /// or may not be there any more, does not stay.
    pub(crate) fn ends_sessions(&self) -> bool {
        match self {
            Request::UserRemove { .. } | Request::UserPasswd { .. } => true,
            Request::UserSet(set) => set.disabled == Some(true),
            _ => false,
        }
    }
}

/// What can be done for a database in use.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Care {
    /// Frees the space of deleted documents.
    Compact,
    /// Checks everything, and saves what can be saved.
    Fixup,
    /// Rebuilds indexes and counters.
    Updall,
}

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
    /// Refuses or allows sign-in.
    pub disabled: Option<bool>,
    /// Makes or unmakes an administrator.
    pub admin: Option<bool>,
}

/// A password on its way; never shown.
#[derive(Clone, Serialize, Deserialize, PartialEq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The answer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    Done {
        /// What there is to show.
        value: Value,
    },
    /// It was done, and something is not as it should be (exit code 1).
    Finding {
        /// What there is to show.
        value: Value,
    },
    /// The asker is wrong (exit code 2).
    Refused {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The world is in the way (exit code 3).
    Trouble {
        /// What happened, where, and what to do.
        reason: String,
    },
    /// The server is not ready yet; ask again.
    Starting,
}

impl Reply {
    /// A reply with something to show.
    pub fn done(value: impl Into<Value>) -> Self {
        Self::Done { value: value.into() }
    }

    /// A refusal.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// Trouble, told with the whole chain of causes.
    pub fn trouble(error: &dyn std::error::Error) -> Self {
        Self::Trouble { reason: chain(error) }
    }

    /// The exit code of a command that got this reply.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Done { .. } => 0,
            Self::Finding { .. } => 1,
            Self::Refused { .. } => 2,
            Self::Trouble { .. } | Self::Starting => 3,
        }
    }
}

/// An error with its causes, each after a colon.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_through_json() {
        let asked = [
            Request::Stop,
            Request::Console { line: "show server".to_owned() },
            Request::UserAdd(UserAdd { full_name: "A B".to_owned(), ..UserAdd::default() }),
            Request::DbInfo { path: None },
        ];
        for request in asked {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let request = Request::UserPasswd { name: "ada".into(), password: Secret("x1y2".into()) };
        assert!(!format!("{request:?}").contains("x1y2"));
    }
}
