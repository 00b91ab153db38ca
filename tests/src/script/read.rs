//! Reading a script: its header, and its commands with the answers they must have.

use super::pattern::add_defaults;
use super::value::{Value, latin, values};
use crate::talk::Line;
use std::path::Path;

/// How far a connection is brought before the script begins; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    NonAuth,
    Auth,
    Created,
    Appended,
    Selected,
}

/// How many messages are appended beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Messages {
    All,
    Some(usize),
}

/// One script.
#[derive(Debug)]
pub(super) struct Script {
    pub capabilities: Vec<String>,
    pub connections: usize,
    pub messages: Messages,
    pub state: State,
    /// Untagged answers that no line asks for are passed over.
    pub extra: bool,
    pub groups: Vec<Group>,
}

/// Commands that are sent at once on one connection, and what must come back.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// From 0.
    pub connection: usize,
    pub commands: Vec<Step>,
    pub untagged: Vec<Expected>,
}

/// One command.
#[derive(Debug)]
pub(super) struct Step {
    /// Its line in the file.
    pub line: usize,
    /// N of `tagN`.
    pub tag: Option<u32>,
    /// Literals stand as `{n}` in the text.
    pub command: Line,
    /// The beginning of the tagged answer.
    pub reply: Option<Vec<Value>>,
}

/// Whether an untagged answer must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Must,
    MustNot,
    May,
}

/// One untagged answer.
#[derive(Debug)]
pub(super) struct Expected {
    pub presence: Presence,
    pub values: Vec<Value>,
    /// As it stands in the file.
    pub text: String,
}

const CONNECTIONS_MAX: usize = 20;

impl Script {
    /// Reads a file.
    pub(super) fn load(path: &Path) -> Result<Script, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut script = Script {
            capabilities: Vec::new(),
            connections: 1,
            messages: Messages::Some(0),
            state: State::Selected,
            extra: true,
            groups: Vec::new(),
        };
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate();
        let mut header = true;
        let mut skipping: Vec<bool> = Vec::new();
        while let Some((index, line)) = lines.next() {
            let number = index + 1;
            if line.is_empty() {
                header = false;
                continue;
            }
            if line.starts_with(b"#") {
                continue;
            }
            let line = with_literals(line, &mut lines)?;
            let outcome = if header {
                script.header(&line.text)
            } else if conditional(&line.text, &mut skipping)? || skipping.contains(&true) {
                Ok(())
            } else {
                script.command(number, line)
            };
            outcome.map_err(|e| format!("{} line {number}: {e}", path.display()))?;
        }
        let open = script.groups.last().is_some_and(Group::waits);
        match open || script.groups.is_empty() {
            true => Err(format!("{}: it ends too early", path.display())),
            false => Ok(script),
        }
    }

    fn header(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once(':').ok_or("a header line has a colon")?;
        let value = value.trim();
        let number = || value.parse::<usize>().map_err(|e| format!("{value}: {e}"));
        match key.trim().to_ascii_lowercase().as_str() {
            "capabilities" => {
                self.capabilities = value.split(' ').map(str::to_ascii_uppercase).collect();
            }
            "connections" => self.connections = number()?.clamp(1, CONNECTIONS_MAX),
            "messages" if value == "all" => self.messages = Messages::All,
            "messages" => self.messages = Messages::Some(number()?),
            "ignore_extra_untagged" => self.extra = value.starts_with('y'),
            "state" => {
                self.state = match value.to_ascii_lowercase().as_str() {
                    "nonauth" => State::NonAuth,
                    "auth" => State::Auth,
                    "created" => State::Created,
                    "appended" => State::Appended,
                    "selected" => State::Selected,
                    other => return Err(format!("no state {other}")),
                }
            }
            // one account plays all parts: no server announces this
            other if other.starts_with("user ") => self.capabilities.push("A SECOND USER".into()),
            other => return Err(format!("no header {other}")),
        }
        Ok(())
    }

    fn command(&mut self, number: usize, line: Line) -> Result<(), String> {
        if let Some(expected) = Expected::read(&line) {
            let group = self.groups.last_mut().ok_or("an answer before any command")?;
            group.untagged.push(expected);
            return Ok(());
        }
        let (connection, line) = match self.connections {
            1 => (0, line),
            _ => split_connection(line)?,
        };
        if connection >= self.connections {
            return Err(format!("there is no connection {}", connection + 1));
        }
        let (tag, reply, rest) = split_reply(line);
        if let Some(group) = self.groups.last_mut().filter(|group| group.waits()) {
            if group.connection != connection {
                return Err("commands sent together go over one connection".to_owned());
            }
            let step = group.commands.iter_mut().find(|step| step.tag == tag);
            return match (reply, step) {
                (Some(mut reply), Some(step)) if step.reply.is_none() => {
                    reply.extend(values(&rest));
                    step.reply = Some(reply);
                    Ok(())
                }
                (None, None) => {
                    group.commands.push(Step { line: number, tag, command: rest, reply: None });
                    Ok(())
                }
                _ => Err("an answer to no command".to_owned()),
            };
        }
        let step = Step { line: number, tag, command: rest, reply };
        self.groups.push(Group { connection, commands: vec![step], untagged: Vec::new() });
        Ok(())
    }
}

