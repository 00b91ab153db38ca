//! The dialogue with another host: greeting, TLS, sign-in, and one transaction after the other.

use crate::courier::extensions::{Extensions, Reply, parse_line};
use crate::courier::link::Connected;
use crate::courier::stuffing::Stuffing;
use crate::courier::{CourierSettings, trouble};
use crate::grammar::encode_xtext;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use directory::Mailbox;
use router::{Answer, Line, Notify, Parcel, Recipient, Ret, Said, Trouble};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Recipients of one transaction (RFC 5321 §4.5.3.1.8: every host takes 100).
const RECIPIENTS_MAX: usize = 100;
/// Longest line of a reply, and most lines of one.
const REPLY_LINE_BYTES_MAX: usize = 4_096;
const REPLY_LINES_MAX: usize = 128;
/// Bytes of a message read and sent at a time.
const PIECE_BYTES: u64 = 64 * 1024;
/// How long a host may take to say good-bye.
const QUIT_WAIT: Duration = Duration::from_secs(2);

/// An open dialogue.
pub struct Dialogue {
    link: Connected,
    host: String,
    host_name: String,
    extensions: Extensions,
    connect_wait: Duration,
    reply_wait: Duration,
    data_wait: Duration,
    end_wait: Duration,
    /// The host said that it closes the connection.
    over: bool,
}

/// What stands behind addresses in MAIL.
struct MailLine {
    text: String,
    utf8: bool,
}

impl Dialogue {
    /// Reads the greeting and introduces this server.
    pub fn greet(
        link: Connected,
        settings: &CourierSettings,
        host: &str,
    ) -> Result<Dialogue, Trouble> {
        let mut dialogue = Dialogue {
            link,
            host: host.to_owned(),
            host_name: settings.host_name.clone(),
            extensions: Extensions::default(),
            connect_wait: settings.connect_wait,
            reply_wait: settings.reply_wait,
            data_wait: settings.data_wait,
            end_wait: settings.end_wait,
            over: false,
        };
        let greeting = dialogue.reply(dialogue.reply_wait).map_err(|e| dialogue.broken(&e))?;
        dialogue.expect(&greeting, "the greeting")?;
        dialogue.hello()?;
        Ok(dialogue)
    }

    fn hello(&mut self) -> Result<(), Trouble> {
        let reply = self.ask(&format!("EHLO {}", self.host_name)).map_err(|e| self.broken(&e))?;
        if reply.code / 100 != 5 {
            self.expect(&reply, "EHLO")?;
            self.extensions = Extensions::parse(&reply.lines);
            return Ok(());
        }
        let reply = self.ask(&format!("HELO {}", self.host_name)).map_err(|e| self.broken(&e))?;
        self.extensions = Extensions::default();
        self.expect(&reply, "HELO")
    }

    pub fn offers_tls(&self) -> bool {
        self.extensions.starttls
    }

