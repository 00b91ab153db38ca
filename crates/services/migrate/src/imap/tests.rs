use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use store::EntryFlags;

use super::client::{Client, Mailbox};
use super::*;
use crate::ImportOptions;
use crate::import::tests::Bench;

/// A folder of the server: line of LIST behind the command's name, name, UIDVALIDITY, messages.
struct Shelf {
    listed: &'static str,
    name: &'static str,
    uidvalidity: u32,
    messages: Vec<(u32, String)>,
}

/// A small IMAP server.
struct Fake {
    shelves: Vec<Shelf>,
    /// The connection is cut after so many responses, as often as the list says.
    cuts: Mutex<Vec<usize>>,
    connections: AtomicUsize,
    fetches: AtomicUsize,
    greeting: &'static str,
    capability: &'static str,
}

struct Near(Arc<Fake>);

impl Dial for Near {
    fn connect(&mut self) -> io::Result<Box<dyn Stream>> {
        let (near, far) = UnixStream::pair()?;
        let fake = self.0.clone();
        fake.connections.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || fake.serve(far));
        Ok(Box::new(near))
    }

    fn secure(&mut self, plain: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
        Ok(plain)
    }
}

/// Writes responses until the cut.
struct Out {
    stream: UnixStream,
    left: usize,
}

impl Out {
    fn say(&mut self, text: &str) -> bool {
        if self.left == 0 {
            // In the middle of a response.
            let half = &text.as_bytes()[..text.len() / 2];
            let _ = self.stream.write_all(half);
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
            return false;
        }
        self.left -= 1;
        self.stream.write_all(format!("{text}\r\n").as_bytes()).is_ok()
    }
}

impl Fake {
    fn new(shelves: Vec<Shelf>) -> Fake {
        Fake {
            shelves,
            cuts: Mutex::default(),
            connections: AtomicUsize::new(0),
            fetches: AtomicUsize::new(0),
            greeting: "* OK ready",
            capability: "* CAPABILITY IMAP4rev1 AUTH=PLAIN",
        }
    }

    fn serve(&self, stream: UnixStream) {
        let left = self.cuts.lock().unwrap().pop().unwrap_or(usize::MAX);
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut out = Out { stream, left };
        out.say(self.greeting);
        let mut open = None;
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap_or(0) > 0 {
            let text = line.trim_end().to_owned();
            line.clear();
            let Some((tag, command)) = text.split_once(' ') else { continue };
            if command.starts_with("AUTHENTICATE") {
                out.say("+ ");
                let _ = lines.read_line(&mut line);
                let fine = line.trim_end() == "AGFkYQBwdyAi"; // \0ada\0pw "
                line.clear();
                out.say(&format!("{tag} {} signed in", if fine { "OK" } else { "NO" }));
                continue;
            }
            if !self.answer(tag, command, &mut open, &mut out) {
                return;
            }
        }
    }

    fn answer(&self, tag: &str, command: &str, open: &mut Option<usize>, out: &mut Out) -> bool {
        let word = command.split(' ').next().unwrap_or_default();
        let fine = match word {
            "CAPABILITY" => out.say(self.capability),
            "LIST" => self.shelves.iter().all(|shelf| out.say(&format!("* LIST {}", shelf.listed))),
            "EXAMINE" => {
                let name = command[8..].trim_matches('"');
                *open = self.shelves.iter().position(|shelf| shelf.name == name);
                match *open {
                    Some(at) => {
                        let uidvalidity = self.shelves[at].uidvalidity;
                        out.say(&format!("* OK [UIDVALIDITY {uidvalidity}] fine"))
                    }
                    None => return out.say(&format!("{tag} NO no such folder")),
                }
            }
            "UID" if command.starts_with("UID SEARCH") => {
                let shelf = &self.shelves[open.unwrap()];
                let uids = shelf.messages.iter().map(|(uid, _)| format!(" {uid}"));
                out.say(&format!("* SEARCH{}", uids.collect::<String>()))
            }
            "UID" => {
                self.fetches.fetch_add(1, Ordering::Relaxed);
                let set = command.split(' ').nth(2).unwrap();
                let wanted: Vec<u32> = set.split(',').map(|n| n.parse().unwrap()).collect();
                if wanted.contains(&13) {
                    return out.say(&format!("{tag} NO that one is damaged"));
                }
                let shelf = &self.shelves[open.unwrap()];
                let chosen = shelf.messages.iter().filter(|(uid, _)| wanted.contains(uid));
                chosen.clone().all(|(uid, text)| out.say(&fetched(*uid, text)))
            }
            _ => true,
        };
        fine && out.say(&format!("{tag} OK done"))
    }
}

