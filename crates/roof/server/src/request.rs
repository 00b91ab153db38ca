//! What a command asks of the owner of a data directory, and what it is told.

mod mail;
mod people;
mod queue;
mod reply;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use mail::{ImapAccount, MailForm, MailOrigin, MailSecurity, MailWork};
pub use people::{RuleText, Secret, UserAdd, UserSet};
pub use queue::{QueueDeed, QueueOrder};
pub use reply::{Reply, chain};

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
    /// Lets somebody sign in again who was locked out.
    UserUnlock {
        /// Any name form; none: everybody.
        name: Option<String>,
    },
    /// The rules of a person for incoming mail.
    UserRules {
        /// Any name form.
        name: String,
    },
    /// Adds a rule, or replaces the one of its name.
    UserRuleAdd {
        /// Any name form.
        name: String,
        /// The rule.
        rule: RuleText,
        /// Before the others, not behind them.
        first: bool,
    },
    /// Takes a rule away.
    UserRuleRemove {
        /// Any name form.
        name: String,
        /// Name of the rule.
        rule: String,
    },
    /// Shows the senders a person has blocked, after adding and removing some.
    UserBlock {
        /// Any name form.
        name: String,
        /// Addresses to add.
        add: Vec<String>,
        /// Addresses to take out.
        remove: Vec<String>,
    },
    /// Adds a group.
    GroupAdd {
        /// List name.
        name: String,
        /// Internet address, if it has one of its own.
        address: Option<String>,
        /// What it is for, as in [`crate::GROUP_TYPES`]; none: everything.
        #[serde(default)]
        kind: Option<String>,
        /// Names or addresses.
        members: Vec<String>,
    },
    /// Changes a group.
    GroupSet {
        /// List name.
        name: String,
        /// Replaces the address; empty: none.
        address: Option<String>,
        /// Replaces what it is for.
        kind: Option<String>,
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
    /// Lets a database take mail.
    MailInAdd {
        /// Its name.
        name: String,
        /// Path below `data/`.
        path: String,
        /// Internet address, if it has one of its own.
        address: Option<String>,
        /// Further names and addresses.
        aliases: Vec<String>,
    },
    /// Lets it take no more mail.
    MailInRemove {
        /// Its name.
        name: String,
    },
    /// All databases that take mail.
    MailInList,
    /// Gives mail for unknown addresses of a domain to somebody, or refuses it.
    CatchAllSet {
        /// The domain.
        domain: String,
        /// Who gets it; none: it is refused.
        name: Option<String>,
    },
    /// Who gets mail for unknown addresses.
    CatchAllList,
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
    /// Brings single notes over into another database.
    DbCopyNotes {
        /// Path below `data/`.
        from: String,
        /// Path below `data/` of a database that is there.
        to: String,
        /// UNIDs.
        unids: Vec<String>,
    },
    /// Writes a database with its objects into a file of its own.
    DbExport {
        /// Path below `data/`.
        path: String,
        /// The file, outside of the data directory.
        file: PathBuf,
    },
    /// Takes such a file in as a new database.
    DbImport {
        /// The file.
        file: PathBuf,
        /// Path below `data/` of the new database.
        to: String,
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
    /// Objects, one row each.
    ObjectsList {
        /// Begins behind this hash.
        after: Option<String>,
        /// Most rows.
        limit: usize,
    },
    /// Deletes objects that nobody refers to, once they have been so for a while.
    ObjectsPrune {
        /// Seconds for which an object must have been unreferenced; none: as the settings say.
        defer_s: Option<u64>,
        /// Only tells what would go.
        dry_run: bool,
    },
    /// What other thresholds and a prune would save.
    ObjectsEstimate {
        /// Sizes in bytes from which a content would become an object.
        thresholds: Vec<u64>,
    },
    /// Reads every object and checks it.
    ObjectsVerify,
    /// Compares the counts of the object store with the databases, and mends them.
    ObjectsResync,
    /// State of the transaction log.
    LogStatus,
    /// Copies sealed segments of the log into its archive now.
    LogArchive,
    /// Messages of a person that were deleted and can be taken back.
    MailDeleted {
        /// Any name form.
        name: String,
        /// Most rows.
        limit: usize,
    },
    /// Takes deleted messages back.
    MailRestore {
        /// Any name form.
        name: String,
        /// UNIDs; none: all that were deleted since `since_s`.
        unids: Vec<String>,
        /// Seconds back from now.
        since_s: Option<u64>,
        /// Folder they go to; none: where they were.
        folder: Option<String>,
    },
    /// Work on the mail of a person.
    Mail(MailWork),
    /// Orders about the mail that waits.
    Queue(QueueOrder),
}

impl Request {
    /// The task that the work counts as while it lasts.
    pub(crate) fn task(&self) -> Option<&'static str> {
        match self {
            Request::DbCare { care: Care::Compact, .. } => Some("Compact"),
            Request::DbCare { care: Care::Fixup, .. } => Some("Fixup"),
            Request::DbCare { care: Care::Updall, .. } => Some("UpdAll"),
            Request::ObjectsPrune { .. } | Request::ObjectsVerify | Request::ObjectsResync => {
                Some("DAOSMgr")
            }
            Request::DbCopy { .. } | Request::DbExport { .. } | Request::DbImport { .. } => {
                Some("Copy")
            }
            Request::Mail(_) => Some("Mail"),
            _ => None,
        }
    }

    /// What it changes, for the server's log; `None` when that is told elsewhere, or nothing is
    /// changed that others have to look for. No secrets.
    pub(crate) fn change(&self) -> Option<String> {
        Some(match self {
            Self::UserAdd(add) => format!("user add {}", add.full_name),
            Self::UserSet(set) => format!("user set {}", set.name),
            Self::UserPasswd { name, .. } => format!("user passwd {name}"),
            Self::UserRename { name, .. } => format!("user rename {name}"),
            Self::UserRemove { name, .. } => format!("user remove {name}"),
            Self::UserRuleAdd { name, rule, .. } => format!("user rule add {name} {}", rule.name),
            Self::UserRuleRemove { name, rule } => format!("user rule remove {name} {rule}"),
            Self::GroupAdd { name, .. } => format!("group add {name}"),
            Self::GroupSet { name, .. } => format!("group set {name}"),
            Self::GroupRemove { name } => format!("group remove {name}"),
            Self::MailInAdd { name, path, .. } => format!("mail-in add {name} {path}"),
            Self::MailInRemove { name } => format!("mail-in remove {name}"),
            Self::CatchAllSet { domain, name: Some(name) } => {
                format!("catch-all set {domain} {name}")
            }
            Self::CatchAllSet { domain, name: None } => format!("catch-all remove {domain}"),
            Self::DbCreate { path, .. } => format!("db create {path}"),
            Self::DbImport { file, to } => {
                format!("db copy {} {to} --from-file", file.display())
            }
            Self::DbMove { from, to } => format!("db move {from} {to}"),
            Self::DbRemove { path } => format!("db remove {path}"),
            Self::ObjectsPrune { dry_run: false, .. } => "objects prune".to_owned(),
            _ => return None,
        })
    }

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
