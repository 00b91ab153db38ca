//! A server for one test: on ports and a directory of its own, gone when the test ends.

use crate::program::{Outcome, nelumbo, run};
use crate::talk::Talk;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const START_MAX: Duration = Duration::from_secs(60);
const STOP_MAX: Duration = Duration::from_secs(30);
/// How often a start may find its ports taken by another test.
const TRIES: u32 = 5;

/// A running server. Dropping it kills it and removes its data.
pub struct Server {
    home: TempDir,
    offset: u16,
    arguments: Vec<String>,
    child: Option<Child>,
    /// Parts of warnings that the test means to cause.
    announced: Vec<&'static str>,
}

impl Server {
    /// The demo domain without its mail, with `arguments` added.
    pub fn demo(arguments: &[&str]) -> Server {
        let home = TempDir::with_prefix("nelumbo-").expect("a temporary directory");
        let mut server =
            Server { home, offset: 0, arguments: Vec::new(), child: None, announced: Vec::new() };
        for attempt in 1..=TRIES {
            server.offset = free_offset(attempt);
            let data = server.data().display().to_string();
            let offset = server.offset.to_string();
            let own = ["demo", "--data", &data, "--port-offset", &offset];
            server.arguments = own.iter().chain(arguments).map(|a| (*a).to_owned()).collect();
            if server.try_start() {
                return server;
            }
        }
        panic!("the server did not start:\n{}", server.log());
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// A place for files of the test.
    pub fn scratch(&self) -> &Path {
        self.home.path()
    }

    /// The port of SMTP between servers.
    pub fn smtp(&self) -> u16 {
        self.offset + 2025
    }

    /// The port for handing in mail with sign-in.
    pub fn submission(&self) -> u16 {
        self.offset + 2587
    }

    /// The same with TLS from the first byte.
    pub fn smtps(&self) -> u16 {
        self.offset + 2465
    }

    /// The port of IMAP.
    pub fn imap(&self) -> u16 {
        self.offset + 2143
    }

    /// IMAP with TLS from the first byte.
    pub fn imaps(&self) -> u16 {
        self.offset + 2993
    }

    /// The port of POP3.
    pub fn pop3(&self) -> u16 {
        self.offset + 2110
    }

    /// POP3 with TLS from the first byte.
    pub fn pop3s(&self) -> u16 {
        self.offset + 2995
    }

    /// The port of the metrics.
    pub fn metrics(&self) -> u16 {
        self.offset + 2090
    }

    /// What the server wrote to standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Says that the test will make the server warn with these words; any other warning fails it.
    pub fn announce(&mut self, words: &'static str) {
        self.announced.push(words);
    }

    /// Warnings and errors in the server's log that nobody announced.
    fn complaints(&self) -> Vec<String> {
        let log = self.log();
        let serious = log.lines().filter(|line| is_serious(line));
        let surprising = serious.filter(|l| !self.announced.iter().any(|words| l.contains(words)));
        surprising.map(str::to_owned).collect()
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("stderr.log")
    }

    /// Runs `nelumbo BEFORE… DIR AFTER…` beside the server.
    pub fn command(&self, before: &[&str], after: &[&str]) -> Outcome {
        self.command_with(before, after, b"")
    }

    /// The same with something on standard input.
    pub fn command_with(&self, before: &[&str], after: &[&str], input: &[u8]) -> Outcome {
        run(Command::new(nelumbo()).args(before).arg(self.data()).args(after), input)
    }

    /// Ends the server as a power cut would end the process.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("the server can be killed");
            child.wait().expect("and waited for");
        }
    }

    /// Ends the server by its own command and demands exit code 0.
    pub fn stop(&mut self) {
        self.command(&["stop"], &[]).fine();
        let mut child = self.child.take().expect("the server runs");
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the server can be waited for") {
                break status;
            }
            assert!(began.elapsed() < STOP_MAX, "does not stop:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "stopped with {status}:\n{}", self.log());
    }

    /// Starts it again on the same data; gives the time until it was ready.
    pub fn restart(&mut self) -> Duration {
        let began = Instant::now();
        assert!(self.try_start(), "the server did not start again:\n{}", self.log());
        began.elapsed()
    }

    /// The process id, for whoever wants to signal it.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// Waits for the end that somebody else has asked for; gives the exit code.
    pub fn wait(&mut self) -> i32 {
        let mut child = self.child.take().expect("the server runs");
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("the server can be waited for") {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < STOP_MAX, "does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The number of messages in the INBOX of a user, once it is `wanted` or patience ends.
    pub fn inbox_count(&self, user: &str, password: &str, wanted: usize) -> usize {
        let mut talk = Talk::imap(self.imap(), user, password);
        let began = Instant::now();
        loop {
            let status = talk.say("STATUS INBOX (MESSAGES)");
            let line = status.line_with("* STATUS").expect("a STATUS line");
            let count = line.text.split_once("MESSAGES ").expect("MESSAGES").1;
            let count = count.trim_end_matches(')').parse().expect("a number");
            if count >= wanted || began.elapsed() > Duration::from_secs(10) {
                return count;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn try_start(&mut self) -> bool {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path());
        let mut child = Command::new(nelumbo())
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.expect("a log file"))
            .spawn()
            .expect("the binary can be started");
        let ready = says_ready(&mut child);
        if ready {
            self.child = Some(child);
        } else {
            let _ = child.kill(); // it has ended, or never will be ready
            let _ = child.wait();
        }
        ready
    }
}

/// Whether a line of the log is a warning or worse: `TIME SEVERITY …`.
fn is_serious(line: &str) -> bool {
    let severity = line.split_whitespace().nth(1).unwrap_or("");
    let bad = ["warning", "failure", "fatal", "WARN", "ERROR"].contains(&severity);
    bad || line.contains("panicked at") || line.contains("BUG: thread")
}

/// Waits for the line `ready`, which a server prints when all its ports are open.
fn says_ready(child: &mut Child) -> bool {
    let (said, heard) = mpsc::channel();
    let output = child.stdout.take().expect("piped");
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // nobody listens any more once it was ready
            let _ = said.send(line);
        }
    });
    loop {
        match heard.recv_timeout(START_MAX) {
            Ok(line) if line.trim() == "ready" => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended by itself
            let _ = child.wait();
        }
        let complaints = self.complaints();
        if !std::thread::panicking() {
            assert!(complaints.is_empty(), "the server complains:\n{}", complaints.join("\n"));
        }
    }
}