fn fetched(uid: u32, text: &str) -> String {
    let length = text.len();
    format!(
        "* {uid} FETCH (FLAGS (\\Seen $Label1) INTERNALDATE \" 3-Mar-2026 10:50:00 +0100\" \
         MODSEQ (7) BODY[] {{{length}}}\r\n{text} UID {uid})"
    )
}

fn letters(subject: &str, uids: &[u32]) -> Vec<(u32, String)> {
    uids.iter().map(|uid| (*uid, format!("Subject: {subject}{uid}\r\n\r\nhi\r\n"))).collect()
}

fn shelf(listed: &'static str, name: &'static str, messages: Vec<(u32, String)>) -> Shelf {
    Shelf { listed, name, uidvalidity: 9, messages }
}

fn account() -> Account {
    Account {
        host: "mail.example".to_owned(),
        user: "ada".to_owned(),
        password: "pw \"".to_owned(),
        security: Security::StartTls,
        folders: Vec::new(),
        retry_wait: Duration::ZERO,
    }
}

fn try_import(bench: &Bench, account: Account, fake: &Arc<Fake>) -> Result<crate::Report, String> {
    let mut source = ImapSource::new(account, Box::new(Near(fake.clone())));
    let options = ImportOptions { message_bytes_max: 10_000, ..Default::default() };
    crate::import(&bench.file, &mut source, &options, &mut |_, _, _| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())
}

#[test]
fn folders_flags_and_dates_come_along_and_nothing_twice() {
    let bench = Bench::new();
    let fake = Arc::new(Fake::new(vec![
        shelf("(\\HasChildren) \".\" INBOX", "INBOX", letters("a", &[3, 5, 900])),
        shelf("(\\Sent) \".\" \"INBOX.Sent Items\"", "INBOX.Sent Items", letters("s", &[1])),
        shelf("() \".\" \"INBOX.Entw&APw-rfe.x\"", "INBOX.Entw&APw-rfe.x", letters("e", &[1])),
        shelf("(\\Noselect) \".\" \"INBOX.No\"", "INBOX.No", vec![]),
        shelf("(\\All) \".\" \"INBOX.All\"", "INBOX.All", letters("all", &[1])),
    ]));
    let report = try_import(&bench, account(), &fake).unwrap();
    assert_eq!((report.messages, report.already, report.folders), (5, 0, 3));
    let wanted = ["Entw\u{fc}rfe/x e1", "INBOX a3", "INBOX a5", "INBOX a900", "Sent s1"];
    assert_eq!(bench.subjects(), wanted);
    for row in bench.rows() {
        assert_eq!((row.2, row.3), (1_772_531_400, EntryFlags::SEEN.0));
        assert_eq!(row.4, ["$Label1"]);
    }
    let fetches = fake.fetches.load(Ordering::Relaxed);
    let again = try_import(&bench, account(), &fake).unwrap();
    assert_eq!((again.messages, again.already), (0, 5));
    assert_eq!(fake.fetches.load(Ordering::Relaxed), fetches, "nothing is fetched again");
}

#[test]
fn a_connection_that_breaks_is_made_again_a_bounded_number_of_times() {
    let uids: Vec<u32> = (100..400).collect();
    let fake = |cuts: Vec<usize>| {
        let fake = Fake::new(vec![shelf("() \"/\" INBOX", "INBOX", letters("m", &uids))]);
        *fake.cuts.lock().unwrap() = cuts;
        Arc::new(fake)
    };
    let bench = Bench::new();
    let cut = fake((1..60).collect());
    let report = try_import(&bench, account(), &cut).unwrap();
    assert_eq!(report.messages, 300);
    assert!(report.is_clean());
    assert_eq!(bench.rows().len(), 300);
    // Every connection ends before the first message.
    let bench = Bench::new();
    let dead = fake(vec![3; 100]);
    let error = try_import(&bench, account(), &dead).unwrap_err();
    assert!(error.contains("6 times in a row"), "{error}");
    assert_eq!(dead.connections.load(Ordering::Relaxed), 6);
}

#[test]
fn what_the_server_does_not_give_is_told() {
    let bench = Bench::new();
    let mut messages = letters("m", &[11, 12, 13, 14]);
    messages.push((15, "x".repeat(20_000)));
    messages.extend(letters("m", &[16]));
    let fake = Arc::new(Fake::new(vec![shelf("() \"/\" INBOX", "INBOX", messages)]));
    let report = try_import(&bench, account(), &fake).unwrap();
    assert_eq!((report.messages, report.problems_total), (4, 2));
    let uids: Vec<u64> = report.problems.iter().map(|problem| problem.at).collect();
    assert_eq!(uids, [13, 15]);
}

