//! Mail for other hosts, with a courier that does what the test says.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::*;
use crate::{Answer, Courier, Line, Parcel, Said, Trouble};

/// What the other host was handed.
#[derive(Debug, Clone)]
pub(super) struct Got {
    to: String,
    sender: Option<String>,
    pub recipients: Vec<Recipient>,
    bytes: Vec<u8>,
}

type Behaviour = Arc<dyn Fn(&Got) -> Result<Vec<Answer>, Trouble> + Send + Sync>;

#[derive(Default)]
struct Inner {
    got: Vec<Got>,
    /// Destinations that cannot be reached.
    down: HashMap<String, String>,
    behave: Option<Behaviour>,
    opened: usize,
}

/// Takes mail for domains below `.hop`; each is a destination.
#[derive(Clone, Default)]
pub(super) struct Fake(Arc<Mutex<Inner>>);

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

impl Fake {
    pub(super) fn set_down(&self, to: &str, down: bool) {
        let mut inner = self.0.lock();
        match down {
            true => inner.down.insert(to.to_owned(), "nobody answers".to_owned()),
            false => inner.down.remove(to),
        };
    }

    pub(super) fn behave(
        &self,
        how: impl Fn(&Got) -> Result<Vec<Answer>, Trouble> + Send + Sync + 'static,
    ) {
        self.0.lock().behave = Some(Arc::new(how));
    }

    fn got(&self) -> Vec<Got> {
        self.0.lock().got.clone()
    }

    fn opened(&self) -> usize {
        self.0.lock().opened
    }

    /// Destination and recipients of everything handed over, sorted.
    pub(super) fn seen(&self) -> Vec<(String, Vec<String>)> {
        let addresses = |got: &Got| got.recipients.iter().map(|r| r.address.clone()).collect();
        let got = self.got();
        let mut seen: Vec<_> = got.iter().map(|got| (got.to.clone(), addresses(got))).collect();
        seen.sort();
        seen
    }
}

impl Courier for Fake {
    fn destination(&self, domain: &str) -> Option<Arc<str>> {
        domain.ends_with(".hop").then(|| domain.into())
    }

    fn open(&self, destination: &str) -> Result<Box<dyn Line>, Trouble> {
        let mut inner = self.0.lock();
        inner.opened += 1;
        match inner.down.get(destination) {
            Some(text) => Err(Trouble { text: text.clone(), destination: true }),
            None => Ok(Box::new(FakeLine { fake: self.clone(), to: destination.to_owned() })),
        }
    }

    fn stop(&self) {}
}

struct FakeLine {
    fake: Fake,
    to: String,
}

impl Line for FakeLine {
    fn host(&self) -> &str {
        &self.to
    }

    fn send(&mut self, parcel: &Parcel<'_>) -> Result<Vec<Answer>, Trouble> {
        let mut bytes = Vec::new();
        (parcel.read)(0..parcel.size, &mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, parcel.size);
        let got = Got {
            to: self.to.clone(),
            sender: parcel.sender.map(str::to_owned),
            recipients: parcel.recipients.to_vec(),
            bytes,
        };
        let mut inner = self.fake.0.lock();
        inner.got.push(got.clone());
        let Some(behave) = inner.behave.clone() else {
            return Ok(parcel.recipients.iter().map(|_| Answer::Taken { reports: true }).collect());
        };
        drop(inner);
        behave(&got)
    }

    fn close(self: Box<Self>) {}
}

pub(super) fn said(code: u16, status: &str) -> Said {
    Said { code, status: status.to_owned(), text: "says the host".to_owned() }
}

pub(super) fn with_courier(fake: &Fake) -> RouterOptions {
    RouterOptions { courier: Some(Arc::new(fake.clone())), ..options() }
}

pub(super) fn far_place(names: &[&str], fake: &Fake) -> Place {
    let place = place(names);
    place.router.configure(with_courier(fake)).unwrap();
    place
}

