//! SMTP submission (RFC 5321, RFC 6409): pipelined where the server offers it (RFC 2920).

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::channel::{Channel, within};
use super::{Error, LINE_OCTETS_MAX, Timeouts, Traffic};
use crate::letters::Letter;
use crate::target::{Endpoint, Tls};

/// Lines of one reply at the most.
const REPLY_LINES_MAX: usize = 128;
/// Recipients that are sent ahead of their replies: the replies of more could fill the connection.
const AHEAD_MAX: usize = 100;

/// A letter was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Recipients that were not, each with the server's words. At least one was.
    pub refused: Vec<(String, String)>,
}

/// A connection for submission.
#[derive(Debug)]
pub struct Smtp {
    channel: Channel,
    line: Vec<u8>,
    pipelining: bool,
    size: bool,
    plain: bool,
    login: bool,
}

/// A reply: its code and the text of its last line.
#[derive(Debug)]
struct Reply {
    code: u16,
    text: String,
}

impl Reply {
    fn is_positive(&self) -> bool {
        (200..300).contains(&self.code)
    }

    fn refusal(&self) -> Error {
        Error::refused(&self.code.to_string(), &self.text)
    }

    fn expect_positive(self) -> Result<(), Error> {
        if self.is_positive() { Ok(()) } else { Err(self.refusal()) }
    }
}

impl Smtp {
    /// Connects, waits for the greeting, secures the connection as `to` says, says EHLO.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when the server greets with a refusal or offers no STARTTLS.
    pub async fn connect(to: &Endpoint, helo: &str, timeouts: Timeouts) -> Result<Self, Error> {
        within(timeouts.connect, "the connection", async {
            let mut channel = Channel::connect(to, timeouts).await?;
            if to.tls == Tls::Implicit {
                channel.secure(to).await?;
            }
            let line = Vec::new();
            let (pipelining, size, plain, login) = (false, false, false, false);
            let mut smtp = Self { channel, line, pipelining, size, plain, login };
            smtp.reply(|_| ()).await?.expect_positive()?;
            let offers_tls = smtp.hello(helo).await?;
            if to.tls == Tls::Upgrade {
                if !offers_tls {
                    return Err(Error::refused("STARTTLS", "not offered"));
                }
                smtp.command("STARTTLS\r\n").await?.expect_positive()?;
                smtp.channel.secure(to).await?;
                smtp.hello(helo).await?;
            }
            Ok(smtp)
        })
        .await
    }

    /// EHLO, and what the server offers; whether STARTTLS is among it.
    async fn hello(&mut self, helo: &str) -> Result<bool, Error> {
        self.channel.count_requests(1);
        self.channel.write(format!("EHLO {helo}\r\n").as_bytes()).await?;
        let (mut words, mut tls) = (Vec::new(), false);
        self.reply(|line| words.push(line.to_ascii_uppercase())).await?.expect_positive()?;
        (self.pipelining, self.size, self.plain, self.login) = (false, false, false, false);
        for offer in &words {
            let mut words = offer.split([' ', '=']);
            match words.next().unwrap_or_default() {
                "PIPELINING" => self.pipelining = true,
                "SIZE" => self.size = true,
                "STARTTLS" => tls = true,
                "AUTH" => {
                    for way in words {
                        self.plain |= way == "PLAIN";
                        self.login |= way == "LOGIN";
                    }
                }
                _ => {}
            }
        }
        Ok(tls)
    }

    /// Whether the server offers a way of signing in that this client knows.
    #[must_use]
    pub fn offers_auth(&self) -> bool {
        self.plain || self.login
    }

