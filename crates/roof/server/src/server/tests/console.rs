//! The console of a whole server: settings, tasks and waiting mail changed while it runs.

use std::net::TcpStream;

use super::{Server, address, deliver, example, inbox};
use crate::control::ask;
use crate::layout::DataDir;
use crate::request::{QueueDeed, QueueOrder, Reply, Request};
use crate::server::Outcome;
use crate::settings::{Key, Settings};

/// Says a line; what it shows, or why it does not.
fn say(data: &DataDir, line: &str) -> Result<String, String> {
    match ask(&data.run(), &Request::Console { line: line.to_owned() }).unwrap().unwrap() {
        Reply::Done { value } => Ok(value["text"].as_str().unwrap().to_owned()),
        Reply::Refused { reason } => Err(reason),
        other => panic!("{line}: {other:?}"),
    }
}

/// A server whose configuration file holds its settings, as a real one does.
fn served(dir: &tempfile::TempDir) -> (DataDir, Server) {
    let (data, settings) = example(dir);
    std::fs::write(data.config(), settings.print()).unwrap();
    let server = Server::start(&data, &settings).unwrap();
    (data, server)
}

#[test]
fn settings_change_for_good_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    let site = &server.running().site;
    let told = say(&data, "set config limits.recipients_max=200").unwrap();
    assert!(told.contains("changes now"), "{told}");
    assert_eq!(site.settings().number(Key::RecipientsMax), 200);
    let told = say(&data, "set config Server_Pool_Tasks = 7").unwrap();
    assert!(told.contains("started again"), "{told}");
    assert_eq!(site.settings().number(Key::PoolTasks), 2);
    let shown = say(&data, "show config server.pool_tasks").unwrap();
    assert!(shown.contains("restart: then 7"), "{shown}");
    assert!(say(&data, "set config TRANSLOG_Status=1").unwrap().contains("no effect"));
    assert!(say(&data, "set config Homemade=1").unwrap().contains("not known"));
    let before = std::fs::read_to_string(data.config()).unwrap();
    for wrong in ["limits.recipients_max=many", "limits.recipients_max", "=1", "a b=1"] {
        assert!(say(&data, &format!("set config {wrong}")).is_err(), "{wrong}");
    }
    // A smart host whose certificates are missing cannot be used: the old settings stay.
    say(&data, "set config transfer.ca_file=certs/none.pem").unwrap();
    let refused = say(&data, "set config transfer.host=relay.example.org").unwrap_err();
    assert!(refused.contains("nothing was changed"), "{refused}");
    assert_eq!(site.settings().text(Key::TransferHost), "");
    say(&data, "set config transfer.ca_file=").unwrap();
    assert_eq!(std::fs::read_to_string(data.config()).unwrap(), before.clone() + "\n[transfer]\n");
    assert_eq!(server.stop(), Outcome::Stopped);
    let settings = Settings::load(&data.config()).unwrap().settings;
    assert_eq!(settings.number(Key::RecipientsMax), 200);
    assert_eq!(settings.number(Key::PoolTasks), 7);
}

#[test]
fn a_wrong_file_changes_nothing_and_a_right_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    let right = std::fs::read_to_string(data.config()).unwrap();
    std::fs::write(data.config(), format!("{right}\n[limits]\nrecipients_max = 1\n")).unwrap();
    assert!(say(&data, "reload").unwrap_err().contains("recipients_max"));
    let changed = format!("{right}\n[limits]\nrecipients_max = 500\n[log]\nstyle = 'linear'\n");
    std::fs::write(data.config(), changed).unwrap();
    let told = say(&data, "reload").unwrap();
    assert!(told.contains("limits.recipients_max"), "{told}");
    assert!(told.contains("waiting for a restart: log.style"), "{told}");
    assert!(say(&data, "reload").unwrap().contains("waiting for a restart"));
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn doors_close_and_open_again_at_their_address() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    let imap = address(&server, "IMAP");
    let (session, _) = inbox(&server);
    assert!(say(&data, "load IMAP").unwrap_err().contains("running already"));
    say(&data, "tell imap quit").unwrap();
    assert!(session.rest().contains("* BYE"));
    assert!(TcpStream::connect(imap).is_err());
    assert!(say(&data, "show tasks").unwrap().contains("stopped"));
    assert!(say(&data, "tell imap quit").unwrap_err().contains("not running"));
    say(&data, "load imap").unwrap();
    drop(inbox(&server));
    say(&data, "restart task IMAP").unwrap();
    drop(inbox(&server));
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn tasks_have_names_orders_and_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    assert!(say(&data, "load Compact mail").unwrap().contains("mail/ada.nsf"));
    assert!(say(&data, "load UpdAll -R names.nsf").unwrap().contains("without effect"));
    crate::programs::run(server.running(), "Fixup mail");
    crate::programs::run(server.running(), "Ghost");
    assert!(server.running().tasks.list().is_empty());
    assert!(say(&data, "load Replica").unwrap_err().contains("no such task"));
    assert!(say(&data, "load Ghost").unwrap_err().contains("there is no task"));
    assert!(say(&data, "tell compact quit").unwrap_err().contains("not running"));
    assert!(say(&data, "tell DAOSMgr status").unwrap().contains("objects"));
    assert!(say(&data, "tell DAOSMgr prune 0").unwrap().contains("stored bytes"));
    assert!(say(&data, "tell SMTP show config").unwrap().contains("listen.submission"));
    assert!(say(&data, "tell router compact").unwrap().contains("mail1.box"));
    assert!(say(&data, "tell router help").unwrap().contains("resend"));
    assert!(say(&data, "tell router dance").unwrap_err().contains("does not know"));
    assert!(say(&data, "help tell").unwrap().contains("tell Router hold ID"));
    assert!(say(&data, "help nonsense").is_err());
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn the_cache_of_databases_is_switched_off_and_on() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    let is_on = || say(&data, "show dbcache").unwrap().starts_with("the cache is on");
    assert!(is_on());
    say(&data, "dbcache disable").unwrap();
    assert!(!is_on());
    deliver(&server, "Uncached");
    let shown = say(&data, "show dbcache").unwrap();
    assert!(!shown.contains("Database.DbCache.Closes = 0"), "{shown}");
    assert!(shown.contains("Database.BufferPool.Used = "), "{shown}");
    say(&data, "dbcache enable").unwrap();
    assert!(is_on());
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn tasks_that_the_settings_leave_out_are_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let (data, mut settings) = example(&dir);
    settings.set(Key::Tasks, "Replica, SMTP").unwrap();
    settings.set(Key::TasksAt, "2=UpdAll list.ind").unwrap();
    let server = Server::start(&data, &settings).unwrap();
    let names: Vec<&str> = server.addresses().iter().map(|one| one.0).collect();
    assert_eq!(names, ["SMTP", "SMTP submission", "SMTP submission TLS", "Metrics"]);
    assert!(server.running().router.is_paused());
    assert!(say(&data, "show schedule").unwrap().contains("UpdAll list.ind"));
    assert!(say(&data, "load Router").unwrap().contains("started"));
    deliver(&server, "Routed");
    assert_eq!(server.running().router.pending(), 0);
    assert_eq!(server.stop(), Outcome::Stopped);
}

