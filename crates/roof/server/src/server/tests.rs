//! A whole server within the test: mail in over SMTP, out over IMAP, stop, start, still there.

mod agenda;
mod console;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use directory::Directory;
use store::Store;
use txlog::RealDisk;
use txlog::faults::{FailingDisk, Operation};

use super::{Holding, Network, Outcome, Server};
use crate::control::ask;
use crate::layout::DataDir;
use crate::listen::DOOR_KEYS;
use crate::progress::Unheard;
use crate::request::{Reply, Request, Secret, UserAdd, UserSet};
use crate::settings::{Key, Settings};
use crate::setup::{SetupOptions, setup};
use crate::site::{Site, store_options};
use crate::{admin, stats};

/// A new server of example.test with ada, and settings with ports of their own.
fn example(dir: &tempfile::TempDir) -> (DataDir, Settings) {
    let data = DataDir::new(dir.path().join("server"));
    let options = SetupOptions {
        domain: "example.test".to_owned(),
        server: "mail1/Example".to_owned(),
        admin: "Admin Example".to_owned(),
        password: Secret("pw-admin".to_owned()),
    };
    setup(&data, &options).unwrap();
    let mut settings = Settings::load(&data.config()).unwrap().settings;
    for key in DOOR_KEYS {
        settings.set(*key, "127.0.0.1:0").unwrap();
    }
    settings.set(Key::PoolTasks, "2").unwrap();
    let (site, _) = Site::open(&data, &settings).unwrap();
    let ada = UserAdd {
        full_name: "Ada Example".to_owned(),
        short_name: "ada".to_owned(),
        password: Some(Secret("pw-ada".to_owned())),
        ..UserAdd::default()
    };
    assert_eq!(admin::perform(&site, Request::UserAdd(ada), &mut Unheard).exit_code(), 0);
    site.close().unwrap();
    (data, settings)
}

fn address(server: &Server, name: &str) -> SocketAddr {
    server.addresses().iter().find(|one| one.0 == name).unwrap().1
}

/// A plain dialogue: lines out, lines in.
struct Talk(BufReader<TcpStream>);

impl Talk {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// Says a line and reads up to the line that begins with `end`.
    fn say(&mut self, line: &str, end: &str) -> String {
        self.send(&format!("{line}\r\n"));
        self.until(end)
    }

    fn until(&mut self, end: &str) -> String {
        let mut all = String::new();
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the connection ended before {end}: {all}");
            all.push_str(&line);
            if line.starts_with(end) {
                return all;
            }
        }
    }

    fn rest(mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        text
    }
}

fn deliver(server: &Server, subject: &str) {
    hand_in(server, subject);
    server.running().router.wait_idle();
}

fn hand_in(server: &Server, subject: &str) {
    let mut smtp = Talk::to(address(server, "SMTP"));
    smtp.until("220 ");
    smtp.say("EHLO client.example.org", "250 ");
    smtp.say("MAIL FROM:<bob@example.org>", "250 ");
    smtp.say("RCPT TO:<ada@example.test>", "250 ");
    smtp.say("DATA", "354 ");
    smtp.say(&format!("From: bob@example.org\r\nSubject: {subject}\r\n\r\nHello.\r\n."), "250 ");
    smtp.say("QUIT", "221 ");
}

fn inbox(server: &Server) -> (Talk, String) {
    let mut imap = Talk::to(address(server, "IMAP"));
    imap.until("* OK");
    imap.say("a LOGIN ada pw-ada", "a OK");
    let selected = imap.say("b SELECT INBOX", "b OK");
    (imap, selected)
}

fn get(server: &Server, path: &str) -> String {
    let mut http = Talk::to(address(server, "Metrics"));
    http.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    http.rest()
}

#[test]
fn a_changed_password_or_a_disabled_person_ends_the_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    let password = Secret("pw-ada".to_owned());
    let disabled = UserSet { name: "ada".to_owned(), disabled: Some(true), ..UserSet::default() };
    for request in
        [Request::UserPasswd { name: "ada".to_owned(), password }, Request::UserSet(disabled)]
    {
        let (mut session, _) = inbox(&server);
        session.say("c IDLE", "+ ");
        assert_eq!(server.running().answer(request, &mut Unheard).exit_code(), 0);
        assert!(session.rest().contains("* BYE"));
    }
    assert!(matches!(server.stop(), Outcome::Stopped));
}

