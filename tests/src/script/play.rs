//! Playing a script against a server.

use super::mbox::{Message, Source};
use super::pattern::Variables;
use super::read::{Group, Messages, Presence, Script, State, Step};
use super::value::{Value, bytes, values};
use crate::talk::{Line, Talk};
use std::path::Path;

/// The mailbox that scripts work with; all that begin with this name are deleted.
const MAILBOX: &str = "imaptest";
/// Most lines of a failure's excerpt, and characters of each.
const EXCERPT_LINES: usize = 14;
const EXCERPT_COLUMNS: usize = 300;
/// Most untagged answers to one command.
const ANSWERS_MAX: usize = 10_000;

/// Where the server is and who the scripts are.
#[derive(Debug, Clone)]
pub struct Account {
    /// The port of IMAP.
    pub port: u16,
    /// Local part and domain.
    pub user: String,
    /// In clear.
    pub password: String,
}

/// What became of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as the script says.
    Passed,
    /// The server does not announce what it needs.
    Skipped(String),
    /// Something else came; with an excerpt of the conversation.
    Failed(String),
}

/// Plays the script in the file `path`; its messages are in `PATH.mbox`, or in `default.mbox`
/// beside it.
pub fn play(path: &Path, account: &Account) -> Verdict {
    let mut log = Vec::new();
    match try_to_play(path, account, &mut log) {
        Ok(None) => Verdict::Passed,
        Ok(Some(missing)) => Verdict::Skipped(missing),
        Err(reason) => {
            let skip = log.len().saturating_sub(EXCERPT_LINES);
            Verdict::Failed(format!("{reason}\n    {}", log[skip..].join("\n    ")))
        }
    }
}

/// Gives the missing capability, if any.
fn try_to_play(
    path: &Path,
    account: &Account,
    log: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let script = Script::load(path)?;
    let own = path
        .with_file_name(format!("{}.mbox", path.file_name().unwrap_or_default().to_string_lossy()));
    let source = if own.exists() { own } else { path.with_file_name("default.mbox") };
    let mut stage = Stage {
        connections: Vec::new(),
        variables: Variables::default(),
        source: Source::load(&source)?,
        log,
    };
    stage.name_everything(account);
    if let Some(missing) = stage.prepare(&script, account)? {
        return Ok(Some(missing));
    }
    for group in &script.groups {
        stage.log.clear();
        let outcome = stage.play(group, script.extra);
        outcome.map_err(|e| format!("line {}: {e}", group.commands[0].line))?;
    }
    if !script.groups.iter().any(ends) {
        stage.demand(0, "LOGOUT")?;
    }
    Ok(None)
}

/// Whether the group ends its connection.
fn ends(group: &Group) -> bool {
    group.commands.iter().any(|step| step.command.text.eq_ignore_ascii_case("logout"))
}

struct Connection {
    talk: Talk,
    tag: u32,
    exists: u32,
}

struct Stage<'a> {
    connections: Vec<Connection>,
    variables: Variables,
    source: Source,
    log: &'a mut Vec<String>,
}

