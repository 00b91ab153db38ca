//! The commands that are needed, and what comes back.

use std::fmt;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mailfile::Marks;
use message::utf7;

use super::parse::{Token, Tokens};
use super::wire::{Part, Wire};
use super::{Account, Dial, Security};
use crate::{MigrateError, eml, folders};

/// Untagged responses to one command that are kept.
const KEPT_MAX: usize = 100_000;

/// Why something did not succeed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection broke, or what came over it makes no sense.
    Broken(String),
    /// The server said NO or BAD.
    Refused(String),
    /// The server cannot be used.
    Unfit(String),
    /// Whoever takes the messages is in trouble.
    Taker(MigrateError),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Broken(what) | Fault::Refused(what) | Fault::Unfit(what) => f.write_str(what),
            Fault::Taker(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Broken(format!("the connection broke: {error}"))
    }
}

/// A folder on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mailbox {
    /// Its name as the server writes it.
    pub raw: String,
    /// Its name in a mail file.
    pub name: String,
    /// It shows every message of the account.
    pub shows_all: bool,
}

/// A message as it came.
#[derive(Debug)]
pub(super) struct Message {
    pub uid: u32,
    pub flags: Marks,
    /// Internal date, in seconds since 1970.
    pub date: Option<i64>,
    /// Its bytes, or why they are missing.
    pub body: Result<Vec<u8>, String>,
}

/// A signed-in connection.
pub(super) struct Client {
    wire: Wire,
    tags: u32,
    /// The open folder with its UIDVALIDITY.
    open: Option<(String, u32)>,
}

impl Client {
    /// Connects and signs in.
    pub(super) fn open(
        account: &Account,
        dial: &mut dyn Dial,
        bytes_max: u64,
    ) -> Result<Client, Fault> {
        let mut stream = dial.connect().map_err(lasting)?;
        if account.security == Security::Tls {
            stream = dial.secure(stream).map_err(lasting)?;
        }
        let mut client = Client { wire: Wire::new(stream, bytes_max), tags: 0, open: None };
        let greeting = client.wire.response()?;
        let greeting = shown(&greeting);
        if !greeting.starts_with("* OK") {
            return Err(Fault::Broken(format!("the server greets with {greeting:?}")));
        }
        if account.security == Security::StartTls {
            client.run("STARTTLS", &mut ignore)?;
            let stream = dial.secure(client.wire.into_stream()).map_err(lasting)?;
            client.wire = Wire::new(stream, bytes_max);
        }
        client.sign_in(account)?;
        Ok(client)
    }

    fn sign_in(&mut self, account: &Account) -> Result<(), Fault> {
        let mut words = String::new();
        self.run("CAPABILITY", &mut |parts| {
            words.push_str(&shown(&parts).to_ascii_uppercase());
            Ok(())
        })?;
        let has = |word: &str| words.split_whitespace().any(|known| known == word);
        let signed_in = if has("AUTH=PLAIN") {
            let secret = format!("\0{}\0{}", account.user, account.password);
            self.authenticate(&STANDARD.encode(secret))
        } else if has("LOGINDISABLED") {
            return Err(Fault::Unfit("it allows no sign-in over this connection".to_owned()));
        } else {
            let name = quote(&account.user);
            let password = quote(&account.password);
            match (name, password) {
                (Some(name), Some(password)) => {
                    self.run(&format!("LOGIN {name} {password}"), &mut ignore)
                }
                _ => return Err(Fault::Unfit("it cannot take this name or password".to_owned())),
            }
        };
        signed_in.map_err(|fault| match fault {
            Fault::Refused(what) => Fault::Unfit(format!("the sign-in was refused: {what}")),
            other => other,
        })
    }

    fn authenticate(&mut self, response: &str) -> Result<(), Fault> {
        let tag = self.send("AUTHENTICATE PLAIN")?;
        loop {
            let parts = self.wire.response()?;
            let line = shown(&parts);
            if line.starts_with('+') {
                self.wire.send(format!("{response}\r\n").as_bytes())?;
            } else if let Some(end) = ended(&tag, &line) {
                return end;
            }
        }
    }

    fn send(&mut self, command: &str) -> Result<String, Fault> {
        self.tags += 1;
        let tag = format!("A{}", self.tags);
        self.wire.send(format!("{tag} {command}\r\n").as_bytes())?;
        Ok(tag)
    }

