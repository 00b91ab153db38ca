//! What cannot be delivered, or not now.

use directory::PersonChange;
use store::PreparedNote;

use super::*;

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

fn forward(place: &Place, name: &str, to: &str) {
    let change = PersonChange { forward: Some(Some(to.to_owned())), ..PersonChange::default() };
    place.directory.change_person(name, change).unwrap();
}

/// A mail file that cannot be opened.
fn spoil(dir: &Path, name: &str) {
    std::fs::write(dir.join(format!("data/mail/{name}.nsf")), [0x55; 16_384]).unwrap();
}

fn restart(place: Place) -> Place {
    let Place { router, directory, store, dir } = place;
    router.stop();
    store.close().unwrap();
    drop((router, directory, store));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), options()).unwrap();
    Place { router, directory, store, dir }
}

#[test]
fn a_fenced_mail_box_is_replaced_and_its_mail_left_alone() {
    let place = place(&["ada"]);
    let before: Vec<_> = (0..4).map(|_| send(&place, letter("", &["ada@demo.test"])).0).collect();
    let Place { router, directory, store, dir } = place;
    router.stop();
    store.flush().unwrap();
    store.close().unwrap();
    drop((router, directory, store));
    std::fs::write(dir.path().join("data/mail1.box"), [0x55; 16_384]).unwrap();
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), options()).unwrap();
    let place = Place { router, directory, store, dir };
    let sent: Vec<_> = (0..4).map(|_| send(&place, letter("", &["ada@demo.test"])).0).collect();
    assert_eq!(unids(&inbox(&place.store, "ada")), [before, sent].concat());
    assert_eq!((left(&place), place.router.stats().mailboxes), (Vec::new(), 2));
    let spoiled = place.store.database("mail1.box").map(|database| database.fenced().is_some());
    assert!(spoiled.unwrap_or(true), "nobody made it anew");
    place.store.database("mail2.box").unwrap();
}

/// A repair makes the file anew under another id: handles of the old one serve no more.
#[test]
fn a_mail_box_that_was_rebuilt_is_served_again() {
    let place = place(&["ada"]);
    place.router.configure(RouterOptions { mailboxes: 1, ..options() }).unwrap();
    place.router.pause();
    let to = ["ada@demo.test"];
    let mut sent: Vec<_> =
        (0..4).map(|_| place.router.deposit(letter("", &to)).unwrap().value.0).collect();
    let message = b"Subject: Zz Spoiled\r\n\r\n";
    place.router.deposit(Deposit { message, ..letter("", &to) }).unwrap();
    place.store.flush().unwrap();
    for path in ["mail.box", "mail1.box"] {
        let file = place.dir.path().join("data").join(path);
        let mut bytes = std::fs::read(&file).unwrap();
        if let Some(at) = bytes.windows(10).position(|window| window == b"Zz Spoiled") {
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            assert!(place.store.fixup(path, true).unwrap().dbiid.is_some());
        }
    }
    sent.extend((0..4).map(|_| place.router.deposit(letter("", &to)).unwrap().value.0));
    place.router.resume();
    place.router.wait_idle();
    let mut got = unids(&inbox(&place.store, "ada"));
    got.sort_unstable();
    sent.sort_unstable();
    assert_eq!((got, left(&place)), (sent, vec![]));
}

#[test]
fn an_unknown_recipient_is_reported_to_the_sender() {
    let place = place(&["ada", "bob"]);
    let mut deposit = letter("ada@demo.test", &["ghost@demo.test", "bob@demo.test"]);
    deposit.envelope_id = Some("JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309".to_owned());
    deposit.recipients[0].original = Some("rfc822;no-such-user@demo.test".to_owned());
    deposit.ret = Ret::Hdrs;
    let id = send(&place, deposit);
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    let got = inbox(&place.store, "ada");
    assert_eq!(got.len(), 1);
    let report = text(&place.store, &got[0]);
    let expected = [
        ("Content-Type: multipart/report", 1),
        ("Auto-Submitted: auto-", 1),
        ("To: ", 2),
        ("Reporting-MTA: dns;", 1),
        ("Original-Envelope-Id: JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309", 1),
        ("Original-Recipient: rfc822;", 1),
        ("Final-Recipient: rfc822;", 1),
        ("Action: failed", 1),
        ("Status: 5.1.1", 1),
        ("Subject: Lamps", 1),
        ("Three lamps", 0),
    ];
    for (start, count) in expected {
        assert_eq!(lines(&report, start).len(), count, "{start}\n{report}");
    }
    assert!(report.starts_with("Return-Path: <>\r\n"), "{report}");
    assert!(report.contains("ghost@demo.test") && !report.contains("bob@demo.test\r\nAction"));
    assert_eq!(left(&place), []);
    let stats = place.router.stats();
    assert_eq!((stats.failures, stats.reports, stats.delivered), (1, 1, 2));
}

#[test]
fn the_whole_message_goes_back_when_asked() {
    let place = place(&["ada"]);
    let mut deposit = letter("ada@demo.test", &["ghost@demo.test"]);
    deposit.ret = Ret::Full;
    send(&place, deposit);
    let report = text(&place.store, &inbox(&place.store, "ada")[0]);
    assert!(report.contains("Three lamps are broken."), "{report}");
}

