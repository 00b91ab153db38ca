use std::path::Path;
use std::sync::Arc;

use directory::{Directory, NewGroup, NewPerson};
use mailfile::intake;
use note::Note;
use store::{Store, StoreOptions};

use super::*;
use crate::desk::Desk;

mod console;
mod crash;
mod journal;
mod owners;
mod storm;
mod transfer;
mod trouble;

struct Place {
    router: Arc<Router>,
    directory: Arc<Directory>,
    store: Arc<Store>,
    dir: tempfile::TempDir,
}

fn options() -> RouterOptions {
    RouterOptions { host_name: "mail1.demo.test".to_owned(), ..RouterOptions::default() }
}

fn open(dir: &Path) -> (Arc<Store>, Arc<Directory>) {
    let (store, recovery) = Store::open(StoreOptions::small(dir)).unwrap();
    assert_eq!(recovery.damage, Vec::<String>::new());
    let directory = match store.database(directory::DIRECTORY_PATH) {
        Ok(_) => Directory::open(store.clone()).unwrap(),
        Err(_) => Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap(),
    };
    (store, directory)
}

fn place(names: &[&str]) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(names.iter().map(|name| person(name)).collect()).unwrap();
    let router = Router::start(store.clone(), directory.clone(), options()).unwrap();
    Place { router, directory, store, dir }
}

fn person(name: &str) -> NewPerson {
    NewPerson {
        full_name: format!("Person {name}"),
        short_name: name.to_owned(),
        ..NewPerson::default()
    }
}

fn group(directory: &Directory, name: &str, members: &[&str]) {
    let members = members.iter().map(|member| (*member).to_owned()).collect();
    let group = NewGroup { name: name.to_owned(), members, ..NewGroup::default() };
    directory.add_group(group).unwrap();
}

const MESSAGE: &[u8] = b"Return-Path: <ada@demo.test>\r\n\
Received: by here\r\n\
From: Ada <ada@demo.test>\r\n\
To: bob@demo.test\r\n\
Subject: Lamps\r\n\
Message-ID: <1@demo.test>\r\n\
\r\n\
Three lamps are broken.\r\n";

fn recipients(addresses: &[&str]) -> Vec<Recipient> {
    let recipient =
        |address: &&str| Recipient { address: (*address).to_owned(), ..Recipient::default() };
    addresses.iter().map(recipient).collect()
}

fn letter<'a>(sender: &str, to: &[&str]) -> Deposit<'a> {
    Deposit {
        sender: Some(sender.to_owned()).filter(|sender| !sender.is_empty()),
        recipients: recipients(to),
        message: MESSAGE,
        envelope_id: None,
        ret: Ret::Unset,
        authenticated: None,
    }
}

/// Deposits, and waits until the router has nothing to do.
fn send(place: &Place, deposit: Deposit<'_>) -> QueueId {
    let written = place.router.deposit(deposit).unwrap();
    place.store.durable(written.lsn).wait().unwrap();
    place.router.wait_idle();
    written.value
}

/// Notes in somebody's INBOX, in uid order.
fn inbox(store: &Store, name: &str) -> Vec<Note> {
    let database = store.database(&format!("mail/{name}.nsf")).unwrap();
    let read = store.read(&database, |reader| {
        let folder = reader.folder_by_name("INBOX")?.unwrap();
        let entries = reader.entries(folder.id, 1..=u32::MAX, 1_000)?;
        entries.iter().map(|entry| Ok(reader.note(entry.note)?.unwrap())).collect()
    });
    read.unwrap().value
}

fn bytes(store: &Store, note: &Note) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pieces = intake::content_of(note).unwrap();
    intake::read_range(store, &pieces, 0..u64::MAX, &mut bytes).unwrap();
    bytes
}

fn text(store: &Store, note: &Note) -> String {
    String::from_utf8(bytes(store, note)).unwrap()
}

fn unids(notes: &[Note]) -> Vec<note::Unid> {
    notes.iter().map(|note| note.oid.unid).collect()
}

fn left(place: &Place) -> Vec<QueuedMessage> {
    place.router.messages(&Filter::default(), 1_000).unwrap()
}

#[test]
fn a_message_reaches_its_recipient_byte_for_byte() {
    let place = place(&["ada", "bob"]);
    let id = send(&place, letter("ada@demo.test", &["BOB@Demo.Test"]));
    let got = inbox(&place.store, "bob");
    assert_eq!(unids(&got), [id.0]);
    assert_eq!(bytes(&place.store, &got[0]), MESSAGE);
    assert_eq!(left(&place), []);
    assert_eq!(inbox(&place.store, "ada"), []);
    let stats = place.router.stats();
    assert_eq!((stats.deposits, stats.delivered, stats.routed), (1, 1, 1));
    assert_eq!((stats.waiting, stats.failures, place.router.pending()), (0, 0, 0));
}