impl Group {
    /// Whether a tagged answer has not been told yet.
    fn waits(&self) -> bool {
        self.commands.iter().any(|step| step.reply.is_none())
    }
}

impl Expected {
    fn read(line: &Line) -> Option<Expected> {
        let presence = match line.text.split_at_checked(2)?.0 {
            "* " => Presence::Must,
            "! " => Presence::MustNot,
            "? " => Presence::May,
            _ => return None,
        };
        let text = line.text[2..].to_owned();
        let mut values = values(&Line { text: text.clone(), literals: line.literals.clone() });
        add_defaults(&mut values);
        Some(Expected { presence, values, text })
    }
}

/// Takes in what `{{{` at the end of a line begins: all lines up to `}}}`, without the last end of
/// line. Lines end with CRLF, in `~{{{` as they do in the file.
fn with_literals<'a>(
    first: &[u8],
    lines: &mut impl Iterator<Item = (usize, &'a [u8])>,
) -> Result<Line, String> {
    let mut line = Line::default();
    let mut rest = first;
    while let Some(before) = rest.strip_suffix(b"{{{") {
        let (before, binary) = match before.strip_suffix(b"~") {
            Some(before) => (before, true),
            None => (before, false),
        };
        let mut literal: Vec<&[u8]> = Vec::new();
        loop {
            let (_, next) = lines.next().ok_or("a literal does not end")?;
            if let Some(behind) = next.strip_prefix(b"}}}") {
                rest = behind;
                break;
            }
            literal.push(next);
        }
        let literal = literal.join(if binary { &b"\n"[..] } else { &b"\r\n"[..] });
        line.text.push_str(&latin(before));
        let mark = if binary { "~" } else { "" };
        line.text.push_str(&format!("{mark}{{{}}}", literal.len()));
        line.literals.push(literal);
    }
    line.text.push_str(&latin(rest));
    Ok(line)
}

/// `!ifenv`, `!ifnenv`, `!else` and `!endif`; false: the line is something else.
fn conditional(line: &str, skipping: &mut Vec<bool>) -> Result<bool, String> {
    let there = |name: &str| std::env::var_os(name.trim()).is_some();
    if let Some(name) = line.strip_prefix("!ifenv ") {
        skipping.push(!there(name));
    } else if let Some(name) = line.strip_prefix("!ifnenv ") {
        skipping.push(there(name));
    } else if line == "!else" {
        let last = skipping.last_mut().ok_or("!else without a condition")?;
        *last = !*last;
    } else if line == "!endif" {
        skipping.pop().ok_or("!endif without a condition")?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn split_connection(line: Line) -> Result<(usize, Line), String> {
    let (number, text) = line.text.split_once(' ').unwrap_or((&line.text, ""));
    let number: usize = number.parse().map_err(|_| "the connection's number is missing")?;
    let text = text.to_owned();
    Ok((number.saturating_sub(1), Line { text, literals: line.literals }))
}

/// `[tagN] [OK|NO|BAD|""] REST`.
fn split_reply(line: Line) -> (Option<u32>, Option<Vec<Value>>, Line) {
    let word = |text: &str| {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        (word.to_owned(), rest.to_owned())
    };
    let Line { mut text, literals } = line;
    let (first, rest) = word(&text);
    let tag = first.strip_prefix("tag").and_then(|n| n.parse().ok());
    if tag.is_some() {
        text = rest;
    }
    let (first, rest) = word(&text);
    let reply = match first.to_ascii_lowercase().as_str() {
        "ok" | "no" | "bad" => Some(vec![Value::Atom(first)]),
        "\"\"" => Some(vec![Value::Atom(String::new())]),
        _ => None,
    };
    if reply.is_some() {
        text = rest;
    }
    (tag, reply, Line { text, literals })
}