    /// STARTTLS (RFC 3207). What was said before does not count any more.
    pub fn start_tls(
        mut self,
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Dialogue, Trouble> {
        let reply = self.ask("STARTTLS").map_err(|error| self.broken(&error))?;
        self.expect(&reply, "STARTTLS")?;
        self.link.start_tls(config, name, self.connect_wait)?;
        self.hello()?;
        Ok(self)
    }

    /// AUTH PLAIN, or LOGIN where there is only that (RFC 4954).
    pub fn sign_in(&mut self, user: &str, password: &str) -> Result<(), Trouble> {
        let reply = if self.extensions.auth_plain {
            let secret = STANDARD.encode(format!("\0{user}\0{password}"));
            self.ask(&format!("AUTH PLAIN {secret}"))
        } else if self.extensions.auth_login {
            self.login(user, password)
        } else {
            let host = &self.host;
            let tls = if self.link.is_tls() { "" } else { " without TLS" };
            return Err(trouble(format!("{host} offers neither AUTH PLAIN nor LOGIN{tls}")));
        };
        let reply = reply.map_err(|error| self.broken(&error))?;
        self.expect(&reply, "the sign-in")
    }

    fn login(&mut self, user: &str, password: &str) -> io::Result<Reply> {
        for text in ["AUTH LOGIN".to_owned(), STANDARD.encode(user)] {
            let reply = self.ask(&text)?;
            if reply.code != 334 {
                return Ok(reply);
            }
        }
        self.ask(&STANDARD.encode(password))
    }

    fn expect(&self, reply: &Reply, to: &str) -> Result<(), Trouble> {
        match reply.is_fine() {
            true => Ok(()),
            false => Err(trouble(format!("{} answers {to} with {}", self.host, reply.said()))),
        }
    }

    /// The connection ended before anything of a message was said.
    fn broken(&self, error: &io::Error) -> Trouble {
        trouble(format!("the connection with {} broke: {error}", self.host))
    }

    fn ask(&mut self, command: &str) -> io::Result<Reply> {
        self.say(&format!("{command}\r\n"))?;
        self.reply(self.reply_wait)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.link.write(text.as_bytes(), Instant::now() + self.data_wait)
    }

    fn reply(&mut self, wait: Duration) -> io::Result<Reply> {
        let until = Instant::now() + wait;
        let mut reply = Reply::default();
        while reply.lines.len() < REPLY_LINES_MAX {
            let line = self.link.read_line(REPLY_LINE_BYTES_MAX, until)?;
            let Some((code, more, text)) = parse_line(&line) else {
                return Err(io::Error::other("the reply makes no sense"));
            };
            reply.code = code;
            reply.lines.push(text);
            if !more {
                self.over |= reply.is_farewell();
                return Ok(reply);
            }
        }
        Err(io::Error::other("the reply is too long"))
    }

    /// Why a message cannot be said to this host at all.
    fn refusal(&self, parcel: &Parcel<'_>) -> Option<Said> {
        let own = |status: &str, text: String| Some(Said { code: 0, status: status.into(), text });
        let host = &self.host;
        match (self.extensions.size, parcel.sender) {
            (Some(most), _) if most > 0 && parcel.size > most => {
                own("5.3.4", format!("{host} takes messages of at most {most} bytes"))
            }
            (_, Some(sender)) if Mailbox::parse(sender).is_err() => {
                own("5.1.7", String::from("the sender's address is malformed"))
            }
            (_, Some(sender)) if !sender.is_ascii() && !self.extensions.utf8 => {
                own("5.6.7", format!("{host} takes no addresses outside ASCII"))
            }
            _ => None,
        }
    }

    fn mail_line(&self, parcel: &Parcel<'_>, header_utf8: bool) -> MailLine {
        let addresses = parcel.recipients.iter().map(|recipient| recipient.address.as_str());
        let utf8 = header_utf8 || !addresses.chain(parcel.sender).all(str::is_ascii);
        let mut text = format!("MAIL FROM:<{}>", parcel.sender.unwrap_or_default());
        if self.extensions.size.is_some() {
            text += &format!(" SIZE={}", parcel.size);
        }
        if self.extensions.eight_bit {
            text += " BODY=8BITMIME";
        }
        if self.extensions.dsn {
            match parcel.ret {
                Ret::Unset => {}
                Ret::Full => text += " RET=FULL",
                Ret::Hdrs => text += " RET=HDRS",
            }
            if let Some(id) = parcel.envelope_id {
                text += &format!(" ENVID={}", encode_xtext(id));
            }
        }
        let utf8 = utf8 && self.extensions.utf8;
        if utf8 {
            text += " SMTPUTF8";
        }
        MailLine { text: text + "\r\n", utf8 }
    }

    fn rcpt_line(&self, recipient: &Recipient) -> String {
        let mut text = format!("RCPT TO:<{}>", recipient.address);
        if self.extensions.dsn {
            if recipient.notify != Notify::default() {
                text += &format!(" NOTIFY={}", notify_words(recipient.notify));
            }
            let original = recipient.original.as_deref().and_then(|o| o.split_once(';'));
            if let Some((kind, address)) = original
                && address.is_ascii()
            {
                text += &format!(" ORCPT={kind};{}", encode_xtext(address));
            }
        }
        text + "\r\n"
    }

    /// MAIL and RCPT of one transaction; the recipients that were taken. All at once where the
    /// host allows it (RFC 2920).
    fn envelope(
        &mut self,
        mail: &MailLine,
        recipients: &[&Recipient],
    ) -> io::Result<(Reply, Vec<Reply>)> {
        let lines: Vec<String> = recipients.iter().map(|one| self.rcpt_line(one)).collect();
        if self.extensions.pipelining {
            self.say(&format!("{}{}", mail.text, lines.concat()))?;
            let first = self.reply(self.reply_wait)?;
            let replies = lines.iter().map(|_| self.reply(self.reply_wait));
            return Ok((first, replies.collect::<io::Result<Vec<Reply>>>()?));
        }
        self.say(&mail.text)?;
        let first = self.reply(self.reply_wait)?;
        let mut replies = Vec::new();
        if first.is_fine() {
            for line in &lines {
                self.say(line)?;
                replies.push(self.reply(self.reply_wait)?);
            }
        }
        Ok((first, replies))
    }

    /// The data with its end; the reply to it.
    fn data(&mut self, parcel: &Parcel<'_>) -> Result<Reply, Trouble> {
        let lost = |error: &dyn std::fmt::Display| Trouble {
            text: format!("the transfer broke off: {error}"),
            destination: false,
        };
        let mut stuffing = Stuffing::new();
        let (mut piece, mut wire) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < parcel.size {
            let end = parcel.size.min(at + PIECE_BYTES);
            piece.clear();
            wire.clear();
            (parcel.read)(at..end, &mut piece).map_err(|error| lost(&error))?;
            if piece.is_empty() {
                return Err(lost(&"the message is shorter than it was"));
            }
            stuffing.push(&piece, &mut wire);
            let until = Instant::now() + self.data_wait;
            self.link.write(&wire, until).map_err(|error| lost(&error))?;
            at = end;
        }
        wire.clear();
        stuffing.finish(&mut wire);
        let until = Instant::now() + self.data_wait;
        self.link.write(&wire, until).map_err(|error| lost(&error))?;
        self.reply(self.end_wait).map_err(|error| lost(&error))
    }

    /// One transaction; the answers in the order of the recipients. `None` where the host wants
    /// a recipient in another transaction.
    fn transaction(
        &mut self,
        parcel: &Parcel<'_>,
        mail: &MailLine,
        recipients: &[&Recipient],
    ) -> Result<Vec<Option<Answer>>, Trouble> {
        let (first, replies) =
            self.envelope(mail, recipients).map_err(|error| self.broken(&error))?;
        if !first.is_fine() {
            if first.is_farewell() {
                return Err(trouble(format!("{} says {}", self.host, first.said())));
            }
            self.reset()?;
            return Ok(recipients.iter().map(|_| Some(answer(&first))).collect());
        }
        let taken = replies.iter().filter(|reply| reply.is_fine()).count();
        let mut answers: Vec<Option<Answer>> = replies.iter().map(|r| later(r, taken)).collect();
        if taken == 0 {
            self.reset()?;
            return Ok(answers);
        }
        let ready = self.ask("DATA").map_err(|error| self.broken(&error))?;
        let last = match ready.code {
            354 => self.data(parcel)?,
            _ => {
                self.reset()?;
                ready
            }
        };
        for (slot, _) in answers.iter_mut().zip(&replies).filter(|(_, reply)| reply.is_fine()) {
            *slot = Some(match last.is_fine() {
                true => Answer::Taken { reports: self.extensions.dsn },
                false => answer(&last),
            });
        }
        Ok(answers)
    }

    /// Takes back what was said of a transaction.
    fn reset(&mut self) -> Result<(), Trouble> {
        if self.over {
            return Ok(());
        }
        self.ask("RSET").map(|_| ()).map_err(|error| self.broken(&error))
    }
}

/// What a reply to RCPT means before the data: a host that wants fewer recipients at a time gets
/// the others later, if it took any.
fn later(reply: &Reply, taken: usize) -> Option<Answer> {
    let too_many = reply.code == 452 || reply.code == 552;
    (!(too_many && taken > 0)).then(|| answer(reply))
}

/// A refusal for good or for now.
fn answer(reply: &Reply) -> Answer {
    match reply.code / 100 {
        5 => Answer::Refused(reply.said()),
        _ => Answer::NotNow(reply.said()),
    }
}

fn notify_words(notify: Notify) -> String {
    let words = [(notify.success, "SUCCESS"), (notify.failure, "FAILURE"), (notify.delay, "DELAY")];
    let said: Vec<&str> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    if said.is_empty() { String::from("NEVER") } else { said.join(",") }
}

/// Whether the header holds bytes outside ASCII (RFC 6532).
fn has_utf8_header(parcel: &Parcel<'_>) -> Result<bool, Trouble> {
    let mut front = Vec::new();
    (parcel.read)(0..parcel.size.min(PIECE_BYTES), &mut front)
        .map_err(|text| Trouble { text, destination: false })?;
    Ok(!message::header_bytes(&front).is_ascii())
}

impl Line for Dialogue {
    fn host(&self) -> &str {
        &self.host
    }