impl Stage<'_> {
    fn name_everything(&mut self, account: &Account) {
        let (name, domain) = account.user.split_once('@').unwrap_or((&account.user, "localhost"));
        for (variable, value) in [
            ("user", account.user.as_str()),
            ("username", name),
            ("domain", domain),
            ("password", &account.password),
            ("mailbox", MAILBOX),
            ("mailbox_url", MAILBOX),
        ] {
            self.variables.set(variable, value);
        }
    }

    fn prepare(&mut self, script: &Script, account: &Account) -> Result<Option<String>, String> {
        for _ in 0..script.connections {
            let talk = Talk::connect(account.port);
            self.connections.push(Connection { talk, tag: 0, exists: 0 });
            let greeting = self.line(self.connections.len() - 1)?;
            if !greeting.text.starts_with("* OK") {
                return Err(format!("greeted with {}", greeting.text));
            }
        }
        if script.state > State::NonAuth {
            for index in 0..script.connections {
                self.demand(index, &format!("LOGIN {} {}", account.user, account.password))?;
            }
        }
        let announced = self.demand(0, "CAPABILITY")?;
        let announced = announced.iter().find(|line| line.text.starts_with("* CAPABILITY "));
        let announced = announced.map_or("", |line| line.text.as_str()).to_ascii_uppercase();
        let there = |name: &&String| !announced.split(' ').any(|word| word == name.as_str());
        if let Some(missing) = script.capabilities.iter().find(there) {
            return Ok(Some(missing.clone()));
        }
        if script.state > State::NonAuth {
            self.sweep()?;
        }
        if script.state >= State::Created {
            self.demand(0, &format!("CREATE {MAILBOX}"))?;
        }
        if script.state >= State::Appended {
            let count = match script.messages {
                Messages::All => self.source.count(),
                Messages::Some(count) => count,
            };
            for _ in 0..count {
                let command = self.append_next(MAILBOX, true);
                self.send(0, command)?;
                self.finish(0)?;
            }
        }
        if script.state == State::Selected {
            for index in 0..script.connections {
                self.demand(index, &format!("SELECT {MAILBOX}"))?;
            }
        }
        Ok(None)
    }

    /// Deletes what the script before has left.
    fn sweep(&mut self) -> Result<(), String> {
        for (list, verb) in [("LIST", "DELETE"), ("LSUB", "UNSUBSCRIBE")] {
            let listed = self.demand(0, &format!("{list} \"\" {MAILBOX}*"))?;
            let names = listed.iter().filter_map(|line| {
                let found = values(line);
                (found.get(1)?.atom()? == list)
                    .then(|| found.get(4)?.string().map(str::to_owned))?
            });
            let mut names: Vec<String> = names.collect();
            names.sort();
            for name in names.iter().rev() {
                let command = Line { text: format!("{verb} \"{name}\""), literals: Vec::new() };
                self.send(0, command)?;
                self.replies(0, 1)?; // one that only holds others may refuse
            }
        }
        Ok(())
    }

    fn demand(&mut self, index: usize, command: &str) -> Result<Vec<Line>, String> {
        self.send(index, Line { text: command.to_owned(), literals: Vec::new() })?;
        self.finish(index)
    }

    /// All lines up to the tagged one, which must be OK.
    fn finish(&mut self, index: usize) -> Result<Vec<Line>, String> {
        let lines = self.replies(index, 1)?;
        let last = lines.last().map_or("", |line| line.text.as_str());
        match last.split(' ').nth(1) {
            Some("OK") => Ok(lines),
            _ => Err(format!("preparing: {last}")),
        }
    }

    fn replies(&mut self, index: usize, tagged: usize) -> Result<Vec<Line>, String> {
        let mut lines = Vec::new();
        let mut left = tagged;
        while left > 0 && lines.len() < ANSWERS_MAX {
            let line = self.line(index)?;
            left -= usize::from(line.text.starts_with('t'));
            lines.push(line);
        }
        Ok(lines)
    }

    fn line(&mut self, index: usize) -> Result<Line, String> {
        let connection = &mut self.connections[index];
        let line = connection.talk.try_line()?;
        note(self.log, 'S', &line);
        let mut words = line.text.strip_prefix("* ").unwrap_or("").split(' ');
        let (number, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        match (number.parse::<u32>(), name) {
            (Ok(count), "EXISTS") => connection.exists = count,
            (Ok(_), "EXPUNGE") => connection.exists = connection.exists.saturating_sub(1),
            _ => {}
        }
        Ok(line)
    }

    /// Sends a command under a new tag, its literals when they are asked for.
    fn send(&mut self, index: usize, command: Line) -> Result<(), String> {
        note(self.log, 'C', &command);
        let connection = &mut self.connections[index];
        connection.tag += 1;
        let mut rest = command.text.as_str();
        let mut head = format!("t{} ", connection.tag);
        for literal in &command.literals {
            let marker = format!("{{{}}}", literal.len());
            let at = rest.find(&marker).ok_or("a literal without its length")? + marker.len();
            head.push_str(&rest[..at]);
            head.push_str("\r\n");
            connection.talk.try_send(&bytes(&head))?;
            head.clear();
            rest = &rest[at..];
            if !connection.talk.goes_on()? {
                return Ok(()); // refused: the tagged answer comes next
            }
            connection.talk.try_send(literal)?;
        }
        head.push_str(rest);
        head.push_str("\r\n");
        connection.talk.try_send(&bytes(&head))
    }

    fn append_next(&mut self, arguments: &str, dated: bool) -> Line {
        let Message { text, date } = self.source.next();
        let date = date.filter(|_| dated).map(|date| format!(" {date}")).unwrap_or_default();
        let line = format!("APPEND {arguments}{date} {{{}}}", text.len());
        Line { text: line, literals: vec![text] }
    }

    /// The command with its variables replaced, and the next message where an APPEND has none.
    fn expand(&mut self, step: &Step) -> Result<Line, String> {
        let text = self.variables.expand(&step.command.text)?;
        let literals = step.command.literals.clone();
        let (verb, arguments) = text.split_once(' ').unwrap_or((&text, ""));
        if literals.is_empty() && verb.eq_ignore_ascii_case("append") {
            return Ok(match arguments {
                "" => self.append_next(MAILBOX, true),
                given => self.append_next(given, false),
            });
        }
        Ok(Line { text, literals })
    }

    fn play(&mut self, group: &Group, extra: bool) -> Result<(), String> {
        let index = group.connection;
        self.variables.number(self.connections[index].exists);
        let mut open: Vec<(String, &Step)> = Vec::new();
        for step in &group.commands {
            let command = self.expand(step)?;
            self.send(index, command)?;
            open.push((format!("t{}", self.connections[index].tag), step));
        }
        self.variables.set("tag", &open[0].0);
        let mut found = vec![false; group.untagged.len()];
        for _ in 0..ANSWERS_MAX {
            if open.is_empty() {
                break;
            }
            let line = self.line(index)?;
            let (tag, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
            if tag == "*" {
                let said = Line { text: rest.to_owned(), literals: line.literals };
                self.untagged(group, &mut found, &values(&said), extra)?;
            } else if let Some(at) = open.iter().position(|(open, _)| open == tag) {
                let (_, step) = open.remove(at);
                let said = Line { text: rest.to_owned(), literals: line.literals };
                let wanted = step.reply.as_deref().unwrap_or_default();
                if !self.variables.fits(wanted, &values(&said), true) {
                    return Err(format!("answered {rest}, not {wanted:?}"));
                }
            } else {
                return Err(format!("an answer to nothing: {}", line.text));
            }
        }
        let mut expected = group.untagged.iter().zip(&found);
        match expected.find(|(e, found)| e.presence == Presence::Must && !**found) {
            Some((missing, _)) => Err(format!("no answer like: {}", missing.text)),
            None => Ok(()),
        }
    }

    fn untagged(
        &mut self,
        group: &Group,
        found: &mut [bool],
        said: &[Value],
        extra: bool,
    ) -> Result<(), String> {
        let first = said.first().and_then(Value::atom).unwrap_or("");
        let status = ["OK", "NO", "BAD", "BYE"].iter().any(|w| w.eq_ignore_ascii_case(first));
        let mut fitting = false;
        for (expected, found) in group.untagged.iter().zip(found.iter_mut()) {
            if *found || !self.variables.fits(&expected.values, said, status) {
                continue;
            }
            if expected.presence == Presence::MustNot {
                return Err(format!("an answer like: {}", expected.text));
            }
            *found = true;
            fitting = true;
        }
        if !fitting && !extra {
            return Err(format!("an answer nobody asked for: {said:?}"));
        }
        if let (Ok(number), Some("EXPUNGE")) = (first.parse(), said.get(1).and_then(Value::atom)) {
            self.variables.expunged(number);
        }
        Ok(())
    }
}

fn note(log: &mut Vec<String>, side: char, line: &Line) {
    let mut text = format!("{side}: {}", line.text);
    for literal in &line.literals {
        text.push_str(&format!(" «{}»", String::from_utf8_lossy(literal).escape_debug()));
    }
    log.push(text.chars().take(EXCERPT_COLUMNS).collect());
}