    /// Signs in with PLAIN (RFC 4616), or LOGIN where only that is offered.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when no way is offered or the server says no.
    pub async fn auth(&mut self, user: &str, password: &str) -> Result<(), Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        let result = within(limit, "AUTH", self.sign_in(user, password)).await;
        self.channel.end(result)
    }

    async fn sign_in(&mut self, user: &str, password: &str) -> Result<(), Error> {
        if self.plain {
            let secret = STANDARD.encode(format!("\0{user}\0{password}"));
            return self.command(&format!("AUTH PLAIN {secret}\r\n")).await?.expect_positive();
        }
        if !self.login {
            return Err(Error::refused("AUTH", "neither PLAIN nor LOGIN is offered"));
        }
        for word in ["AUTH LOGIN".to_owned(), STANDARD.encode(user)] {
            let reply = self.command(&format!("{word}\r\n")).await?;
            if reply.code != 334 {
                return Err(reply.refusal());
            }
        }
        let last = format!("{}\r\n", STANDARD.encode(password));
        self.command(&last).await?.expect_positive()
    }

    /// Hands a letter in. `Refused`: nobody gets it. After any other error it may have been taken.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn send(
        &mut self,
        from: &str,
        to: &[String],
        letter: &Letter,
    ) -> Result<Accepted, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, "a message", self.submit(from, to, letter)).await;
        self.channel.end(result)
    }

    async fn submit(
        &mut self,
        from: &str,
        to: &[String],
        letter: &Letter,
    ) -> Result<Accepted, Error> {
        let size = if self.size { format!(" SIZE={}", letter.octets) } else { String::new() };
        let mut envelope = vec![format!("MAIL FROM:<{from}>{size}\r\n")];
        envelope.extend(to.iter().map(|address| format!("RCPT TO:<{address}>\r\n")));
        envelope.push("DATA\r\n".to_owned());
        let group = if self.pipelining { AHEAD_MAX } else { 1 };
        let mut replies = Vec::with_capacity(envelope.len());
        for commands in envelope.chunks(group) {
            self.channel.count_requests(commands.len() as u64);
            self.channel.write(commands.concat().as_bytes()).await?;
            for _ in commands {
                replies.push(self.reply(|_| ()).await?);
            }
            if replies.first().is_some_and(|mail| !mail.is_positive()) && group == 1 {
                break;
            }
        }
        self.hand_over(to, replies, letter).await
    }

    /// The envelope has been answered: sends the letter, or gives up.
    async fn hand_over(
        &mut self,
        to: &[String],
        mut replies: Vec<Reply>,
        letter: &Letter,
    ) -> Result<Accepted, Error> {
        let whole = replies.len() == to.len() + 2;
        let Some(data) = replies.pop() else { return Err(Error::Closed) };
        if !whole {
            // Not pipelined, and MAIL was refused.
            return Err(self.give_up(&data).await);
        }
        let refused: Vec<_> = std::iter::zip(to, &replies[1..])
            .filter(|(_, reply)| !reply.is_positive())
            .map(|(address, reply)| (address.clone(), format!("{} {}", reply.code, reply.text)))
            .collect();
        let first_no = replies.iter().find(|reply| !reply.is_positive());
        let nobody = !replies[0].is_positive() || refused.len() == to.len();
        if data.code != 354 {
            let why = if nobody { first_no.unwrap_or(&data) } else { &data };
            return Err(self.give_up(why).await);
        }
        if nobody {
            // A pipelining server may ask for data although nobody is left (RFC 2920 section 3.1).
            self.channel.write(b".\r\n").await?;
            let _ = self.reply(|_| ()).await?;
            let why = first_no.map_or_else(|| data.refusal(), Reply::refusal);
            return Err(why);
        }
        self.channel.write_pieces(b"", letter.pieces(), b".\r\n").await?;
        self.reply(|_| ()).await?.expect_positive()?;
        Ok(Accepted { refused })
    }

    /// Leaves the transaction; the error that ended it. Whatever the server says to that, it has
    /// nothing.
    async fn give_up(&mut self, why: &Reply) -> Error {
        let _ = self.command("RSET\r\n").await;
        why.refusal()
    }

    /// Says QUIT and closes.
    ///
    /// # Errors
    ///
    /// [`Error`]; what was handed in before is not touched by it.
    pub async fn quit(mut self) -> Result<(), Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        within(limit, "QUIT", self.command("QUIT\r\n")).await?.expect_positive()
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

    async fn command(&mut self, line: &str) -> Result<Reply, Error> {
        self.channel.count_requests(1);
        self.channel.write(line.as_bytes()).await?;
        self.reply(|_| ()).await
    }

    /// Reads a reply (RFC 5321 section 4.2.1), each line of which is shown to `each`.
    async fn reply(&mut self, mut each: impl FnMut(&str)) -> Result<Reply, Error> {
        for _ in 0..REPLY_LINES_MAX {
            self.line.clear();
            self.channel.line(&mut self.line, LINE_OCTETS_MAX.min(8192)).await?;
            let line = String::from_utf8_lossy(&self.line);
            let line = line.trim_end();
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let Some(code) = code.filter(|code| (200..600).contains(code)) else {
                return Err(Error::protocol("no reply code", &self.line));
            };
            let text = line.get(4..).unwrap_or_default();
            each(text);
            match line.as_bytes().get(3) {
                Some(b'-') => {}
                None | Some(b' ') => return Ok(Reply { code, text: text.to_owned() }),
                Some(_) => return Err(Error::protocol("no reply code", &self.line)),
            }
        }
        Err(Error::Limit { what: "a reply", limit: REPLY_LINES_MAX as u64 })
    }
}
