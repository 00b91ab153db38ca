//! What a crash between the steps leaves.

use super::*;
use crate::board::{Job, Task};

/// A desk without threads: nothing is dispatched unless the test does it.
fn desk(store: &Arc<Store>, directory: &Arc<Directory>) -> Desk {
    Desk::open(store.clone(), directory.clone(), options(), None).unwrap()
}

fn next(desk: &Desk) -> Job {
    match desk.board.next() {
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
        let job = next(&desk);
        desk.dispatch(&job).unwrap();
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
            assert_eq!(note.items, got[0].items, "read back or fresh: the same");
        }
    }
    assert_eq!(router.messages(10).unwrap(), []);
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
        let job = next(&desk);
        let dispatch = std::panic::AssertUnwindSafe(|| desk.dispatch(&job).is_ok());
        assert!(std::panic::catch_unwind(dispatch).is_err());
        store.durable(store.log().appended()).wait().unwrap();
        id
    };
    let got = |store: &Arc<Store>, name: &String| unids(&inbox(store, name));
    let before = names.iter().filter(|name| got(&store, name) == [id.0]).count();
    assert_eq!(before, 63, "the first record is whole");
    drop((store, directory));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory, options()).unwrap();
    router.wait_idle();
    assert!(names.iter().all(|name| got(&store, name) == [id.0]));
    let dead = router.messages(10).unwrap();
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
    let job = next(&desk);
    desk.dispatch(&job).unwrap();
    let again = Job::new(id.0, job.mailbox, None);
    assert!(matches!(desk.dispatch(&again), Ok(crate::dispatch::After::Done)));
    // What is still in memory finds no note in mail.box any more: nothing is written.
    assert!(matches!(desk.dispatch(&job), Ok(crate::dispatch::After::Later(_))));
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
        let used = desk.mailboxes.iter().filter(|mailbox| mailbox.counts().0 == 1).count();
        assert_eq!(used, 3, "the least used of idle ones is taken");
    }
    let options = RouterOptions { mailboxes: 1, ..options() };
    let router = Router::start(store.clone(), directory, options).unwrap();
    router.wait_idle();
    assert_eq!(inbox(&store, "ada").len(), 3);
    assert_eq!(router.stats().mailboxes, 3);
}