/// The same on a clock that the test moves.
fn clocked(names: &[&str], options: RouterOptions) -> (Place, Arc<txlog::ManualClock>) {
    let dir = tempfile::tempdir().unwrap();
    let start = note::TimeDate::from_unix_seconds(2_000_000_000);
    let clock = Arc::new(txlog::ManualClock::new(start));
    let chosen = StoreOptions { clock: clock.clone(), ..StoreOptions::small(dir.path()) };
    let (store, _) = Store::open(chosen).unwrap();
    let directory = Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap();
    directory.add_people(names.iter().map(|name| person(name)).collect()).unwrap();
    let router = Router::start(store.clone(), directory.clone(), options).unwrap();
    (Place { router, directory, store, dir }, clock)
}

/// The server ends in order and is started anew.
fn restart(place: Place, fake: &Fake) -> Place {
    let Place { router, directory, store, dir } = place;
    router.wait_idle();
    router.stop();
    store.close().unwrap();
    drop((router, directory, store));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), with_courier(fake)).unwrap();
    router.wait_idle();
    Place { router, directory, store, dir }
}

fn report_of(place: &Place, name: &str) -> String {
    let got = inbox(&place.store, name);
    let mut texts = got.iter().map(|note| text(&place.store, note));
    texts.rfind(|text| text.contains("multipart/report")).unwrap_or_default()
}

#[test]
fn each_destination_gets_its_recipients_at_once() {
    let fake = Fake::default();
    let place = far_place(&["ada", "bob"], &fake);
    let to = ["bob@demo.test", "x@one.hop", "Y@ONE.hop", "z@two.hop", "x@one.hop"];
    let id = send(&place, letter("ada@demo.test", &to));
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    let (x, y, z) = ("x@one.hop".to_owned(), "Y@ONE.hop".to_owned(), "z@two.hop".to_owned());
    assert_eq!(fake.seen(), [("one.hop".to_owned(), vec![x, y]), ("two.hop".to_owned(), vec![z])]);
    for got in fake.got() {
        assert_eq!(got.sender.as_deref(), Some("ada@demo.test"));
        let return_path = b"Return-Path: <ada@demo.test>\r\n".len();
        assert_eq!(got.bytes, MESSAGE[return_path..], "without the line that only a mail file has");
    }
    assert_eq!((left(&place), inbox(&place.store, "ada")), (vec![], vec![]));
    let stats = place.router.stats();
    assert_eq!((stats.transferred, stats.delivered, stats.waiting), (3, 1, 0));
    assert_eq!(place.router.transfers(), []);
}

#[test]
fn a_message_for_one_destination_keeps_its_queue_id() {
    let fake = Fake::default();
    fake.set_down("one.hop", true);
    let place = far_place(&["bob"], &fake);
    let id = send(&place, letter("", &["bob@demo.test", "x@one.hop", "y@one.hop"]));
    let waiting = left(&place);
    assert_eq!((waiting.len(), waiting[0].id), (1, id));
    assert_eq!(waiting[0].recipients, ["x@one.hop", "y@one.hop"]);
    assert_eq!(waiting[0].cause.as_deref(), Some("nobody answers"));
}

#[test]
fn what_a_host_refuses_is_reported_with_its_words() {
    let fake = Fake::default();
    fake.behave(|got| {
        let answer = |recipient: &Recipient| match recipient.address.as_str() {
            "bad@one.hop" => Answer::Refused(said(550, "5.1.1")),
            _ => Answer::Taken { reports: true },
        };
        Ok(got.recipients.iter().map(answer).collect())
    });
    let place = far_place(&["ada"], &fake);
    send(&place, letter("ada@demo.test", &["good@one.hop", "bad@one.hop"]));
    let report = report_of(&place, "ada");
    for line in [
        "Final-Recipient: rfc822; bad@one.hop",
        "Action: failed",
        "Status: 5.1.1",
        "Remote-MTA: dns; one.hop",
        "Diagnostic-Code: smtp; 550 5.1.1 says the host",
    ] {
        assert_eq!(report.matches(line).count(), 1, "{line}\n{report}");
    }
    assert!(!report.contains("good@one.hop"), "{report}");
    assert_eq!(left(&place), []);
    let dead = far_place(&[], &fake);
    send(&dead, letter("", &["good@one.hop", "bad@one.hop"]));
    let dead = left(&dead);
    assert_eq!((dead.len(), dead[0].state), (1, QueueState::Dead));
    assert_eq!(dead[0].recipients, ["bad@one.hop"]);
}

