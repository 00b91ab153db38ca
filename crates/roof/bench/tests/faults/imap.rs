//! IMAP4rev1 as far as a mail reader needs it (RFC 3501), with UIDPLUS, MOVE and LITERAL+.

use std::collections::BTreeSet;
use std::io;

use super::mime;
use super::store::{Fault, Folder, Message};
use super::wire::Wire;

const CAPABILITIES: &str = "CAPABILITY IMAP4rev1 UIDPLUS MOVE LITERAL+ IDLE";

/// One session.
struct Session {
    wire: Wire,
    person: String,
    selected: String,
    /// Uids in the order of the sequence numbers that the client knows.
    shown: Vec<u32>,
}

/// A word of a command: an atom, a text in quotes, a literal, or a list with its brackets.
fn words(line: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut depth, mut quoted) = (Vec::new(), Vec::new(), 0_u32, false);
    for &byte in line {
        match byte {
            b'"' if depth == 0 => quoted = !quoted,
            b' ' if depth == 0 && !quoted => words.push(std::mem::take(&mut word)),
            _ => {
                depth += u32::from(!quoted && matches!(byte, b'(' | b'['));
                depth -= u32::from(!quoted && matches!(byte, b')' | b']') && depth > 0);
                word.push(byte);
            }
        }
    }
    words.push(word);
    words
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub async fn imap(mut wire: Wire) -> io::Result<()> {
    wire.tell(format!("* OK [{CAPABILITIES}] faulty.test")).await?;
    let mut session =
        Session { wire, person: String::new(), selected: String::new(), shown: Vec::new() };
    while session.command().await? {}
    Ok(())
}

impl Session {
    /// Reads a command with its literals and answers it. Gives whether the session goes on.
    async fn command(&mut self) -> io::Result<bool> {
        let mut all = Vec::new();
        loop {
            let line = self.wire.line().await?;
            let literal = line.rsplit(|b| *b == b'{').next().filter(|_| line.ends_with(b"}"));
            let Some(size) = literal.map(|rest| text(&rest[..rest.len() - 1])) else {
                all.extend(words(&line));
                break;
            };
            if !size.ends_with('+') {
                self.wire.tell("+ go on").await?;
            }
            let at = line.iter().rposition(|b| *b == b'{').unwrap();
            let mut before = words(&line[..at]);
            before.pop();
            all.extend(before);
            all.push(self.wire.octets(size.trim_end_matches('+').parse().unwrap_or(0)).await?);
        }
        // what follows a literal begins with a space
        let octets = all.iter().map(Vec::len).max().unwrap_or(0);
        all.retain(|word| !word.is_empty() || octets == 0);
        let tag = text(&all[0]);
        let verb = all.get(1).map(|w| text(w).to_ascii_uppercase()).unwrap_or_default();
        let (verb, rest) = match (verb.as_str(), all.get(2)) {
            ("UID", Some(word)) => (format!("UID {}", text(word).to_ascii_uppercase()), &all[3..]),
            _ => (verb, all.get(2..).unwrap_or_default()),
        };
        if verb == "LOGOUT" {
            self.wire.tell(format!("* BYE\r\n{tag} OK bye")).await?;
            return Ok(false);
        }
        let answer = self.act(&verb, rest).await?;
        self.wire.reply(format!("{tag} {answer}")).await?;
        Ok(true)
    }

    async fn act(&mut self, verb: &str, rest: &[Vec<u8>]) -> io::Result<String> {
        let first = rest.first().map(|word| text(word)).unwrap_or_default();
        Ok(match verb {
            "CAPABILITY" => {
                self.wire.tell(format!("* {CAPABILITIES}")).await?;
                "OK".into()
            }
            "LOGIN" if self.wire.store.knows(&first) => {
                self.person = first;
                "OK".into()
            }
            "NOOP" | "CHECK" => {
                self.news().await?;
                "OK".into()
            }
            "SUBSCRIBE" | "CLOSE" => "OK".into(),
            "IDLE" => self.idle().await?,
            "CREATE" => {
                self.folders(|folders| folders.entry(first).or_insert_with(Folder::new).uid_next);
                "OK".into()
            }
            "LIST" => {
                for name in self.folders(|folders| folders.keys().cloned().collect::<Vec<_>>()) {
                    self.wire.tell(format!("* LIST () \"/\" \"{name}\"")).await?;
                }
                "OK".into()
            }
            "SELECT" | "EXAMINE" => self.select(&first).await?,
            "STATUS" => self.status(&first).await?,
            "APPEND" => self.append(&first, rest),
            "UID SEARCH" => {
                let uids = self.folder(|folder| uids(folder)).unwrap_or_default();
                let uids: String = uids.iter().map(|uid| format!(" {uid}")).collect();
                self.wire.tell(format!("* SEARCH{uids}")).await?;
                "OK".into()
            }
            "FETCH" => self.fetch(&first, rest, false).await?,
            "UID FETCH" => self.fetch(&first, rest, true).await?,
            "UID STORE" => self.store(&first, rest),
            "EXPUNGE" => self.expunge("1:*").await?,
            "UID EXPUNGE" => self.expunge(&first).await?,
            "UID MOVE" | "UID COPY" => self.transfer(verb, &first, rest).await?,
            _ => "BAD no such command".into(),
        })
    }

