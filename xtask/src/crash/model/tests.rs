use super::{Found, Op, User};
use std::collections::{BTreeMap, BTreeSet};

/// A message as a test writes it: uid, Message-ID, flags.
type Row = (u32, &'static str, &'static str);

fn found(boxes: &[(&str, &[Row])]) -> BTreeMap<String, Found> {
    let mut all = BTreeMap::new();
    for (name, messages) in boxes {
        let messages = messages.iter().map(|(uid, key, flags)| {
            let flags: BTreeSet<String> = flags.split_whitespace().map(str::to_owned).collect();
            (*uid, ((*key).to_owned(), flags))
        });
        all.insert((*name).to_owned(), Found { validity: 5, messages: messages.collect() });
    }
    all
}

/// A user with two messages in the INBOX, the first one flagged, and an empty mailbox Work.
fn user() -> User {
    let mut user = User { name: "u".into(), ..User::default() };
    user.adopt(found(&[("INBOX", &[(1, "<a>", "\\Flagged"), (2, "<b>", "")]), ("Work", &[])]));
    user
}

fn work() -> (&'static str, &'static [Row]) {
    ("Work", &[])
}

#[test]
fn what_is_as_promised_is_fine() {
    let now = found(&[("INBOX", &[(1, "<a>", "\\Flagged"), (2, "<b>", "")]), work()]);
    assert_eq!(user().reconcile(7, &now), Vec::<String>::new());
}

#[test]
fn every_deviation_is_named() {
    let cases: [(&str, &[Row]); 6] = [
        ("is lost", &[(1, "<a>", "\\Flagged")]),
        ("instead of", &[(1, "<a>", ""), (2, "<b>", "")]),
        ("instead of", &[(1, "<a>", "\\Flagged"), (2, "<b>", "\\Seen")]),
        ("was <b> and is <c>", &[(1, "<a>", "\\Flagged"), (2, "<c>", "")]),
        ("no reason", &[(1, "<a>", "\\Flagged"), (2, "<b>", ""), (3, "<c>", "")]),
        ("no reason", &[(1, "<a>", "\\Flagged"), (2, "<b>", ""), (3, "<a>", "")]),
    ];
    for (words, inbox) in cases {
        let wrong = user().reconcile(7, &found(&[("INBOX", inbox), work()]));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains(words), "{wrong:?}");
    }
    let wrong =
        user().reconcile(7, &found(&[("INBOX", &[(1, "<a>", "\\Flagged"), (2, "<b>", "")])]));
    assert!(wrong[0].contains("the mailbox is gone"), "{wrong:?}");
}

#[test]
fn deliveries_come_once_or_if_unanswered_at_most_once() {
    let first = [(1, "<a>", "\\Flagged"), (2, "<b>", "")];
    let with = |more: &[Row]| {
        let inbox: Vec<_> = first.iter().chain(more).copied().collect();
        found(&[("INBOX", &inbox), work()])
    };
    let cases: [(bool, &[Row], usize); 6] = [
        (true, &[(3, "<n>", "")], 0),
        (true, &[], 1),
        (true, &[(3, "<n>", ""), (4, "<n>", "")], 1),
        (false, &[(3, "<n>", "")], 0),
        (false, &[], 0),
        (false, &[(3, "<n>", ""), (4, "<n>", "")], 1),
    ];
    for (acknowledged, more, count) in cases {
        let mut user = user();
        user.sending("<n>");
        if acknowledged {
            user.sent("<n>");
        }
        let wrong = user.reconcile(7, &with(more));
        assert_eq!(wrong.len(), count, "{acknowledged} {more:?} {wrong:?}");
    }
}

#[test]
fn an_operation_in_flight_happened_wholly_or_not_at_all() {
    let op_move = || Op::Move { mailbox: "INBOX".into(), uid: 2, to: "Work".into() };
    let op_copy = || Op::Copy { mailbox: "INBOX".into(), uid: 2, to: "Work".into() };
    let stays: &[Row] = &[(1, "<a>", "\\Flagged"), (2, "<b>", "")];
    let left: &[Row] = &[(1, "<a>", "\\Flagged")];
    let there: &[Row] = &[(1, "<b>", "")];
    let cases = [
        (op_move(), stays, &[][..], 0),
        (op_move(), left, there, 0),
        (op_move(), left, &[], 1),
        (op_move(), stays, there, 1),
        (op_copy(), stays, there, 0),
        (op_copy(), stays, &[], 0),
        (op_copy(), left, there, 2),
        (Op::Expunge { mailbox: "INBOX".into(), uid: 2 }, left, &[], 0),
        (Op::Expunge { mailbox: "INBOX".into(), uid: 2 }, stays, &[], 0),
        (Op::Append { mailbox: "Work".into(), key: "<b>".into() }, stays, there, 0),
        (Op::Append { mailbox: "INBOX".into(), key: "<b>".into() }, stays, there, 1),
    ];
    for (op, inbox, work, count) in cases {
        let mut user = user();
        user.in_flight = Some(op.clone());
        let wrong = user.reconcile(7, &found(&[("INBOX", inbox), ("Work", work)]));
        assert_eq!(wrong.len(), count, "{op:?} {inbox:?} {work:?}: {wrong:?}");
    }
}

#[test]
fn an_expunged_uid_never_comes_back() {
    let mut user = user();
    user.in_flight = Some(Op::Expunge { mailbox: "INBOX".into(), uid: 2 });
    user.done(None).unwrap();
    let now = found(&[("INBOX", &[(1, "<a>", "\\Flagged"), (2, "<b>", "")]), work()]);
    assert_eq!(user.reconcile(7, &now).len(), 1);
    user.sending("<n>");
    assert!(user.arrive("INBOX", 2, "<n>").is_err(), "uid 2 meant another message");
}

#[test]
fn a_letter_to_be_filed_comes_where_the_rule_puts_it() {
    let letters = ["<f.3.7@crash.test>", "<s.4.7@crash.test>"];
    let cases = [
        // whether there is a rule, where the two are found, and what is wrong
        (true, ["Filed", "INBOX"], 0),
        (false, ["INBOX", "INBOX"], 0),
        // told of both: no reason to be there, and acknowledged but not there
        (true, ["INBOX", "INBOX"], 2),
        (true, ["Filed", "Filed"], 2),
        // nobody made the mailbox
        (false, ["Filed", "INBOX"], 3),
    ];
    for (files, places, count) in cases {
        let mut user = user();
        user.files = files;
        let (first, second) = ((1, "<a>", "\\Flagged"), (2, "<b>", ""));
        let mut boxes: BTreeMap<&str, Vec<Row>> =
            BTreeMap::from([("INBOX", vec![first, second]), ("Work", Vec::new())]);
        for (at, (key, place)) in letters.into_iter().zip(places).enumerate() {
            user.sending(key);
            user.sent(key);
            boxes.entry(place).or_default().push((10 + at as u32, key, ""));
        }
        let boxes: Vec<(&str, &[Row])> =
            boxes.iter().map(|(name, rows)| (*name, &rows[..])).collect();
        let wrong = user.reconcile(7, &found(&boxes));
        assert_eq!(wrong.len(), count, "{files} {places:?}: {wrong:?}");
    }
}
