//! Hold, release, send elsewhere, delete; options that change while the router works.

use super::*;

fn states(place: &Place) -> Vec<(QueueId, QueueState)> {
    left(place).into_iter().map(|message| (message.id, message.state)).collect()
}

/// Deposits while nothing is delivered.
fn kept(place: &Place, to: &[&str]) -> QueueId {
    place.router.pause();
    place.router.deposit(letter("ada@demo.test", to)).unwrap().value
}

#[test]
fn a_pause_keeps_everything_until_it_ends() {
    let place = place(&["ada", "bob"]);
    let id = kept(&place, &["bob@demo.test"]);
    assert!(place.router.is_paused());
    assert_eq!((states(&place), place.router.pending()), (vec![(id, QueueState::Waiting)], 1));
    place.router.resume();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
}

#[test]
fn a_router_that_begins_paused_only_looks() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("bob")]).unwrap();
    let chosen = RouterOptions { begins_paused: true, ..options() };
    let router = Router::start(store.clone(), directory.clone(), chosen.clone()).unwrap();
    let id = router.deposit(letter("", &["bob@demo.test"])).unwrap().value;
    router.hold(id).unwrap();
    router.stop();
    let router = Router::start(store.clone(), directory.clone(), chosen).unwrap();
    router.release(id).unwrap();
    let place = Place { router, directory, store, dir };
    assert_eq!(states(&place), [(id, QueueState::Waiting)]);
    assert_eq!(inbox(&place.store, "bob"), []);
    place.router.resume();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
}

#[test]
fn a_held_message_stays_until_it_is_released() {
    let place = place(&["ada", "bob"]);
    let id = kept(&place, &["bob@demo.test"]);
    place.router.hold(id).unwrap();
    place.router.resume();
    place.router.wait_idle();
    assert_eq!(states(&place), [(id, QueueState::Held)]);
    assert_eq!(left(&place)[0].cause.as_deref(), Some("held by the administrator"));
    let stats = place.router.stats();
    assert_eq!((stats.held, stats.waiting), (1, 0));
    place.router.release(id).unwrap();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    assert_eq!((states(&place), place.router.stats().held), (vec![], 0));
    for result in [place.router.hold(id), place.router.release(id), place.router.remove(id)] {
        assert!(matches!(result, Err(RouterError::NotFound(_))), "{result:?}");
    }
}

#[test]
fn a_message_is_sent_to_others_instead() {
    let place = place(&["ada", "bob", "eve"]);
    let id = kept(&place, &["bob@demo.test", "ghost@demo.test"]);
    place.router.hold(id).unwrap();
    place.router.resume();
    let many = vec!["x@demo.test".to_owned(); 101];
    assert!(place.router.resend(id, &many).is_err());
    place.router.resend(id, &["eve@demo.test".to_owned()]).unwrap();
    place.router.wait_idle();
    let got = ["ada", "bob", "eve"].map(|name| inbox(&place.store, name).len());
    assert_eq!((got, states(&place)), ([0, 0, 1], vec![]));
    let eve = inbox(&place.store, "eve").remove(0);
    assert_eq!(bytes(&place.store, &eve), MESSAGE);
    assert!(!format!("{eve:?}").contains("ghost"), "nothing of the envelope comes along");
}

#[test]
fn a_removed_message_is_gone_for_good() {
    let place = place(&["ada", "bob"]);
    let ids = [kept(&place, &["bob@demo.test"]), kept(&place, &["bob@demo.test"])];
    place.router.remove(ids[0]).unwrap();
    place.router.resume();
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [ids[1].0]);
    assert_eq!((states(&place), place.router.pending()), (vec![], 0));
}

#[test]
fn messages_are_found_by_state_and_text() {
    let place = place(&["ada", "bob"]);
    let held = kept(&place, &["bob@demo.test"]);
    place.router.hold(held).unwrap();
    let waiting = kept(&place, &["eve@far.test"]);
    let find = |state, text: Option<&str>| {
        let filter = Filter { state, text: text.map(str::to_owned) };
        let found = place.router.messages(&filter, 10).unwrap();
        found.into_iter().map(|message| message.id).collect::<Vec<_>>()
    };
    assert_eq!(find(Some(QueueState::Held), None), [held]);
    assert_eq!(find(Some(QueueState::Dead), None), []);
    assert_eq!(find(None, Some("EVE@far")), [waiting]);
    assert_eq!(find(None, Some("lamps")).len(), 2);
    assert_eq!(find(None, Some("administrator")), [held]);
    assert_eq!(find(Some(QueueState::Waiting), Some(&held.to_string())), []);
    let limited = place.router.messages(&Filter::default(), 1).unwrap();
    assert_eq!(limited.len(), 1, "the oldest");
}

#[test]
fn mail_boxes_and_threads_are_added_and_given_up_while_it_works() {
    let place = place(&["ada", "bob"]);
    for (mailboxes, threads, known) in [(5, 4, 5), (1, 1, 5), (2, 3, 5)] {
        let chosen = RouterOptions { mailboxes, delivery_threads: threads, ..options() };
        place.router.configure(chosen).unwrap();
        place.router.pause();
        let before: Vec<u64> =
            place.router.desk.mailboxes().iter().map(|mailbox| mailbox.counts().0).collect();
        for _ in 0..mailboxes {
            place.router.deposit(letter("", &["bob@demo.test"])).unwrap();
        }
        let boxes = place.router.desk.mailboxes();
        let used = boxes.iter().zip(before).filter(|(now, before)| now.counts().0 > *before);
        assert_eq!((boxes.len(), used.count() <= mailboxes), (known, true));
        place.router.resume();
        place.router.wait_idle();
        assert_eq!(left(&place), []);
        assert!(place.router.stats().threads >= threads as u64);
    }
    assert_eq!(inbox(&place.store, "bob").len(), 8);
}

/// The high ones first, and the low ones not never.
#[test]
fn priorities_decide_the_order() {
    let place = place(&["bob"]);
    let chosen = RouterOptions { delivery_threads: 1, ..options() };
    place.router.configure(chosen).unwrap();
    place.router.pause();
    let message = |priority: &str, number: usize| {
        let head = format!("X-Priority: {priority}\r\nSubject: {priority} {number}\r\n\r\nx\r\n");
        head.into_bytes()
    };
    for number in 0..10 {
        for priority in ["5", "3", "1"] {
            let message = message(priority, number);
            let deposit = Deposit { message: &message, ..letter("", &["bob@demo.test"]) };
            place.router.deposit(deposit).unwrap();
        }
    }
    place.router.resume();
    place.router.wait_idle();
    let subjects: Vec<String> = inbox(&place.store, "bob")
        .iter()
        .map(|note| note.text("Subject").unwrap_or_default()[..1].to_owned())
        .collect();
    assert_eq!(subjects.len(), 30);
    let high = subjects[..10].iter().filter(|subject| *subject == "1").count();
    let low = subjects[..10].iter().filter(|subject| *subject == "5").count();
    assert!(high >= 8 && low == 1, "{subjects:?}");
}
