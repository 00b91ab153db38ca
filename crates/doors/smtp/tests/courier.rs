//! The courier speaks to hosts that refuse, break off, are slow, speak TLS or none.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "host/host.rs"]
mod host;
#[path = "house/house.rs"]
mod house;

use host::Host;
use house::House;
use router::{Answer, Courier as _, Line, Notify, Parcel, Recipient, Ret, Trouble};
use smtp::{Courier, CourierSettings, Listener, Route, TlsMode};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MESSAGE: &[u8] = b"Subject: Lamps\r\n\r\n.one\nThree lamps\r\n";

#[derive(Clone, Default)]
struct Way {
    tls: TlsMode,
    user: Option<&'static str>,
    ca_file: Option<PathBuf>,
    wait: Option<Duration>,
}

fn plain() -> Way {
    Way { tls: TlsMode::None, ..Way::default() }
}

fn courier(port: u16, way: &Way) -> Arc<Courier> {
    let route = Route {
        domain: String::from("*"),
        host: String::from("localhost"),
        port,
        tls: way.tls,
        user: way.user.map(str::to_owned),
        password: way.user.map(|_| String::from("secret")),
    };
    let wait = way.wait.unwrap_or(Duration::from_secs(10));
    let settings = CourierSettings {
        routes: vec![route],
        ca_file: way.ca_file.clone(),
        host_name: String::from("mail1.example.test"),
        connect_wait: wait,
        reply_wait: wait,
        data_wait: wait,
        end_wait: wait,
    };
    Courier::new(settings).unwrap()
}

fn open(port: u16, way: &Way) -> Result<Box<dyn Line>, Trouble> {
    let courier = courier(port, way);
    let destination = courier.destination("far.test").unwrap();
    courier.open(&destination)
}

fn recipients(addresses: &[&str]) -> Vec<Recipient> {
    let one = |address: &&str| Recipient { address: (*address).to_owned(), ..Recipient::default() };
    addresses.iter().map(one).collect()
}

fn send(line: &mut dyn Line, sender: &str, to: &[Recipient]) -> Result<Vec<Answer>, Trouble> {
    send_message(line, sender, to, MESSAGE)
}

fn send_message(
    line: &mut dyn Line,
    sender: &str,
    to: &[Recipient],
    message: &[u8],
) -> Result<Vec<Answer>, Trouble> {
    let read = |range: std::ops::Range<u64>, out: &mut Vec<u8>| {
        out.extend_from_slice(&message[range.start as usize..range.end as usize]);
        Ok(())
    };
    line.send(&Parcel {
        sender: Some(sender).filter(|sender| !sender.is_empty()),
        recipients: to,
        envelope_id: Some("JOB 7+"),
        ret: Ret::Hdrs,
        size: message.len() as u64,
        read: &read,
    })
}

fn codes(answers: &[Answer]) -> Vec<String> {
    let code = |answer: &Answer| match answer {
        Answer::Taken { reports } => format!("taken {reports}"),
        Answer::NotNow(said) => format!("later {} {}", said.code, said.status),
        Answer::Refused(said) => format!("never {} {}", said.code, said.status),
    };
    answers.iter().map(code).collect()
}

#[test]
fn a_whole_transaction_with_everything_that_was_offered() {
    let mut host = Host::start(
        &["S: 220-hello\nS: 220 there\nC: EHLO mail1.example.test\nS: 250-far.test\n\
           S: 250-SIZE 1000\nS: 250-PIPELINING\nS: 250-8BITMIME\nS: 250-DSN\n\
           S: 250 SMTPUTF8\nC: MAIL FROM:\nC: RCPT TO:\n\
           C: RCPT TO:\nS: 250 2.1.0 ok\nS: 250 ok\nS: 550 5.1.1 no\nC: DATA\nS: 354 go\nD:\n\
           S: 250 2.0.0 kept\nC: MAIL FROM:<>\nC: RCPT TO:\nS: 250 ok\nS: 250 ok\nC: DATA\n\
           S: 354 go\nD:\n\
           S: 250 kept\nC: QUIT\nS: 221 bye"],
        None,
    );
    let mut line = open(host.port, &plain()).unwrap();
    let mut to = recipients(&["a@far.test", "\"b c\"@far.test"]);
    to[0].notify = Notify { success: true, failure: true, delay: false };
    to[0].original = Some(String::from("rfc822;a+b@far.test"));
    let answers = send(&mut *line, "ada@example.test", &to).unwrap();
    assert_eq!(codes(&answers), ["taken true", "never 550 5.1.1"]);
    let utf8 = "Subject: Přehled\r\n\r\nx".as_bytes();
    let answers = send_message(&mut *line, "", &recipients(&["x@far.test"]), utf8).unwrap();
    assert_eq!(codes(&answers), ["taken true"]);
    line.close();
    host.finish();
    let heard = host.heard();
    let size = MESSAGE.len();
    let mail =
        format!("MAIL FROM:<ada@example.test> SIZE={size} BODY=8BITMIME RET=HDRS ENVID=JOB+207+2B");
    assert_eq!(heard[1], mail);
    assert_eq!(heard[2], "RCPT TO:<a@far.test> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;a+2Bb@far.test");
    assert_eq!(heard[3], "RCPT TO:<\"b c\"@far.test>");
    assert_eq!(heard[5], "Subject: Lamps\r\n\r\n..one\r\nThree lamps\r\n.\r\n");
    assert!(heard[6].starts_with("MAIL FROM:<> ") && heard[6].ends_with(" SMTPUTF8"), "{heard:?}");
}