/// A server made by `setup` for the domain example.test, with alice and bob.
pub struct Example(pub Server);

impl Example {
    /// The password of alice.
    pub const ALICE: &str = "pw-alice-1";
    /// The password of bob.
    pub const BOB: &str = "pw-bob-1";

    /// Sets it up and starts it.
    pub fn start() -> Example {
        let home = TempDir::with_prefix("nelumbo-").expect("a temporary directory");
        let mut server =
            Server { home, offset: 0, arguments: Vec::new(), child: None, announced: Vec::new() };
        let options = [
            "--domain",
            "example.test",
            "--server",
            "mail1/Example",
            "--admin",
            "Admin Example",
            "--password-stdin",
        ];
        server.command_with(&["setup"], &options, b"pw-admin-1\n").fine();
        for (name, short, password) in
            [("Alice Example", "alice", Example::ALICE), ("Bob Example", "bob", Example::BOB)]
        {
            let options = [name, "--short-name", short, "--password-stdin"];
            let input = format!("{password}\n");
            server.command_with(&["user", "add"], &options, input.as_bytes()).fine();
        }
        let data = server.data();
        server.arguments = vec!["serve".to_owned(), data.display().to_string()];
        for attempt in 1..=TRIES {
            server.offset = free_offset(attempt);
            set_listeners(&data, server.offset);
            if server.try_start() {
                return Example(server);
            }
        }
        panic!("the server did not start:\n{}", server.log());
    }
}

/// Writes loopback addresses with the offset into the configuration.
fn set_listeners(data: &Path, offset: u16) {
    let path = data.join("nelumbo.toml");
    let text = std::fs::read_to_string(&path).expect("setup wrote nelumbo.toml");
    let mut table: toml::Table = text.parse().expect("nelumbo.toml is TOML");
    let mut listen = toml::Table::new();
    let doors = [
        ("smtp", 2025),
        ("submission", 2587),
        ("smtps", 2465),
        ("imap", 2143),
        ("imaps", 2993),
        ("pop3", 2110),
        ("pop3s", 2995),
        ("metrics", 2090),
    ];
    for (door, port) in doors {
        listen.insert(door.to_owned(), format!("127.0.0.1:{}", port + offset).into());
    }
    table.insert("listen".to_owned(), listen.into());
    std::fs::write(&path, table.to_string()).expect("nelumbo.toml can be written");
}

/// Offsets given away in this process: a server that is stopped keeps its ports.
static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// An offset whose ports are free just now; another for each process and attempt, and never one
/// that was given away before. No two ports lie a multiple of 19 apart: servers of two tests that
/// start at once do not meet.
fn free_offset(attempt: u32) -> u16 {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let start = std::process::id().wrapping_add(attempt * 401);
    let candidates = (0..500).map(|step| (6_000 + 19 * (start.wrapping_add(step) % 2_000)) as u16);
    let free = |offset: &u16| {
        let ports = [2025, 2587, 2465, 2143, 2993, 2110, 2995, 2090].map(|port| port + offset);
        ports.iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
    };
    let found = candidates.into_iter().find(|offset| !taken.contains(offset) && free(offset));
    let found = found.expect("free ports");
    taken.insert(found);
    found
}
