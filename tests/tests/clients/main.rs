//! Other people's programs against a server: swaks, curl, mbsync, Python here; those that send,
//! fetch or keep mailboxes alike in the modules.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod fetching;
mod filing;
mod sending;

use std::path::Path;
use tests::{Outcome, Server, Talk, cargo_folder, run, tool};

const LETTER: &str =
    "From: a@sender.test\r\nTo: ada@demo.test\r\nSubject: from curl\r\n\r\nHello.\r\n";

fn server() -> Server {
    Server::demo(&["--no-mail"])
}

/// The last message in ada's INBOX, once `count` are there.
fn last_message(server: &Server, count: usize) -> String {
    assert_eq!(server.inbox_count("ada", "demo", count), count);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.say("SELECT INBOX");
    let reply = talk.say("FETCH * BODY.PEEK[]");
    String::from_utf8_lossy(reply.literal()).into_owned()
}

fn swaks(port: u16, arguments: &[&str]) -> Outcome {
    let mut command = tool("swaks", "swaks libnet-ssleay-perl");
    command.args(["--server", "127.0.0.1", "--port", &port.to_string(), "--from"]);
    run(command.arg("ben@demo.test").args(arguments), b"")
}

#[test]
fn swaks_plain_tls_auth_and_attachment() {
    let server = server();
    let to = ["--to", "ada@demo.test"];
    let auth = ["--auth", "PLAIN", "--auth-user", "ben", "--auth-password", "demo"];
    let body = |text: &'static str| ["--body", text];

    swaks(server.smtp(), &[to, body("plainly")].concat()).fine();
    assert!(last_message(&server, 1).contains("plainly"));

    swaks(server.smtp(), &[&to[..], &["--tls"], &body("starttls")].concat()).fine();
    assert!(last_message(&server, 2).contains("starttls"));

    let tls_auth = [&to[..], &["--tls"], &auth, &body("submitted")].concat();
    swaks(server.submission(), &tls_auth).fine();
    assert!(last_message(&server, 3).contains("submitted"));

    let login: Vec<&str> =
        tls_auth.iter().map(|a| if *a == "PLAIN" { "LOGIN" } else { a }).collect();
    swaks(server.submission(), &login).fine();
    assert_eq!(server.inbox_count("ada", "demo", 4), 4);

    let tls_first = [&to[..], &["--tls-on-connect"], &auth, &body("smtps")].concat();
    swaks(server.smtps(), &tls_first).fine();
    assert!(last_message(&server, 5).contains("smtps"));

    let file = server.scratch().join("list.csv");
    std::fs::write(&file, "species,count\nnelumbo nucifera,7\n".repeat(4_000)).unwrap();
    let attach = ["--attach", &format!("@{}", file.display())];
    swaks(server.smtp(), &[to, attach].concat()).fine();
    let message = last_message(&server, 6);
    assert!(message.contains("Content-Transfer-Encoding: BASE64"), "{}", &message[..2_000]);
}

#[test]
fn swaks_is_refused_where_it_must_be() {
    let server = server();
    let relay = swaks(server.smtp(), &["--to", "x@elsewhere.test"]);
    assert_ne!(relay.code, 0, "no relay for strangers: {}", relay.out);
    let unknown = swaks(server.smtp(), &["--to", "nobody@demo.test"]);
    assert_ne!(unknown.code, 0);
    assert!(unknown.out.contains("550 5.1.1"), "{}", unknown.out);
    let anonymous = swaks(server.submission(), &["--to", "ada@demo.test", "--tls"]);
    assert_ne!(anonymous.code, 0, "submission wants a sign-in: {}", anonymous.out);
    let wrong = ["--to", "ada@demo.test", "--tls", "--auth", "PLAIN", "--auth-user", "ben"];
    let wrong = swaks(server.submission(), &[&wrong[..], &["--auth-password", "wrong"]].concat());
    assert_ne!(wrong.code, 0);
    assert!(wrong.out.contains("535"), "{}", wrong.out);
    assert_eq!(server.inbox_count("ada", "demo", 0), 0);
}

fn curl(arguments: &[&str]) -> Outcome {
    let mut command = tool("curl", "curl");
    run(command.args(["-sS", "--max-time", "20"]).args(arguments), b"")
}

#[test]
fn curl_sends_lists_fetches_and_appends() {
    let server = server();
    let file = server.scratch().join("letter.eml");
    std::fs::write(&file, LETTER).unwrap();
    let file = file.to_str().unwrap();
    let smtp = format!("smtp://127.0.0.1:{}", server.smtp());
    curl(&[&smtp, "--mail-from", "a@sender.test", "--mail-rcpt", "ada@demo.test", "-T", file])
        .fine();
    assert!(last_message(&server, 1).ends_with(LETTER));

    let imap = format!("imap://127.0.0.1:{}", server.imap());
    let user = ["--user", "ada:demo"];
    let listed = curl(&[&format!("{imap}/"), user[0], user[1]]).fine();
    for name in ["INBOX", "Drafts", "Sent", "Trash"] {
        assert!(listed.contains(name), "{name} in {listed}");
    }
    let fetched = curl(&[&format!("{imap}/INBOX;MAILINDEX=1"), user[0], user[1]]).fine();
    assert!(fetched.ends_with(LETTER), "{fetched}");
    curl(&[&format!("{imap}/Drafts"), user[0], user[1], "-T", file]).fine();
    let draft = curl(&[&format!("{imap}/Drafts;UID=1"), user[0], user[1]]).fine();
    assert_eq!(draft, LETTER);
    let found = curl(&[&format!("{imap}/INBOX?SUBJECT%20curl"), user[0], user[1]]).fine();
    assert!(found.contains("* SEARCH 1"), "{found}");

    let imaps = format!("imaps://127.0.0.1:{}/INBOX;UID=1", server.imaps());
    assert!(curl(&[&imaps, "-k", user[0], user[1]]).fine().ends_with(LETTER));
    let starttls = curl(&[&format!("{imap}/INBOX;UID=1"), "-k", "--ssl-reqd", user[0], user[1]]);
    assert!(starttls.fine().ends_with(LETTER));
    let wrong = curl(&[&format!("{imap}/"), "--user", "ada:wrong"]);
    assert_ne!(wrong.code, 0);
}