#[test]
fn an_old_host_is_spoken_to_one_line_at_a_time() {
    let mut host = Host::start(
        &["S: 220 old\nC: EHLO\nS: 502 what\nC: HELO mail1\nS: 250 hello\n\
           C: MAIL FROM:<a@b.test>\nS: 250 ok\nC: RCPT TO:<x@far.test>\nS: 450 busy\n\
           C: RCPT TO:<y@far.test>\nS: 251 forwarded\nC: DATA\n\
           S: 354 go\nD:\nS: 250 kept\nC: QUIT\nS: 221 bye"],
        None,
    );
    let mut line = open(host.port, &plain()).unwrap();
    let answers = send(&mut *line, "a@b.test", &recipients(&["x@far.test", "y@far.test"])).unwrap();
    assert_eq!(codes(&answers), ["later 450 4.0.0", "taken false"]);
    line.close();
    host.finish();
    assert_eq!(host.heard()[2], "MAIL FROM:<a@b.test>");
}

#[test]
fn refusals_of_every_step() {
    let hello = "S: 220 hi\nC: EHLO\nS: 250 far.test\n";
    let mail = "C: MAIL\nS: 250 ok\nC: RCPT\nS: 250 ok\n";
    let cases = [
        ("C: MAIL\nS: 553 5.1.8 not you\nC: RSET\nS: 250 ok".to_owned(), Ok("never 553 5.1.8")),
        ("C: MAIL\nS: 451 4.3.0 later\nC: RSET\nS: 250 ok".to_owned(), Ok("later 451 4.3.0")),
        ("C: MAIL\nS: 421 4.3.2 closing".to_owned(), Err(true)),
        ("C: MAIL\nX:".to_owned(), Err(true)),
        (
            "C: MAIL\nS: 250 ok\nC: RCPT\nS: 550 no\nC: RSET\nS: 250 ok".to_owned(),
            Ok("never 550 5.0.0"),
        ),
        (format!("{mail}C: DATA\nS: 554 5.7.1 spam\nC: RSET\nS: 250 ok"), Ok("never 554 5.7.1")),
        (format!("{mail}C: DATA\nS: 451 4.7.1 grey\nC: RSET\nS: 250 ok"), Ok("later 451 4.7.1")),
        (format!("{mail}C: DATA\nS: 354 go\nD:\nS: 552 5.3.4 big"), Ok("never 552 5.3.4")),
        (format!("{mail}C: DATA\nS: 354 go\nD:\nS: 421 4.3.2 off"), Ok("later 421 4.3.2")),
        (format!("{mail}C: DATA\nS: 354 go\nD:\nX:"), Err(false)),
        (format!("{mail}C: DATA\nS: 354 go\nX:"), Err(false)),
        (format!("{mail}C: DATA\nS: hello"), Err(true)),
    ];
    for (script, wanted) in cases {
        let mut host = Host::start(&[&format!("{hello}{script}\nQ:")], None);
        let mut line = open(host.port, &plain()).unwrap();
        let got = send(&mut *line, "a@b.test", &recipients(&["x@far.test"]));
        match (&got, wanted) {
            (Ok(answers), Ok(code)) => assert_eq!(codes(answers), [code], "{script}"),
            (Err(trouble), Err(destination)) => {
                assert_eq!(trouble.destination, destination, "{script}: {trouble}");
            }
            _ => panic!("{script}: {got:?}"),
        }
        line.close();
        host.finish();
    }
}

