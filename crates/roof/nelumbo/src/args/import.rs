//! `mail import` and `mail export`: mail from elsewhere, and out again.

use std::path::{Path, PathBuf};

use clap::Args;
use server::{ImapAccount, MailForm, MailOrigin, MailSecurity, MailWork, Request};

use super::one;
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, password, show};

/// What is shown of an import or export.
const MOVED: &[&str] =
    &["mail_file", "messages", "already", "bytes", "folders", "left_out", "problems", "stopped"];

/// Options of `mail import`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// Data directory and name of the person
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    #[command(flatten)]
    from: From,
    /// Everything goes below this folder
    #[arg(long, value_name = "FOLDER")]
    into: Option<String>,
    #[command(flatten)]
    account: Account,
}

/// Where messages come from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct From {
    /// An mbox file, or a directory of them (also of Thunderbird)
    #[arg(long, value_name = "PATH")]
    mbox: Option<PathBuf>,
    /// A Maildir with its folders (Dovecot, Courier)
    #[arg(long, value_name = "PATH")]
    maildir: Option<PathBuf>,
    /// A directory of .eml files, or one file
    #[arg(long, value_name = "PATH")]
    eml: Option<PathBuf>,
    /// An account on an IMAP server
    #[arg(long, value_name = "HOST[:PORT]", requires = "user")]
    imap: Option<String>,
}

/// How the account on the other server is reached.
#[derive(Debug, Args)]
struct Account {
    /// Who signs in on the other server
    #[arg(long, value_name = "NAME", requires = "imap")]
    user: Option<String>,
    /// Read the password for the other server from standard input
    #[arg(long, requires = "imap")]
    password_stdin: bool,
    /// Only this folder of the other server (may be given again)
    #[arg(long = "folder", value_name = "FOLDER", requires = "imap")]
    folders: Vec<String>,
    /// Begin TLS by STARTTLS (port 143)
    #[arg(long, requires = "imap", conflicts_with = "plain")]
    starttls: bool,
    /// No TLS; only to a server on this machine (port 143)
    #[arg(long, requires = "imap")]
    plain: bool,
    /// Also trust the certificates in this file (PEM)
    #[arg(long, value_name = "FILE", requires = "imap")]
    ca: Option<PathBuf>,
}

/// Options of `mail export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Data directory and name of the person
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    #[command(flatten)]
    to: To,
    /// Only this folder and those below it (may be given again)
    #[arg(long = "folder", value_name = "FOLDER")]
    folders: Vec<String>,
}

/// Where messages go.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct To {
    /// A directory of new mbox files
    #[arg(long, value_name = "PATH")]
    mbox: Option<PathBuf>,
    /// A Maildir with folders; what is in it already is passed over
    #[arg(long, value_name = "PATH")]
    maildir: Option<PathBuf>,
    /// A directory of .eml files; what is in it already is passed over
    #[arg(long, value_name = "PATH")]
    eml: Option<PathBuf>,
}

/// The path as a server finds it, whose working directory is another one.
fn absolute(path: &Path) -> Result<PathBuf, Ending> {
    Ok(std::path::absolute(path)?)
}

impl From {
    fn origin(self, account: Account) -> Result<MailOrigin, Ending> {
        let (form, path) = match (self.mbox, self.maildir, self.eml, self.imap) {
            (Some(path), ..) => (MailForm::Mbox, path),
            (_, Some(path), ..) => (MailForm::Maildir, path),
            (_, _, Some(path), _) => (MailForm::Eml, path),
            (_, _, _, host) => return account.origin(&host.unwrap_or_default()),
        };
        Ok(MailOrigin::Files { form, path: absolute(&path)? })
    }
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), Ending> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None if text.matches(':').count() == 1 => {
            text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        }
        None => (text, None),
    };
    let wrong = || Ending::misuse(format!("{text}: neither HOST nor HOST:PORT"));
    let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
    if host.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), port)) }
}

impl Account {
    fn origin(self, host: &str) -> Result<MailOrigin, Ending> {
        let (host, port) = host_and_port(host)?;
        let user = self.user.unwrap_or_default();
        let password = password::once(self.password_stdin, &format!("{user} on {host}"))?;
        let security = match (self.starttls, self.plain) {
            (true, _) => MailSecurity::StartTls,
            (_, true) => MailSecurity::Plain,
            _ => MailSecurity::Tls,
        };
        let ca_file = self.ca.as_deref().map(absolute).transpose()?;
        let folders = self.folders;
        Ok(MailOrigin::Imap(ImapAccount { host, port, user, password, security, ca_file, folders }))
    }
}

impl Import {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, name) = one(place, self.words)?;
        let from = self.from.origin(self.account)?;
        let request = Request::Mail(MailWork::Import { name, from, into: self.into });
        show::reply(carry_out(&dir, request)?, MOVED, json)
    }
}

impl Export {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, name) = one(place, self.words)?;
        let (form, path) = match (self.to.mbox, self.to.maildir, self.to.eml) {
            (Some(path), ..) => (MailForm::Mbox, path),
            (_, Some(path), _) => (MailForm::Maildir, path),
            (_, _, path) => (MailForm::Eml, path.unwrap_or_default()),
        };
        let (path, folders) = (absolute(&path)?, self.folders);
        let request = Request::Mail(MailWork::Export { name, form, path, folders });
        show::reply(carry_out(&dir, request)?, MOVED, json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_with_and_without_port() {
        let cases = [
            ("mail.example", Some(("mail.example", None))),
            ("mail.example:1143", Some(("mail.example", Some(1143)))),
            ("[::1]:993", Some(("::1", Some(993)))),
            ("::1", Some(("::1", None))),
            ("mail.example:x", None),
            (":1", None),
        ];
        for (text, wanted) in cases {
            let found = host_and_port(text).ok();
            let wanted = wanted.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(found, wanted, "{text}");
        }
    }
}