    /// Runs a command; `take` gets its untagged responses.
    fn run(
        &mut self,
        command: &str,
        take: &mut dyn FnMut(Vec<Part>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let tag = self.send(command)?;
        loop {
            let parts = self.wire.response()?;
            let Some(Part::Text(first)) = parts.first() else { continue };
            if first.starts_with(b"* BYE") {
                return Err(Fault::Broken(format!("the server ends: {}", shown(&parts))));
            }
            if first.starts_with(b"* ") {
                take(parts)?;
            } else if let Some(end) = ended(&tag, &String::from_utf8_lossy(first)) {
                return end;
            }
        }
    }

    /// All folders that can be opened.
    pub(super) fn mailboxes(&mut self) -> Result<Vec<Mailbox>, Fault> {
        let mut listed = Vec::new();
        self.run("LIST \"\" \"*\"", &mut |parts| {
            if listed.len() < KEPT_MAX {
                listed.extend(Listed::parse(parts));
            }
            Ok(())
        })?;
        Ok(named(listed))
    }

    /// Opens a folder to be read only; gives UIDVALIDITY and all uids.
    pub(super) fn examine(&mut self, mailbox: &Mailbox) -> Result<(u32, Vec<u32>), Fault> {
        let uidvalidity = self.select(mailbox)?;
        let mut uids = Vec::new();
        self.run("UID SEARCH ALL", &mut |parts| {
            if let [Part::Text(line)] = parts.as_slice() {
                let line = String::from_utf8_lossy(line);
                if let Some(numbers) = line.strip_prefix("* SEARCH") {
                    uids.extend(numbers.split_whitespace().filter_map(|n| n.parse::<u32>().ok()));
                }
            }
            Ok(())
        })?;
        uids.sort_unstable();
        uids.dedup();
        Ok((uidvalidity, uids))
    }

    fn select(&mut self, mailbox: &Mailbox) -> Result<u32, Fault> {
        self.open = None;
        let name = quote(&mailbox.raw);
        let name = name.ok_or_else(|| Fault::Refused("the name cannot be written".to_owned()))?;
        let mut uidvalidity = 0;
        self.run(&format!("EXAMINE {name}"), &mut |parts| {
            let line = shown(&parts);
            if let Some((_, rest)) = line.split_once("[UIDVALIDITY ") {
                let digits = rest.split(']').next().unwrap_or_default();
                uidvalidity = digits.trim().parse().unwrap_or(0);
            }
            Ok(())
        })?;
        self.open = Some((mailbox.raw.clone(), uidvalidity));
        Ok(uidvalidity)
    }

    /// Sees to it that a folder is open, as it was before.
    pub(super) fn reopen(&mut self, mailbox: &Mailbox, uidvalidity: u32) -> Result<(), Fault> {
        let now = match &self.open {
            Some((raw, now)) if *raw == mailbox.raw => *now,
            _ => self.select(mailbox)?,
        };
        match now == uidvalidity {
            true => Ok(()),
            false => Err(Fault::Unfit(format!("the folder {} was made anew", mailbox.name))),
        }
    }

    /// Fetches messages, each given as it comes.
    pub(super) fn fetch(
        &mut self,
        uids: &[u32],
        take: &mut dyn FnMut(Message) -> Result<(), MigrateError>,
    ) -> Result<(), Fault> {
        let set: Vec<String> = uids.iter().map(u32::to_string).collect();
        let items = "(UID FLAGS INTERNALDATE BODY.PEEK[])";
        self.run(&format!("UID FETCH {} {items}", set.join(",")), &mut |parts| match message(parts)
        {
            Some(message) => take(message).map_err(Fault::Taker),
            None => Ok(()),
        })
    }

    /// Says good-bye.
    pub(super) fn close(mut self) {
        // The mail is there; how the connection ends does not matter.
        let _ = self.run("LOGOUT", &mut ignore);
    }
}

/// An error of a connection that is being made: another attempt does not help against some.
fn lasting(error: io::Error) -> Fault {
    use io::ErrorKind::{InvalidData, InvalidInput, PermissionDenied};
    match error.kind() {
        InvalidData | InvalidInput | PermissionDenied => Fault::Unfit(error.to_string()),
        _ => error.into(),
    }
}

fn ignore(_: Vec<Part>) -> Result<(), Fault> {
    Ok(())
}

/// The text of a response, for people.
fn shown(parts: &[Part]) -> String {
    match parts.first() {
        Some(Part::Text(line)) => String::from_utf8_lossy(line).into_owned(),
        _ => String::new(),
    }
}

/// How a command ended, if this is its tagged response.
fn ended(tag: &str, line: &str) -> Option<Result<(), Fault>> {
    let rest = line.strip_prefix(tag)?.strip_prefix(' ')?;
    match rest.get(..2) {
        Some(state) if state.eq_ignore_ascii_case("OK") => Some(Ok(())),
        _ => Some(Err(Fault::Refused(rest.chars().take(200).collect()))),
    }
}

/// A quoted string; `None` when it needs another form.
fn quote(text: &str) -> Option<String> {
    if text.chars().any(|c| c == '\r' || c == '\n' || c == '\0') {
        return None;
    }
    Some(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A line of LIST.
struct Listed {
    flags: Vec<String>,
    delimiter: Option<char>,
    raw: String,
}

impl Listed {
    /// `* LIST (\HasNoChildren) "/" "name"`; `None` for anything else, and for what cannot be
    /// opened.
    fn parse(parts: Vec<Part>) -> Option<Listed> {
        let mut tokens = Tokens::of(parts);
        tokens.word()?;
        if !tokens.word()?.eq_ignore_ascii_case("LIST") {
            return None;
        }
        let flags = tokens.words()?;
        let delimiter = match tokens.next()? {
            Token::Text(text) => text.first().map(|byte| char::from(*byte)),
            _ => None,
        };
        let raw = String::from_utf8(tokens.string()?).ok()?;
        let listed = Listed { flags, delimiter, raw };
        let closed = listed.has("\\Noselect") || listed.has("\\NonExistent");
        (!closed).then_some(listed)
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known.eq_ignore_ascii_case(flag))
    }

    fn is_inbox(&self) -> bool {
        self.raw.eq_ignore_ascii_case(mailfile::INBOX)
    }

    /// What stands before every name but INBOX on servers that keep all folders below it.
    fn is_below_inbox(&self) -> bool {
        let delimiter = self.delimiter.unwrap_or('/');
        let start = self.raw.get(..mailfile::INBOX.len() + 1);
        start.is_some_and(|start| start.eq_ignore_ascii_case(&format!("INBOX{delimiter}")))
    }
}

/// Folders with special uses, and their names in a mail file.
const SPECIAL: [(&str, &str); 5] = [
    ("\\Sent", "Sent"),
    ("\\Drafts", "Drafts"),
    ("\\Trash", "Trash"),
    ("\\Junk", "Junk"),
    ("\\Archive", "Archive"),
];

fn named(listed: Vec<Listed>) -> Vec<Mailbox> {
    let all_below = listed.iter().all(|one| one.is_inbox() || one.is_below_inbox());
    let mut mailboxes: Vec<Mailbox> = Vec::with_capacity(listed.len());
    for one in listed {
        let special = SPECIAL.iter().find(|(flag, _)| one.has(flag)).map(|(_, name)| *name);
        let taken = |name: &str| mailboxes.iter().any(|mailbox| mailbox.name == name);
        let name = match special.filter(|name| !taken(name)) {
            Some(name) => name.to_owned(),
            None => name_of(&one, all_below),
        };
        mailboxes.push(Mailbox { raw: one.raw.clone(), name, shows_all: one.has("\\All") });
    }
    mailboxes.sort_by(|a, b| {
        (a.name != mailfile::INBOX, &a.name).cmp(&(b.name != mailfile::INBOX, &b.name))
    });
    mailboxes
}

fn name_of(one: &Listed, all_below: bool) -> String {
    let below = all_below && one.is_below_inbox();
    let raw = if below { &one.raw[mailfile::INBOX.len() + 1..] } else { &one.raw };
    let levels: Vec<String> = match one.delimiter {
        Some(delimiter) => raw.split(delimiter).map(utf7::decode).collect(),
        None => vec![utf7::decode(raw)],
    };
    folders::name_of(&levels)
}

/// A FETCH with a message; `None` for other responses, such as flags that changed meanwhile.
fn message(parts: Vec<Part>) -> Option<Message> {
    let mut tokens = Tokens::of(parts);
    tokens.word()?;
    tokens.number()?;
    if !tokens.word()?.eq_ignore_ascii_case("FETCH") {
        return None;
    }
    tokens.open()?;
    let (mut uid, mut flags, mut date, mut body) = (None, Marks::default(), None, None);
    while let Some(item) = tokens.word() {
        match item.to_ascii_uppercase().as_str() {
            "UID" => uid = Some(tokens.number()?),
            "FLAGS" => flags = eml::marks(&tokens.words()?.join(" ")),
            "INTERNALDATE" => date = date_time(&tokens.string()?),
            "BODY[]" => body = Some(content(tokens.next()?)),
            _ => tokens.skip()?,
        }
    }
    Some(Message { uid: uid?, flags, date, body: body? })
}

fn content(token: Token) -> Result<Vec<u8>, String> {
    match token {
        Token::Text(bytes) => Ok(bytes),
        Token::TooLong(length) => {
            Err(format!("the message has {length} bytes, which is too large"))
        }
        _ => Err(String::from("the server does not give the message")),
    }
}

/// ` 1-Feb-2026 10:00:00 +0100`
fn date_time(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (day, rest) = text.split_once(' ')?;
    message::parse_date(format!("{} {rest}", day.replace('-', " ")).as_bytes())
}