#[test]
fn a_host_that_is_not_fit_to_speak_with() {
    let cases = [
        ("S: 554 5.7.1 go away\nQ:", "the greeting with 554 5.7.1 go away"),
        ("S: 421 busy\nQ:", "the greeting with 421"),
        ("X:", "broke"),
        ("S: nonsense\nQ:", "makes no sense"),
        ("S: 220 hi\nC: EHLO\nS: 421 4.3.2 off\nQ:", "EHLO with 421"),
        ("S: 220 hi\nC: EHLO\nX:", "broke"),
    ];
    for (script, wanted) in cases {
        let mut host = Host::start(&[script], None);
        let trouble = open(host.port, &plain()).err().unwrap();
        assert!(trouble.destination && trouble.text.contains(wanted), "{script}: {trouble}");
        host.finish();
    }
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let trouble = open(gone, &plain()).err().unwrap();
    assert!(trouble.destination && trouble.text.contains("does not answer"), "{trouble}");
}

#[test]
fn a_host_that_says_nothing_is_given_up() {
    let way = Way { wait: Some(Duration::from_millis(200)), ..plain() };
    let hello = "S: 220 hi\nC: EHLO\nS: 250 far.test\n";
    for (script, opens) in [("Q:", false), ("S: 220-hi\nQ:", false), ("Q:", true)] {
        let script = if opens { format!("{hello}C: MAIL\n{script}") } else { script.to_owned() };
        let host = Host::start(&[&script], None);
        let started = Instant::now();
        let trouble = match open(host.port, &way) {
            Ok(mut line) => send(&mut *line, "a@b.test", &recipients(&["x@far.test"])).err(),
            Err(trouble) => Some(trouble),
        };
        let trouble = trouble.unwrap();
        assert!(trouble.destination, "{trouble}");
        assert!(started.elapsed() < Duration::from_secs(15), "{script}");
    }
}

#[test]
fn what_a_host_cannot_take_is_not_sent_to_it() {
    let hello = "S: 220 hi\nC: EHLO\nS: 250-far.test\nS: 250 SIZE 20\nQ:";
    let mut host = Host::start(&[hello], None);
    let mut line = open(host.port, &plain()).unwrap();
    let answers = send(&mut *line, "a@b.test", &recipients(&["x@far.test"])).unwrap();
    assert_eq!(codes(&answers), ["never 0 5.3.4"]);
    line.close();
    host.finish();
    let hello = "S: 220 hi\nC: EHLO\nS: 250 far.test\nC: MAIL FROM:<a@b.test>\nS: 250 ok\n\
                 C: RCPT TO:<x@far.test>\nS: 250 ok\nC: DATA\nS: 354 go\nD:\nS: 250 kept\nQ:";
    let mut host = Host::start(&[hello], None);
    let mut line = open(host.port, &plain()).unwrap();
    let to = recipients(&["žofie@far.test", "x@far.test", "a@b>\r\nRCPT TO:<c@far.test"]);
    let answers = send(&mut *line, "a@b.test", &to).unwrap();
    assert_eq!(codes(&answers), ["never 0 5.6.7", "taken false", "never 0 5.1.3"]);
    let answers = send(&mut *line, "ž@b.test", &recipients(&["x@far.test"])).unwrap();
    assert_eq!(codes(&answers), ["never 0 5.6.7"]);
    line.close();
    host.finish();
}

#[test]
fn many_recipients_go_in_several_transactions() {
    let mut script = String::from("S: 220 hi\nC: EHLO\nS: 250 far.test\n");
    // The host takes 60 at a time.
    for (offered, taken) in [(100, 60), (90, 60), (30, 30)] {
        script += "C: MAIL\nS: 250 ok\n";
        for number in 0..offered {
            script += if number < taken {
                "C: RCPT\nS: 250 ok\n"
            } else {
                "C: RCPT\nS: 452 4.5.3 enough\n"
            };
        }
        script += "C: DATA\nS: 354 go\nD:\nS: 250 kept\n";
    }
    let mut host = Host::start(&[&format!("{script}C: QUIT\nS: 221 bye")], None);
    let mut line = open(host.port, &plain()).unwrap();
    let addresses: Vec<String> = (0..150).map(|number| format!("u{number}@far.test")).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let answers = send(&mut *line, "a@b.test", &recipients(&addresses)).unwrap();
    assert!(codes(&answers).iter().all(|code| code == "taken false"), "{:?}", codes(&answers));
    line.close();
    host.finish();
    let mut told: Vec<_> =
        host.heard().into_iter().filter(|line| line.starts_with("RCPT")).collect();
    assert_eq!(told.len(), 100 + 90 + 30);
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 150);
}

