use std::collections::HashMap;

use directory::GroupRef;

use super::*;

/// A directory as a table: name in lower case to answer.
#[derive(Default)]
struct Book(HashMap<String, Result<Resolved, String>>);

impl Book {
    fn person(mut self, name: &str) -> Book {
        let path = format!("mail/{name}.nsf").into();
        let found = Resolved::MailFile { path, name: name.into() };
        self.0.insert(format!("{name}@x.test"), Ok(found.clone()));
        self.0.insert(name.to_owned(), Ok(found));
        self
    }

    fn group(mut self, number: u8, name: &str, members: &[&str]) -> Book {
        let members: Vec<String> = members.iter().map(|member| (*member).to_owned()).collect();
        let group =
            GroupRef { unid: Unid([number; 16]), name: name.into(), members: members.into() };
        self.0.insert(name.to_owned(), Ok(Resolved::Group(group)));
        self
    }

    fn says(mut self, name: &str, answer: Result<Resolved, String>) -> Book {
        self.0.insert(name.to_owned(), answer);
        self
    }

    fn forward(self, name: &str, to: &str) -> Book {
        self.says(name, Ok(Resolved::Forward(to.to_owned())))
    }
}

impl Tables for Book {
    fn resolve(&self, name: &str) -> Result<Resolved, String> {
        self.0.get(&name.to_lowercase()).cloned().unwrap_or(Ok(Resolved::Unknown))
    }

    fn destination(&self, domain: &str) -> Option<Arc<str>> {
        domain.ends_with(".hop").then(|| domain.into())
    }
}

fn to(addresses: &[&str]) -> Vec<Recipient> {
    let recipient =
        |address: &&str| Recipient { address: (*address).to_owned(), ..Recipient::default() };
    addresses.iter().map(recipient).collect()
}

const FIRST: Attempt =
    Attempt { age_s: 0, expiry_s: 86_400, hops: 1, hop_limit: 25, size: 1_000, size_max: 0 };

fn paths(plan: &Plan) -> Vec<&str> {
    plan.deliveries.iter().map(|delivery| &*delivery.path).collect()
}

fn failed(plan: &Plan) -> Vec<(&str, Failure)> {
    plan.failures
        .iter()
        .map(|failed| (failed.recipient.address.as_str(), failed.why.clone()))
        .collect()
}

fn book() -> Book {
    Book::default()
        .person("ada")
        .person("bob")
        .person("eve")
        .group(1, "team", &["ada", "BOB@x.test", "inner"])
        .group(2, "inner", &["eve", "team", "ada", "nobody"])
        .group(3, "empty", &[])
        .forward("fred@x.test", "ada@x.test")
        .forward("ping@x.test", "pong@x.test")
        .forward("pong@x.test", "ping@x.test")
        .forward("away@x.test", "me@far.test")
        .says("me@far.test", Ok(Resolved::OtherDomain))
        .says("smith", Ok(Resolved::Ambiguous))
}

#[test]
fn groups_expand_and_duplicates_drop() {
    let cases: [(&[&str], &[&str]); 6] = [
        (&["ada@x.test"], &["mail/ada.nsf"]),
        (&["ada@x.test", "ADA@x.test", "ada"], &["mail/ada.nsf"]),
        (&["team"], &["mail/ada.nsf", "mail/bob.nsf", "mail/eve.nsf"]),
        (&["inner", "team"], &["mail/eve.nsf", "mail/ada.nsf", "mail/bob.nsf"]),
        (&["fred@x.test", "ada"], &["mail/ada.nsf"]),
        (&["empty"], &[]),
    ];
    for (recipients, expected) in cases {
        let plan = route(&book(), &to(recipients), FIRST);
        assert_eq!(paths(&plan), expected, "{recipients:?}");
        assert_eq!(plan.later, []);
    }
}

#[test]
fn what_cannot_be_reached_is_told_once() {
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, Failure)]);
    let cases: [Case<'_>; 7] = [
        (&["ghost@x.test", "Ghost@x.test"], &[("ghost@x.test", Failure::Unknown)]),
        (&["team", "inner"], &[("nobody", Failure::Unknown)]),
        (&["away@x.test"], &[("me@far.test", Failure::OtherDomain)]),
        (&["smith"], &[("smith", Failure::Ambiguous)]),
        (&["a b@x.test"], &[("a b@x.test", Failure::Syntax)]),
        (&["ping@x.test"], &[("ping@x.test", Failure::Loop)]),
        (&["empty"], &[("empty", Failure::Empty)]),
    ];
    for (recipients, expected) in cases {
        assert_eq!(failed(&route(&book(), &to(recipients), FIRST)), expected, "{recipients:?}");
    }
}

