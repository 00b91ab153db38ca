//! Mail journaling: everything that passes is there once, with everybody who got it.

use store::Quota;

use super::transfer::{Fake, far_place, with_courier};
use super::*;

const PATH: &str = "mailjrn.nsf";

pub(super) fn into_database() -> JournalOptions {
    JournalOptions {
        to: JournalTo::Database { path: PATH.to_owned(), rollover_days: 0 },
        choice: JournalChoice::default(),
        in_trouble: JournalTrouble::Hold,
    }
}

fn journaling(journal: JournalOptions) -> RouterOptions {
    RouterOptions { journal: Some(journal), ..options() }
}

fn journaled_place(names: &[&str]) -> Place {
    let place = place(names);
    place.router.configure(journaling(into_database())).unwrap();
    place
}

fn notes_at(store: &Store, path: &str) -> Vec<Note> {
    let database = store.database(path).unwrap();
    let read = store.read(&database, |reader| {
        let folder = reader.folder_by_name("INBOX")?.unwrap();
        let entries = reader.entries(folder.id, 1..=u32::MAX, 1_000)?;
        entries.iter().map(|entry| Ok(reader.note(entry.note)?.unwrap())).collect()
    });
    read.unwrap().value
}

pub(super) fn journal(store: &Store) -> Vec<Note> {
    notes_at(store, PATH)
}

fn figures(place: &Place) -> (u64, u64, u64) {
    let stats = place.router.stats();
    (stats.journaled, stats.journal_failures, stats.journal_passed)
}

#[test]
fn a_copy_tells_who_sent_it_and_everybody_who_gets_it() {
    let place = journaled_place(&["ada", "bob", "eve"]);
    group(&place.directory, "Team", &["eve@demo.test", "ghost@demo.test"]);
    let mut deposit = letter("ada@demo.test", &["bob@demo.test", "team@demo.test"]);
    deposit.authenticated = Some("CN=Ada/O=Demo".to_owned());
    let id = send(&place, deposit);
    let copies = journal(&place.store);
    // The second one is the report about the ghost.
    assert_eq!((copies.len(), copies[0].oid.unid, figures(&place)), (2, id.0, (2, 0, 0)));
    let copy = &copies[0];
    assert_eq!(bytes(&place.store, copy), MESSAGE);
    assert_eq!(copy.text("$JournalSender"), Some("ada@demo.test"));
    assert_eq!(copy.text("$JournalUser"), Some("CN=Ada/O=Demo"));
    assert_eq!(copy.texts("$JournalRecipients"), ["bob@demo.test", "team@demo.test"]);
    assert_eq!(copy.texts("$JournalExpanded"), ["bob@demo.test", "eve@demo.test"]);
    for name in ["bob", "eve"] {
        let note = inbox(&place.store, name).remove(0);
        assert!(!format!("{note:?}").contains("$Journal"), "{name} sees nothing of it");
    }
    assert_eq!(copies[1].texts("$JournalExpanded"), ["ada@demo.test"]);
}

#[test]
fn a_body_is_kept_once() {
    let place = journaled_place(&["bob"]);
    let message = [MESSAGE, "A long line of text.\r\n".repeat(5_000).as_bytes()].concat();
    let mut deposit = letter("ada@far.test", &["bob@demo.test"]);
    deposit.message = &message;
    send(&place, deposit);
    let (copy, got) = (journal(&place.store).remove(0), inbox(&place.store, "bob").remove(0));
    assert_eq!(bytes(&place.store, &copy), message);
    assert!(!copy.tickets().is_empty());
    assert_eq!(copy.tickets(), got.tickets());
}

#[test]
fn only_what_was_chosen_is_journaled() {
    let place = place(&["ada", "bob", "eve"]);
    group(&place.directory, "Team", &["Person eve/Demo"]);
    let cases = [
        ("from @demo.test", "ada@demo.test", "bob@demo.test", 1),
        ("from @demo.test", "x@far.test", "bob@demo.test", 0),
        ("to bob@demo.test", "x@far.test", "BOB@demo.test", 1),
        ("to eve@demo.test", "x@far.test", "team@demo.test", 1),
        ("to eve@demo.test", "eve@demo.test", "bob@demo.test", 0),
        ("eve@demo.test, to @far.test", "eve@demo.test", "bob@demo.test", 1),
    ];
    let mut expected = 0;
    for (choice, from, to, more) in cases {
        let choice = choice.parse().unwrap();
        place.router.configure(journaling(JournalOptions { choice, ..into_database() })).unwrap();
        send(&place, letter(from, &[to]));
        expected += more;
        assert_eq!(figures(&place).0, expected, "{from} {to}");
    }
    assert_eq!(journal(&place.store).len() as u64, expected);
}

