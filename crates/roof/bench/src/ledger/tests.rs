use super::*;
use std::time::Duration;

const INBOX: &str = "INBOX";

fn at(folder: &str) -> Place<'_> {
    Place::new(1, folder)
}

fn facts(number: u32) -> Facts {
    Facts { key: Key::of(&format!("<RUN.{number}@bench.test>")), octets: 1000, sum: number }
}

fn sight(uid: u32, number: u32) -> Sight {
    Sight { uid, key: facts(number).key }
}

fn view(uid_next: u32) -> View {
    View { uid_validity: 7, uid_next: Some(uid_next), exists: None }
}

/// Letter `number` is accepted for person 1.
fn send(ledger: &Ledger, number: u32) {
    let token = ledger.sending(&facts(number), &[1]);
    ledger.accepted(token, Instant::now(), &[]);
}

/// A ledger whose person 1 has letters 901 to 903 as uids 1 to 3.
fn begun() -> Ledger {
    let ledger = Ledger::new(2, Options::default());
    ledger.baseline(at(INBOX), &view(4), &[sight(1, 901), sight(2, 902), sight(3, 903)]);
    ledger
}

/// What the check finds when the folder holds these.
fn judged(ledger: &Ledger, folder: &str, sights: &[Sight]) -> Findings {
    let mark = |sight: &Sight| judge::Mark {
        sight: *sight,
        octets: 1100,
        taken_s: Some(ledger.started_s),
        flags: None,
    };
    let shelf = judge::Shelf {
        view: View { exists: Some(sights.len() as u32), ..view(100) },
        status: Some(sights.len() as u32),
        uids: sights.iter().map(|sight| sight.uid).collect(),
        marks: sights.iter().map(mark).collect(),
    };
    judged_shelf(ledger, folder, &shelf)
}

fn judged_shelf(ledger: &Ledger, folder: &str, shelf: &judge::Shelf) -> Findings {
    let looked = ledger.room(at(folder), |room, found| room.judge(shelf, found)).unwrap();
    Findings { looked, ..ledger.findings() }
}

fn kinds(findings: &Findings) -> Vec<(Kind, u64)> {
    findings.kinds.iter().map(|(kind, finding)| (*kind, finding.count)).collect()
}

fn before() -> Vec<Sight> {
    vec![sight(1, 901), sight(2, 902), sight(3, 903)]
}

fn with(more: &[Sight]) -> Vec<Sight> {
    let mut all = before();
    all.extend_from_slice(more);
    all
}

#[test]
fn keys_are_told_apart_and_brackets_do_not_matter() {
    let key = Key::of("<RUN.17@bench.test>");
    assert_eq!(key, Key::of(" RUN.17@bench.test "));
    assert_eq!(key.0 as u32, 17);
    assert_ne!(key, Key::of("<NUR.17@bench.test>"));
    assert_ne!(key, Key::of("<RUN.18@bench.test>"));
    assert_ne!(Key::of("<abc@x>"), Key::of("<abd@x>"));
    assert_eq!(Key::of("<>"), Key::NONE);
    assert_eq!(Key::of(""), Key::NONE);
    assert_ne!(Key::of("<.0@x>"), Key::NONE);
}

#[test]
fn an_honest_server_passes() {
    let ledger = begun();
    send(&ledger, 1);
    let append = ledger.appending(at("Sent"), &facts(2));
    ledger.appended(append, None);
    ledger.observed(at(INBOX), &view(5), &[sight(3, 903), sight(4, 1)]);
    ledger.counted(at(INBOX), 4);
    ledger.flagged(at(INBOX), 4, Flagging::Add, &["\\Seen", "Stamp"]);
    ledger.moved(at(INBOX), 2, "Keep", Some(1));
    ledger.deleted(at(INBOX), 1);
    ledger.counted(at(INBOX), 2);
    assert_eq!(ledger.facts(at(INBOX), 4), Some(facts(1)));
    ledger.read_back(at(INBOX), 4, 1000, 1);
    let findings = judged(&ledger, INBOX, &[sight(3, 903), sight(4, 1)]);
    judged(&ledger, "Sent", &[sight(1, 2)]);
    assert_eq!(kinds(&judged(&ledger, "Keep", &[sight(1, 902)])), []);
    assert_eq!((findings.looked.expected, findings.looked.compared), (1, 1));
}

