//! The dialogues under `dialogues/`, and what the mail files hold after them.
//!
//! `C:` a line that is sent with CRLF, `R:` octets that are sent as they are (`\r` and `\n` stand
//! for CR and LF), `S:` how the last line of the next reply begins, `S+` what that reply must
//! hold besides (before its `S:`), `#` a note.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "house/house.rs"]
mod house;

use house::{Client, House};
use smtp::{Listener, Settings};

async fn play(client: &mut Client, name: &str, script: &str) {
    let mut wanted: Vec<&str> = Vec::new();
    for (index, line) in script.lines().enumerate() {
        let place = format!("{name}:{}", index + 1);
        let (kind, text) = line.split_at(line.len().min(2));
        let text = text.strip_prefix(' ').unwrap_or(text);
        match kind {
            "C:" => client.send(format!("{text}\r\n").as_bytes()).await,
            "R:" => {
                let octets = text.replace("\\r", "\r").replace("\\n", "\n");
                client.send(octets.as_bytes()).await;
            }
            "S+" => wanted.push(text),
            "S:" => {
                let reply = client.reply().await;
                let last = reply.lines().last().unwrap_or_default();
                assert!(last.starts_with(text), "{place}: wanted {text}, got {reply}");
                for part in wanted.drain(..) {
                    assert!(reply.contains(part), "{place}: wanted {part}, got {reply}");
                }
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{place}: {line}"),
        }
    }
}

async fn run(name: &str, listener: Listener, settings: impl FnOnce(&mut Settings)) -> House {
    let path = format!("{}/dialogues/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let script = std::fs::read_to_string(path).unwrap();
    let house = House::new(settings);
    play(&mut house.connect(listener), name, &script).await;
    house
}

fn text(messages: &[Vec<u8>]) -> Vec<String> {
    messages.iter().map(|message| String::from_utf8_lossy(message).into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn receive() {
    let house = run("receive", Listener::Relay, |_| {}).await;
    for short in ["alice", "bob"] {
        let [only] = &text(&house.messages_of(short))[..] else { panic!("{short}: one message") };
        assert!(only.starts_with("Return-Path: <x@far.test>\r\nReceived: from client.far.test"));
        assert!(only.ends_with("\r\nSubject: hello\r\n\r\n.dots\r\n"), "{only}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_line_ends() {
    let house = run("bare-line-ends", Listener::Relay, |_| {}).await;
    assert!(house.messages_of("bob").is_empty());
    let house = House::new(|settings| settings.normalize_line_ends = true);
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    for command in ["EHLO a.test", "MAIL FROM:<>", "RCPT TO:<bob@example.test>", "DATA"] {
        client.ask(command).await;
    }
    client.send(b"A: b\n\none\n.\ntwo\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("250"));
    let messages = text(&house.messages_of("bob"));
    assert!(messages[0].ends_with("A: b\r\n\r\none\r\n.\r\ntwo\r\n"), "{messages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in() {
    let house = run("sign-in", Listener::Relay, |_| {}).await;
    let logins = |house: &House| {
        let load =
            |value: &std::sync::atomic::AtomicU64| value.load(std::sync::atomic::Ordering::Relaxed);
        (load(&house.stats.logins), load(&house.stats.logins_failed))
    };
    assert_eq!(logins(&house), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn submission() {
    let house = run("submission", Listener::Submission, |_| {}).await;
    let messages = text(&house.messages_of("bob"));
    assert!(messages[0].contains("\r\nDate: ") && messages[0].contains("\r\nMessage-ID: <"));
    assert!(messages[0].contains("with ESMTPA id"), "{messages:?}");
    let kept = "From: alice@example.test\r\nSubject: no date, no id\r\n\r\ntext\r\n";
    assert!(messages[0].ends_with(kept), "{messages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chunking() {
    let limit = |settings: &mut Settings| settings.message_bytes_max = 800;
    let house = run("chunking", Listener::Relay, limit).await;
    let messages = text(&house.messages_of("bob"));
    assert_eq!(messages.len(), 2, "{messages:?}");
    let whole = "Subject: piece\r\n\r\none\n.\ntwo\r\n.\r\n..\r\n.";
    assert!(messages[0].ends_with(whole), "{messages:?}");
    assert!(messages[1].ends_with("\r\nSubject: whole\r\n"), "{messages:?}");
    assert!(!messages[1].contains("lost"));
}

#[tokio::test(flavor = "multi_thread")]
async fn utf8() {
    let house = run("utf8", Listener::Relay, |_| {}).await;
    let messages = text(&house.messages_of("bob"));
    assert!(messages[0].starts_with("Return-Path: <žofie@příklad.test>\r\n"), "{messages:?}");
    assert!(messages[0].contains("with UTF8SMTP id"), "{messages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed() {
    run("malformed", Listener::Relay, |_| {}).await;
}

/// Who signed in sends from own addresses only.
#[tokio::test(flavor = "multi_thread")]
async fn a_sender_is_ones_own() {
    let alice = "AUTH PLAIN AGFsaWNlAHB3LWFsaWNlLTE=";
    let cases = [
        (true, "alice@example.test", "250"),
        (true, "ALICE@Example.Test", "250"),
        (true, "a.example@example.test", "250"),
        (true, "alice+shop@example.test", "250"),
        (true, "", "250"),
        (true, "bob@example.test", "553 5.7.1"),
        (true, "nobody@example.test", "553 5.7.1"),
        (true, "alice@far.test", "553 5.7.1"),
        (true, "crew@example.test", "553 5.7.1"),
        (false, "bob@example.test", "250"),
    ];
    for (own, sender, wanted) in cases {
        let house = House::new(|settings| settings.own_addresses = own);
        let mut client = house.connect(Listener::Submission);
        client.reply().await;
        client.ask("EHLO a.test").await;
        assert!(client.ask(alice).await.starts_with("235"));
        let reply = client.ask(&format!("MAIL FROM:<{sender}>")).await;
        assert!(reply.starts_with(wanted), "{own} {sender}: {reply}");
    }
    let house = House::new(|settings| settings.group_addresses = true);
    let mut client = house.connect(Listener::Submission);
    client.reply().await;
    client.ask("EHLO a.test").await;
    client.ask(alice).await;
    assert!(client.ask("MAIL FROM:<crew@example.test>").await.starts_with("250"));
}

/// What one address may do in a minute, and how many connections it may have.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_limits() {
    let house = House::new(|_| {});
    house.registry.set_limits(session::Limits {
        connections_per_address: 2,
        messages_per_minute: 2,
        recipients_per_minute: 3,
        ..session::Limits::default()
    });
    let (mut one, mut two) = (house.connect_from("192.0.2.1"), house.connect_from("192.0.2.1"));
    for client in [&mut one, &mut two] {
        assert!(client.reply().await.starts_with("220"));
        client.ask("EHLO a.test").await;
    }
    let mut three = house.connect_from("192.0.2.1");
    assert!(three.reply().await.starts_with("421 4.7.0"));
    assert_eq!(three.reply().await, "");
    let mut other = house.connect_from("192.0.2.2");
    assert!(other.reply().await.starts_with("220"));
    assert!(one.ask("MAIL FROM:<x@far.test>").await.starts_with("250"));
    for wanted in ["250", "250", "250", "450 4.7.1"] {
        assert!(one.ask("RCPT TO:<bob@example.test>").await.starts_with(wanted), "{wanted}");
    }
    for wanted in ["250", "450 4.7.1"] {
        assert!(two.ask("MAIL FROM:<x@far.test>").await.starts_with(wanted), "{wanted}");
        two.ask("RSET").await;
    }
    other.ask("EHLO a.test").await;
    assert!(other.ask("MAIL FROM:<x@far.test>").await.starts_with("250"));
}

/// A chunk that would take for ever ends the connection, and so does one without a length.
#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_cannot_be_end_the_connection() {
    let cases = [("BDAT 18446744073709551615", "552 5.3.4"), ("BDAT -1 LAST", "501 5.5.4")];
    for (command, wanted) in cases {
        let house = House::new(|_| {});
        let mut client = house.connect(Listener::Relay);
        client.reply().await;
        for before in ["EHLO a.test", "MAIL FROM:<>", "RCPT TO:<bob@example.test>"] {
            client.ask(before).await;
        }
        assert!(client.ask(command).await.starts_with(wanted), "{command}");
        assert_eq!(client.reply().await, "", "{command}");
    }
}

/// Who is locked out hears what a wrong password hears; who has too many connections a refusal for
/// now.
#[tokio::test(flavor = "multi_thread")]
async fn sign_in_has_limits() {
    let right = "AUTH PLAIN AGFsaWNlAHB3LWFsaWNlLTE=";
    let house = House::new(|settings| {
        (settings.plain_login, settings.login_failures_max) = (true, 100);
    });
    let limits = session::Limits { connections_per_user: 1, ..session::Limits::default() };
    house.registry.set_limits(limits);
    let mut one = house.connect_from("192.0.2.1");
    let mut two = house.connect_from("192.0.2.2");
    for client in [&mut one, &mut two] {
        client.reply().await;
        client.ask("EHLO a.test").await;
    }
    assert!(one.ask(right).await.starts_with("235"));
    assert!(two.ask(right).await.starts_with("454 4.7.0"));
    one.ask("QUIT").await;
    while !house.registry.list().iter().all(|seat| seat.user.is_none()) {
        tokio::task::yield_now().await;
    }
    assert!(two.ask(right).await.starts_with("235"));
    two.ask("QUIT").await;
    let options = directory::Options { lockout_failures: 2, ..house.directory.options() };
    house.directory.set_options(options);
    let mut guess = house.connect_from("192.0.2.3");
    guess.reply().await;
    guess.ask("EHLO a.test").await;
    for _ in 0..3 {
        assert!(guess.ask("AUTH PLAIN AGFsaWNlAHdyb25n").await.starts_with("535 5.7.8"));
    }
    assert!(guess.ask(right).await.starts_with("535 5.7.8"), "locked out");
}

/// Settings are taken by the sessions that begin afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn settings_change_while_it_works() {
    let house = House::new(|settings| settings.message_bytes_max = 1_000);
    let mut before = house.connect(Listener::Relay);
    before.reply().await;
    let host_name = String::from("other.example.test");
    let chosen = Settings { message_bytes_max: 2_000, host_name, ..Settings::default() };
    house.door.configure(chosen);
    assert!(before.ask("EHLO a.test").await.contains("SIZE 1000\r\n"));
    let mut after = house.connect(Listener::Relay);
    assert!(after.reply().await.starts_with("220 other.example.test"));
    assert!(after.ask("EHLO a.test").await.contains("SIZE 2000\r\n"));
}

/// Whoever signed in may have a limit of one's own, below the one of the server.
#[tokio::test(flavor = "multi_thread")]
async fn people_have_limits_of_message_size() {
    let house = House::new(|settings| settings.message_bytes_max = 1_000);
    for (own, shown) in [(500, 500), (2_000, 1_000), (0, 1_000)] {
        let message_bytes_max = Some(own);
        let change = directory::PersonChange { message_bytes_max, ..Default::default() };
        house.directory.change_person("alice", change).unwrap();
        let mut client = house.connect(Listener::Submission);
        client.reply().await;
        assert!(client.ask("EHLO a.test").await.contains("SIZE 1000\r\n"));
        assert!(client.ask("AUTH PLAIN AGFsaWNlAHB3LWFsaWNlLTE=").await.starts_with("235"));
        let wanted = format!("SIZE {shown}\r\n");
        assert!(client.ask("EHLO a.test").await.contains(&wanted), "{own}");
        let sender = "MAIL FROM:<alice@example.test>";
        let too_big = client.ask(&format!("{sender} SIZE={}", shown + 1)).await;
        assert!(too_big.starts_with("552 5.3.4"), "{own}");
        assert!(client.ask(sender).await.starts_with("250"));
        assert!(client.ask("RCPT TO:<bob@example.test>").await.starts_with("250"));
        assert!(client.ask("DATA").await.starts_with("354"));
        let body = format!("A: b\r\n\r\n{}\r\n.\r\n", "x".repeat(shown));
        client.send(body.as_bytes()).await;
        assert!(client.reply().await.starts_with("552 5.3.4"), "{own}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults() {
    run("faults", Listener::Relay, |settings| settings.faults_max = 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_recipients_do_not_cost_the_message() {
    let house = House::new(|settings| (settings.recipients_max, settings.faults_max) = (2, 5));
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    for command in ["EHLO a.test", "MAIL FROM:<a@far.test>", "RCPT TO:<bob@example.test>"] {
        assert!(client.ask(command).await.contains("250"), "{command}");
    }
    assert!(client.ask("RCPT TO:<alice@example.test>").await.starts_with("250"));
    for _ in 0..10 {
        assert!(client.ask("RCPT TO:<bob@example.test>").await.starts_with("452"));
    }
    assert!(client.ask("DATA").await.starts_with("354"));
    client.send(b"A: b\r\n\r\none\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("250"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_message_clears_the_faults_before_it() {
    let house = House::new(|settings| settings.faults_max = 5);
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    client.ask("EHLO a.test").await;
    for _ in 0..3 {
        client.ask("MAIL FROM:<a@far.test>").await;
        for _ in 0..4 {
            let reply = client.ask("RCPT TO:<nobody@example.test>").await;
            assert!(reply.starts_with("550"), "{reply}");
        }
        client.ask("RCPT TO:<bob@example.test>").await;
        client.ask("DATA").await;
        client.send(b"A: b\r\n\r\none\r\n.\r\n").await;
        assert!(client.reply().await.starts_with("250"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dots_survive_every_cut() {
    let data = "..first: a header whose name starts with a dot\r\nSubject: dots\r\n\r\n\
                ..two on the wire, one stored\r\n...three on the wire, two stored\r\n..\r\n\
                last\r\n.\r\n";
    let stored = ".first: a header whose name starts with a dot\r\nSubject: dots\r\n\r\n\
                  .two on the wire, one stored\r\n..three on the wire, two stored\r\n.\r\nlast\r\n";
    let house = House::new(|_| {});
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    client.ask("EHLO client.example.test").await;
    let cuts: Vec<usize> = (data.len() - 12..data.len()).collect();
    for cut in &cuts {
        client.ask("MAIL FROM:<alice@example.test>").await;
        client.ask("RCPT TO:<bob@example.test>").await;
        client.ask("DATA").await;
        client.send(&data.as_bytes()[..*cut]).await;
        tokio::task::yield_now().await;
        client.send(&data.as_bytes()[*cut..]).await;
        assert!(client.reply().await.starts_with("250"), "cut at {cut}");
    }
    let messages = text(&house.messages_of("bob"));
    assert_eq!(messages.len(), cuts.len());
    assert!(messages.iter().all(|message| message.ends_with(stored)));
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_commands_are_answered_in_order() {
    let house = House::new(|_| {});
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    client
        .send(
            b"EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<nobody@example.test>\r\nDATA\r\nNOOP\r\n\
              RCPT TO:<bob@example.test>\r\nDATA\r\n",
        )
        .await;
    let mut codes = Vec::new();
    for _ in 0..7 {
        codes.push(client.reply().await[..3].to_owned());
    }
    assert_eq!(codes, ["250", "250", "550", "554", "250", "250", "354"]);
    client.send(b"A: b\r\n\r\nc\r\n.\r\nQUIT\r\n").await;
    assert!(client.reply().await.starts_with("250"));
    assert!(client.reply().await.starts_with("221"));
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_keep_the_dialogue_in_step() {
    let house = House::new(|settings| {
        settings.message_bytes_max = 1_000;
        settings.recipients_max = 1;
        settings.line_bytes_max = 200;
    });
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    assert!(client.ask(&format!("EHLO {}", "a".repeat(300))).await.starts_with("500 5.5.6"));
    client.ask("EHLO a.test").await;
    client.ask("MAIL FROM:<x@far.test>").await;
    client.ask("RCPT TO:<bob@example.test>").await;
    assert!(client.ask("RCPT TO:<alice@example.test>").await.starts_with("452 4.5.3"));
    client.ask("DATA").await;
    let line = "x".repeat(100) + "\r\n";
    client.send(format!("{}.\r\nNOOP\r\n", line.repeat(2_000)).as_bytes()).await;
    assert!(client.reply().await.starts_with("552 5.3.4"));
    assert!(client.reply().await.starts_with("250"));
    client.ask("MAIL FROM:<x@far.test>").await;
    client.ask("RCPT TO:<bob@example.test>").await;
    client.ask("DATA").await;
    let hops = "Received: from somewhere\r\n".repeat(25);
    client.send(format!("{hops}\r\n.\r\n").as_bytes()).await;
    assert!(client.reply().await.starts_with("554 5.4.6"));
    assert!(house.messages_of("bob").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_says_421() {
    let house = House::new(|_| {});
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    house.stop();
    assert!(client.reply().await.starts_with("421 4.3.2"));
    assert_eq!(client.reply().await, "");
}