/// What is asked about waiting mail.
fn queue(data: &DataDir, order: QueueOrder) -> Reply {
    ask(&data.run(), &Request::Queue(order)).unwrap().unwrap()
}

fn listed(state: Option<&str>) -> QueueOrder {
    let state = state.map(str::to_owned);
    QueueOrder::List { state, text: "waits".to_owned(), limit: 10 }
}

#[test]
fn waiting_mail_is_held_and_released() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    say(&data, "tell router quit").unwrap();
    super::hand_in(&server, "It waits");
    let shown = say(&data, "show queue waits").unwrap();
    let id = shown.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    say(&data, &format!("tell router hold {id}")).unwrap();
    say(&data, "load router").unwrap();
    server.running().router.wait_idle();
    let Reply::Done { value } = queue(&data, listed(Some("held"))) else { panic!("no list") };
    assert_eq!(value[0]["id"], id.as_str());
    let short = id[..8].to_lowercase();
    assert!(say(&data, "tell router release 00").unwrap_err().contains("at least"));
    assert!(say(&data, "tell router release").unwrap_err().contains("which message"));
    let deed = QueueOrder::Act { deed: QueueDeed::Release, ids: vec![short] };
    assert_eq!(queue(&data, deed).exit_code(), 0);
    server.running().router.wait_idle();
    assert_eq!(say(&data, "show queue").unwrap(), "no message waits");
    let gone = QueueOrder::Act { deed: QueueDeed::Delete, ids: vec![id] };
    assert_eq!(queue(&data, gone).exit_code(), 2);
    assert_eq!(server.stop(), Outcome::Stopped);
}

#[test]
fn deleted_mail_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let (data, server) = served(&dir);
    deliver(&server, "Thrown away");
    let (mut imap, _) = inbox(&server);
    imap.say("c STORE 1 +FLAGS (\\Deleted)", "c OK");
    imap.say("d EXPUNGE", "d OK");
    let asked = |request: Request| ask(&data.run(), &request).unwrap().unwrap();
    let deleted = Request::MailDeleted { name: "ada".to_owned(), limit: 10 };
    let Reply::Done { value } = asked(deleted) else { panic!("no list") };
    assert_eq!(value[0]["subject"], "Thrown away");
    let unid = value[0]["unid"].as_str().unwrap().to_owned();
    let restore = |unids: Vec<String>, since_s| Request::MailRestore {
        name: "ada".to_owned(),
        unids,
        since_s,
        folder: None,
    };
    assert_eq!(asked(restore(Vec::new(), None)).exit_code(), 2);
    let Reply::Done { value } = asked(restore(Vec::new(), Some(3600))) else { panic!("no") };
    assert_eq!(value[0]["folder"], "INBOX");
    assert!(imap.say("e NOOP", "e OK").contains("* 1 EXISTS"));
    assert_eq!(asked(restore(vec![unid], None)).exit_code(), 1, "it is there already");
    assert_eq!(asked(restore(vec!["x".to_owned()], None)).exit_code(), 2);
    assert_eq!(server.stop(), Outcome::Stopped);
}
