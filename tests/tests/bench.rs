//! `nelumbo bench` against the demo server, against one that dies, and against other people's
//! servers where they are installed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tests::{Outcome, Server, Talk, nelumbo, run};

const USERS: u32 = 6;
/// Messages in each INBOX at the start, as the workload says.
const MESSAGES: u32 = 12;
/// Longest wait for something to happen.
const WAIT_MAX: Duration = Duration::from_secs(60);

const WORKLOAD: &str = include_str!("../../crates/roof/bench/tests/everything.toml");

const MAILDROP: &str = r#"
name = "Maildrop"
title = "mail is sent, and everything there is fetched and deleted"
door = "pop3"
period_s = 1
messages = 3
profile = 3000
step = [{ act = "send", recipients = 2 }, { act = "retrieve" }]
"#;

/// Where a server listens: SMTP, IMAP, POP3.
type Ports = [u16; 3];

fn demo() -> Server {
    let users = USERS.to_string();
    let words = ["--users", &users, "--domain", "bench.test", "--password", "secret", "--no-mail"];
    Server::demo(&words)
}

fn ports(server: &Server) -> Ports {
    [server.smtp(), server.imap(), server.pop3()]
}

/// `nelumbo bench VERB` with the workload and the server.
fn bench(verb: &str, folder: &Path, [smtp, imap, pop3]: Ports) -> Command {
    let file = folder.join("workload.toml");
    std::fs::write(&file, WORKLOAD).unwrap();
    let mut command = Command::new(nelumbo());
    command.args(["bench", verb, "--workload-file"]).arg(file);
    command.args(["--users", &USERS.to_string(), "--password", "secret", "--seed", "7"]);
    command.args(["--smtp-port", &smtp.to_string(), "--imap-port", &imap.to_string()]);
    command.args(["--pop3-port", &pop3.to_string()]);
    command
}

/// A populated server is run against; gives how that ended, and its result.
fn measured(folder: &Path, ports: Ports, steady: &str) -> (Outcome, Value) {
    run(&mut bench("populate", folder, ports), b"").fine();
    let out = folder.join("result.json");
    let mut command = bench("run", folder, ports);
    command.args(["--ramp", "0s", "--steady", steady, "--speed", "5", "--out"]).arg(&out);
    let outcome = run(&mut command, b"");
    (outcome, result(&out))
}

