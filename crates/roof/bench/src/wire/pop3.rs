//! POP3 (RFC 1939, RFC 2595).

#[cfg(test)]
mod tests;

use super::channel::{Channel, within};
use super::tail::Tail;
use super::{Error, LIST_ENTRIES_MAX, MESSAGE_OCTETS_MAX, Read, Timeouts, Traffic};
use crate::target::{Endpoint, Tls};

/// Octets of a reply's line at the most (RFC 1939 allows 512; servers are longer).
const REPLY_OCTETS_MAX: usize = 8 << 10;

/// A connection to a maildrop.
#[derive(Debug)]
pub struct Pop3 {
    channel: Channel,
    line: Vec<u8>,
}

impl Pop3 {
    /// Connects, waits for the greeting, secures the connection as `to` says.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when STLS is refused.
    pub async fn connect(to: &Endpoint, timeouts: Timeouts) -> Result<Self, Error> {
        within(timeouts.connect, "the connection", async {
            let mut channel = Channel::connect(to, timeouts).await?;
            if to.tls == Tls::Implicit {
                channel.secure(to).await?;
            }
            let mut pop3 = Self { channel, line: Vec::new() };
            pop3.reply().await?;
            if to.tls == Tls::Upgrade {
                pop3.ask("STLS").await?;
                pop3.channel.secure(to).await?;
            }
            Ok(pop3)
        })
        .await
    }

    /// Signs in with USER and PASS.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn login(&mut self, user: &str, password: &str) -> Result<(), Error> {
        if [user, password].iter().any(|word| word.contains(['\r', '\n'])) {
            return Err(Error::refused("USER", "a line end cannot be sent"));
        }
        self.call("USER", &format!("USER {user}")).await?;
        self.call("PASS", &format!("PASS {password}")).await?;
        Ok(())
    }

    /// Messages there, and their octets.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn stat(&mut self) -> Result<(u32, u64), Error> {
        let reply = self.call("STAT", "STAT").await?;
        let mut words = reply.split_ascii_whitespace();
        let messages = words.next().and_then(|word| word.parse().ok());
        let octets = words.next().and_then(|word| word.parse().ok());
        messages.zip(octets).ok_or_else(|| Error::protocol("no counts", reply.as_bytes()))
    }

    /// The number and the unique id of every message.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn uidl(&mut self) -> Result<Vec<(u32, String)>, Error> {
        self.list_of("UIDL", |word| Some(word.to_owned())).await
    }

    /// The number and the octets of every message.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn list(&mut self) -> Result<Vec<(u32, u64)>, Error> {
        self.list_of("LIST", |word| word.parse().ok()).await
    }

    async fn list_of<T>(
        &mut self,
        command: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<(u32, T)>, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, command, async {
            self.ask(command).await?;
            let mut list = Vec::new();
            while self.next_line().await? {
                let line = String::from_utf8_lossy(&self.line);
                let mut words = line.split_ascii_whitespace();
                let number = words.next().and_then(|word| word.parse().ok());
                let entry = number.zip(words.next().and_then(&parse));
                list.push(entry.ok_or_else(|| Error::protocol("no entry", &self.line))?);
                if list.len() > LIST_ENTRIES_MAX {
                    return Err(Error::Limit { what: command, limit: LIST_ENTRIES_MAX as u64 });
                }
            }
            Ok(list)
        })
        .await;
        self.end(result)
    }

    /// Reads message `number` whole. Nothing of it is kept but its sum.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when there is no such message.
    pub async fn retrieve(&mut self, number: u32) -> Result<Read, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, "RETR", async {
            self.ask(&format!("RETR {number}")).await?;
            let mut message = Dotted::default();
            let mut octets = 0;
            while !message.is_done() {
                self.channel.pull(|came| message.update(came)).await?;
                octets = message.octets.max(octets);
                if octets > MESSAGE_OCTETS_MAX {
                    return Err(Error::Limit { what: "a message", limit: MESSAGE_OCTETS_MAX });
                }
            }
            Ok(message.tail.finish())
        })
        .await;
        self.end(result)
    }

    /// Marks message `number` for removal at the end.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn delete(&mut self, number: u32) -> Result<(), Error> {
        self.call("DELE", &format!("DELE {number}")).await.map(|_| ())
    }

    /// Says QUIT: what was marked is removed.
    ///
    /// # Errors
    ///
    /// [`Error`]; after `Refused` some may not have been removed.
    pub async fn quit(mut self) -> Result<(), Error> {
        self.call("QUIT", "QUIT").await.map(|_| ())
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

    #[cfg(test)]
    pub(super) fn kept_octets(&self) -> usize {
        self.line.capacity() + self.channel.kept_octets()
    }

    async fn call(&mut self, what: &'static str, command: &str) -> Result<String, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        let result = within(limit, what, self.ask(command)).await;
        self.end(result)
    }

    fn end<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.line = Vec::new();
        self.channel.end(result)
    }

    async fn ask(&mut self, command: &str) -> Result<String, Error> {
        self.channel.count_requests(1);
        self.channel.write(format!("{command}\r\n").as_bytes()).await?;
        self.reply().await
    }

    /// A status line: its words after `+OK`.
    async fn reply(&mut self) -> Result<String, Error> {
        self.line.clear();
        self.channel.line(&mut self.line, REPLY_OCTETS_MAX).await?;
        let line = String::from_utf8_lossy(&self.line);
        let (status, text) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        match status {
            "+OK" => Ok(text.to_owned()),
            "-ERR" => Err(Error::refused(status, text)),
            _ => Err(Error::protocol("neither +OK nor -ERR", &self.line)),
        }
    }

    /// The next line of a list into `line`; false at its end.
    async fn next_line(&mut self) -> Result<bool, Error> {
        self.line.clear();
        self.channel.line(&mut self.line, REPLY_OCTETS_MAX).await?;
        Ok(self.line.trim_ascii_end() != b".")
    }
}

