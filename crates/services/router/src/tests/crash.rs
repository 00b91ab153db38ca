//! What a crash between the steps leaves.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::board::{Job, Task};

/// A desk without threads: nothing is dispatched unless the test does it.
fn desk(store: &Arc<Store>, directory: &Arc<Directory>) -> Desk {
    Desk::open(store.clone(), directory.clone(), options(), None).unwrap()
}

fn next(desk: &Desk) -> Job {
    match desk.board.next(0) {
        Task::Deliver(job) => job,
        Task::Scan | Task::End => panic!("no message is ready"),
    }
}

#[test]
fn what_was_deposited_is_delivered_once_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("ada"), person("bob")]).unwrap();
    let mut ids = Vec::new();
    {
        let desk = desk(&store, &directory);
        for _ in 0..4 {
            let deposit = letter("", &["ada@demo.test", "bob@demo.test"]);
            let written = desk.deposit(&deposit).unwrap();
            store.durable(written.lsn).wait().unwrap();
            ids.push(written.value.0);
        }
        // One of them is delivered before the crash.
        let mut job = next(&desk);
        desk.dispatch(&mut job).unwrap();
        store.durable(store.log().appended()).wait().unwrap();
    }
    drop((store, directory));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), options()).unwrap();
    router.wait_idle();
    ids.sort_unstable();
    for name in ["ada", "bob"] {
        let got = inbox(&store, name);
        let mut unids = unids(&got);
        unids.sort_unstable();
        assert_eq!(unids, ids, "{name}");
        for note in &got {
            assert_eq!(bytes(&store, note), MESSAGE);
            // They came in at different times; else, read back or fresh, they are the same.
            let timeless = |note: &Note| {
                let mut items = note.items.clone();
                items.retain(|item| item.name != "RouteTimes" && item.name != "DeliveredDate");
                items
            };
            assert_eq!(timeless(note), timeless(&got[0]));
        }
    }
    assert_eq!(router.messages(&Filter::default(), 10).unwrap(), []);
    let place = Place { router, directory, store, dir };
    let mut objects = place.store.count_references().unwrap();
    objects.retain(|_, count| *count < 0);
    assert!(objects.is_empty());
}

#[test]
fn a_crash_between_the_records_of_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    let names: Vec<String> = (0..100).map(|number| format!("u{number:03}")).collect();
    directory.add_people(names.iter().map(|name| person(name)).collect()).unwrap();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&directory, "Everybody", &members);
    let fault: desk::Fault = Box::new(|recipient| assert!(recipient.address != "u080", "crash"));
    let id = {
        let desk = Desk::open(store.clone(), directory.clone(), options(), Some(fault)).unwrap();
        let deposit = letter("ghost@demo.test", &["everybody@demo.test", "ghost@demo.test"]);
        let id = desk.deposit(&deposit).unwrap().value;
        let mut job = next(&desk);
        let dispatch = std::panic::AssertUnwindSafe(|| desk.dispatch(&mut job).is_ok());
        assert!(std::panic::catch_unwind(dispatch).is_err());
        store.durable(store.log().appended()).wait().unwrap();
        id
    };
    let got = |store: &Arc<Store>, name: &String| unids(&inbox(store, name));
    let before = names.iter().filter(|name| got(&store, name) == [id.0]).count();
    assert_eq!(before, 62, "the first record is whole");
    drop((store, directory));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory, options()).unwrap();
    router.wait_idle();
    assert!(names.iter().all(|name| got(&store, name) == [id.0]));
    let dead = router.messages(&Filter::default(), 10).unwrap();
    assert_eq!(dead.len(), 1, "one report, made with the first record: {dead:?}");
    assert_eq!(dead[0].recipients, ["ghost@demo.test"]);
    assert_eq!(router.stats().reports, 0);
}

