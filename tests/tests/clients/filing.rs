//! Programs that keep mailboxes in order or alike: imapfilter, offlineimap and neomutt.

use super::{LETTER, far_side, maildir, server};
use tests::{Server, Talk, bounded, run};

/// Delivers messages with these subjects to ada.
fn deliver(server: &Server, subjects: &[&str]) {
    let mut smtp = Talk::smtp(server.smtp());
    for subject in subjects {
        let letter =
            format!("From: a@sender.test\r\nSubject: {subject}\r\n\r\nAbout {subject}\r\n");
        smtp.deliver("a@sender.test", &["ada@demo.test"], letter.as_bytes());
    }
    assert_eq!(server.inbox_count("ada", "demo", subjects.len()), subjects.len());
}

fn subjects(server: &Server, mailbox: &str) -> Vec<String> {
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.say(&format!("SELECT {mailbox}"));
    let reply = talk.say("FETCH 1:* (FLAGS BODY.PEEK[HEADER.FIELDS (SUBJECT)])");
    let lines = reply.0.iter().filter(|line| !line.literals.is_empty());
    let subject = |literal: &[u8]| {
        let text = String::from_utf8_lossy(literal).into_owned();
        text.trim().trim_start_matches("Subject: ").to_owned()
    };
    lines.map(|line| subject(&line.literals[0])).collect()
}

#[test]
fn imapfilter_moves_marks_and_deletes() {
    let server = server();
    deliver(&server, &["lotus one", "rubbish", "lotus two", "pond"]);
    let config = format!(
        "options.timeout = 20\noptions.create = true\noptions.starttls = false\n\
         account = IMAP {{ server = '127.0.0.1', port = {}, username = 'ada',\n\
         password = 'demo' }}\n\
         new = account.INBOX:is_unseen()\n\
         lotus = new:contain_subject('lotus') * account.INBOX:contain_body('About')\n\
         lotus:mark_seen()\n\
         lotus:move_messages(account['Filed'])\n\
         account.INBOX:contain_subject('pond'):mark_flagged()\n\
         rest = account.INBOX:select_all() - account.INBOX:is_flagged()\n\
         rest:delete_messages()\n\
         account:unsubscribe_mailbox('Filed')\n",
        server.imap()
    );
    let path = server.scratch().join("filter.lua");
    std::fs::write(&path, config).unwrap();
    let mut command = bounded("imapfilter", "imapfilter");
    let outcome = run(command.arg("-c").arg(&path).env("HOME", server.scratch()), b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
    assert_eq!(subjects(&server, "INBOX"), ["pond"]);
    assert_eq!(subjects(&server, "Filed"), ["lotus one", "lotus two"]);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    let status = talk.say("STATUS Filed (UNSEEN)").text();
    assert!(status.contains("(UNSEEN 0)"), "{status}");
    talk.say("SELECT INBOX");
    let flags = talk.say("FETCH 1 FLAGS").text();
    assert!(flags.contains("\\Flagged"), "{flags}");
}

fn offlineimap(server: &Server) {
    let home = server.scratch();
    let config = format!(
        "[general]\naccounts = a\nmetadata = {home}/meta\n\n[Account a]\n\
         localrepository = near\nremoterepository = far\n\n[Repository near]\ntype = Maildir\n\
         localfolders = {home}/md\nsep = /\n\n[Repository far]\ntype = IMAP\n\
         remotehost = 127.0.0.1\nremoteport = {}\nremoteuser = ada\nremotepass = demo\n\
         ssl = no\nstarttls = no\n",
        server.imap(),
        home = home.display()
    );
    let path = home.join("offlineimaprc");
    std::fs::write(&path, config).unwrap();
    let mut command = bounded("offlineimap", "offlineimap3");
    command.args(["-o", "-u", "basic", "-c"]).arg(&path).env("HOME", home);
    let outcome = run(&mut command, b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
    let said = format!("{}{}", outcome.out, outcome.err);
    assert!(!said.contains("ERROR"), "{said}");
}

#[test]
fn offlineimap_both_ways_and_twice() {
    let server = server();
    deliver(&server, &["first", "second", "third"]);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.append("Drafts", LETTER.as_bytes());
    talk.say("SELECT INBOX");
    talk.say("STORE 2 +FLAGS (\\Flagged \\Seen)");
    drop(talk);
    let near = server.scratch().join("md");
    offlineimap(&server);
    let first = maildir(&near);
    assert_eq!(first.len(), 4, "three in the INBOX and a draft");
    assert!(first.iter().any(|(flags, _)| flags == "FS"), "flags came along");
    let far = far_side(&server);
    offlineimap(&server);
    assert_eq!(maildir(&near), first, "the second run changes nothing here");
    assert_eq!(far_side(&server), far, "and nothing there");
    // a new message here, which the far side gets
    let text = LETTER.replace("\r\n", "\n");
    std::fs::write(near.join("INBOX/new/1700000000.M1P1.here"), text).unwrap();
    offlineimap(&server);
    assert_eq!(server.inbox_count("ada", "demo", 4), 4);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.say("SELECT INBOX");
    let body = talk.say("FETCH 4 BODY.PEEK[TEXT]");
    assert_eq!(body.literal(), b"Hello.\r\n");
    offlineimap(&server);
    assert_eq!(maildir(&near).len(), 5);
}

/// On a terminal of its own: flags a message, copies one to a file, deletes one, leaves.
#[test]
fn neomutt_at_work_in_a_mailbox() {
    let server = server();
    deliver(&server, &["first", "second", "third"]);
    let home = server.scratch();
    let config = format!(
        "set folder=\"imap://ada@127.0.0.1:{}/\"\nset imap_user=ada\nset imap_pass=demo\n\
         set spoolfile=\"=INBOX\"\nset ssl_starttls=no\n\
         set ssl_force_tls=no\nset header_cache=\"\"\n\
         set confirmappend=no\n\
         set delete=yes\nset quit=yes\nset wait_key=no\nset resolve=no\nset sort=mailbox-order\n\
         set mbox_type=mbox\nset confirmcreate=no\nset move=no\nset trash=\"\"\n",
        server.imap()
    );
    std::fs::write(home.join("rc"), config).unwrap();
    let saved = home.join("saved");
    let keys = format!(
        "push <first-entry><flag-message><next-entry><copy-message>{}<enter><next-entry>\
         <delete-message><sync-mailbox><quit>",
        saved.display()
    );
    let line = format!("neomutt -F {}/rc -e '{keys}'", home.display());
    bounded("neomutt", "neomutt");
    let mut command = bounded("script", "bsdutils");
    command.args(["-qec", &line, "/dev/null"]).env("HOME", home).env("TERM", "xterm");
    let outcome = run(&mut command, b"");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
    assert_eq!(subjects(&server, "INBOX"), ["first", "second"]);
    let mut talk = Talk::imap(server.imap(), "ada", "demo");
    talk.say("SELECT INBOX");
    let flags = talk.say("FETCH 1 FLAGS").text();
    assert!(flags.contains("\\Flagged"), "{flags}");
    let saved = std::fs::read_to_string(saved).unwrap();
    assert!(saved.contains("Subject: second") && saved.contains("About second"), "{saved}");
}
