//! Mail from an IMAP server (RFC 3501): every folder is opened to be read only, and what the mail
//! file does not have yet is fetched. A connection that breaks is made again.

mod client;
mod parse;
#[cfg(test)]
mod tests;
mod wire;

use std::io::{self, Read, Write};
use std::time::Duration;

use mailfile::Marks;
use note::TimeDate;
use note::Unid;

use crate::{Found, Identity, MigrateError, Problem, Source, Taker, identity};
use client::{Client, Fault, Mailbox, Message};

/// Attempts in a row without a message before it is given up.
const ATTEMPTS_MAX: u32 = 6;
/// Messages asked for at once.
const FETCH_MESSAGES: usize = 50;
/// Ids looked up at once.
const KNOWN_MESSAGES: usize = 1_000;

/// A connection's two directions.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// How connections are made; whoever uses this crate has the network and TLS. Reads and writes of
/// the streams must end after a bounded time.
pub trait Dial {
    /// A TCP connection to the server.
    ///
    /// # Errors
    /// It cannot be made.
    fn connect(&mut self) -> io::Result<Box<dyn Stream>>;

    /// TLS over a connection, the server's name checked.
    ///
    /// # Errors
    /// The handshake failed.
    fn secure(&mut self, plain: Box<dyn Stream>) -> io::Result<Box<dyn Stream>>;
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS from the first byte (port 993).
    Tls,
    /// STARTTLS before the sign-in; without it, there is none.
    StartTls,
    /// None: the password and all mail can be read on the way.
    Plain,
}

/// Whose mail is fetched, and from where.
#[derive(Clone)]
pub struct Account {
    /// Name of the server.
    pub host: String,
    /// Who signs in.
    pub user: String,
    /// The password.
    pub password: String,
    /// How the connection is protected.
    pub security: Security,
    /// Only these folders, as the server names them (with `/` between levels); all when empty.
    pub folders: Vec<String>,
    /// Wait before the second attempt after a connection broke; doubles with each further one.
    pub retry_wait: Duration,
}

/// An account on an IMAP server.
pub struct ImapSource {
    account: Account,
    dial: Box<dyn Dial>,
    client: Option<Client>,
    /// Attempts since the last message came.
    attempts: u32,
}

impl ImapSource {
    /// The mail of an account.
    pub fn new(account: Account, dial: Box<dyn Dial>) -> ImapSource {
        ImapSource { account, dial, client: None, attempts: 0 }
    }

    fn error(&self, what: impl Into<String>) -> MigrateError {
        MigrateError::Server { host: self.account.host.clone(), what: what.into() }
    }

    /// The connection, made when there is none.
    fn client(&mut self, bytes_max: u64) -> Result<&mut Client, Fault> {
        let client = match self.client.take() {
            Some(client) => client,
            None => Client::open(&self.account, &mut *self.dial, bytes_max)?,
        };
        Ok(self.client.insert(client))
    }

