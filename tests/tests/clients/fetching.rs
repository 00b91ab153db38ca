//! Programs that fetch mail and put it elsewhere: getmail, fetchmail and mpop.

use super::{maildir, server};
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::{Server, Talk, bounded, run, tool};

/// Messages that are easily spoiled on the way.
const LETTERS: [&str; 4] = [
    "From: a@sender.test\r\nSubject: plain\r\n\r\nOne.\r\n",
    "From: a@sender.test\r\nSubject: dots\r\n\r\n.one\r\n..two\r\n...\r\nFrom the pond\r\n",
    "From: a@sender.test\r\nSubject: umlauts\r\nMIME-Version: 1.0\r\n\
     Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\
     Grüße, 水\r\n",
    "From: a@sender.test\r\nSubject: empty lines\r\n\r\n\r\n\r\nlast\r\n\r\n\r\n",
];

fn fill(server: &Server, user: &str) {
    let mut smtp = Talk::smtp(server.smtp());
    for letter in LETTERS {
        let stuffed = letter.replace("\r\n.", "\r\n..");
        smtp.deliver("a@sender.test", &[&format!("{user}@demo.test")], stuffed.as_bytes());
    }
    assert_eq!(server.inbox_count(user, "demo", LETTERS.len()), LETTERS.len());
}

/// Demands that the files below `folder` are the letters, each once, line ends apart.
fn demand_letters(folder: &Path) {
    let found = maildir(folder);
    let found: Vec<String> =
        found.iter().map(|(_, b)| String::from_utf8_lossy(b).replace("\r\n", "\n")).collect();
    assert_eq!(found.len(), LETTERS.len(), "{found:?}");
    for letter in LETTERS {
        let (head, body) = letter.split_once("\r\n\r\n").unwrap();
        let subject = head.split("\r\n").find(|line| line.starts_with("Subject")).unwrap();
        let body = format!("\n\n{}", body.replace("\r\n", "\n"));
        let fits = |text: &&String| text.contains(subject) && text.ends_with(&body);
        assert_eq!(found.iter().filter(fits).count(), 1, "{letter}\n{found:#?}");
    }
}

fn make_maildir(path: &Path) {
    for part in ["cur", "new", "tmp"] {
        std::fs::create_dir_all(path.join(part)).unwrap();
    }
}

/// Runs getmail; false: it hangs. It waits for the end of its own child under a lock that its
/// signal handler takes too, so that every few hundred messages it waits for ever, whatever a
/// server does.
fn getmail_once(server: &Server, retriever: &str, port: u16, into: &str) -> bool {
    let home = server.scratch().join(into);
    make_maildir(&home);
    let folder = home.display();
    let config = format!(
        "[retriever]\ntype = {retriever}\nserver = 127.0.0.1\nport = {port}\nusername = ada\n\
         password = demo\n\n[destination]\ntype = MDA_external\npath = /bin/sh\n\
         arguments = (\"-c\", \"cat > {folder}/new/$$\")\nallow_root_commands = true\n\n\
         [options]\nread_all = false\ndelivered_to = false\nreceived = false\n"
    );
    std::fs::write(home.join("getmailrc"), config).unwrap();
    tool("getmail", "getmail6");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=2", "10", "getmail", "--getmaildir"]).arg(&home);
    let outcome = run(command.env("HOME", &home), b"");
    let hangs = outcome.code == 124;
    assert!(hangs || outcome.code == 0, "{} {}", outcome.out, outcome.err);
    !hangs
}

/// Fetches twice into a folder that is given back; again from nothing when it hangs.
fn getmail(server: &Server, retriever: &str, port: u16) -> PathBuf {
    for attempt in 1..=5 {
        let into = format!("{retriever}-{attempt}");
        if (0..2).all(|_| getmail_once(server, retriever, port, &into)) {
            return server.scratch().join(into).join("new");
        }
    }
    panic!("getmail hangs again and again with {retriever}");
}