const AFTER_TLS: &str = "C: EHLO\nS: 250-far.test\nS: 250 AUTH LOGIN PLAIN\n";
const OFFERS_TLS: &str = "S: 220 hi\nC: EHLO\nS: 250-far.test\nS: 250 STARTTLS\n";

#[test]
fn a_password_is_told_behind_checked_tls() {
    let dir = tempfile::tempdir().unwrap();
    let config = host::certificate(dir.path());
    let ca_file = Some(dir.path().join("ca.pem"));
    let plain_auth = "C: AUTH PLAIN AG1lAHNlY3JldA==\nS: 235 welcome\nC: QUIT\nS: 221 bye";
    let login_auth = "C: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nC: bWU=\nS: 334 UGFzc3dvcmQ6\n\
                      C: c2VjcmV0\nS: 235 welcome\nC: QUIT\nS: 221 bye";
    let starttls = format!("{OFFERS_TLS}C: STARTTLS\nS: 220 go\nT:\n{AFTER_TLS}{plain_auth}");
    let implicit =
        format!("T:\nS: 220 hi\nC: EHLO\nS: 250-far.test\nS: 250 AUTH LOGIN\n{login_auth}");
    let cases = [
        (TlsMode::Starttls, &starttls),
        (TlsMode::Opportunistic, &starttls),
        (TlsMode::Implicit, &implicit),
    ];
    for (tls, script) in cases {
        let mut host = Host::start(&[script], Some(config.clone()));
        let way = Way { tls, user: Some("me"), ca_file: ca_file.clone(), wait: None };
        open(host.port, &way).unwrap().close();
        host.finish();
    }
}

#[test]
fn a_wrong_password_is_the_destinations_trouble() {
    let script = "S: 220 hi\nC: EHLO\nS: 250-far.test\nS: 250 AUTH PLAIN\nC: AUTH PLAIN\n\
                  S: 535 5.7.8 wrong\nQ:";
    let mut host = Host::start(&[script], None);
    let way = Way { user: Some("me"), ..plain() };
    let trouble = open(host.port, &way).err().unwrap();
    assert!(trouble.destination && trouble.text.contains("535 5.7.8 wrong"), "{trouble}");
    assert!(!trouble.text.contains("secret") && !trouble.text.contains("c2VjcmV0"), "{trouble}");
    host.finish();
    let mut host = Host::start(&["S: 220 hi\nC: EHLO\nS: 250 far.test\nQ:"], None);
    let trouble = open(host.port, &way).err().unwrap();
    assert!(trouble.text.contains("neither AUTH PLAIN nor LOGIN"), "{trouble}");
    host.finish();
}

#[test]
fn tls_that_is_wanted_is_never_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let config = host::certificate(dir.path());
    let other = tempfile::tempdir().unwrap();
    host::certificate(other.path());
    let starttls = format!("{OFFERS_TLS}C: STARTTLS\nS: 220 go\nT:\nQ:");
    let none = "S: 220 hi\nC: EHLO\nS: 250 far.test\nQ:".to_owned();
    let refused = format!("{OFFERS_TLS}C: STARTTLS\nS: 454 4.7.0 no\nQ:");
    let injected = format!("{OFFERS_TLS}C: STARTTLS\nS: 220 go\\r\\n250 injected\nQ:");
    let cases = [
        (TlsMode::Starttls, &none, "does not offer STARTTLS"),
        (TlsMode::Opportunistic, &none, "does not offer STARTTLS"),
        (TlsMode::Starttls, &refused, "STARTTLS with 454"),
        (TlsMode::Starttls, &injected, "spoke before TLS"),
        (TlsMode::Starttls, &starttls, "TLS with"),
        (TlsMode::Implicit, &"T:\nQ:".to_owned(), "TLS with"),
    ];
    for (tls, script, wanted) in cases {
        let host = Host::start(&[script], Some(config.clone()));
        // The certificates at hand do not vouch for this host.
        let ca_file = Some(other.path().join("ca.pem"));
        let way = Way { tls, user: Some("me"), ca_file, wait: None };
        let trouble = open(host.port, &way).err().unwrap();
        assert!(trouble.destination && trouble.text.contains(wanted), "{tls:?}: {trouble}");
        let heard = host.heard();
        assert!(!heard.iter().any(|line| line.starts_with("AUTH")), "{heard:?}");
    }
}