fn result(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Demands that nothing is said against the server. That the driver did not keep up is, beside
/// other tests on a small machine, no fault of either; the run fails by it all the same.
fn demand_no_fault(outcome: &Outcome, json: &Value) {
    let reasons: Vec<&str> =
        json["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    let faults: Vec<_> =
        reasons.iter().filter(|why| !why.starts_with("the driver was saturated")).collect();
    assert!(faults.is_empty(), "{faults:?} {} {}", outcome.out, outcome.err);
    assert_eq!(json["passed"], reasons.is_empty(), "{json}");
    assert_eq!(outcome.code, i32::from(!reasons.is_empty()), "{} {}", outcome.out, outcome.err);
}

fn demand_passed(outcome: &Outcome, json: &Value) {
    demand_no_fault(outcome, json);
    assert_eq!(json["figures"]["errors"].as_f64(), Some(0.0));
    assert!(json["figures"]["transactions"].as_f64().unwrap() > 0.0);
    let looked = &json["findings"]["looked"];
    assert_eq!(looked["people"], USERS);
    assert!(looked["expected"].as_u64().unwrap() > 0, "{looked}");
    // what was read and deleted again was compared as well
    assert!(looked["compared"].as_u64() >= looked["expected"].as_u64(), "{looked}");
}

#[test]
fn a_run_against_the_demo_server_passes() {
    let server = demo();
    let (outcome, json) = measured(server.scratch(), ports(&server), "2s");
    demand_passed(&outcome, &json);
    let done: Vec<&str> = json["actions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|action| action["count"].as_u64().unwrap() > 0)
        .map(|action| action["name"].as_str().unwrap())
        .collect();
    assert!(done.len() >= 10, "{done:?}");
}

/// SMTP and POP3 with TLS from the first octet, and no IMAP at all.
#[test]
fn a_run_over_maildrops_and_tls_passes() {
    let server = demo();
    let (file, out) = (server.scratch().join("maildrop.toml"), server.scratch().join("out.json"));
    std::fs::write(&file, MAILDROP).unwrap();
    let [smtps, pop3s] = [server.smtps(), server.pop3s()].map(|port| port.to_string());
    let users = USERS.to_string();
    let bench = |verb: &str| {
        let mut command = Command::new(nelumbo());
        command.args(["bench", verb, "--workload-file"]).arg(&file);
        command.args(["--users", &users, "--password", "secret", "--tls", "implicit"]);
        command.args(["--smtp-port", &smtps, "--pop3-port", &pop3s]);
        command
    };
    run(&mut bench("populate"), b"").fine();
    let times = ["--ramp", "0s", "--steady", "2s", "--speed", "2", "--out"];
    let outcome = run(bench("run").args(times).arg(&out), b"");
    let json = result(&out);
    demand_no_fault(&outcome, &json);
    let looked = &json["findings"]["looked"];
    assert_eq!(looked["people"], USERS);
    assert!(looked["compared"].as_u64().unwrap() > 0, "{looked}");
}

fn uid_next(talk: &mut Talk) -> u32 {
    let text = talk.ask("STATUS INBOX (UIDNEXT)").text();
    let after = text.split("UIDNEXT ").nth(1).unwrap_or_else(|| panic!("{text}"));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn a_run_whose_server_dies_fails() {
    let mut server = demo();
    let (folder, ports) = (server.scratch().to_owned(), ports(&server));
    run(&mut bench("populate", &folder, ports), b"").fine();
    let out = folder.join("result.json");
    let mut command = bench("run", &folder, ports);
    command.args(["--ramp", "0s", "--steady", "4s", "--speed", "5", "--settle", "1s", "--out"]);
    let driver = command.arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // mail flows once somebody has more than was there at the start
    let started = Instant::now();
    let mut talk = Talk::imap(server.imap(), "u0001@bench.test", "secret");
    while uid_next(&mut talk) <= MESSAGES + 1 {
        assert!(started.elapsed() < WAIT_MAX, "nothing was sent");
    }
    server.kill();
    let ended = driver.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    let json = result(&out);
    assert_eq!(json["passed"], false);
    let reasons = json["reasons"].as_array().unwrap();
    assert!(!reasons.is_empty(), "{json}");
    assert!(json["figures"]["errors"].as_f64().unwrap() > 0.0, "{json}");
}

#[test]
fn a_run_without_a_server_is_trouble_and_without_a_workload_misuse() {
    let folder = TempDir::with_prefix("nelumbo-").unwrap();
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let outcome = run(&mut bench("run", folder.path(), [port; 3]), b"");
    assert!([1, 3].contains(&outcome.code), "{} {}", outcome.code, outcome.err);
    let mut command = Command::new(nelumbo());
    command.args(["bench", "run", "NoSuch", "--users", "1", "--password", "x"]);
    assert_eq!(run(&mut command, b"").code, 2);
}

/// Postfix and Dovecot on ports and in a directory of their own, stopped when the test ends.
struct Peer {
    home: TempDir,
    ports: Ports,
    lmtp: u16,
}

impl Peer {
    /// Starts them; nothing where they are not installed, or without the rights to start them.
    fn start() -> Option<Self> {
        let installed = ["dovecot", "postfix", "doveadm", "mkfs.ext4"].iter().all(|name| {
            ["/usr/sbin", "/usr/bin", "/sbin"].iter().any(|f| Path::new(f).join(name).exists())
        });
        if !installed || run(Command::new("id").arg("-u"), b"").fine().trim() != "0" {
            eprintln!("left out: needs Postfix, Dovecot and root");
            return None;
        }
        let listeners: Vec<TcpListener> =
            (0..4).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
        let port = |at: usize| listeners[at].local_addr().unwrap().port();
        let home = TempDir::with_prefix("nelumbo-peer-").unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let peer = Self { home, ports: [port(0), port(1), port(2)], lmtp: port(3) };
        drop(listeners);
        peer.script("setup").unwrap();
        peer.script("start").unwrap();
        Some(peer)
    }

    /// Runs a script. What it starts keeps its output open, which therefore goes to a file.
    fn script(&self, verb: &str) -> Result<(), String> {
        let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../xtask/peers");
        let mut command = Command::new(scripts.join(format!("{verb}-dovecot-postfix.sh")));
        let [smtp, imap, pop3] = self.ports;
        command.arg("sdbox").env("PEERS", self.home.path()).env("NUSERS", USERS.to_string());
        command.env("PLAIN_FOLDER", "1").env("LMTP_PORT", self.lmtp.to_string());
        for (name, port) in [("SMTP_PORT", smtp), ("IMAP_PORT", imap), ("POP3_PORT", pop3)] {
            command.env(name, port.to_string());
        }
        let said = self.home.path().join(format!("{verb}.out"));
        let file = std::fs::File::create(&said).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        match command.status().unwrap().success() {
            true => Ok(()),
            false => Err(std::fs::read_to_string(said).unwrap_or_default()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Err(trouble) = self.script("stop") {
            eprintln!("stop: {trouble}");
        }
    }
}

#[test]
fn a_run_against_postfix_and_dovecot_passes_where_they_are_installed() {
    let Some(peer) = Peer::start() else { return };
    let (outcome, json) = measured(peer.home.path(), peer.ports, "2s");
    demand_passed(&outcome, &json);
}