#[test]
fn mail_waits_while_the_journal_is_gone() {
    let place = journaled_place(&["bob"]);
    place.store.delete(PATH).unwrap();
    let id = send(&place, letter("ada@far.test", &["bob@demo.test"]));
    let waiting = left(&place);
    assert_eq!((waiting.len(), waiting[0].state), (1, QueueState::Waiting));
    assert!(waiting[0].cause.as_deref().unwrap_or_default().contains(PATH), "{waiting:?}");
    assert_eq!(inbox(&place.store, "bob"), []);
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((inbox(&place.store, "bob").len(), figures(&place)), (0, (0, 2, 0)));
    // The options given anew make it anew.
    place.router.configure(journaling(into_database())).unwrap();
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    assert_eq!((unids(&journal(&place.store)), left(&place)), (vec![id.0], vec![]));
}

#[test]
fn mail_waits_while_the_journal_is_full() {
    let place = journaled_place(&["bob", "eve"]);
    let database = place.store.database(PATH).unwrap();
    let quota = |limit_bytes| {
        let quota = Quota { limit_bytes, warn_bytes: 0 };
        place.store.write(&[&database], |writer| writer.set_quota(&database, quota)).unwrap();
    };
    quota(10);
    let id = send(&place, letter("ada@far.test", &["bob@demo.test", "eve@demo.test"]));
    assert!(left(&place)[0].cause.as_deref().unwrap_or_default().contains("full"));
    assert_eq!((inbox(&place.store, "bob"), inbox(&place.store, "eve")), (vec![], vec![]));
    quota(0);
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((unids(&journal(&place.store)), left(&place)), (vec![id.0], vec![]));
    assert_eq!(unids(&inbox(&place.store, "eve")), [id.0]);
}

#[test]
fn mail_passes_without_the_journal_when_that_is_wanted() {
    let place = place(&["bob"]);
    let chosen = JournalOptions { in_trouble: JournalTrouble::Pass, ..into_database() };
    place.router.configure(journaling(chosen.clone())).unwrap();
    let database = place.store.database(PATH).unwrap();
    let quota = Quota { limit_bytes: 10, warn_bytes: 0 };
    place.store.write(&[&database], |writer| writer.set_quota(&database, quota)).unwrap();
    let to = ["bob@demo.test", "ghost@demo.test"];
    send(&place, letter("ada@far.test", &to));
    place.store.delete(PATH).unwrap();
    send(&place, letter("ada@far.test", &["bob@demo.test"]));
    let to = JournalTo::Address("nobody".to_owned());
    place.router.configure(journaling(JournalOptions { to, ..chosen })).unwrap();
    send(&place, letter("ada@far.test", &["bob@demo.test"]));
    assert_eq!(inbox(&place.store, "bob").len(), 3);
    let (journaled, failures, passed) = figures(&place);
    assert_eq!((journaled, failures), (0, passed));
    assert!(passed >= 3, "{passed}");
}

/// The copy, the deliveries and what remains are one record.
#[test]
fn a_crash_leaves_one_copy() {
    for (durable, fails) in [(false, ""), (true, ""), (true, "u070")] {
        let dir = tempfile::tempdir().unwrap();
        let (store, directory) = open(dir.path());
        let names: Vec<String> = (0..80).map(|number| format!("u{number:03}")).collect();
        directory.add_people(names.iter().map(|name| person(name)).collect()).unwrap();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        group(&directory, "Everybody", &members);
        let fault: desk::Fault = Box::new(move |recipient| assert!(recipient.address != fails));
        let options = || journaling(into_database());
        let id = {
            let (store, directory) = (store.clone(), directory.clone());
            let desk = Desk::open(store.clone(), directory, options(), Some(fault)).unwrap();
            let written = desk.deposit(&letter("", &["everybody@demo.test"])).unwrap();
            store.durable(written.lsn).wait().unwrap();
            let board::Task::Deliver(mut job) = desk.board.next(0) else { panic!("not ready") };
            let dispatch = std::panic::AssertUnwindSafe(|| desk.dispatch(&mut job).is_ok());
            assert_eq!(std::panic::catch_unwind(dispatch).is_err(), !fails.is_empty());
            if durable {
                store.durable(store.log().appended()).wait().unwrap();
            }
            written.value
        };
        drop((store, directory));
        let (store, directory) = open(dir.path());
        let router = Router::start(store.clone(), directory, options()).unwrap();
        router.wait_idle();
        assert_eq!(unids(&journal(&store)), [id.0], "{durable} {fails}");
        assert_eq!(journal(&store)[0].texts("$JournalExpanded"), members);
        assert!(names.iter().all(|name| unids(&inbox(&store, name)) == [id.0]));
        assert_eq!(router.messages(&Filter::default(), 10).unwrap(), []);
    }
}