#[test]
fn mail_goes_through_and_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    deliver(&server, "First light");
    let (mut imap, selected) = inbox(&server);
    assert!(selected.contains("* 1 EXISTS"), "{selected}");
    let fetched = imap.say("c FETCH 1 BODY.PEEK[]", "c OK");
    assert!(fetched.contains("Subject: First light"), "{fetched}");
    assert_eq!(server.stop(), Outcome::Stopped);
    assert!(imap.rest().contains("* BYE"), "sessions are told");

    let server = Server::start(&data, &settings).unwrap();
    deliver(&server, "Second");
    let (_, selected) = inbox(&server);
    assert!(selected.contains("* 2 EXISTS"), "{selected}");
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn commands_and_metrics_see_the_running_server() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    deliver(&server, "Counted");

    let Some(Reply::Done { value }) = ask(&data.run(), &Request::Status).unwrap() else {
        panic!("no status")
    };
    assert_eq!(value["server"], "mail1/Example");
    for verb in crate::console::VERBS.iter().filter(|verb| !["quit", "trace"].contains(&verb.words))
    {
        let argument = match verb.words {
            "drop" => "ada",
            "load" => "Compact .",
            "tell" => "Router show queues",
            "restart task" => "SMTP",
            "set config" => "server.log_level=info",
            "broadcast" => "The server is restarted at noon",
            _ => "",
        };
        let line = format!("{} {argument}", verb.words);
        let reply = ask(&data.run(), &Request::Console { line }).unwrap().unwrap();
        assert_eq!(reply.exit_code(), 0, "{}: {reply:?}", verb.words);
    }
    let nonsense = Request::Console { line: "show nonsense".to_owned() };
    assert_eq!(ask(&data.run(), &nonsense).unwrap().unwrap().exit_code(), 2);
    let reloaded = ask(&data.run(), &Request::Reload).unwrap().unwrap();
    assert_eq!(reloaded.exit_code(), 0, "{reloaded:?}");

    assert!(get(&server, "/healthz").starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(get(&server, "/").starts_with("HTTP/1.1 404 "));
    let page = get(&server, "/metrics");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    well_formed(body);
    for line in ["nelumbo_messages_accepted_total 1", "nelumbo_sessions{door=\"imap\"} 0"] {
        assert!(body.lines().any(|one| one == line), "{line} in {body}");
    }
    assert_eq!(ask(&data.run(), &Request::Stop).unwrap().unwrap().exit_code(), 0);
    server.wait();
    assert_eq!(server.stop(), Outcome::Stopped);
    assert_eq!(ask(&data.run(), &Request::Status).unwrap(), None);
}

/// Names of metrics in a text.
fn metrics_named(text: &str) -> std::collections::BTreeSet<String> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !part(c)).filter(|word| word.starts_with("nelumbo_"));
    words.map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let (data, mut settings) = example(&dir);
    settings.set(Key::LogStyle, "archive").unwrap();
    settings.set(Key::LogArchivePath, "archive").unwrap();
    let server = Server::start(&data, &settings).unwrap();
    let page = get(&server, "/metrics");
    let served = metrics_named(&page);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["nelumbo.json", "alerts.yml"] {
        let path = folder.join("../../../docs/operating/grafana").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        assert_eq!(is_json, file.ends_with(".json"), "{file}");
        let named = metrics_named(&text);
        assert!(named.len() > 9, "{file} names few metrics");
        let missing: Vec<&String> = named.difference(&served).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
    assert_eq!(server.stop(), Outcome::Stopped);
}

/// Every line is a comment or a sample; every family has its type once, before its samples.
fn well_formed(page: &str) {
    let mut family = String::new();
    let mut seen = std::collections::HashSet::new();
    let mut samples = std::collections::HashSet::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert!(seen.insert(name.to_owned()), "{name} stands twice");
            name.clone_into(&mut family);
        } else if !line.starts_with("# HELP ") {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(samples.insert(sample.to_owned()), "{sample} stands twice");
            let name = sample.split('{').next().unwrap();
            assert_eq!(name, family, "{line}");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.starts_with("nelumbo_") && name.chars().all(plain), "{line}");
        }
    }
    assert!(samples.len() > 50, "{}", samples.len());
}