#[test]
fn what_ended_without_an_answer_may_be_there_or_not() {
    for there in [false, true] {
        let ledger = begun();
        let token = ledger.sending(&facts(1), &[1]);
        ledger.unsure(token);
        drop(ledger.sending(&facts(2), &[1]));
        let sights = if there { with(&[sight(4, 1), sight(5, 2)]) } else { before() };
        let findings = judged(&ledger, INBOX, &sights);
        assert_eq!(kinds(&findings), []);
        let looked = findings.looked;
        let wanted = if there { (2, 0) } else { (0, 2) };
        assert_eq!((looked.unsure_there, looked.unsure_absent), wanted);
    }
}

type Case = (&'static str, fn(&Ledger), Vec<Sight>, Vec<(Kind, u64)>);

fn demand_kinds(cases: Vec<Case>) {
    for (name, work, sights, wanted) in cases {
        let ledger = begun();
        work(&ledger);
        let findings = judged(&ledger, INBOX, &sights);
        assert_eq!(kinds(&findings), wanted, "{name}: {findings:?}");
        assert_eq!(ledger.faults(), findings.total(), "{name}");
    }
}

#[test]
fn messages_too_many_or_too_few_are_told_by_their_kind() {
    demand_kinds(vec![
        ("accepted and not there", |l| send(l, 1), before(), vec![(Kind::Missing, 1)]),
        ("an old one is gone", |_| (), with(&[])[..2].to_vec(), vec![(Kind::Missing, 1)]),
        ("twice", |l| send(l, 1), with(&[sight(4, 1), sight(5, 1)]), vec![(Kind::Doubled, 1)]),
        ("an old one twice", |_| (), with(&[sight(4, 902)]), vec![(Kind::Doubled, 1)]),
        ("from nobody", |_| (), with(&[sight(4, 5)]), vec![(Kind::Unexpected, 1)]),
        (
            "for somebody else",
            |l| {
                let token = l.sending(&facts(1), &[2]);
                l.accepted(token, Instant::now(), &[]);
            },
            with(&[sight(4, 1)]),
            vec![(Kind::Unexpected, 1)],
        ),
        (
            "refused and there",
            |l| {
                let token = l.sending(&facts(1), &[1]);
                l.refused(token);
            },
            with(&[sight(4, 1)]),
            vec![(Kind::Unexpected, 1)],
        ),
        (
            "refused for one of two and there",
            |l| {
                let token = l.sending(&facts(1), &[1, 2]);
                l.accepted(token, Instant::now(), &[1]);
            },
            with(&[sight(4, 1)]),
            vec![(Kind::Unexpected, 1)],
        ),
        ("deleted and there", |l| l.deleted(at(INBOX), 3), before(), vec![(Kind::Returned, 1)]),
    ]);
}

#[test]
fn other_faults_are_told_by_their_kind() {
    demand_kinds(vec![
        (
            "moved and lost",
            |l| {
                l.observed(at(INBOX), &view(4), &before());
                l.moved(at(INBOX), 3, INBOX, None);
            },
            before()[..2].to_vec(),
            vec![(Kind::Missing, 1)],
        ),
        (
            "a uid names another message",
            |l| l.observed(at(INBOX), &view(4), &[sight(3, 902)]),
            before(),
            vec![(Kind::Reordered, 1)],
        ),
        (
            "a uid from below",
            |l| {
                l.observed(at(INBOX), &view(20), &[]);
                send(l, 1);
            },
            with(&[sight(19, 1)]),
            vec![(Kind::Reordered, 1)],
        ),
        (
            "UIDVALIDITY changed",
            |l| l.observed(at(INBOX), &View { uid_validity: 8, ..view(4) }, &[]),
            before(),
            // and back again in the check
            vec![(Kind::Reordered, 2)],
        ),
        ("a count too low", |l| l.counted(at(INBOX), 2), before(), vec![(Kind::WrongCount, 1)]),
        (
            "a count too high",
            |l| {
                send(l, 1);
                l.counted(at(INBOX), 5);
            },
            with(&[sight(4, 1)]),
            vec![(Kind::WrongCount, 1)],
        ),
        (
            "other bytes",
            |l| {
                send(l, 1);
                l.observed(at(INBOX), &view(5), &[sight(4, 1)]);
                l.read_back(at(INBOX), 4, 1000, 99);
                l.read_back(at(INBOX), 4, 1000, 99);
            },
            with(&[sight(4, 1)]),
            vec![(Kind::Damaged, 1)],
        ),
        ("a uid nobody saw", |l| l.deleted(at(INBOX), 77), before(), vec![(Kind::Unexpected, 1)]),
        (
            "a message comes back after its deletion, under a new uid",
            |l| l.deleted(at(INBOX), 3),
            vec![sight(1, 901), sight(2, 902), sight(4, 903)],
            vec![(Kind::Returned, 1)],
        ),
    ]);
}

#[test]
fn appends_of_one_owner_keep_their_order() {
    let ledger = begun();
    for number in [1, 2] {
        let token = ledger.appending(at("Sent"), &facts(number));
        ledger.appended(token, None);
    }
    let findings = judged(&ledger, "Sent", &[sight(1, 2), sight(2, 1)]);
    assert_eq!(kinds(&findings), [(Kind::Reordered, 1)]);
}

#[test]
fn an_unsure_move_leaves_the_message_somewhere() {
    let cases: [(&[Sight], &[Sight], usize); 4] = [
        (&[], &[sight(1, 903)], 0),
        (&[sight(3, 903)], &[], 0),
        (&[sight(3, 903)], &[sight(1, 903)], 0),
        (&[], &[], 1),
    ];
    for (source, target, lost) in cases {
        let ledger = begun();
        ledger.unsure_moved(at(INBOX), 3, "Keep");
        let mut inbox = before()[..2].to_vec();
        inbox.extend_from_slice(source);
        assert_eq!(kinds(&judged(&ledger, INBOX, &inbox)), []);
        assert_eq!(kinds(&judged(&ledger, "Keep", target)), []);
        let uids = inbox.iter().map(|sight| sight.uid).collect();
        let shelf = judge::Shelf { uids, ..judge::Shelf::default() };
        let out = ledger.room(at(INBOX), |room, _| room.moved_out(Some(&shelf))).unwrap();
        let there = target.iter().any(|sight| out.contains(&sight.key));
        assert_eq!(out.len() - usize::from(there), lost);
    }
}

#[test]
fn late_mail_is_told_by_what_was_seen() {
    let options = Options { late_after: Duration::ZERO, ..Options::default() };
    let ledger = Ledger::new(1, options);
    ledger.baseline(at(INBOX), &view(1), &[]);
    let token = ledger.sending(&facts(1), &[1]);
    ledger.accepted(token, ledger.started, &[]);
    let token = ledger.sending(&facts(2), &[1]);
    ledger.room(at(INBOX), |room, _| room.look_at(500));
    ledger.accepted(token, ledger.started + Duration::from_secs(9), &[]);
    // the folder is opened, and its rows are shown after that
    ledger.observed(at(INBOX), &view(3), &[]);
    ledger.observed(at(INBOX), &View::default(), &[sight(1, 1), sight(2, 2)]);
    assert_eq!(kinds(&ledger.findings()), [(Kind::Late, 1)]);
}

#[test]
fn late_mail_is_told_by_its_date() {
    for (clock, taken, wanted) in [
        (Clock::Shared, 3, vec![]),
        (Clock::Shared, 63, vec![(Kind::Late, 1)]),
        (Clock::Apart, 63, vec![]),
    ] {
        let ledger = Ledger::new(1, Options { clock, ..Options::default() });
        send(&ledger, 1);
        let taken_s = Some(ledger.started_s + taken);
        let mark = judge::Mark { sight: sight(1, 1), octets: 1000, taken_s, flags: None };
        let view = View { exists: Some(1), ..view(2) };
        let shelf = judge::Shelf { view, status: None, uids: vec![1], marks: vec![mark] };
        assert_eq!(kinds(&judged_shelf(&ledger, INBOX, &shelf)), wanted, "{clock:?} {taken}");
    }
}

#[test]
fn flags_are_held_against_the_model() {
    let ledger = begun();
    ledger.flagged(at(INBOX), 1, Flagging::Add, &["\\Seen", "Stamp"]);
    ledger.flagged(at(INBOX), 2, Flagging::Remove, &["\\Flagged"]);
    ledger.flagged(at(INBOX), 3, Flagging::Add, &["\\Answered"]);
    ledger.unsure_flagged(at(INBOX), 3, &["\\Answered"]);
    let flags = [vec!["\\seen"], vec!["\\Flagged"], vec![]];
    let marks = before().into_iter().zip(flags).map(|(sight, flags)| judge::Mark {
        sight,
        octets: 5,
        taken_s: None,
        flags: Some(ledger.bits(&flags)),
    });
    let view = View { exists: Some(3), ..view(4) };
    let shelf = judge::Shelf { view, status: None, uids: vec![1, 2, 3], marks: marks.collect() };
    let findings = judged_shelf(&ledger, INBOX, &shelf);
    assert_eq!(kinds(&findings), [(Kind::LostFlag, 2)], "{findings:?}");
    let texts = &findings.kinds[&Kind::LostFlag].first;
    assert!(texts.iter().any(|text| text.contains("stamp is not set")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("\\flagged is still set")), "{texts:?}");
}

#[test]
fn counts_and_sizes_of_the_check_are_compared() {
    let ledger = begun();
    send(&ledger, 1);
    let mark = |sight, octets| judge::Mark { sight, octets, taken_s: None, flags: None };
    let shelf = judge::Shelf {
        view: View { exists: Some(5), ..view(5) },
        status: Some(3),
        uids: vec![1, 2, 3, 4],
        marks: vec![mark(sight(4, 1), 999)],
    };
    let findings = judged_shelf(&ledger, INBOX, &shelf);
    assert_eq!(kinds(&findings), [(Kind::Damaged, 1), (Kind::WrongCount, 2)]);
}

#[test]
fn mail_from_elsewhere_can_be_allowed() {
    let ledger = Ledger::new(2, Options { strangers: Strangers::Allowed, ..Options::default() });
    ledger.baseline(at(INBOX), &view(4), &before());
    let token = ledger.sending(&facts(1), &[2]);
    ledger.accepted(token, Instant::now(), &[]);
    let findings = judged(&ledger, INBOX, &with(&[sight(4, 700), sight(5, 1)]));
    assert_eq!(kinds(&findings), [(Kind::Unexpected, 1)]);
}

#[test]
fn messages_may_vanish_where_the_server_removes_them() {
    let vanishing = vec!["Trash".to_owned()];
    let ledger = Ledger::new(1, Options { vanishing, ..Options::default() });
    ledger.baseline(at("Trash"), &view(4), &before());
    ledger.counted(at("Trash"), 1);
    assert_eq!(kinds(&judged(&ledger, "Trash", &before()[2..])), []);
}

#[test]
fn a_maildrop_is_known_by_keys() {
    let ledger = begun();
    send(&ledger, 1);
    ledger.fetched_away(1, facts(1).key);
    ledger.fetched_away(1, facts(902).key);
    let findings = judged(&ledger, INBOX, &[sight(1, 901), sight(3, 903)]);
    assert_eq!(kinds(&findings), []);
}

/// POP3 tells unique ids beforehand, but no keys.
#[test]
fn a_maildrop_of_unknown_letters_is_emptied() {
    let ledger = Ledger::new(1, Options::default());
    let unknown = [1, 2].map(|uid| Sight { uid, key: Key::NONE });
    ledger.baseline(at(INBOX), &View::default(), &unknown);
    ledger.fetched_away(1, facts(901).key);
    ledger.fetched_away(1, facts(902).key);
    assert_eq!(kinds(&judged(&ledger, INBOX, &[])), []);
}

#[test]
fn a_maildrop_shows_what_is_there_once_more_or_still() {
    let ledger = begun();
    send(&ledger, 1);
    ledger.fetched_away(1, facts(1).key);
    ledger.fetched_away(1, facts(1).key);
    let findings = judged(&ledger, INBOX, &before());
    assert_eq!(kinds(&findings), [(Kind::Doubled, 1)]);
    let unknown = [1, 2, 3].map(|uid| Sight { uid, key: Key::NONE });
    for (sure, there, wanted) in [
        (true, 2, vec![]),
        (true, 3, vec![(Kind::Returned, 1)]),
        (true, 1, vec![(Kind::Missing, 1)]),
        (false, 2, vec![]),
        (false, 3, vec![]),
    ] {
        let ledger = Ledger::new(1, Options::default());
        ledger.baseline(at(INBOX), &View::default(), &unknown);
        match sure {
            true => ledger.fetched_away(1, facts(5).key),
            false => ledger.unsure_fetched_away(1, facts(5).key),
        }
        let findings = judged(&ledger, INBOX, &unknown[..there]);
        assert_eq!(kinds(&findings), wanted, "{sure} {there}");
    }
}

#[test]
fn texts_are_bounded_and_counts_are_not() {
    let mut findings = Findings::default();
    for number in 0..50 {
        findings.add(Kind::Missing, || format!("number {number}"));
    }
    assert_eq!((findings.count(Kind::Missing), findings.total()), (50, 50));
    assert_eq!(findings.kinds[&Kind::Missing].first.len(), TEXTS_MAX);
    assert_eq!(findings.reasons(), ["50 missing, first: number 0"]);
    let text = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), findings);
}