#[test]
fn what_goes_to_several_hosts_is_journaled_once_and_before_it_goes() {
    let fake = Fake::default();
    let place = far_place(&["ada", "bob"], &fake);
    let options = || RouterOptions { journal: Some(into_database()), ..with_courier(&fake) };
    place.router.configure(options()).unwrap();
    fake.set_down("a.hop", true);
    let to = ["x@a.hop", "y@b.hop", "bob@demo.test"];
    let id = send(&place, letter("ada@demo.test", &to));
    let copies = journal(&place.store);
    assert_eq!((unids(&copies), figures(&place)), (vec![id.0], (1, 0, 0)));
    let mut expanded = copies[0].texts("$JournalExpanded");
    expanded.sort_unstable();
    assert_eq!(expanded, ["bob@demo.test", "x@a.hop", "y@b.hop"]);
    fake.set_down("a.hop", false);
    // Where it goes is asked anew.
    place.router.configure(options()).unwrap();
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((fake.seen().len(), journal(&place.store).len(), left(&place)), (2, 1, vec![]));
    place.store.delete(PATH).unwrap();
    send(&place, letter("ada@demo.test", &["x@a.hop"]));
    assert_eq!((fake.seen().len(), left(&place).len()), (2, 1), "it waits for the journal");
}

#[test]
fn an_address_gets_a_report_with_the_message() {
    let place = place(&["ada", "bob", "vault"]);
    let to = JournalTo::Address("vault@demo.test".to_owned());
    place.router.configure(journaling(JournalOptions { to, ..into_database() })).unwrap();
    let message = [MESSAGE, "A long line of text.\r\n".repeat(5_000).as_bytes()].concat();
    let mut deposit = letter("ada@demo.test", &["bob@demo.test"]);
    deposit.message = &message;
    send(&place, deposit);
    let got = inbox(&place.store, "vault");
    assert_eq!((got.len(), figures(&place), left(&place)), (1, (1, 0, 0), vec![]));
    let report = bytes(&place.store, &got[0]);
    let parsed = message::parse(&report, &message::Limits::default());
    assert_eq!(parsed.parts[0].children.len(), 2);
    let text = String::from_utf8_lossy(&report);
    assert!(text.contains("\r\nSender: ada@demo.test\r\nRecipient: bob@demo.test\r\n"), "{text}");
    assert!(text.contains(&*String::from_utf8_lossy(&message)));
    let copy = inbox(&place.store, "bob").remove(0);
    assert!(!copy.tickets().is_empty());
    assert_eq!(copy.tickets(), got[0].tickets());
    assert_eq!(got[0].number(mailfile::intake::SIZE), Some(report.len() as f64));
}

#[test]
fn a_new_database_is_begun_after_so_many_days() {
    let to = |days| JournalTo::Database { path: "jrn/mail.nsf".to_owned(), rollover_days: days };
    let at = |day: i64| note::TimeDate::from_unix_seconds(day * 86_400 + 86_399);
    let path = |days, day| to(days).path_at(at(day)).unwrap();
    assert_eq!(path(0, 20_000), "jrn/mail.nsf");
    assert_eq!(path(1, 20_000), "jrn/mail-20241004.nsf");
    assert_eq!(path(1, 20_001), "jrn/mail-20241005.nsf");
    assert_eq!(path(7, 20_000), path(7, 20_005));
    assert_eq!((path(7, 20_005), path(7, 20_006)), {
        ("jrn/mail-20241003.nsf".to_owned(), "jrn/mail-20241010.nsf".to_owned())
    });
    let place = place(&["bob"]);
    place.router.configure(journaling(JournalOptions { to: to(7), ..into_database() })).unwrap();
    send(&place, letter("ada@far.test", &["bob@demo.test"]));
    let path = to(7).path_at(place.store.now()).unwrap();
    assert_eq!(notes_at(&place.store, &path).len(), 1);
}

#[test]
fn a_fenced_journal_keeps_mail_waiting_and_the_server_starts() {
    for (in_trouble, waits) in [(JournalTrouble::Hold, 1), (JournalTrouble::Pass, 0)] {
        let place = journaled_place(&["bob"]);
        let Place { router, directory, store, dir } = place;
        router.stop();
        store.flush().unwrap();
        store.close().unwrap();
        drop((router, directory, store));
        std::fs::write(dir.path().join("data").join(PATH), [0x55; 16_384]).unwrap();
        let (store, directory) = open(dir.path());
        let options = journaling(JournalOptions { in_trouble, ..into_database() });
        let router = Router::start(store.clone(), directory.clone(), options).unwrap();
        let place = Place { router, directory, store, dir };
        send(&place, letter("ada@far.test", &["bob@demo.test"]));
        let waiting = left(&place);
        assert_eq!((waiting.len(), inbox(&place.store, "bob").len()), (waits, 1 - waits));
        let cause = waiting.first().and_then(|message| message.cause.clone());
        assert_eq!(cause.is_some_and(|cause| cause.contains("fenced")), waits == 1);
    }
}