/// It remembers what it had: by uid over IMAP, by unique id over POP3.
#[test]
fn getmail_fetches_each_message_once() {
    let server = server();
    fill(&server, "ada");
    for (retriever, port) in [
        ("SimpleIMAPRetriever", server.imap()),
        ("SimpleIMAPSSLRetriever", server.imaps()),
        ("SimplePOP3Retriever", server.pop3()),
        ("SimplePOP3SSLRetriever", server.pop3s()),
    ] {
        demand_letters(&getmail(&server, retriever, port));
    }
}

/// Fetches ada's mail and hands it to ben over SMTP; it is gone from ada's mailbox afterwards.
fn fetchmail(server: &Server, protocol: &str, port: u16, options: &str) {
    let home = server.scratch();
    let config = format!(
        "poll 127.0.0.1 protocol {protocol} port {port} user \"ada\" password \"demo\" is \"ben\" \
         here fetchall nokeep {options} smtphost \"127.0.0.1/{}\" smtpaddress \"demo.test\"\n",
        server.smtp()
    );
    let path = home.join("fetchmailrc");
    std::fs::write(&path, config).unwrap();
    let mut mode = std::process::Command::new("chmod");
    run(mode.arg("600").arg(&path), b"").fine();
    let mut command = bounded("fetchmail", "fetchmail");
    command.arg("-f").arg(&path).arg("--pidfile").arg(home.join("pid")).env("HOME", home);
    let outcome = run(&mut command, b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
}

#[test]
fn fetchmail_moves_mail_from_one_person_to_another() {
    let server = server();
    let mut there = 0;
    for (protocol, port, options) in [
        ("imap", server.imap(), "sslproto \"\""),
        ("imap", server.imaps(), "ssl no sslcertck"),
        ("pop3", server.pop3(), "sslproto \"\""),
        ("pop3", server.pop3s(), "ssl no sslcertck"),
    ] {
        fill(&server, "ada");
        fetchmail(&server, protocol, port, options);
        there += LETTERS.len();
        assert_eq!(server.inbox_count("ben", "demo", there), there, "{protocol} {port}");
        let mut talk = Talk::imap(server.imap(), "ada", "demo");
        let left = talk.say("STATUS INBOX (MESSAGES)").text();
        assert!(left.contains("(MESSAGES 0)"), "{protocol} {port}: {left}");
    }
    let mut talk = Talk::imap(server.imap(), "ben", "demo");
    talk.say("SELECT INBOX");
    let found = talk.say("FETCH 2 BODY.PEEK[TEXT]");
    assert_eq!(found.literal(), LETTERS[1].split_once("\r\n\r\n").unwrap().1.as_bytes());
}

fn mpop(server: &Server, port: u16, tls: &str, into: &str) {
    let home = server.scratch();
    make_maildir(&home.join(into));
    let config = format!(
        "account x\nhost 127.0.0.1\nport {port}\nuser ada\npassword demo\n{tls}\n\
         delivery maildir {home}/{into}\nuidls_file {home}/{into}.uidls\nkeep on\n\
         received_header off\n\naccount default : x\n",
        home = home.display()
    );
    let path = home.join("mpoprc");
    std::fs::write(&path, config).unwrap();
    let mut mode = std::process::Command::new("chmod");
    run(mode.arg("600").arg(&path), b"").fine();
    let mut command = bounded("mpop", "mpop");
    let outcome = run(command.arg("-C").arg(&path).env("HOME", home), b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
}

/// It pipelines, and asks for what it has not seen by unique id.
#[test]
fn mpop_fetches_each_message_once() {
    let server = server();
    fill(&server, "ada");
    for (port, tls, into) in [
        (server.pop3(), "tls off\nauth user", "plain"),
        (server.pop3(), "tls on\ntls_starttls on\ntls_certcheck off\nauth plain", "stls"),
        (server.pop3s(), "tls on\ntls_starttls off\ntls_certcheck off", "tls"),
    ] {
        mpop(&server, port, tls, into);
        mpop(&server, port, tls, into);
        demand_letters(&server.scratch().join(into));
    }
}
