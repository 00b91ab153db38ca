//! IMAP (RFC 9051 and RFC 3501, with UIDPLUS, MOVE, LITERAL+, MULTIAPPEND where they are offered).

mod append;
mod change;
mod dialogue;
mod fetch;
mod picture;
mod read;
mod scan;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::channel::{Channel, within};
use super::{Error, LINE_OCTETS_MAX, LIST_OCTETS_MAX, Timeouts, Traffic};
use crate::target::{Endpoint, Tls};
pub use change::Change;
use dialogue::Untagged;
use picture::Picture;
pub use picture::{Gone, News};
pub use read::{Mark, Part, Row};
use scan::Scan;

/// Folders of a person at the most.
const FOLDERS_MAX: usize = 10_000;

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name as the server writes it.
    pub name: String,
    /// Its attributes, such as `\Sent`.
    pub attributes: Vec<String>,
}

/// A folder as it was when it was selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selected {
    /// Messages.
    pub exists: u32,
    /// Messages with \Recent.
    pub recent: u32,
    /// The next uid, when the server says it.
    pub uid_next: Option<u32>,
    /// The validity of uids; 0 when the server does not say it.
    pub uid_validity: u32,
    /// The highest modification sequence, when the server says it.
    pub highest_modseq: Option<u64>,
}

/// A folder that is not selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Messages.
    pub messages: u32,
    /// Messages without \Seen.
    pub unseen: u32,
    /// The next uid.
    pub uid_next: u32,
    /// The validity of uids.
    pub uid_validity: u32,
}

/// A connection to mailboxes.
#[derive(Debug)]
pub struct Imap {
    channel: Channel,
    /// The response that is being read, literals included.
    response: Vec<u8>,
    /// Octets of a response at the most.
    limit: usize,
    tag: u32,
    capabilities: Vec<String>,
    picture: Picture,
}

impl Imap {
    /// Connects, waits for the greeting, secures the connection as `to` says.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when STARTTLS is refused.
    pub async fn connect(to: &Endpoint, timeouts: Timeouts) -> Result<Self, Error> {
        within(timeouts.connect, "the connection", async {
            let mut channel = Channel::connect(to, timeouts).await?;
            if to.tls == Tls::Implicit {
                channel.secure(to).await?;
            }
            let mut imap = Self {
                channel,
                response: Vec::new(),
                limit: LINE_OCTETS_MAX,
                tag: 0,
                capabilities: Vec::new(),
                picture: Picture::default(),
            };
            imap.greeting().await?;
            if to.tls == Tls::Upgrade {
                imap.run("STARTTLS", |_, _| Ok(())).await?;
                imap.channel.secure(to).await?;
                imap.capabilities.clear();
            }
            imap.response = Vec::new();
            Ok(imap)
        })
        .await
    }

    async fn greeting(&mut self) -> Result<(), Error> {
        self.read_response().await?;
        let mut scan = Scan::new(&self.response);
        let (star, _, word) = (scan.word(), scan.skip_spaces(), scan.word().to_ascii_uppercase());
        if star != b"*" || !matches!(&word[..], b"OK" | b"PREAUTH" | b"BYE") {
            return Err(Error::protocol("no greeting", &self.response));
        }
        if word == b"BYE" {
            let text = String::from_utf8_lossy(scan.rest());
            return Err(Error::refused("BYE", text.trim()));
        }
        Ok(())
    }