#[test]
fn tls_that_is_merely_offered_is_better_than_none() {
    let dir = tempfile::tempdir().unwrap();
    let config = host::certificate(dir.path());
    let way = Way { tls: TlsMode::Opportunistic, ..Way::default() };
    let unknown = format!(
        "{OFFERS_TLS}C: STARTTLS\nS: 220 go\nT:\nC: EHLO\nS: 250 far.test\nC: QUIT\nS: 221"
    );
    let mut host = Host::start(&[&unknown], Some(config));
    open(host.port, &way).unwrap().close();
    host.finish();
    let broken = format!("{OFFERS_TLS}C: STARTTLS\nS: 454 4.7.0 no\nX:");
    let second = "S: 220 hi\nC: EHLO\nS: 250-far.test\nS: 250 STARTTLS\nC: QUIT\nS: 221 bye";
    let mut host = Host::start(&[&broken, second], None);
    open(host.port, &way).unwrap().close();
    host.finish();
}

#[test]
fn a_stop_breaks_what_waits() {
    let host = Host::start(&["S: 220 hi\nC: EHLO\nQ:"], None);
    let courier = courier(host.port, &plain());
    let destination = courier.destination("far.test").unwrap();
    let waiting = {
        let courier = courier.clone();
        std::thread::spawn(move || courier.open(&destination).err())
    };
    while host.heard().is_empty() {
        std::thread::yield_now();
    }
    courier.stop();
    assert!(waiting.join().unwrap().is_some());
    let destination = courier.destination("far.test").unwrap();
    assert!(courier.open(&destination).err().unwrap().text.contains("stops"));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let new = |host: &str, ca_file: Option<PathBuf>| {
        let route = Route { host: host.to_owned(), ..Route::default() };
        Courier::new(CourierSettings { routes: vec![route], ca_file, ..CourierSettings::default() })
    };
    assert!(new("not a host", None).is_err());
    assert!(new("far.test", Some(PathBuf::from("/nowhere/ca.pem"))).is_err());
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    assert!(new("far.test", Some(empty)).is_err());
    for host in ["far.test", "127.0.0.1", "::1", "[::1]"] {
        assert!(new(host, None).is_ok(), "{host}");
    }
}

/// From the port for mail programs to the smart host.
#[tokio::test(flavor = "multi_thread")]
async fn mail_of_ones_own_people_leaves_by_the_smart_host() {
    let mut host = Host::start(
        &["S: 220 hi\nC: EHLO mail1.example.test\nS: 250-far.test\nS: 250 PIPELINING\n\
           C: MAIL FROM:<alice@example.test>\nC: RCPT TO:<x@far.test>\nS: 250 ok\nS: 250 ok\n\
           C: DATA\nS: 354 go\nD:\nS: 250 kept\nQ:"],
        None,
    );
    let house = House::new(|_| {});
    let options = router::RouterOptions {
        courier: Some(courier(host.port, &plain())),
        ..router::RouterOptions::default()
    };
    house.router.configure(options).unwrap();
    let mut stranger = house.connect(Listener::Relay);
    stranger.reply().await;
    stranger.ask("EHLO a.test").await;
    stranger.ask("MAIL FROM:<y@far.test>").await;
    let reply = stranger.ask("RCPT TO:<x@far.test>").await;
    assert!(reply.starts_with("550 5.7.1"), "nobody else's mail is relayed: {reply}");
    let mut client = house.connect(Listener::Submission);
    client.reply().await;
    for (command, wanted) in [
        ("EHLO a.test", "250"),
        ("AUTH PLAIN AGFsaWNlAHB3LWFsaWNlLTE=", "235"),
        ("MAIL FROM:<alice@example.test>", "250"),
        ("RCPT TO:<x@far.test>", "250"),
        ("RCPT TO:<bob@example.test>", "250"),
        ("DATA", "354"),
    ] {
        let reply = client.ask(command).await;
        assert!(reply.starts_with("250-") || reply.starts_with(wanted), "{command}: {reply}");
    }
    client.send(b"Subject: out\r\n\r\ntext\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("250"));
    assert_eq!(house.messages_of("bob").len(), 1);
    let router = house.router.clone();
    tokio::task::spawn_blocking(move || router.wait_idle()).await.unwrap();
    let data = host.heard().into_iter().find(|line| line.contains("Subject: out")).unwrap();
    assert!(data.starts_with("Received: from a.test"), "without Return-Path: {data}");
    assert_eq!(house.router.pending(), 0);
    house.router.stop();
    host.finish();
}