#[test]
fn who_is_put_off_is_tried_again_alone() {
    let fake = Fake::default();
    fake.behave(|got| {
        let answer = |recipient: &Recipient| match recipient.address.as_str() {
            "busy@one.hop" => Answer::NotNow(said(451, "4.2.1")),
            _ => Answer::Taken { reports: true },
        };
        Ok(got.recipients.iter().map(answer).collect())
    });
    let place = far_place(&["ada"], &fake);
    send(&place, letter("ada@demo.test", &["good@one.hop", "busy@one.hop"]));
    let waiting = left(&place);
    assert_eq!(waiting[0].recipients, ["busy@one.hop"]);
    assert_eq!(waiting[0].cause.as_deref(), Some("451 4.2.1 says the host"));
    let row = place.router.transfers().remove(0);
    assert_eq!((row.waiting, row.attempts_failed, row.last_error), (1, 0, None));
    assert!(row.next_try_s.unwrap() > 200, "after five minutes");
    fake.behave(|got| Ok(vec![Answer::Taken { reports: true }; got.recipients.len()]));
    assert_eq!(place.router.route_now(Some("ONE.hop")), 1);
    place.router.wait_idle();
    assert_eq!(fake.seen()[0].1, ["busy@one.hop"]);
    assert_eq!((left(&place), inbox(&place.store, "ada")), (vec![], vec![]));
}

#[test]
fn a_line_that_breaks_leaves_everybody_waiting() {
    let fake = Fake::default();
    fake.behave(|_| Err(Trouble { text: "gone in the middle".to_owned(), destination: false }));
    let place = far_place(&["ada"], &fake);
    send(&place, letter("ada@demo.test", &["x@one.hop", "y@one.hop"]));
    let waiting = left(&place);
    assert_eq!(waiting[0].recipients, ["x@one.hop", "y@one.hop"]);
    assert_eq!(waiting[0].cause.as_deref(), Some("gone in the middle"));
    assert_eq!(place.router.transfers()[0].attempts_failed, 0, "the destination is not to blame");
    fake.behave(|got| Ok(vec![Answer::Taken { reports: true }; got.recipients.len()]));
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((left(&place), fake.got().len()), (vec![], 2));
}

/// P12 of the lessons: one dead destination slows nobody.
#[test]
fn a_dead_destination_slows_nobody() {
    let fake = Fake::default();
    fake.set_down("dead.hop", true);
    let place = far_place(&["ada"], &fake);
    for _ in 0..50 {
        place.router.deposit(letter("ada@demo.test", &["x@dead.hop"])).unwrap();
        place.router.deposit(letter("ada@demo.test", &["x@fine.hop"])).unwrap();
    }
    place.router.wait_idle();
    assert_eq!(fake.got().len(), 50);
    assert_eq!((left(&place).len(), place.router.pending()), (50, 50));
    let row = place.router.transfers().remove(0);
    assert_eq!((row.destination.as_str(), row.waiting), ("dead.hop", 50));
    assert_eq!(row.last_error.as_deref(), Some("nobody answers"));
    assert!(row.attempts_failed < 10, "it is tried once in a while: {row:?}");
    assert!(row.next_try_s.unwrap() > 200);
    fake.set_down("dead.hop", false);
    place.router.route_now(Some("dead.hop"));
    place.router.wait_idle();
    assert_eq!((fake.got().len(), left(&place)), (100, vec![]));
}