    /// Does something on the connection; when that breaks, again on a new one.
    fn on_line<T>(
        &mut self,
        bytes_max: u64,
        mut work: impl FnMut(&mut Client) -> Result<T, Fault>,
    ) -> Result<T, MigrateError> {
        loop {
            let fault = match self.client(bytes_max).and_then(&mut work) {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            self.try_again(fault)?;
        }
    }

    /// Waits before another attempt, if there may be one.
    fn try_again(&mut self, fault: Fault) -> Result<(), MigrateError> {
        if let Fault::Refused(what) | Fault::Unfit(what) = fault {
            return Err(self.error(what));
        }
        if let Fault::Taker(error) = fault {
            return Err(error);
        }
        self.client = None;
        self.attempts += 1;
        if self.attempts >= ATTEMPTS_MAX {
            return Err(self.error(format!("{fault}, {} times in a row", self.attempts)));
        }
        let host = &self.account.host;
        tracing::warn!(host, %fault, "an IMAP connection broke and is made again");
        let wait = self.account.retry_wait.saturating_mul(1 << (self.attempts - 1));
        std::thread::sleep(wait);
        Ok(())
    }

    fn folder(
        &mut self,
        mailbox: &Mailbox,
        done: &mut u64,
        taker: &mut dyn Taker,
    ) -> Result<(), MigrateError> {
        let bytes_max = taker.message_bytes_max();
        let opened = self.on_line(bytes_max, |client| client.examine(mailbox));
        let (uidvalidity, uids) = match opened {
            Ok(opened) => opened,
            Err(error @ MigrateError::Server { .. }) if self.client.is_some() => {
                let (place, reason) = (mailbox.name.clone(), error.to_string());
                taker.problem(Problem { place, at: 0, reason });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let total = *done + uids.len() as u64;
        for slice in uids.chunks(KNOWN_MESSAGES) {
            let ids: Vec<Unid> =
                slice.iter().map(|uid| self.id(mailbox, (uidvalidity, *uid))).collect();
            let known = taker.knows(&ids)?;
            let new = slice.iter().zip(known).filter(|(_, known)| !known);
            let new: Vec<u32> = new.map(|(uid, _)| *uid).collect();
            *done += (slice.len() - new.len()) as u64;
            taker.progress(*done, total)?;
            for wanted in new.chunks(FETCH_MESSAGES) {
                self.fetch((mailbox, uidvalidity), wanted, taker)?;
                *done += wanted.len() as u64;
                taker.progress(*done, total)?;
            }
        }
        Ok(())
    }

    fn id(&self, mailbox: &Mailbox, uid: (u32, u32)) -> Unid {
        identity::of_place(&self.account.host, &self.account.user, &mailbox.raw, uid)
    }

    /// Fetches these messages; those that are gone meanwhile are passed over.
    fn fetch(
        &mut self,
        (mailbox, uidvalidity): (&Mailbox, u32),
        uids: &[u32],
        taker: &mut dyn Taker,
    ) -> Result<(), MigrateError> {
        let bytes_max = taker.message_bytes_max();
        let mut missing = uids.to_vec();
        while !missing.is_empty() {
            let wanted = missing.clone();
            let source = (&self.account.host.clone(), &self.account.user.clone());
            let outcome = self.client(bytes_max).and_then(|client| {
                client.reopen(mailbox, uidvalidity)?;
                client.fetch(&wanted, &mut |message| {
                    let Some(at) = missing.iter().position(|uid| *uid == message.uid) else {
                        return Ok(());
                    };
                    missing.remove(at);
                    let uid = (uidvalidity, message.uid);
                    let id = identity::of_place(source.0, source.1, &mailbox.raw, uid);
                    take(mailbox, id, message, taker)
                })
            });
            if missing.len() < wanted.len() {
                self.attempts = 0;
            }
            match outcome {
                Ok(()) => return Ok(()),
                Err(Fault::Refused(reason)) if wanted.len() == 1 => {
                    let (place, at) = (mailbox.name.clone(), wanted[0].into());
                    taker.problem(Problem { place, at, reason });
                    return Ok(());
                }
                // One of them makes trouble: each by itself.
                Err(Fault::Refused(_)) => {
                    for uid in missing {
                        self.fetch((mailbox, uidvalidity), &[uid], taker)?;
                    }
                    return Ok(());
                }
                Err(fault) => self.try_again(fault)?,
            }
        }
        Ok(())
    }
}

fn take(
    mailbox: &Mailbox,
    unid: Unid,
    message: Message,
    taker: &mut dyn Taker,
) -> Result<(), MigrateError> {
    let Message { uid, flags, date, body } = message;
    match body {
        Ok(bytes) => {
            let marks: Marks = flags;
            let date = date.map(TimeDate::from_unix_seconds);
            taker.message(Found { identity: Identity::Known(unid), bytes, date, marks })
        }
        Err(reason) => {
            let place = mailbox.name.clone();
            taker.problem(Problem { place, at: uid.into(), reason });
            Ok(())
        }
    }
}

impl Source for ImapSource {
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError> {
        let bytes_max = taker.message_bytes_max();
        let wanted = self.account.folders.clone();
        let mut mailboxes = self.on_line(bytes_max, Client::mailboxes)?;
        if wanted.is_empty() {
            // It shows every message again that other folders have.
            mailboxes.retain(|mailbox| !mailbox.shows_all);
        }
        let is_wanted = |mailbox: &&Mailbox| {
            let named = |name: &String| *name == mailbox.name || *name == mailbox.raw;
            wanted.is_empty() || wanted.iter().any(named)
        };
        let chosen: Vec<Mailbox> = mailboxes.iter().filter(is_wanted).cloned().collect();
        for name in &wanted {
            if !chosen.iter().any(|mailbox| *name == mailbox.name || *name == mailbox.raw) {
                return Err(self.error(format!("there is no folder {name}")));
            }
        }
        let mut done = 0;
        for mailbox in &chosen {
            taker.folder(&mailbox.name)?;
            self.folder(mailbox, &mut done, taker)?;
        }
        if let Some(client) = self.client.take() {
            client.close();
        }
        Ok(())
    }
}