    /// Signs in, with LOGIN or, where that is disabled, AUTHENTICATE PLAIN; then the capabilities
    /// are known.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn login(&mut self, user: &str, password: &str) -> Result<(), Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        let result = within(limit, "LOGIN", self.sign_in(user, password)).await;
        self.end(result)
    }

    async fn sign_in(&mut self, user: &str, password: &str) -> Result<(), Error> {
        self.capabilities.clear();
        let signed_in = match (quote(user), quote(password)) {
            (Ok(user), Ok(password)) => {
                let login = format!("LOGIN {user} {password}");
                self.run(&login, |imap, untagged| imap.hear(untagged)).await
            }
            _ => Err(Error::refused("LOGIN", "not in ASCII")),
        };
        if let Err(refused) = signed_in {
            if !refused.is_refusal() || !self.allows_plain().await? {
                return Err(refused);
            }
            self.authenticate(user, password).await?;
        }
        if self.capabilities.is_empty() {
            self.run("CAPABILITY", |imap, untagged| imap.hear(untagged)).await?;
        }
        Ok(())
    }

    /// Whether the server wants AUTHENTICATE PLAIN in place of LOGIN.
    async fn allows_plain(&mut self) -> Result<bool, Error> {
        self.run("CAPABILITY", |imap, untagged| imap.hear(untagged)).await?;
        let plain = self.has("AUTH=PLAIN") && self.has("LOGINDISABLED");
        self.capabilities.clear();
        Ok(plain)
    }

    async fn authenticate(&mut self, user: &str, password: &str) -> Result<(), Error> {
        let secret = STANDARD.encode(format!("\0{user}\0{password}"));
        let tag = self.send_command("AUTHENTICATE PLAIN").await?;
        self.await_continuation(tag).await?;
        self.channel.write(format!("{secret}\r\n").as_bytes()).await?;
        self.await_end(tag, None, &mut |imap, untagged| imap.hear(untagged)).await
    }

    /// Whether the server offers this (`UIDPLUS`, …); known after the sign-in.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known.eq_ignore_ascii_case(capability))
    }

    /// The folders that match (`*`: all).
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn list(&mut self, pattern: &str) -> Result<Vec<Folder>, Error> {
        let command = format!("LIST \"\" {}", quote(pattern)?);
        let mut folders = Vec::new();
        self.call("LIST", &command, |imap, untagged| {
            if !untagged.is(b"LIST") {
                return imap.hear(untagged);
            }
            if folders.len() == FOLDERS_MAX {
                return Err(Error::Limit { what: "LIST", limit: FOLDERS_MAX as u64 });
            }
            let mut scan = Scan::new(untagged.rest);
            let attributes = scan.words()?;
            scan.skip_spaces();
            scan.string()?;
            scan.skip_spaces();
            folders.push(Folder { name: scan.text()?, attributes });
            Ok(())
        })
        .await?;
        Ok(folders)
    }

    /// Makes a folder and subscribes to it.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when it exists.
    pub async fn create(&mut self, name: &str) -> Result<(), Error> {
        let name = quote(name)?;
        self.call("CREATE", &format!("CREATE {name}"), Self::hear).await?;
        self.call("SUBSCRIBE", &format!("SUBSCRIBE {name}"), Self::hear).await
    }

    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn select(&mut self, name: &str) -> Result<Selected, Error> {
        let command = format!("SELECT {}", quote(name)?);
        let mut selected = Selected::default();
        self.picture = Picture::default();
        self.call("SELECT", &command, |imap, untagged| {
            let Some(mut code) = untagged.code() else { return imap.hear(untagged) };
            let name = code.word().to_ascii_uppercase();
            code.skip_spaces();
            match &name[..] {
                b"UIDVALIDITY" => selected.uid_validity = code.number32()?,
                b"UIDNEXT" => selected.uid_next = Some(code.number32()?),
                b"HIGHESTMODSEQ" => selected.highest_modseq = Some(code.number()?),
                // What came before was of the folder that was open until now.
                b"CLOSED" => imap.picture = Picture::default(),
                _ => return imap.hear(untagged),
            }
            Ok(())
        })
        .await?;
        self.picture.take_news();
        (selected.exists, selected.recent) = (self.picture.exists, self.picture.recent);
        Ok(selected)
    }

    /// Looks at a folder that is not open.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn status(&mut self, name: &str) -> Result<Status, Error> {
        let items = "(MESSAGES UNSEEN UIDNEXT UIDVALIDITY)";
        let command = format!("STATUS {} {items}", quote(name)?);
        let mut found = None;
        self.call("STATUS", &command, |imap, untagged| {
            if !untagged.is(b"STATUS") {
                return imap.hear(untagged);
            }
            found = Some(parse_status(untagged.rest)?);
            Ok(())
        })
        .await?;
        found.ok_or_else(|| Error::protocol("no answer to STATUS", b""))
    }

    /// Asks whether anything happened; what did since the last time.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn noop(&mut self) -> Result<News, Error> {
        self.call("NOOP", "NOOP", Self::hear).await?;
        Ok(self.picture.take_news())
    }

    /// Waits for news at most `wait` (IDLE, RFC 2177), and ends at the first.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when the server has no IDLE.
    pub async fn idle(&mut self, wait: Duration) -> Result<News, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call.saturating_add(wait);
        let result = within(limit, "IDLE", self.wait_idle(wait)).await;
        self.end(result)?;
        Ok(self.picture.take_news())
    }

    async fn wait_idle(&mut self, wait: Duration) -> Result<(), Error> {
        let tag = self.send_command("IDLE").await?;
        self.await_continuation(tag).await?;
        let until = tokio::time::Instant::now() + wait;
        while !self.picture.has_news() {
            if self.channel.is_drained() {
                // Only whole reads may be given up, never the middle of a response.
                match tokio::time::timeout_at(until, self.channel.pull(|_| 0)).await {
                    Err(_) => break,
                    Ok(came) => came?,
                }
            }
            self.read_response().await?;
            self.hear_response(&mut |imap, untagged| imap.hear(untagged))?;
        }
        self.channel.write(b"DONE\r\n").await?;
        self.await_end(tag, None, &mut |imap, untagged| imap.hear(untagged)).await
    }

    /// Messages in the open folder as far as the server has told.
    #[must_use]
    pub fn exists(&self) -> u32 {
        self.picture.exists
    }

    /// The numbers of the last `count` messages.
    #[must_use]
    pub fn last(&self, count: u32) -> RangeInclusive<u32> {
        self.picture.last(count)
    }

    /// Closes the folder; messages with \Deleted are removed.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn close(&mut self) -> Result<(), Error> {
        self.call("CLOSE", "CLOSE", Self::hear).await?;
        self.picture = Picture::default();
        Ok(())
    }

    /// Says LOGOUT and closes the connection.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn logout(mut self) -> Result<(), Error> {
        self.call("LOGOUT", "LOGOUT", |imap, untagged| match untagged.is(b"BYE") {
            true => Ok(()),
            false => imap.hear(untagged),
        })
        .await
    }

    /// What went over the wire since the connection.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }

    /// What went over the wire since this was called last.
    pub fn take_traffic(&mut self) -> Traffic {
        self.channel.take_traffic()
    }

    /// One command within its time.
    async fn call(
        &mut self,
        what: &'static str,
        command: &str,
        each: impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        let result = within(limit, what, self.run(command, each)).await;
        self.end(result)
    }

    /// The same with long answers.
    async fn call_long(
        &mut self,
        what: &'static str,
        command: &str,
        each: impl FnMut(&mut Self, &Untagged<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.channel.begin()?;
        self.limit = LIST_OCTETS_MAX;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, what, self.run(command, each)).await;
        self.limit = LINE_OCTETS_MAX;
        self.end(result)
    }

    fn end<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.response = Vec::new();
        self.channel.end(result)
    }
}

/// A string as it is sent (RFC 9051 section 4.3).
fn quote(text: &str) -> Result<String, Error> {
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(Error::refused("NAME", "only printable ASCII can be sent"));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn parse_status(rest: &[u8]) -> Result<Status, Error> {
    let mut scan = Scan::new(rest);
    scan.string()?;
    scan.skip_spaces();
    scan.expect(b'(')?;
    let mut status = Status::default();
    loop {
        scan.skip_spaces();
        if scan.take(b')') {
            return Ok(status);
        }
        let name = scan.word().to_ascii_uppercase();
        scan.skip_spaces();
        match &name[..] {
            b"MESSAGES" => status.messages = scan.number32()?,
            b"UNSEEN" => status.unseen = scan.number32()?,
            b"UIDNEXT" => status.uid_next = scan.number32()?,
            b"UIDVALIDITY" => status.uid_validity = scan.number32()?,
            b"" => return Err(scan.wrong("a status without end")),
            _ => scan.skip_value()?,
        }
    }
}
