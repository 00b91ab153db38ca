//! Processor time per command: one connection over a socket, with a store below it.
//!
//! `cargo run --release -p imap --example commands -- [COUNT] [BYTES] [COMMAND]`
//!
//! Without a command all of them, in turn. The time is that of the thread that serves the
//! connection alone: of what the log and SQLite do there too, but not of the client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;

use directory::{Directory, NewPassword, NewPerson};
use imap::{Door, Parts, Settings, Stats};
use session::{Budget, Job, Pool, Registry};
use store::{Store, StoreOptions};

/// Rows that a client shows at once.
const ROWS: usize = 50;
const ROW_ITEMS: &str = "(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE)";
/// Base64 characters of a line.
const LINE_CHARS: usize = 76;

/// What is measured: its name, and one of it.
type Row<'a> = (&'static str, &'a dyn Fn(&mut Client, usize));

/// Heavy work runs on the thread that is measured, too.
struct Here;

impl Pool for Here {
    fn submit(&self, job: Job) {
        job();
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(500, |text| text.parse().unwrap());
    let bytes = arguments.next().map_or(97_000, |text| text.parse().unwrap());
    let chosen = arguments.next();
    let dir = tempfile::tempdir().unwrap();
    let (address, thread) = serve(dir.path());
    let mut client = Client::connect(&address);
    client.run("LOGIN alice secret-1");
    let message = message(bytes);
    for _ in 0..ROWS.max(count) {
        client.append("INBOX", &message);
    }
    client.run("SELECT INBOX");
    let all: [Row<'_>; 7] = [
        ("noop", &|client, _| client.run("NOOP")),
        ("select", &|client, _| client.run("SELECT INBOX")),
        ("rows", &|client, _| client.run(&format!("FETCH 1:{ROWS} {ROW_ITEMS}"))),
        ("append", &|client, _| client.append("Sent", &message)),
        ("read", &|client, at| client.run(&format!("UID FETCH {} BODY[]", at % count + 1))),
        ("reread", &|client, at| client.run(&format!("UID FETCH {} BODY[]", at % count + 1))),
        ("delete", &|client, at| {
            let uid = at % count + 1;
            client.run(&format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)"));
            client.run(&format!("UID EXPUNGE {uid}"));
        }),
    ];
    for (name, act) in all.into_iter().filter(|row| chosen.as_deref().is_none_or(|c| c == row.0)) {
        let before = cpu_us(&thread);
        (0..count).for_each(|at| act(&mut client, at));
        let each = (cpu_us(&thread) - before) / count as f64;
        println!("{name:8} {each:9.1} us of processor time");
    }
}

/// Serves one person on a thread of its own; the address, and where its processor time stands.
fn serve(dir: &std::path::Path) -> (String, String) {
    let (store, _) = Store::open(StoreOptions::new(dir)).unwrap();
    let directory = Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap();
    let person = NewPerson {
        full_name: "Alice Example".to_owned(),
        short_name: "alice".to_owned(),
        password: Some(NewPassword::Plain("secret-1".into())),
        ..NewPerson::default()
    };
    directory.add_person(person).unwrap();
    let door = Door::new(Parts {
        store,
        directory,
        pool: Arc::new(Here),
        budget: Budget::new(1 << 30),
        registry: Registry::default(),
        tls: None,
        settings: Settings::default(),
        stats: Arc::new(Stats::default()),
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (named, name) = mpsc::channel();
    std::thread::spawn(move || {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        named.send(format!("/proc/{}/schedstat", link.display())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let (stream, _) = listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let (_stopper, stopping) = session::stopping();
            door.serve_connection(stream, false, stopping).await;
        });
    });
    (address, name.recv().unwrap())
}

/// Time that a thread ran, in microseconds.
fn cpu_us(schedstat: &str) -> f64 {
    let text = std::fs::read_to_string(schedstat).unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1_000.0
}

/// A message with an attachment of about so many bytes, different in each line.
fn message(bytes: usize) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = b"Date: Tue, 1 Dec 2026 04:00:00 +0000\r\nFrom: Bob <bob@demo.test>\r\n\
        To: Alice Example <alice@demo.test>, Carol <carol@demo.test>\r\nSubject: some words\r\n\
        Message-ID: <1@demo.test>\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=\"next\"\r\n\r\n--next\r\n\
        Content-Type: text/plain\r\n\r\nSome words of a person.\r\n--next\r\n\
        Content-Type: application/octet-stream\r\n\
        Content-Disposition: attachment; filename=\"data.bin\"\r\n\
        Content-Transfer-Encoding: base64\r\n\r\n"
        .to_vec();
    let mut state = 7u32;
    while text.len() < bytes {
        for _ in 0..LINE_CHARS {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push(DIGITS[state as usize >> 27]);
        }
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"--next--\r\n");
    text
}

/// A client's end.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Client(BufReader::with_capacity(1 << 18, stream));
        let mut greeting = String::new();
        client.0.read_line(&mut greeting).unwrap();
        client
    }

    /// Sends a command and reads to the end of its answer, which has to be OK.
    fn run(&mut self, command: &str) {
        self.0.get_mut().write_all(format!("t {command}\r\n").as_bytes()).unwrap();
        self.answer();
    }

    fn append(&mut self, mailbox: &str, message: &[u8]) {
        let head = format!("t APPEND {mailbox} (\\Seen) {{{}+}}\r\n", message.len());
        let command = [head.as_bytes(), message, b"\r\n"].concat();
        self.0.get_mut().write_all(&command).unwrap();
        self.answer();
    }

    fn answer(&mut self) {
        loop {
            let mut line = Vec::new();
            self.0.read_until(b'\n', &mut line).unwrap();
            let text = String::from_utf8_lossy(&line);
            if text.starts_with("t ") {
                return assert!(text.starts_with("t OK"), "{text}");
            }
            let literal = text.trim_end().strip_suffix('}').and_then(|text| text.rsplit_once('{'));
            let literal = literal.and_then(|(_, digits)| digits.parse::<u64>().ok());
            std::io::copy(&mut (&mut self.0).take(literal.unwrap_or(0)), &mut std::io::sink())
                .unwrap();
        }
    }
}
