//! The driver against a server that does one thing wrong: each fault is told by its kind, and the
//! same server without it passes with the same seed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod imap;
mod ldap;
mod mime;
mod play;
mod runs;
mod server;
mod store;
mod wire;

use std::time::Duration;

use bench::ledger::Kind;
use play::{Played, Reading, play};
use runs::ran;
use store::Fault;

const PEOPLE: u32 = 4;

/// A fault, at which chance it happens each time, and what must be found.
type Case = (Fault, u32, &'static [Kind]);

const CASES: [Case; 12] = [
    (Fault::Lose, 7, &[Kind::Missing]),
    (Fault::Double, 7, &[Kind::Doubled]),
    (Fault::Misdeliver, 7, &[Kind::Missing, Kind::Unexpected]),
    (Fault::SwapUids, 7, &[Kind::Reordered]),
    (Fault::ReuseUid, 7, &[Kind::Missing, Kind::Reordered]),
    (Fault::DeliverLate(Duration::from_millis(2500)), 7, &[Kind::Late]),
    (Fault::Damage, 7, &[Kind::Damaged]),
    (Fault::WrongExists, 7, &[Kind::WrongCount]),
    (Fault::WrongStatus, 7, &[Kind::WrongCount]),
    (Fault::LoseFlag, 1, &[Kind::LostFlag]),
    (Fault::LoseDeletion, 2, &[Kind::Returned]),
    (Fault::LoseAppend, 3, &[Kind::Missing]),
];

fn kinds(played: &Played) -> Vec<Kind> {
    played.findings.kinds.keys().copied().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_honest_server_passes() {
    let played = play(PEOPLE, Reading::Imap, (Fault::None, 1)).await;
    assert_eq!(played.errors, Vec::<String>::new());
    assert!(played.findings.clean(), "{:?}", played.findings);
    let looked = played.findings.looked;
    assert_eq!(looked.people, u64::from(PEOPLE));
    assert_eq!(looked.compared, looked.expected, "{looked:?}");
    assert!(looked.expected > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_is_found() {
    for (fault, every, wanted) in CASES {
        let played = play(PEOPLE, Reading::Imap, (fault, every)).await;
        assert!(played.happened > 0, "{fault:?} never happened");
        let found = kinds(&played);
        for kind in wanted {
            assert!(found.contains(kind), "{fault:?}: {:?}", played.findings);
        }
        assert_eq!(played.errors, Vec::<String>::new(), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maildrops_are_checked_where_there_is_no_imap() {
    let honest = play(PEOPLE, Reading::Pop3, (Fault::None, 1)).await;
    assert!(honest.findings.clean() && honest.errors.is_empty(), "{:?}", honest.findings);
    assert!(honest.findings.looked.compared > 0, "{:?}", honest.findings);
    let cases = [
        (Fault::Lose, 7, Kind::Missing),
        (Fault::Double, 1, Kind::Doubled),
        (Fault::Misdeliver, 7, Kind::Unexpected),
        (Fault::Damage, 7, Kind::Damaged),
        (Fault::WrongStatus, 1, Kind::WrongCount),
        (Fault::LoseDeletion, 7, Kind::Returned),
    ];
    for (fault, every, kind) in cases {
        let played = play(PEOPLE, Reading::Pop3, (fault, every)).await;
        assert!(kinds(&played).contains(&kind), "{fault:?}: {:?}", played.findings);
    }
}

/// What ended without an answer, and what was refused, is no finding: the model knows that it does
/// not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_connections_and_refusals_are_errors_and_no_findings() {
    for (fault, every) in [(Fault::Drop, 97), (Fault::Refuse, 5)] {
        let played = play(PEOPLE, Reading::Imap, (fault, every)).await;
        assert!(played.happened > 0, "{fault:?} never happened");
        assert!(!played.errors.is_empty(), "{fault:?}");
        assert!(played.findings.clean(), "{fault:?}: {:?}", played.findings);
    }
}

/// The same through the run itself: every fault makes it fail, for the right reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_against_faulty_servers_fail_and_say_why() {
    let mut runs = tokio::task::JoinSet::new();
    for (fault, every, wanted) in CASES {
        runs.spawn(async move { (fault, wanted, ran(PEOPLE, fault, every).await) });
    }
    while let Some(ended) = runs.join_next().await {
        let (fault, wanted, ran) = ended.unwrap();
        assert!(ran.happened > 0, "{fault:?} never happened");
        assert!(!ran.passed(), "{fault:?}");
        let found = |kind| ran.findings.count(kind) > 0;
        let (findings, errors) = (&ran.findings, &ran.done.first_errors);
        assert!(wanted.iter().all(|kind| found(*kind)), "{fault:?}: {findings:?} {errors:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_against_the_honest_server_passes() {
    let ran = ran(PEOPLE, Fault::None, 1).await;
    assert!(ran.passed(), "{:?} {:?}", ran.findings, ran.done);
    assert!(ran.done.iterations > 0 && ran.findings.looked.expected > 0, "{:?}", ran.done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_against_servers_that_break_off_or_refuse_fail_by_their_errors() {
    for (fault, every) in [(Fault::Drop, 97), (Fault::Refuse, 5)] {
        let ran = ran(PEOPLE, fault, every).await;
        assert!(ran.happened > 0 && ran.done.errors > 0, "{fault:?}: {:?}", ran.done);
        assert!(ran.findings.clean(), "{fault:?}: {:?}", ran.findings);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_do_not_come_in_time_are_errors() {
    let fault = Fault::ReplyLate(play::CALL_MAX * 2);
    let played = play(1, Reading::Imap, (fault, 1)).await;
    assert!(
        played.errors.iter().any(|error| error.contains("no answer to LOGIN within")),
        "{:?}",
        played.errors
    );
}

/// A directory that finds nobody or somebody else makes the run fail, and no mailbox suffers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_whose_directory_answers_wrongly_fail_and_say_why() {
    let cases = [
        (Fault::LoseEntry, "is not in the directory"),
        (Fault::WrongEntry, "others were found"),
        (Fault::WrongAnswer, "an answer to nothing"),
    ];
    for (fault, words) in cases {
        let ran = ran(PEOPLE, fault, 3).await;
        assert!(ran.happened > 0, "{fault:?} never happened");
        assert!(!ran.passed() && ran.findings.clean(), "{fault:?}: {:?}", ran.findings);
        let said = &ran.done.first_errors;
        assert!(said.iter().any(|error| error.contains(words)), "{fault:?}: {said:?}");
    }
}
