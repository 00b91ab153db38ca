//! Who cannot sign in: after failures, denied by a group, ambiguous, disabled.

use std::net::IpAddr;

use note::TimeDate;
use txlog::ManualClock;

use super::*;

fn place_at(clock: &Arc<ManualClock>) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::small(dir.path());
    options.clock = clock.clone();
    let (store, _) = Store::open(options).unwrap();
    let directory = Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap();
    Place { directory, store, dir }
}

const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
const THERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)));

#[test]
fn too_many_failures_lock_out_those_who_exist_and_those_who_do_not_alike() {
    let clock = Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_700_000_000)));
    let place = place_at(&clock);
    let directory = &place.directory;
    directory.set_options(Options {
        lockout_failures: 3,
        lockout_minutes: 5,
        ..Options::default()
    });
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    assert!(directory.sign_in_from("ada", b"secret", HERE).unwrap().is_some());
    // Every form of a name counts for the same person.
    let forms = [["ada", "ada@demo.test", "Ada Lovelace"], ["ghost", "Ghost", " GHOST"]];
    for names in forms {
        for name in names {
            assert_eq!(directory.sign_in_from(name, b"wrong", HERE).unwrap(), None);
        }
        let locked = directory.sign_in_from(names[0], b"secret", HERE);
        let until = clock_time(&clock).plus_seconds(300);
        assert!(matches!(locked, Err(DirectoryError::LockedOut { until: u }) if u == until));
        assert_eq!(directory.remembered_from(names[0], b"secret", HERE).unwrap(), None);
    }
    assert!(directory.sign_in_from("ada", b"secret", THERE).unwrap().is_some());
    assert!(directory.sign_in("ada", b"secret").unwrap().is_some());
    let listed: Vec<_> = directory.lockouts().into_iter().map(|l| (l.name, l.address)).collect();
    assert_eq!(listed, [(" GHOST".to_owned(), HERE), ("Ada Lovelace".to_owned(), HERE)]);
    assert_eq!(directory.clear_lockout(Some("ada")).unwrap(), 1);
    assert!(directory.sign_in_from("ada", b"secret", HERE).unwrap().is_some());
    clock.advance(301_000_000);
    assert!(directory.sign_in_from("ghost", b"secret", HERE).unwrap().is_none());
    assert_eq!(directory.clear_lockout(None).unwrap(), 0);
}

#[test]
fn without_a_limit_nobody_is_locked_out() {
    let place = place();
    let directory = &place.directory;
    directory.set_options(Options { lockout_failures: 0, ..Options::default() });
    for _ in 0..12 {
        assert_eq!(directory.sign_in_from("ghost", b"", HERE).unwrap(), None);
    }
}

#[test]
fn members_of_deny_groups_and_ambiguous_names_are_refused_like_a_wrong_password() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    directory.add_person(with_password("Bob Smith/Lab/Demo", "bob1", "secret")).unwrap();
    directory.add_person(with_password("Bob Smith/Sales/Demo", "bob2", "secret")).unwrap();
    assert!(directory.sign_in("ada", b"secret").unwrap().is_some());
    assert_eq!(directory.sign_in("Bob Smith", b"secret").unwrap(), None);
    let deny = NewGroup { kind: GroupKind::Deny, ..group("Terminations", &["Ada Lovelace/Demo"]) };
    directory.add_group(deny).unwrap();
    let before = hashes(directory);
    assert_eq!(directory.sign_in("ada", b"secret").unwrap(), None);
    assert_eq!(hashes(directory), before + 1, "it costs the same");
    assert_eq!(directory.remembered("ada", b"secret").unwrap(), None);
    let address = Mailbox::parse("ada@demo.test").unwrap();
    assert!(matches!(directory.resolve(&address).unwrap(), Resolved::MailFile { .. }));
    let kind = Some(GroupKind::MultiPurpose);
    directory.set_group("terminations", GroupChange { kind, ..GroupChange::default() }).unwrap();
    assert!(directory.sign_in("ada", b"secret").unwrap().is_some());
}

fn clock_time(clock: &ManualClock) -> TimeDate {
    txlog::Clock::now(clock)
}