#[test]
fn refusals_end_it_with_a_reason() {
    let bench = Bench::new();
    let one = || vec![shelf("() \"/\" INBOX", "INBOX", letters("m", &[1]))];
    let fake = Arc::new(Fake::new(one()));
    let wrong = Account { password: "wrong".to_owned(), ..account() };
    let error = try_import(&bench, wrong, &fake).unwrap_err();
    assert!(error.contains("the sign-in was refused"), "{error}");
    assert_eq!(fake.connections.load(Ordering::Relaxed), 1);
    let none = Account { folders: vec!["Nowhere".to_owned()], ..account() };
    assert!(try_import(&bench, none, &fake).unwrap_err().contains("no folder Nowhere"));
    let only = Account { folders: vec!["INBOX".to_owned()], ..account() };
    assert_eq!(try_import(&bench, only, &fake).unwrap().messages, 1);
    let capability = "* CAPABILITY IMAP4rev1 LOGINDISABLED";
    let fake = Arc::new(Fake { capability, ..Fake::new(one()) });
    assert!(try_import(&bench, account(), &fake).unwrap_err().contains("allows no sign-in"));
    let fake = Arc::new(Fake { greeting: "* BYE full", ..Fake::new(one()) });
    assert!(try_import(&bench, account(), &fake).unwrap_err().contains("BYE full"));
}

/// A stream that gives hostile bytes and takes everything.
struct Hostile(io::Cursor<Vec<u8>>);

impl Read for Hostile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Hostile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Dial for Hostile {
    fn connect(&mut self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(Hostile(self.0.clone())))
    }

    fn secure(&mut self, plain: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
        Ok(plain)
    }
}

#[test]
fn hostile_responses_are_errors() {
    let parens = "(".repeat(100_000);
    let sign_in = "* OK x\r\n* CAPABILITY x\r\nA1 OK\r\nA2 OK\r\n";
    let responses = [
        String::new(),
        "* OK".to_owned(),
        format!("{sign_in}* LIST {parens}\r\nA3 OK\r\n"),
        format!("{sign_in}* LIST () \"/\" {{99999999999999999999}}\r\nA3 OK\r\n"),
        format!("{sign_in}* LIST () \"/\" {{18446744073709551615}}\r\nabc"),
        format!("{sign_in}* LIST () NIL {{3}}\r\n\u{e9}x\r\nA3 OK\r\n"),
        format!("{sign_in}* LIST () \"/\" \"open\r\nA3 OK\r\n"),
        format!("{sign_in}* {{0}}\r\n{}", "{0}\r\n".repeat(20_000)),
        format!("{sign_in}\r\n*\r\n* \r\n)\r\nA3 NO\r\n"),
    ];
    for text in responses {
        let mut dial = Hostile(io::Cursor::new(text.clone().into_bytes()));
        let account = Account { security: Security::Plain, ..account() };
        if let Ok(mut client) = Client::open(&account, &mut dial, 1_000) {
            // Whatever it is, it ends.
            let _ = client.mailboxes();
        }
    }
    let fetches = [
        "* 1 FETCH (UID 1 BODY[] NIL)",
        "* 1 FETCH (UID BODY[] \"\")",
        "* 1 FETCH (UID 1",
        "* 1 FETCH (UID 1 BODY[] \"x\" BODY[] (a (b) c) X)",
        "* 1 FETCH",
        "* FETCH (UID 1)",
        "* 4294967296 FETCH (UID 1 BODY[] \"x\")",
        "* 1 FETCH (UID 1 FLAGS ((\\Seen)) BODY[] \"x\")",
        "* 1 FETCH (UID 1 INTERNALDATE \"99-Foo-x\" BODY[] \"x\")",
    ];
    for text in fetches {
        let all = format!("{sign_in}{text}\r\nA3 OK\r\n").into_bytes();
        let mut dial = Hostile(io::Cursor::new(all));
        let account = Account { security: Security::Plain, ..account() };
        let mut client = Client::open(&account, &mut dial, 1_000).unwrap();
        let mut found = 0;
        client
            .fetch(&[1], &mut |_| {
                found += 1;
                Ok(())
            })
            .unwrap();
        assert!(found <= 1, "{text}");
    }
    let mailbox = Mailbox { raw: "a\r\nb".to_owned(), name: "x".to_owned(), shows_all: false };
    let mut dial = Hostile(io::Cursor::new(sign_in.as_bytes().to_vec()));
    let account = Account { security: Security::Plain, ..account() };
    let mut client = Client::open(&account, &mut dial, 1_000).unwrap();
    assert!(client.examine(&mailbox).is_err());
}