#[test]
fn statistics_have_the_names_administrators_know() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    let names: Vec<String> =
        stats::collect(server.running()).into_iter().map(|stat| stat.name).collect();
    for name in [
        "Server.Name",
        "Server.ElapsedTime",
        "Server.Users",
        "Server.Trans.Total",
        "Server.WorkThreads",
        "Server.Sessions.Dropped",
        "Mail.Delivered",
        "Mail.Dead",
        "Mail.Waiting",
        "Database.DbCache.CurrentEntries",
        "Database.DbCache.HighWaterMark",
        "Database.DbCache.Lookups",
        "Database.DbCache.MaxEntries",
        "SMTP.Sessions.Inbound.Active.SSL",
        "IMAP.Sessions.Inbound.Peak.SSL",
        "POP3.Sessions.Inbound.Peak.SSL",
        "Mail.DBCacheEntries",
        "Mail.DBCacheHits",
        "Mail.DBCacheReads",
        "Mem.Allocated.Process",
        "Mem.PhysicalRAM",
        "SMTP.Sessions.Inbound.Active",
        "SMTP.MessagesProcessed",
        "IMAP.Sessions.Inbound.Active",
    ] {
        assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
    }
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn a_directory_has_one_server() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    let Err(error) = Server::start(&data, &settings) else { panic!("two servers") };
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn a_failure_for_good_ends_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let server = Server::start(&data, &settings).unwrap();
    server.running().fail("announced by the test".to_owned());
    server.wait();
    assert!(get_fails_or_is_unhealthy(&server));
    assert_eq!(server.stop(), Outcome::Failed("announced by the test".to_owned()));
    assert!(data.lock().unwrap().is_some());
}

/// The site of a data directory on a disk that can be told to fail.
fn on_failing_disk(data: &DataDir, settings: &Settings) -> (Site, Arc<FailingDisk>) {
    let disk = Arc::new(FailingDisk::new(Arc::new(RealDisk)));
    let mut options = store_options(data, settings);
    options.disk = disk.clone();
    let (store, _) = Store::open(options).unwrap();
    let directory = Directory::open(store.clone()).unwrap();
    (Site::new(data, settings, store, directory), disk)
}

#[test]
fn a_failed_sync_of_the_log_acknowledges_nothing_and_stops_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let (data, settings) = example(&dir);
    let network = Network::open(&settings).unwrap();
    let holding = Holding::take(&data).unwrap();
    let (site, disk) = on_failing_disk(&data, &settings);
    let server = Server::run(network, holding, site).unwrap();
    deliver(&server, "Before");
    disk.fail(Operation::Sync, 0, u64::MAX, std::io::ErrorKind::Other);
    let mut smtp = Talk::to(address(&server, "SMTP"));
    smtp.until("220 ");
    smtp.send("EHLO client.example.org\r\nMAIL FROM:<bob@example.org>\r\n");
    smtp.send("RCPT TO:<ada@example.test>\r\nDATA\r\n");
    smtp.until("354 ");
    smtp.send("Subject: Lost\r\n\r\nHello.\r\n.\r\n");
    let answer = smtp.line();
    assert!(answer.is_empty() || answer.starts_with('4'), "{answer}");
    server.wait();
    let Outcome::Failed(reason) = server.stop() else { panic!("it ended as if all were well") };
    assert!(reason.contains("log"), "{reason}");

    let server = Server::start(&data, &settings).unwrap();
    let (_, selected) = inbox(&server);
    assert!(selected.contains("* 1 EXISTS") || selected.contains("* 2 EXISTS"), "{selected}");
    assert_eq!(server.stop(), Outcome::Stopped);
}

/// Listeners are closing: nobody answers, or the answer is that the server is not healthy.
fn get_fails_or_is_unhealthy(server: &Server) -> bool {
    let Ok(mut stream) = TcpStream::connect(address(server, "Metrics")) else { return true };
    let mut text = String::new();
    let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n");
    let answered = asked.and_then(|()| stream.read_to_string(&mut text));
    answered.is_err() || text.is_empty() || text.starts_with("HTTP/1.1 503")
}