#[test]
fn a_report_names_the_address_that_was_asked_for() {
    let plan = route(&book(), &to(&["team"]), FIRST);
    let nobody = &plan.failures[0].recipient;
    assert_eq!(nobody.original.as_deref(), Some("rfc822;team"));
    assert_eq!(plan.deliveries[0].recipient.original.as_deref(), Some("rfc822;team"));
}

#[test]
fn what_stays_in_mail_box_is_the_recipient_before_forwards() {
    let book = book().group(4, "crew", &["fred@x.test", "away@x.test"]);
    let plan = route(&book, &to(&["crew"]), FIRST);
    assert_eq!(plan.deliveries[0].kept.address, "fred@x.test");
    assert_eq!(plan.deliveries[0].recipient.address, "ada@x.test");
    assert_eq!(plan.failures[0].kept.address, "away@x.test");
    assert_eq!(plan.failures[0].recipient.address, "me@far.test");
}

#[test]
fn nesting_and_size_are_bounded() {
    let mut deep = Book::default();
    for level in 0..40_u8 {
        let next = format!("g{}", level + 1);
        deep = deep.group(level + 1, &format!("g{level}"), &[&next]);
    }
    let plan = route(&deep, &to(&["g0"]), FIRST);
    assert_eq!(failed(&plan), [("g16", Failure::Loop)]);

    let members: Vec<String> = (0..EXPANDED_MAX + 10).map(|n| format!("m{n}")).collect();
    let many: Vec<&str> = members.iter().map(String::as_str).collect();
    let plan = route(&Book::default().group(1, "all", &many), &to(&["all"]), FIRST);
    let over = plan.failures.iter().filter(|failed| failed.why == Failure::TooMany).count();
    assert_eq!(over, 11);
}

#[test]
fn trouble_waits_and_expires() {
    let book = book().says("sick@x.test", Err("directory: disk".to_owned()));
    let plan = route(&book, &to(&["sick@x.test", "ada"]), FIRST);
    assert_eq!(paths(&plan), ["mail/ada.nsf"]);
    assert_eq!(plan.later, [(to(&["sick@x.test"]).remove(0), "directory: disk".to_owned())]);
    let old = Attempt { age_s: FIRST.expiry_s + 1, ..FIRST };
    let plan = route(&book, &to(&["sick@x.test", "ada"]), old);
    assert_eq!(failed(&plan), [("sick@x.test", Failure::Expired("directory: disk".to_owned()))]);
    assert_eq!(paths(&plan), ["mail/ada.nsf"]);
}

#[test]
fn too_many_hops_fail_everybody() {
    for (hops, fails) in [(0, false), (25, false), (26, true)] {
        let plan = route(&book(), &to(&["ada", "team"]), Attempt { hops, ..FIRST });
        assert_eq!(plan.failures.iter().any(|failed| failed.why == Failure::Hops), fails, "{hops}");
        assert_eq!(plan.deliveries.is_empty(), fails, "{hops}");
    }
}

#[test]
fn waits_grow_to_a_minute() {
    let seconds: Vec<u64> = (0..9).map(|attempts| backoff(attempts).as_secs()).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(backoff(u32::MAX).as_secs(), 60);
}

#[test]
fn other_domains_go_to_their_destination_once() {
    let book = book()
        .forward("gone@x.test", "x@b.hop")
        .says("x@a.hop", Ok(Resolved::OtherDomain))
        .says("x@b.hop", Ok(Resolved::OtherDomain))
        .group(7, "all", &["x@a.hop", "X@A.hop", "gone@x.test", "ada"]);
    let plan = route(&book, &to(&["all", "x@b.hop", "me@far.test"]), FIRST);
    let transfers: Vec<_> =
        plan.transfers.iter().map(|t| (&*t.destination, &*t.kept.address)).collect();
    assert_eq!(transfers, [("a.hop", "x@a.hop"), ("b.hop", "gone@x.test")]);
    assert_eq!(plan.transfers[1].recipient.address, "x@b.hop");
    assert_eq!(failed(&plan), [("me@far.test", Failure::OtherDomain)]);
}

#[test]
fn a_group_takes_the_wish_for_a_report_of_success_upon_itself() {
    let mut recipients = to(&["team", "bob@x.test"]);
    for recipient in &mut recipients {
        recipient.notify.success = true;
    }
    let plan = route(&book(), &recipients, FIRST);
    let names: Vec<&str> = plan.expanded.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(names, ["team"]);
    assert!(plan.deliveries.iter().all(|delivery| !delivery.recipient.notify.success));
}

#[test]
fn what_is_too_big_goes_back() {
    for (size, fails) in [(1_000, false), (1_001, true)] {
        let plan = route(&book(), &to(&["ada"]), Attempt { size, size_max: 1_000, ..FIRST });
        assert_eq!(plan.failures.iter().any(|failed| failed.why == Failure::TooBig), fails);
    }
}
