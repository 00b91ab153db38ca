//! Dialogues from files: what a client says, and what has to come.
//!
//! `C:` is sent with CRLF, `S:` is the next response, in which `…` stands for anything, `S+:` skips
//! responses until one matches, `A:` sends a command whose `@name` becomes a literal that does not
//! wait, made of the file in `dialogues/messages`; `END` means that the connection ends. A digit in
//! front chooses the connection (1 when there is none); each is opened, and its greeting read, when
//! it is first named. Within `C:` `\r\n` are these two octets. A literal in a response is shown as
//! `{n}|bytes|`, with `\r\n` for line ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use crate::client::{Client, find, literal_at_end};
use crate::fixture::Server;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues")
}

/// A message of the collection.
pub fn message(name: &str) -> Vec<u8> {
    std::fs::read(folder().join("messages").join(name)).unwrap()
}

/// A response as dialogues show it.
fn shown(unit: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = unit;
    while let Some(at) = find(rest, b"\r\n") {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        let length = literal_at_end(&rest[..at]).unwrap();
        let bytes = String::from_utf8_lossy(&rest[at + 2..at + 2 + length]);
        text.push_str(&format!("|{}|", bytes.replace("\r\n", "\\r\\n")));
        rest = &rest[at + 2 + length..];
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// Whether `text` matches a pattern in which `…` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A command with its `@name` made a literal.
fn with_message(command: &str) -> Vec<u8> {
    let (head, name) = command.split_once('@').unwrap();
    let bytes = message(name.trim());
    [format!("{head}{{{}+}}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat()
}

async fn step(client: &mut Client, (kind, text): (&str, &str), place: &str) {
    match kind {
        "C" => {
            let text = text.replace("\\r\\n", "\r\n");
            client.send(format!("{text}\r\n")).await;
        }
        "A" => client.send(with_message(text)).await,
        "S" => {
            let unit = shown(&client.unit().await);
            assert!(matches(text, &unit), "{place}\n wanted: {text}\n    got: {unit}");
        }
        "S+" => {
            let mut seen = Vec::new();
            loop {
                let Some(unit) = client.unit_or_end().await else {
                    panic!("{place}\n wanted: {text}\n    got: {seen:#?}");
                };
                let unit = shown(&unit);
                if matches(text, &unit) {
                    return;
                }
                seen.push(unit);
            }
        }
        _ => panic!("{place}: unknown step {kind}"),
    }
}

async fn greeted(server: &Server) -> Client {
    let mut client = server.connect();
    let greeting = client.line().await;
    assert!(greeting.starts_with("* OK [CAPABILITY IMAP4rev1 "), "{greeting}");
    client
}

async fn play(path: &Path) {
    let server = Server::start();
    let mut clients: HashMap<char, Client> = HashMap::new();
    let script = std::fs::read_to_string(path).unwrap();
    for (number, line) in script.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{}:{}: {line}", path.display(), number + 1);
        let first = line.chars().next().unwrap();
        let (who, line) = match first.is_ascii_digit() {
            true => (first, &line[1..]),
            false => ('1', line),
        };
        let client = match clients.entry(who) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(greeted(&server).await),
        };
        match line.split_once(": ") {
            Some(parts) => step(client, parts, &place).await,
            None if line == "END" => client.ends().await,
            None => panic!("{place}: not a step"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_dialogue_goes_as_written() {
    let (mut played, mut failed) = (0, Vec::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "txt") {
            let shown = path.display().to_string();
            if tokio::spawn(async move { play(&path).await }).await.is_err() {
                failed.push(shown);
            }
            played += 1;
        }
    }
    assert!(failed.is_empty(), "these went another way: {failed:#?}");
    assert!(played >= 10, "only {played} dialogues were found");
}
