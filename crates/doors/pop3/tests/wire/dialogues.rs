//! Dialogues from files: what a client says, and what has to come.
//!
//! `M:` puts a message into alice's INBOX (`\r\n` are these two octets). `C:` is sent with CRLF,
//! `S:` is the next line, in which `…` stands for anything; `END` means that the connection ends. A
//! digit in front chooses the connection (1 when there is none); each is opened, and its greeting
//! read, when it is first named.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::fixture::Server;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues")
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

fn octets(text: &str) -> Vec<u8> {
    text.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0").into_bytes()
}

async fn step(client: &mut Client, (kind, text): (&str, &str), place: &str) {
    match kind {
        "C" => client.send([octets(text), b"\r\n".to_vec()].concat()).await,
        "S" => {
            let line = client.line().await;
            assert!(matches(text, &line), "{place}\n wanted: {text}\n    got: {line}");
        }
        _ => panic!("{place}: unknown step {kind}"),
    }
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
        if let Some(message) = line.strip_prefix("M: ") {
            server.put(&octets(message));
            continue;
        }
        let first = line.chars().next().unwrap();
        let (who, line) = match first.is_ascii_digit() {
            true => (first, &line[1..]),
            false => ('1', line),
        };
        let client = match clients.entry(who) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(server.guest().await),
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
    let mut played = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "txt") {
            play(&path).await;
            played += 1;
        }
    }
    assert!(played >= 8, "only {played} dialogues were found");
}