#[test]
fn mail_for_other_hosts_survives_a_restart() {
    let fake = Fake::default();
    fake.set_down("one.hop", true);
    let place = far_place(&["ada"], &fake);
    let id = send(&place, letter("ada@demo.test", &["x@one.hop"]));
    fake.set_down("one.hop", false);
    let opened = fake.opened();
    let place = restart(place, &fake);
    let waiting = left(&place);
    assert_eq!((waiting.len(), waiting[0].id, fake.opened()), (1, id, opened), "not yet");
    assert_eq!(waiting[0].cause.as_deref(), Some("nobody answers"));
    let row = place.router.transfers().remove(0);
    assert_eq!((row.waiting, row.attempts_failed), (1, 1));
    assert!(row.next_try_s.unwrap() > 200, "what is left of five minutes");
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!((left(&place), fake.got().len()), (vec![], 1));
    let place = restart(place, &fake);
    send(&place, letter("ada@demo.test", &["x@one.hop"]));
    assert_eq!((left(&place), fake.got().len()), (vec![], 2), "it is not closed any more");
}

#[test]
fn who_is_put_off_waits_on_after_a_restart() {
    let fake = Fake::default();
    fake.behave(|got| Ok(vec![Answer::NotNow(said(451, "4.2.1")); got.recipients.len()]));
    let place = far_place(&["ada"], &fake);
    let id = send(&place, letter("ada@demo.test", &["busy@one.hop"]));
    fake.behave(|got| Ok(vec![Answer::Taken { reports: true }; got.recipients.len()]));
    let place = restart(place, &fake);
    assert_eq!((left(&place).len(), fake.got().len()), (1, 1), "not yet");
    let row = place.router.transfers().remove(0);
    assert!(row.attempts_failed == 0 && row.next_try_s.unwrap() > 200, "{row:?}");
    let place = restart(place, &fake);
    place.router.release(id).unwrap();
    place.router.wait_idle();
    assert_eq!((left(&place), fake.got().len()), (vec![], 2), "a release waits for nothing");
}

#[test]
fn the_sender_hears_of_a_delay_once_and_of_the_end() {
    let fake = Fake::default();
    fake.set_down("one.hop", true);
    let (place, clock) = clocked(&["ada"], with_courier(&fake));
    send(&place, letter("ada@demo.test", &["x@one.hop"]));
    let silent = Notify { delay: false, ..Notify::default() };
    let mut quiet = letter("ada@demo.test", &["quiet@one.hop"]);
    quiet.recipients[0].notify = silent;
    send(&place, quiet);
    let hour = 3_600_000_000;
    let steps = [(4 * hour, 0), (1_000_000, 1), (20 * hour, 1), (4 * 24 * hour, 3), (hour, 3)];
    for (wait, reports) in steps {
        clock.advance(wait);
        // Each try fails: what waits for too long is found by it.
        place.router.route_now(None);
        place.router.wait_idle();
        assert_eq!(inbox(&place.store, "ada").len(), reports, "{wait}");
    }
    assert_eq!((left(&place), place.router.transfers().len()), (vec![], 1));
    let reports: Vec<String> =
        inbox(&place.store, "ada").iter().map(|note| text(&place.store, note)).collect();
    assert!(reports[0].contains("Action: delayed") && reports[0].contains("nobody answers"));
    assert!(reports[1..].iter().all(|report| report.contains("Action: failed")));
    assert!(reports[1].contains("Status: 4.4.7"), "{}", reports[1]);
}

#[test]
fn success_is_reported_by_whoever_knows_of_it() {
    for (reports, wanted) in [(true, false), (false, true)] {
        let fake = Fake::default();
        fake.behave(move |got| Ok(vec![Answer::Taken { reports }; got.recipients.len()]));
        let place = far_place(&["ada"], &fake);
        let mut deposit = letter("ada@demo.test", &["x@one.hop"]);
        deposit.recipients[0].notify.success = true;
        send(&place, deposit);
        let report = report_of(&place, "ada");
        assert_eq!(report.contains("Action: relayed"), wanted, "{report}");
        assert_eq!(report.contains("Remote-MTA: dns; one.hop"), wanted);
        assert!(fake.got()[0].recipients[0].notify.success, "the host is told of the wish");
    }
}