#[test]
fn several_failures_make_one_report() {
    let place = place(&["ada", "fred"]);
    forward(&place, "fred", "fred@far.test");
    group(&place.directory, "Team", &["ada", "Nobody Here/Demo", "fred", "x@far.test"]);
    let id = send(&place, letter("ada@demo.test", &["team@demo.test", "ghost@demo.test"]));
    let got = inbox(&place.store, "ada");
    assert_eq!(got.len(), 2);
    let report = got.iter().find(|note| note.oid.unid != id.0).unwrap();
    let report = text(&place.store, report);
    assert_eq!(lines(&report, "Action: failed").len(), 4, "{report}");
    assert_eq!(lines(&report, "Status: 5.1.1").len(), 2);
    assert_eq!(lines(&report, "Status: 5.7.1").len(), 2);
    assert!(report.contains("This server does not send to other domains."), "{report}");
    assert_eq!(left(&place), []);
}

#[test]
fn notify_decides_who_hears_what() {
    let success = Notify { success: true, failure: false, delay: false };
    let cases = [
        ("bob@demo.test", Notify::default(), None),
        ("bob@demo.test", success, Some("Action: delivered")),
        ("bob@demo.test", Notify::NEVER, None),
        ("ghost@demo.test", Notify::default(), Some("Action: failed")),
        ("ghost@demo.test", success, None),
        ("ghost@demo.test", Notify::NEVER, None),
    ];
    for (address, notify, expected) in cases {
        let place = place(&["ada", "bob"]);
        let mut deposit = letter("ada@demo.test", &[address]);
        deposit.recipients[0].notify = notify;
        send(&place, deposit);
        let got = inbox(&place.store, "ada");
        assert_eq!(got.len(), usize::from(expected.is_some()), "{address} {notify:?}");
        if let Some(line) = expected {
            assert_eq!(lines(&text(&place.store, &got[0]), line).len(), 1, "{address} {notify:?}");
        }
        assert_eq!(left(&place), []);
    }
}

/// S-SMTP-07: a report has the null sender; nothing is ever sent about what came with it.
#[test]
fn a_lost_report_is_dead_and_makes_no_other() {
    let place = place(&["broken"]);
    forward(&place, "broken", "broken@far.test");
    send(&place, letter("sender@sink.example.test", &["broken@demo.test"]));
    let dead = left(&place);
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!(dead[0].state, QueueState::Dead);
    assert_eq!(dead[0].sender, "");
    assert_eq!(dead[0].recipients, ["sender@sink.example.test"]);
    let cause = dead[0].cause.clone().unwrap();
    assert!(cause.contains("does not send to other domains"), "{cause}");

    let second = send(&place, letter("", &["broken@demo.test"]));
    let dead = left(&place);
    assert_eq!(dead.len(), 2);
    let lost = dead.iter().find(|message| message.id == second).unwrap();
    assert_eq!((lost.state, lost.recipients.len()), (QueueState::Dead, 1));
    assert_eq!(inbox(&place.store, "broken"), []);
    let stats = place.router.stats();
    assert_eq!((stats.reports, stats.dead, stats.waiting), (1, 2, 0));

    let place = restart(place);
    assert_eq!(left(&place), dead, "dead letters stay what they are");
    assert_eq!(place.router.stats().dead, 2);
    let change = PersonChange { forward: Some(None), ..PersonChange::default() };
    place.directory.change_person("broken", change).unwrap();
    place.router.release(second).unwrap();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "broken")), [second.0]);
    let report = left(&place).remove(0);
    place.router.remove(report.id).unwrap();
    assert_eq!((left(&place), place.router.stats().dead), (vec![], 0));
    assert!(matches!(place.router.release(second), Err(RouterError::NotFound(_))));
}

#[test]
fn a_message_that_went_through_too_many_servers_comes_back() {
    for (hops, delivered) in [(25, true), (26, false)] {
        let place = place(&["ada", "bob"]);
        let mut message = b"Received: from there by here\r\n".repeat(hops);
        message.extend_from_slice(b"Subject: round\r\n\r\nReceived: no\r\n");
        let deposit = Deposit { message: &message, ..letter("ada@demo.test", &["bob@demo.test"]) };
        send(&place, deposit);
        assert_eq!(inbox(&place.store, "bob").len(), usize::from(delivered), "{hops}");
        let reports = inbox(&place.store, "ada");
        assert_eq!(reports.len(), usize::from(!delivered), "{hops}");
        for report in reports {
            assert_eq!(lines(&text(&place.store, &report), "Status: 5.4.6").len(), 1);
        }
    }
}