/// All messages below a Maildir with their flags, by content.
fn maildir(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kept = folder.ends_with("cur") || folder.ends_with("new");
            if path.is_dir() {
                folders.push(path);
            } else if kept {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let flags = name.split_once(":2,").map_or("", |(_, f)| f).to_owned();
                found.push((flags, std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn mbsync(server: &Server) {
    let home = server.scratch();
    let near = home.join("md");
    std::fs::create_dir_all(&near).unwrap();
    let config = home.join("mbsyncrc");
    let text = format!(
        "SyncState *\n\nIMAPAccount a\nHost 127.0.0.1\nPort {}\nUser ada\nPass demo\nSSLType None\n\
         AuthMechs LOGIN PLAIN\n\nIMAPStore far\nAccount a\n\nMaildirStore near\nPath {}/\n\
         Inbox {}/INBOX\nSubFolders Verbatim\n\nChannel c\nFar :far:\nNear :near:\nPatterns *\n\
         Create Both\nExpunge Both\n",
        server.imap(),
        near.display(),
        near.display()
    );
    std::fs::write(&config, text).unwrap();
    let mut command = tool("mbsync", "isync");
    let outcome = run(command.arg("-c").arg(&config).arg("-a").env("HOME", home), b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
}

/// Every mailbox with the flags and bytes of what is in it, as the server tells it.
fn far_side(server: &Server) -> String {
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    let mut text = String::new();
    for name in ["INBOX", "Drafts", "Sent"] {
        talk.say(&format!("SELECT {name}"));
        let fetched = talk.ask("UID FETCH 1:* (FLAGS RFC822.SIZE INTERNALDATE)");
        text.push_str(&fetched.text().replace("\\Recent", ""));
    }
    text
}

#[test]
fn mbsync_both_ways_and_twice() {
    let server = server();
    for number in 0..5 {
        let letter = format!("From: a@sender.test\r\nSubject: {number}\r\n\r\nLetter {number}\r\n");
        let mut smtp = Talk::smtp(server.smtp());
        smtp.deliver("a@sender.test", &["ada@demo.test"], letter.as_bytes());
    }
    assert_eq!(server.inbox_count("ada", "demo", 5), 5);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.append("Drafts", LETTER.as_bytes());
    talk.say("SELECT INBOX");
    talk.say("STORE 2 +FLAGS (\\Flagged \\Seen)");
    drop(talk);

    let near = server.scratch().join("md");
    mbsync(&server);
    let first = maildir(&near);
    assert_eq!(first.len(), 6, "five in the INBOX and a draft");
    assert!(first.iter().any(|(flags, _)| flags == "FS"), "flags came along");
    let far = far_side(&server);
    mbsync(&server);
    assert_eq!(maildir(&near), first, "the second run changes nothing here");
    assert_eq!(far_side(&server), far, "and nothing there");

    // a new message here, and one that is flagged and one that is gone
    let inbox = near.join("INBOX");
    std::fs::write(inbox.join("new/1700000000.M1P1.here"), LETTER.replace("\r\n", "\n")).unwrap();
    let mut current: Vec<_> = ["cur", "new"]
        .iter()
        .flat_map(|d| std::fs::read_dir(inbox.join(d)).unwrap().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(",U="))
        .collect();
    current.sort();
    std::fs::remove_file(&current[0]).unwrap();
    let answered = current[1].file_name().unwrap().to_string_lossy().into_owned();
    let answered = answered.split(":2,").next().unwrap().to_owned();
    std::fs::rename(&current[1], inbox.join("cur").join(format!("{answered}:2,R"))).unwrap();
    mbsync(&server);
    let far = far_side(&server);
    assert!(far.contains("\\Answered"), "{far}");
    assert_eq!(server.inbox_count("ada", "demo", 5), 5, "one went, one came: {far}");
    mbsync(&server);
    assert_eq!(far_side(&server), far, "settled");
}

fn python(script: &str, arguments: &[String]) {
    let mut command = tool("python3", "python3");
    let path = cargo_folder().join("clients").join(script);
    let outcome = run(command.arg(path).args(arguments), b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
}

#[test]
fn python_smtplib() {
    let server = server();
    let ports = [server.smtp(), server.submission(), server.smtps()];
    python("use_smtplib.py", &ports.map(|p| p.to_string()));
    assert_eq!(server.inbox_count("ada", "demo", 4), 4);
}

#[test]
fn python_imaplib() {
    let server = server();
    Talk::smtp(server.smtp()).deliver("a@sender.test", &["ada@demo.test"], LETTER.as_bytes());
    assert_eq!(server.inbox_count("ada", "demo", 1), 1);
    let ports = [server.imap(), server.imaps()];
    python("use_imaplib.py", &ports.map(|p| p.to_string()));
}
