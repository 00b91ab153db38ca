//! Work on the mail of people: what comes in from elsewhere and goes out again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Secret;

/// One piece of work.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum MailWork {
    /// Brings messages into somebody's mail file.
    Import {
        /// Any name form of the owner.
        name: String,
        /// Where they are.
        from: MailOrigin,
        /// Everything goes below this folder.
        into: Option<String>,
    },
    /// Writes messages of somebody's mail file into files.
    Export {
        /// Any name form of the owner.
        name: String,
        /// The form of the files.
        form: MailForm,
        /// Absolute path of the directory.
        path: PathBuf,
        /// Only these folders and those below them; all when empty.
        folders: Vec<String>,
    },
}

/// How messages lie in files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MailForm {
    /// mbox files.
    Mbox,
    /// A Maildir with folders.
    Maildir,
    /// A file for each message.
    Eml,
}

/// Where messages come from.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MailOrigin {
    /// Files.
    Files {
        /// Their form.
        form: MailForm,
        /// Absolute path of the file or directory.
        path: PathBuf,
    },
    /// An account on an IMAP server.
    Imap(ImapAccount),
}

/// An account on an IMAP server.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ImapAccount {
    /// Name or address of the server.
    pub host: String,
    /// Port; 993 with TLS, 143 without, when `None`.
    pub port: Option<u16>,
    /// Who signs in.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// How the connection is protected.
    pub security: MailSecurity,
    /// Certificates (PEM) of who vouches for the server, besides the usual ones.
    pub ca_file: Option<PathBuf>,
    /// Only these folders; all when empty.
    pub folders: Vec<String>,
}

/// How a connection to another server is protected.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MailSecurity {
    /// TLS from the first byte.
    Tls,
    /// STARTTLS.
    StartTls,
    /// None, on this machine only.
    Plain,
}