#[test]
fn delivered_notes_hold_nothing_of_the_envelope() {
    let place = place(&["bob", "secret"]);
    let mut deposit = letter("ada@far.test", &["bob@demo.test", "secret@demo.test"]);
    deposit.recipients[1].notify = Notify::NEVER;
    deposit.recipients[1].original = Some("rfc822;hidden@demo.test".to_owned());
    deposit.envelope_id = Some("the-envelope".to_owned());
    deposit.authenticated = Some("CN=Hidden/O=Demo".to_owned());
    send(&place, deposit);
    for name in ["bob", "secret"] {
        let note = inbox(&place.store, name).remove(0);
        let all = format!("{note:?}");
        let words = ["secret@", "hidden", "the-envelope", "Recipients", "SMTPOriginator", "RouteH"];
        for word in words.iter().chain(&["$Route", "RoutingState", "$Envelope", "$Recipient"]) {
            assert!(!all.contains(word), "{word} in {all}");
        }
        assert_eq!(note.texts("RouteServers").len(), 1, "which server it came by");
        assert_eq!(note.text("Subject"), Some("Lamps"));
    }
}

#[test]
fn several_recipients_share_one_note() {
    let place = place(&["ada", "bob", "eve"]);
    let to = ["ada@demo.test", "bob@demo.test", "Person eve/Demo", "ADA@demo.test"];
    let id = send(&place, letter("ada@demo.test", &to));
    let notes: Vec<_> = ["ada", "bob", "eve"].map(|name| inbox(&place.store, name)).into();
    for got in &notes {
        assert_eq!(unids(got), [id.0]);
        assert_eq!(got[0], notes[0][0]);
    }
    assert_eq!(left(&place), []);
}

#[test]
fn more_recipients_than_fit_into_one_record() {
    let names: Vec<String> = (0..100).map(|number| format!("u{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let place = place(&names);
    group(&place.directory, "Everybody", &names);
    let addresses: Vec<String> = names.iter().map(|name| format!("{name}@demo.test")).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let first = send(&place, letter("u000@demo.test", &addresses));
    let second = send(&place, letter("u000@demo.test", &["everybody@demo.test"]));
    for name in names {
        assert_eq!(unids(&inbox(&place.store, name)), [first.0, second.0], "{name}");
    }
    assert_eq!(left(&place), []);
    assert_eq!(place.router.stats().delivered, 200);
}

#[test]
fn nested_groups_with_a_loop_reach_everybody_once() {
    let place = place(&["ada", "bob", "eve"]);
    group(&place.directory, "Outer", &["ada", "Inner", "bob@demo.test", "Inner"]);
    group(&place.directory, "Inner", &["Outer", "eve", "Person ada/Demo"]);
    let to = ["outer@demo.test", "inner@demo.test", "eve@demo.test"];
    let id = send(&place, letter("bob@demo.test", &to));
    for name in ["ada", "bob", "eve"] {
        assert_eq!(unids(&inbox(&place.store, name)), [id.0], "{name}");
    }
    assert_eq!(left(&place), []);
    assert_eq!(place.router.stats().failures, 0);
}

#[test]
fn a_stopped_router_takes_nothing_and_ends_its_threads() {
    let place = place(&["ada"]);
    send(&place, letter("", &["ada@demo.test"]));
    place.router.stop();
    let refused = place.router.deposit(letter("", &["ada@demo.test"]));
    assert!(matches!(refused.err(), Some(RouterError::Stopped)));
    let nobody = place.router.deposit(letter("", &[]));
    assert!(matches!(nobody.err(), Some(RouterError::NoRecipients)));
    assert_eq!(place.router.stats().threads, 0);
    assert_eq!(inbox(&place.store, "ada").len(), 1);
}

#[test]
fn many_deposits_in_parallel_arrive_once_each() {
    let place = place(&["ada", "bob", "eve"]);
    let to = ["ada@demo.test", "bob@demo.test", "eve@demo.test"];
    let ids = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number: usize| {
                let place = &place;
                scope.spawn(move || {
                    let each = (0..25).map(|_| {
                        let deposit =
                            letter("ada@demo.test", &[to[number % 3], to[(number + 1) % 3]]);
                        place.router.deposit(deposit).unwrap().value.0
                    });
                    each.collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    place.router.wait_idle();
    let mut got: Vec<_> =
        ["ada", "bob", "eve"].iter().flat_map(|name| unids(&inbox(&place.store, name))).collect();
    let mut expected: Vec<_> = ids.iter().chain(&ids).copied().collect();
    got.sort_unstable();
    expected.sort_unstable();
    assert_eq!(got, expected);
    assert_eq!(left(&place), []);
    let stats = place.router.stats();
    assert_eq!((stats.deposits, stats.delivered), (100, 200));
    let rows = stats.rows();
    assert!(rows.contains(&("Mail.Delivered", 200.0)) && rows.contains(&("Mail.Waiting", 0.0)));
}