    fn folders<R>(&self, work: impl FnOnce(&mut super::store::Folders) -> R) -> R {
        work(self.wire.store.people().get_mut(&self.person).unwrap())
    }

    fn folder<R>(&self, work: impl FnOnce(&mut Folder) -> R) -> Option<R> {
        self.folders(|folders| folders.get_mut(&self.selected).map(work))
    }

    async fn select(&mut self, name: &str) -> io::Result<String> {
        let name = if name.eq_ignore_ascii_case("INBOX") { "INBOX" } else { name };
        name.clone_into(&mut self.selected);
        let Some((uids, next)) = self.folder(|folder| (uids(folder), folder.uid_next)) else {
            return Ok("NO there is no such mailbox".into());
        };
        let exists = uids.len() + usize::from(self.wire.store.fails(Fault::WrongExists));
        self.shown = uids;
        let told = format!(
            "* {exists} EXISTS\r\n* 0 RECENT\r\n* FLAGS (\\Seen \\Deleted)\r\n\
             * OK [PERMANENTFLAGS (\\Seen \\Deleted \\*)] all\r\n\
             * OK [UIDVALIDITY 7] fine\r\n* OK [UIDNEXT {next}] fine"
        );
        self.wire.tell(told).await?;
        Ok("OK [READ-WRITE] selected".into())
    }

    async fn status(&mut self, name: &str) -> io::Result<String> {
        let counts = self.folders(|folders| {
            let folder = folders.get(name)?;
            let unseen = folder.messages.iter().filter(|m| !m.flags.contains("\\Seen")).count();
            Some((folder.messages.len(), unseen, folder.uid_next))
        });
        let Some((messages, unseen, next)) = counts else {
            return Ok("NO there is no such mailbox".into());
        };
        let wrong = messages > 0 && self.wire.store.fails(Fault::WrongStatus);
        let messages = messages - usize::from(wrong);
        let told = format!(
            "* STATUS \"{name}\" (MESSAGES {messages} UNSEEN {unseen} UIDNEXT {next} \
             UIDVALIDITY 7)"
        );
        self.wire.tell(told).await?;
        Ok("OK".into())
    }

    fn append(&mut self, name: &str, rest: &[Vec<u8>]) -> String {
        let flags: Vec<String> = rest
            .iter()
            .find(|word| word.starts_with(b"("))
            .map(|word| text(word).trim_matches(['(', ')']).split(' ').map(Into::into).collect())
            .unwrap_or_default();
        let bytes = rest.last().cloned().unwrap_or_default();
        let store = &self.wire.store;
        if store.fails(Fault::LoseAppend) {
            let next = self.folders(|folders| folders.get(name).map(|f| f.uid_next));
            return format!("OK [APPENDUID 7 {}] taken", next.unwrap_or(1));
        }
        match store.put(&self.person, name, &flags, bytes) {
            Some(uid) => format!("OK [APPENDUID 7 {uid}] taken"),
            None => "NO [TRYCREATE] there is no such mailbox".into(),
        }
    }

    /// Untagged replies about what came and went since the client was told last.
    async fn news(&mut self) -> io::Result<()> {
        let Some(now) = self.folder(|folder| uids(folder)) else { return Ok(()) };
        let mut at = 0;
        while at < self.shown.len() {
            if now.contains(&self.shown[at]) {
                at += 1;
            } else {
                self.shown.remove(at);
                self.wire.tell(format!("* {} EXPUNGE", at + 1)).await?;
            }
        }
        let known = self.shown.len();
        let new: Vec<u32> = now.into_iter().filter(|uid| !self.shown.contains(uid)).collect();
        self.shown.extend(new);
        if self.shown.len() > known {
            self.wire.tell(format!("* {} EXISTS", self.shown.len())).await?;
        }
        Ok(())
    }

    async fn idle(&mut self) -> io::Result<String> {
        self.wire.tell("+ idling").await?;
        loop {
            let store = self.wire.store.clone();
            tokio::select! {
                line = self.wire.line() => {
                    line?;
                    return Ok("OK".into());
                }
                () = store.news.notified() => self.news().await?,
            }
        }
    }

