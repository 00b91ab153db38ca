//! Lines and literals of one connection, and the two simple protocols.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use base64::Engine;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::store::{Fault, Store};

/// Octets of a line, a literal or a message.
const OCTETS_MAX: usize = 32 << 20;

pub struct Wire {
    stream: BufReader<TcpStream>,
    pub store: Arc<Store>,
}

impl Wire {
    pub fn new(stream: TcpStream, store: Arc<Store>) -> Self {
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), store }
    }

    /// The next line without its end; an error at the end of the connection.
    pub async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).await?;
        if !line.ends_with(b"\r\n") || line.len() > OCTETS_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }

    pub async fn octets(&mut self, number: usize) -> io::Result<Vec<u8>> {
        if number > OCTETS_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut octets = vec![0; number];
        self.stream.read_exact(&mut octets).await?;
        Ok(octets)
    }

    /// A final reply: it can come late, or not at all.
    pub async fn reply(&mut self, reply: impl AsRef<[u8]>) -> io::Result<()> {
        if let Some(wait) = self.store.reply_wait() {
            tokio::time::sleep(wait).await;
        }
        if self.store.fails(Fault::Drop) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.tell(reply).await
    }

    /// Octets as they are.
    pub async fn send(&mut self, octets: Vec<u8>) -> io::Result<()> {
        self.stream.get_mut().write_all(&octets).await
    }

    pub async fn tell(&mut self, text: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(text.as_ref()).await?;
        self.stream.get_mut().write_all(b"\r\n").await
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// SMTP with PIPELINING (RFC 5321, 2920) and AUTH PLAIN that takes any password.
pub async fn smtp(mut wire: Wire) -> io::Result<()> {
    wire.tell("220 faulty.test ESMTP").await?;
    let (mut begun, mut to): (bool, Vec<String>) = (false, Vec::new());
    loop {
        let line = text(&wire.line().await?);
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "EHLO" => {
                wire.tell("250-faulty.test\r\n250-PIPELINING\r\n250-8BITMIME").await?;
                wire.reply("250 AUTH PLAIN").await?;
            }
            "AUTH" => {
                let plain = line.rsplit(' ').next().unwrap_or_default();
                let is_plain = base64::engine::general_purpose::STANDARD.decode(plain).is_ok();
                wire.reply(if is_plain { "235 fine" } else { "501 PLAIN alone" }).await?;
            }
            "MAIL" => {
                to.clear();
                let refused = wire.store.fails(Fault::Refuse);
                begun = !refused;
                wire.reply(if refused { "451 not today" } else { "250 go on" }).await?;
            }
            "RCPT" if !begun => wire.reply("503 MAIL comes first").await?,
            "RCPT" => {
                let person = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                let known = wire.store.knows(&person);
                wire.reply(if known { "250 go on" } else { "550 who?" }).await?;
                to.extend(known.then_some(person));
            }
            "DATA" if to.is_empty() => wire.reply("554 nobody").await?,
            "DATA" => data(&mut wire, &to).await?,
            "RSET" | "NOOP" => wire.reply("250 fine").await?,
            "QUIT" => return wire.tell("221 bye").await,
            _ => wire.reply("500 what?").await?,
        }
    }
}

async fn data(wire: &mut Wire, to: &[String]) -> io::Result<()> {
    wire.tell("354 go on").await?;
    let mut bytes = b"Received: from the driver\r\n\tby faulty.test\r\n".to_vec();
    loop {
        let line = wire.line().await?;
        match line.strip_prefix(b".") {
            Some(b"") => break,
            Some(rest) => bytes.extend_from_slice(rest),
            None => bytes.extend_from_slice(&line),
        }
        bytes.extend_from_slice(b"\r\n");
    }
    for person in to {
        wire.store.deliver(person, bytes.clone());
    }
    wire.reply("250 taken").await
}

/// POP3 (RFC 1939) with UIDL.
pub async fn pop3(mut wire: Wire) -> io::Result<()> {
    wire.tell("+OK faulty.test").await?;
    let (mut person, mut deleted) = (String::new(), BTreeSet::new());
    let mut drop_box = Vec::new();
    loop {
        let line = text(&wire.line().await?);
        let (verb, value) = line.split_once(' ').unwrap_or((&line, ""));
        let number = value.parse::<usize>().unwrap_or(0);
        match verb.to_ascii_uppercase().as_str() {
            "CAPA" => wire.reply("+OK\r\nUIDL\r\nUSER\r\n.").await?,
            "USER" => {
                value.clone_into(&mut person);
                wire.reply("+OK").await?;
            }
            "PASS" if wire.store.knows(&person) => {
                drop_box.clone_from(&wire.store.people()[&person]["INBOX"].messages);
                wire.reply("+OK").await?;
            }
            "STAT" => {
                let octets: usize = drop_box.iter().map(|m| m.bytes.len()).sum();
                let wrong = u32::from(wire.store.fails(Fault::WrongStatus));
                let told = (drop_box.len() as u32).saturating_sub(wrong);
                wire.reply(format!("+OK {told} {octets}")).await?;
            }
            "UIDL" | "LIST" => {
                let mut reply = "+OK\r\n".to_owned();
                for (at, message) in drop_box.iter().enumerate() {
                    let value = match verb.eq_ignore_ascii_case("UIDL") {
                        true => format!("x{}", message.uid),
                        false => message.bytes.len().to_string(),
                    };
                    reply += &format!("{} {value}\r\n", at + 1);
                }
                wire.reply(reply + ".").await?;
            }
            "RETR" if (1..=drop_box.len()).contains(&number) => {
                let mut reply = b"+OK\r\n".to_vec();
                for line in drop_box[number - 1].bytes.split_inclusive(|b| *b == b'\n') {
                    reply.extend(line.starts_with(b".").then_some(b'.'));
                    reply.extend_from_slice(line);
                }
                reply.push(b'.');
                wire.reply(reply).await?;
            }
            "DELE" if (1..=drop_box.len()).contains(&number) => {
                if !wire.store.fails(Fault::LoseDeletion) {
                    deleted.insert(drop_box[number - 1].uid);
                }
                wire.reply("+OK").await?;
            }
            "QUIT" => {
                if let Some(folders) = wire.store.people().get_mut(&person) {
                    let inbox = folders.get_mut("INBOX").unwrap();
                    inbox.messages.retain(|message| !deleted.contains(&message.uid));
                }
                return wire.reply("+OK").await;
            }
            _ => wire.reply("-ERR").await?,
        }
    }
}