/// A message that ends with a lone dot (RFC 1939 section 3), without the dots that were added.
#[derive(Debug, Default)]
struct Dotted {
    tail: Tail,
    octets: u64,
    place: Place,
}

#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
enum Place {
    /// At the beginning of a line.
    #[default]
    LineBegin,
    /// After a dot at the beginning of a line.
    Dot,
    /// After a dot and CR at the beginning of a line.
    DotCr,
    /// Within a line.
    Line,
    /// The end has come.
    Done,
}

impl Dotted {
    fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    /// Takes octets; how many of them belong to the message.
    fn update(&mut self, came: &[u8]) -> usize {
        let mut at = 0;
        while at < came.len() && !self.is_done() {
            match self.place {
                Place::LineBegin if came[at] == b'.' => {
                    self.place = Place::Dot;
                    at += 1;
                }
                Place::Dot if came[at] == b'\r' => {
                    self.place = Place::DotCr;
                    at += 1;
                }
                Place::Dot | Place::DotCr if came[at] == b'\n' => {
                    self.place = Place::Done;
                    at += 1;
                }
                Place::DotCr => {
                    self.show(b"\r");
                    self.place = Place::Line;
                }
                Place::LineBegin | Place::Dot | Place::Line => at += self.lines(&came[at..]),
                Place::Done => {}
            }
        }
        at
    }

    /// Shows as many octets as come before the next line that begins with a dot.
    fn lines(&mut self, came: &[u8]) -> usize {
        let dotted = memchr::memmem::find(came, b"\n.").map(|at| at + 1);
        let end = dotted.unwrap_or(came.len());
        self.show(&came[..end]);
        self.place = if came[end - 1] == b'\n' { Place::LineBegin } else { Place::Line };
        end
    }

    fn show(&mut self, octets: &[u8]) {
        self.octets += octets.len() as u64;
        self.tail.update(octets);
    }
}