    fn send(&mut self, parcel: &Parcel<'_>) -> Result<Vec<Answer>, Trouble> {
        if self.over {
            return Err(trouble(format!("{} has closed the connection", self.host)));
        }
        if let Some(said) = self.refusal(parcel) {
            return Ok(parcel.recipients.iter().map(|_| Answer::Refused(said.clone())).collect());
        }
        let mail = self.mail_line(parcel, has_utf8_header(parcel)?);
        let mut answers: Vec<Option<Answer>> = Vec::with_capacity(parcel.recipients.len());
        answers.extend(parcel.recipients.iter().map(|one| self.unspeakable(one, &mail)));
        loop {
            let open: Vec<usize> = (0..answers.len())
                .filter(|&at| answers[at].is_none())
                .take(RECIPIENTS_MAX)
                .collect();
            if open.is_empty() || self.over {
                break;
            }
            let recipients: Vec<&Recipient> =
                open.iter().map(|&at| &parcel.recipients[at]).collect();
            let said = self.transaction(parcel, &mail, &recipients);
            // What the host has taken by an earlier transaction stays taken.
            let said = match said {
                Err(error) if answers.iter().any(taken) => {
                    tracing::debug!(%error, "the rest of the recipients waits");
                    self.over = true;
                    break;
                }
                said => said?,
            };
            for (at, one) in open.into_iter().zip(said) {
                answers[at] = one;
            }
        }
        let waits =
            || Answer::NotNow(Said { text: String::from("not yet tried"), ..Said::default() });
        Ok(answers.into_iter().map(|one| one.unwrap_or_else(waits)).collect())
    }

    fn close(mut self: Box<Self>) {
        if !self.over && self.say("QUIT\r\n").is_ok() {
            // Whether it is heard does not matter: nothing is lost with the connection.
            let _ = self.reply(QUIT_WAIT);
        }
    }
}

fn taken(answer: &Option<Answer>) -> bool {
    matches!(answer, Some(Answer::Taken { .. }))
}

impl Dialogue {
    /// Why a recipient cannot be said to this host.
    fn unspeakable(&self, recipient: &Recipient, mail: &MailLine) -> Option<Answer> {
        let refused = |status: &str, text: &str| {
            Some(Answer::Refused(Said { code: 0, status: status.into(), text: text.into() }))
        };
        if Mailbox::parse(&recipient.address).is_err() {
            return refused("5.1.3", "the address is malformed");
        }
        if !recipient.address.is_ascii() && !mail.utf8 {
            return refused("5.6.7", "the host takes no addresses outside ASCII");
        }
        None
    }
}