#[test]
fn a_mail_file_in_trouble_holds_up_nobody_else() {
    let place = place(&["ada", "bob", "eve"]);
    let Place { router, directory, store, dir } = place;
    router.stop();
    store.flush().unwrap();
    store.close().unwrap();
    drop((router, directory, store));
    spoil(dir.path(), "bob");
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), options()).unwrap();
    let place = Place { router, directory, store, dir };
    let to = ["ada@demo.test", "bob@demo.test", "eve@demo.test"];
    let first = send(&place, letter("", &to));
    let second = send(&place, letter("", &["eve@demo.test"]));
    assert_eq!(unids(&inbox(&place.store, "ada")), [first.0]);
    assert_eq!(unids(&inbox(&place.store, "eve")), [first.0, second.0]);
    let waiting = left(&place);
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].id, waiting[0].state), (first, QueueState::Waiting));
    assert_eq!(waiting[0].recipients, ["bob@demo.test"]);
    assert!(waiting[0].cause.is_some());
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((left(&place).len(), place.router.pending()), (1, 1));
    place.store.delete("mail/bob.nsf").unwrap();
    mailfile::create(&place.store, "mail/bob.nsf", "Bob").unwrap();
    place.router.route_now(None);
    place.router.wait_idle();
    let got = inbox(&place.store, "bob");
    assert_eq!(unids(&got), [first.0]);
    assert_eq!(bytes(&place.store, &got[0]), MESSAGE);
    assert_eq!(got[0].items, inbox(&place.store, "ada")[0].items, "also after a stay in mail.box");
    assert_eq!(left(&place), []);
    assert_eq!(unids(&inbox(&place.store, "ada")), [first.0]);
}

#[test]
fn who_cannot_be_reached_for_a_day_is_reported() {
    let place = place(&["ada", "bob"]);
    let Place { router, directory, store, dir } = place;
    router.stop();
    store.flush().unwrap();
    store.close().unwrap();
    drop((router, directory, store));
    spoil(dir.path(), "bob");
    let clock = Arc::new(txlog::ManualClock::new(note::TimeDate::from_unix_seconds(2_000_000_000)));
    let options = StoreOptions { clock: clock.clone(), ..StoreOptions::small(dir.path()) };
    let (store, _) = Store::open(options).unwrap();
    let directory = Directory::open(store.clone()).unwrap();
    let router = Router::start(store.clone(), directory.clone(), super::options()).unwrap();
    let place = Place { router, directory, store, dir };
    send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    let unanswered = send(&place, letter("", &["bob@demo.test"]));
    // After four hours the sender hears once that it waits, after a day that it is given up.
    let waits = [(4 * 3_600, 0), (1, 1), (3_600, 1), (19 * 3_600 - 1, 1), (1, 2), (3_600, 2)];
    for (wait_s, reports) in waits {
        clock.advance(wait_s * 1_000_000);
        place.router.route_now(None);
        place.router.wait_idle();
        assert_eq!(inbox(&place.store, "ada").len(), reports);
    }
    let reports = inbox(&place.store, "ada");
    for (report, action) in reports.iter().zip(["Action: delayed", "Action: failed"]) {
        let report = text(&place.store, report);
        assert_eq!(lines(&report, "Status: 4.4.7").len(), 1, "{report}");
        assert_eq!(lines(&report, action).len(), 1, "{report}");
    }
    let dead = left(&place);
    assert_eq!((dead.len(), dead[0].id, dead[0].state), (1, unanswered, QueueState::Dead));
}

#[test]
fn a_message_that_ends_workers_is_parked_and_the_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("ada"), person("bob")]).unwrap();
    let fault: desk::Fault =
        Box::new(|recipient| assert!(recipient.address != "bob@demo.test", "bob is poison"));
    let router = Router::start_with(store.clone(), directory.clone(), options(), Some(fault));
    let place = Place { router: router.unwrap(), directory, store, dir };
    let poison = send(&place, letter("", &["bob@demo.test"]));
    let fine = send(&place, letter("", &["ada@demo.test"]));
    assert_eq!(unids(&inbox(&place.store, "ada")), [fine.0]);
    let held = left(&place);
    assert_eq!((held.len(), held[0].id, held[0].state), (1, poison, QueueState::Held));
    assert!(held[0].cause.as_ref().unwrap().contains("bob is poison"));
    assert_eq!(place.router.stats().held, 1);
    let place = restart(place);
    assert_eq!(left(&place).len(), 1, "a restart does not release it");
    place.router.release(poison).unwrap();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [poison.0]);
}

#[test]
fn a_change_of_another_hand_is_taken_up() {
    let place = place(&["broken"]);
    forward(&place, "broken", "x@far.test");
    let id = send(&place, letter("", &["broken@demo.test"]));
    let change = PersonChange { forward: Some(None), ..PersonChange::default() };
    place.directory.change_person("broken", change).unwrap();
    let path = left(&place).remove(0).mailbox;
    let database = place.store.database(&path).unwrap();
    let read = place.store.read(&database, |reader| {
        let meta = reader.note_by_unid(&id.0)?.unwrap();
        Ok((reader.note(meta.id)?.unwrap(), meta))
    });
    let (mut note, meta) = read.unwrap().value;
    note.touch(place.store.now());
    note.remove("RoutingState");
    let prepared = PreparedNote::new(&note, meta.size, meta.date);
    place.store.write(&[&database], |writer| writer.put_note(&database, &prepared)).unwrap();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "broken")), [id.0]);
    assert_eq!((left(&place), place.router.stats().dead), (vec![], 0));
}