#[test]
fn a_repeated_dispatch_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("ada")]).unwrap();
    let desk = desk(&store, &directory);
    let id = desk.deposit(&letter("", &["ada@demo.test"])).unwrap().value;
    let mut job = next(&desk);
    desk.dispatch(&mut job).unwrap();
    let mut again = Job::new(id.0, job.mailbox, None);
    assert!(matches!(desk.dispatch(&mut again), Ok(crate::dispatch::After::Done)));
    // What is still in memory finds no note in mail.box any more: nothing is written.
    assert!(matches!(desk.dispatch(&mut job), Ok(crate::dispatch::After::Later(_))));
    assert_eq!(unids(&inbox(&store, "ada")), [id.0]);
}

#[test]
fn mail_in_boxes_beyond_the_setting_is_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("ada")]).unwrap();
    {
        let options = RouterOptions { mailboxes: 3, ..options() };
        let desk = Desk::open(store.clone(), directory.clone(), options, None).unwrap();
        for _ in 0..3 {
            desk.deposit(&letter("", &["ada@demo.test"])).unwrap();
        }
        let used = desk.mailboxes().iter().filter(|mailbox| mailbox.counts().0 == 1).count();
        assert_eq!(used, 3, "the least used of idle ones is taken");
    }
    let options = RouterOptions { mailboxes: 1, ..options() };
    let router = Router::start(store.clone(), directory, options).unwrap();
    router.wait_idle();
    assert_eq!(inbox(&store, "ada").len(), 3);
    assert_eq!(router.stats().mailboxes, 3);
}

/// The record of a delivery holds what the owner's rules forward: both or none.
#[test]
fn a_crash_around_a_forwarding_rule_forwards_once() {
    for durable in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (store, directory) = open(dir.path());
        directory.add_people(vec![person("ada"), person("bob")]).unwrap();
        let files = mailfile::MailFiles::new(store.clone());
        let rule = mailfile::rules::Rule {
            name: "all".to_owned(),
            enabled: true,
            any: false,
            conditions: Vec::new(),
            actions: vec![mailfile::rules::Action::Forward("bob@demo.test".to_owned())],
        };
        let set = files.open("mail/ada.nsf").unwrap().set_rules(&[rule]).unwrap();
        store.durable(set.lsn).wait().unwrap();
        let id = {
            let desk = desk(&store, &directory);
            let written = desk.deposit(&letter("x@far.test", &["ada@demo.test"])).unwrap();
            store.durable(written.lsn).wait().unwrap();
            let mut job = next(&desk);
            desk.dispatch(&mut job).unwrap();
            if durable {
                store.durable(store.log().appended()).wait().unwrap();
            }
            written.value
        };
        drop((files, store, directory));
        let (store, directory) = open(dir.path());
        let router = Router::start(store.clone(), directory, options()).unwrap();
        router.wait_idle();
        assert_eq!(unids(&inbox(&store, "ada")), [id.0], "{durable}");
        assert_eq!(inbox(&store, "bob").len(), 1, "{durable}");
        assert_eq!(router.messages(&Filter::default(), 10).unwrap(), []);
    }
}

#[test]
fn deaths_of_threads_are_counted_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let (store, directory) = open(dir.path());
    directory.add_people(vec![person("bob")]).unwrap();
    let id = {
        let desk = desk(&store, &directory);
        let id = desk.deposit(&letter("", &["bob@demo.test"])).unwrap().value;
        let job = next(&desk);
        assert_eq!(desk.crashed(job.mailbox, &job.unid, 2, "first").unwrap(), 1);
        id
    };
    drop((store, directory));
    let (store, directory) = open(dir.path());
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let fault: desk::Fault = Box::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        panic!("announced");
    });
    let router = Router::start_with(store.clone(), directory, options(), Some(fault)).unwrap();
    router.wait_idle();
    assert_eq!(tries.load(Ordering::SeqCst), 1, "the second death is enough");
    let held = router.messages(&Filter::default(), 10).unwrap();
    assert_eq!((held.len(), held[0].id, held[0].state), (1, id, QueueState::Held));
    assert!(held[0].cause.as_ref().unwrap().contains("2 times: announced"));
}