/// The window between the other host's promise and the mark in mail.box: the message goes there
/// again, it is never lost.
#[test]
fn a_crash_behind_the_promise_of_the_other_host_sends_twice() {
    let fake = Fake::default();
    let first = std::sync::atomic::AtomicBool::new(true);
    fake.behave(move |got| {
        assert!(!first.swap(false, std::sync::atomic::Ordering::SeqCst), "announced");
        Ok(vec![Answer::Taken { reports: true }; got.recipients.len()])
    });
    let place = far_place(&["ada"], &fake);
    send(&place, letter("ada@demo.test", &["x@one.hop"]));
    assert_eq!((fake.got().len(), left(&place)), (2, vec![]));
}

#[test]
fn low_priority_waits_for_its_window() {
    let fake = Fake::default();
    let window = Some("02:00-03:00".parse().unwrap());
    let chosen = RouterOptions { low_priority_window: window, ..with_courier(&fake) };
    let (place, clock) = clocked(&["bob"], chosen.clone());
    let urgent = [b"Priority: urgent\r\n", MESSAGE].concat();
    let low = [b"Priority: non-urgent\r\n", MESSAGE].concat();
    for message in [&urgent, &low] {
        let to = ["x@one.hop", "bob@demo.test"];
        send(&place, Deposit { message, ..letter("ada@demo.test", &to) });
    }
    assert_eq!(inbox(&place.store, "bob").len(), 2, "people of this server wait for no window");
    assert_eq!(fake.got().len(), 1);
    assert_eq!(left(&place).len(), 1);
    // 2,000,000,000 is 03:33:20 UTC.
    assert!(place.router.transfers()[0].next_try_s.unwrap() > 22 * 3_600);
    clock.advance(23 * 3_600 * 1_000_000);
    place.router.configure(chosen.clone()).unwrap();
    place.router.wait_idle();
    assert_eq!((fake.got().len(), left(&place)), (2, vec![]));
    clock.advance(2 * 3_600 * 1_000_000);
    place.router.configure(RouterOptions { ignore_priority: true, ..chosen }).unwrap();
    send(&place, Deposit { message: &low, ..letter("ada@demo.test", &["x@one.hop"]) });
    assert_eq!(fake.got().len(), 3);
}

#[test]
fn without_a_courier_what_waits_for_one_goes_back() {
    let fake = Fake::default();
    fake.set_down("one.hop", true);
    let place = far_place(&["ada"], &fake);
    send(&place, letter("ada@demo.test", &["x@one.hop"]));
    place.router.configure(options()).unwrap();
    place.router.wait_idle();
    assert!(report_of(&place, "ada").contains("Status: 5.7.1"));
    assert_eq!((left(&place), place.router.stats().transfer_threads_active), (vec![], 0));
}

#[test]
fn forwards_leave_for_other_hosts_under_their_own_names() {
    let fake = Fake::default();
    let place = far_place(&["ada", "away"], &fake);
    let change = directory::PersonChange {
        forward: Some(Some("me@one.hop".to_owned())),
        ..directory::PersonChange::default()
    };
    place.directory.change_person("away", change).unwrap();
    fake.set_down("one.hop", true);
    send(&place, letter("ada@demo.test", &["away@demo.test"]));
    assert_eq!(left(&place)[0].recipients, ["away@demo.test"]);
    fake.set_down("one.hop", false);
    place.router.route_now(None);
    place.router.wait_idle();
    let got = fake.got().remove(0);
    assert_eq!(got.recipients[0].address, "me@one.hop");
    assert_eq!(got.recipients[0].original.as_deref(), Some("rfc822;away@demo.test"));
    assert_eq!(left(&place), []);
}