    fn messages(&self, set: &str, by_uid: bool) -> Vec<(usize, Message)> {
        let last_seq = self.shown.len() as u32;
        let last_uid = self.shown.last().copied().unwrap_or(0);
        let wanted = ranges(set, if by_uid { last_uid } else { last_seq });
        let numbered = self.shown.iter().enumerate().filter(|(at, uid)| {
            let number = if by_uid { **uid } else { *at as u32 + 1 };
            wanted.iter().any(|(from, to)| (*from..=*to).contains(&number))
        });
        let found = self.folder(|folder| {
            let find = |uid: &u32| folder.messages.iter().find(|m| m.uid == *uid).cloned();
            numbered.filter_map(|(at, uid)| Some((at + 1, find(uid)?))).collect()
        });
        found.unwrap_or_default()
    }

    async fn fetch(&mut self, set: &str, rest: &[Vec<u8>], by_uid: bool) -> io::Result<String> {
        let asked: String = rest[1..].iter().map(|word| text(word)).collect::<Vec<_>>().join(" ");
        let asked = asked.strip_prefix('(').and_then(|a| a.strip_suffix(')')).unwrap_or(&asked);
        for (seq, message) in self.messages(set, by_uid) {
            let mut items = vec![format!("UID {}", message.uid).into_bytes()];
            for item in words(asked.as_bytes()) {
                let item = text(&item);
                if item.to_ascii_uppercase().starts_with("BODY[") {
                    self.folder(|folder| {
                        let found = folder.messages.iter_mut().find(|m| m.uid == message.uid);
                        found.unwrap().flags.insert("\\Seen".into());
                    });
                }
                items.extend(mime::item(&message, &item));
            }
            let mut line = format!("* {seq} FETCH (").into_bytes();
            line.extend(items.join(&b' '));
            line.push(b')');
            self.wire.tell(line).await?;
        }
        Ok("OK".into())
    }

    fn store(&mut self, set: &str, rest: &[Vec<u8>]) -> String {
        let way = text(&rest[1]).to_ascii_uppercase();
        let flags = text(&rest[2]);
        let deletes = flags.contains("\\Deleted");
        if !deletes && self.wire.store.fails(Fault::LoseFlag) {
            return "OK".into();
        }
        let flags: BTreeSet<String> =
            flags.trim_matches(['(', ')']).split(' ').map(Into::into).collect();
        for (_, message) in self.messages(set, true) {
            self.folder(|folder| {
                let found = folder.messages.iter_mut().find(|m| m.uid == message.uid).unwrap();
                match way.as_bytes()[0] {
                    b'+' => found.flags.extend(flags.iter().cloned()),
                    b'-' => found.flags.retain(|flag| !flags.contains(flag)),
                    _ => found.flags.clone_from(&flags),
                }
            });
        }
        "OK".into()
    }

    async fn expunge(&mut self, set: &str) -> io::Result<String> {
        let marked = self.messages(set, true).into_iter();
        let marked = marked.filter(|(_, message)| message.flags.contains("\\Deleted"));
        let marked: Vec<u32> = marked.map(|(_, message)| message.uid).collect();
        if self.wire.store.fails(Fault::LoseDeletion) {
            // says that it did
            for uid in marked {
                let at = self.shown.iter().position(|shown| *shown == uid).unwrap();
                self.shown.remove(at);
                self.wire.tell(format!("* {} EXPUNGE", at + 1)).await?;
            }
            return Ok("OK".into());
        }
        self.folder(|folder| folder.messages.retain(|m| !marked.contains(&m.uid)));
        self.news().await?;
        Ok("OK".into())
    }

    async fn transfer(&mut self, verb: &str, set: &str, rest: &[Vec<u8>]) -> io::Result<String> {
        let to = text(&rest[1]);
        let (mut from, mut new) = (Vec::new(), Vec::new());
        for (_, message) in self.messages(set, true) {
            let flags: Vec<String> = message.flags.iter().cloned().collect();
            let bytes = message.bytes.to_vec();
            let Some(uid) = self.wire.store.put(&self.person, &to, &flags, bytes) else {
                return Ok("NO [TRYCREATE] there is no such mailbox".into());
            };
            from.push(message.uid);
            new.push(uid);
        }
        let list = |uids: &[u32]| uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        if from.is_empty() {
            return Ok("OK nothing".into());
        }
        let code = format!("[COPYUID 7 {} {}]", list(&from), list(&new));
        if verb == "UID COPY" {
            return Ok(format!("OK {code} copied"));
        }
        self.wire.tell(format!("* OK {code} moved")).await?;
        self.folder(|folder| folder.messages.retain(|m| !from.contains(&m.uid)));
        self.news().await?;
        Ok("OK".into())
    }
}

fn uids(folder: &Folder) -> Vec<u32> {
    folder.messages.iter().map(|message| message.uid).collect()
}

/// A set of numbers (RFC 3501 section 9), where `*` is the last.
fn ranges(set: &str, last: u32) -> Vec<(u32, u32)> {
    let number = |text: &str| if text == "*" { last } else { text.parse().unwrap_or(0) };
    let range = |text: &str| {
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        let (from, to) = (number(from), number(to));
        (from.min(to), from.max(to))
    };
    set.split(',').map(range).collect()
}
