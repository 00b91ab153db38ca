use super::*;
use crate::lockouts::Lockout;

fn job(number: u8) -> Job {
    Job::new(Unid([number; 16]), 0, None)
}

fn deliver(board: &Board) -> Job {
    match board.next(0) {
        Task::Deliver(job) => job,
        Task::Scan => panic!("a scan"),
        Task::End => panic!("the end"),
    }
}

#[test]
fn a_message_stands_on_the_board_once() {
    let board = Board::default();
    board.post(job(1));
    board.post(job(1));
    board.post(job(2));
    assert_eq!(board.counts().waiting, 2);
    let first = deliver(&board);
    assert_eq!(first.unid, Unid([1; 16]));
    board.done(&first.unid);
    let second = deliver(&board);
    assert_eq!(second.unid, Unid([2; 16]));
    board.done(&second.unid);
    assert_eq!(board.counts(), Counts::default());
    board.wait_idle();
}

#[test]
fn a_message_posted_while_in_work_is_looked_at_again() {
    for parked in [false, true] {
        let board = Board::default();
        board.post(job(1));
        let in_work = deliver(&board);
        board.post(job(1));
        if parked {
            board.park(in_work, QueueState::Held);
        } else {
            board.retry(in_work, Duration::from_secs(3_600));
        }
        let again = deliver(&board);
        board.done(&again.unid);
        assert_eq!(board.counts(), Counts::default());
    }
}

#[test]
fn retries_wait_until_they_are_due_or_called() {
    let board = Board::default();
    board.post(job(1));
    let mut first = deliver(&board);
    first.cause = Some("fenced".to_owned());
    let unid = first.unid;
    board.retry(first, Duration::from_secs(3_600));
    board.wait_idle();
    assert_eq!(board.counts().waiting, 1);
    assert_eq!(board.cause(&unid).as_deref(), Some("fenced"));
    board.post(job(2));
    let other = deliver(&board);
    assert_eq!(other.unid, Unid([2; 16]));
    board.done(&other.unid);
    board.retry_now(None);
    let again = deliver(&board);
    assert_eq!(again.unid, unid);
    board.done(&again.unid);
}

#[test]
fn a_parked_message_is_counted_and_can_come_back() {
    let board = Board::default();
    board.post(job(1));
    let first = deliver(&board);
    board.park(first.clone(), QueueState::Dead);
    assert_eq!(board.counts(), Counts { dead: 1, ..Counts::default() });
    board.post(job(1));
    assert_eq!(board.counts().dead, 0);
    assert_eq!(deliver(&board).unid, first.unid);
}

#[test]
fn scans_come_first_and_one_at_a_time() {
    let board = Board::default();
    board.post(job(1));
    board.ask_scan();
    assert!(matches!(board.next(0), Task::Scan));
    board.ask_scan();
    let first = deliver(&board);
    board.done(&first.unid);
    assert!(!board.begin_scan());
    board.end_scan();
    board.wait_idle();
}

#[test]
fn a_full_board_leaves_the_rest_in_mail_box() {
    let board = Board::default();
    let unid = |number: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Unid(bytes)
    };
    for number in 0..READY_MAX + 5 {
        board.post(Job::new(unid(number), 0, None));
    }
    assert_eq!(board.counts().waiting, READY_MAX);
    for _ in 0..READY_MAX {
        let job = deliver(&board);
        board.done(&job.unid);
    }
    assert!(matches!(board.next(0), Task::Scan));
    assert!(board.begin_scan(), "everything is to be looked at");
    board.end_scan();
    board.wait_idle();
}

#[test]
fn a_stop_ends_workers_and_waiters() {
    let board = Board::default();
    board.post(job(1));
    board.stop();
    assert!(matches!(board.next(0), Task::End));
    board.wait_idle();
}

fn far(number: u8) -> Job {
    Job { look_s: 100, ..job(number) }
}

/// Posts, takes and queues for a destination.
fn enlane(board: &Board, job: Job, to: &str, wait: Duration) {
    let unid = job.unid;
    board.post(job.clone());
    let taken = deliver(board);
    assert_eq!(taken.unid, unid);
    board.queue(Job { look_s: job.look_s, ..taken }, &to.into(), wait);
}

fn errand(board: &Board, held: Option<&str>) -> Option<(String, Job)> {
    match board.next_errand(0, held.or(Some("nobody")), Duration::ZERO) {
        Errand::Transfer(to, job) => Some((to.to_string(), job)),
        Errand::Idle | Errand::End => None,
    }
}

#[test]
fn destinations_take_turns_and_an_open_line_is_used() {
    let board = Board::default();
    for number in 0..6 {
        let to = if number < 4 { "a" } else { "b" };
        enlane(&board, far(number), to, Duration::ZERO);
    }
    let order: Vec<String> = (0..4).map(|_| errand(&board, None).unwrap().0).collect();
    assert_eq!(order, ["a", "b", "a", "b"]);
    assert_eq!(errand(&board, Some("a")).unwrap().0, "a");
    assert_eq!((board.counts().transferring, board.counts().working), (5, 5));
}

#[test]
fn a_destination_has_so_many_threads_and_one_while_it_fails() {
    let board = Board::default();
    board.set_threads(1, 9, 2);
    for number in 0..9 {
        enlane(&board, far(number), "a", Duration::ZERO);
    }
    let (to, first) = errand(&board, None).unwrap();
    let (_, second) = errand(&board, None).unwrap();
    assert!(errand(&board, None).is_none(), "two are at work");
    let to: Arc<str> = to.into();
    board.transfer_ended(&to);
    board.failed(first, (&to, "gone"), 0, |_| Duration::ZERO);
    assert!(errand(&board, None).is_none(), "one probes");
    board.transfer_ended(&to);
    board.done(&second.unid);
    let (_, probe) = errand(&board, None).unwrap();
    assert!(errand(&board, None).is_none());
    board.reached(&to);
    assert!(errand(&board, None).is_some(), "it is back");
    assert_eq!(probe.unid, Unid([0; 16]), "the one that failed goes first");
}

#[test]
fn what_waits_for_too_long_goes_back_to_dispatch_with_the_cause() {
    let board = Board::default();
    enlane(&board, far(1), "a", Duration::ZERO);
    enlane(&board, Job { look_s: 500, ..far(2) }, "a", Duration::ZERO);
    enlane(&board, far(3), "b", Duration::ZERO);
    let (to, taken) = errand(&board, Some("a")).unwrap();
    let to: Arc<str> = to.into();
    board.transfer_ended(&to);
    board.failed(taken, (&to, "gone"), 100, |failures| Duration::from_secs(failures.into()));
    let swept = deliver(&board);
    assert_eq!((swept.unid, swept.swept.as_deref()), (Unid([1; 16]), Some("gone")));
    let rows = board.transfers();
    assert_eq!((rows[0].waiting, rows[0].attempts_failed), (1, 1));
    assert_eq!(board.cause(&Unid([2; 16])).as_deref(), Some("gone"));
    board.done(&swept.unid);
    assert_eq!(board.retry_now(Some("A")), 1);
    assert!(errand(&board, Some("a")).is_some());
}

#[test]
fn a_full_lane_leaves_the_rest_in_mail_box_and_asks_for_it_later() {
    let board = Board::default();
    let unid = |number: usize| {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Unid(bytes)
    };
    let all = lanes::LANE_MAX + 3;
    for number in 0..all {
        enlane(&board, Job { unid: unid(number), ..far(0) }, "a", Duration::ZERO);
    }
    assert_eq!(board.counts().waiting, lanes::LANE_MAX);
    for number in 0..lanes::LANE_MAX / 2 {
        let (to, taken) = errand(&board, None).unwrap();
        assert_eq!(taken.unid, unid(number));
        board.transfer_ended(&to);
        board.done(&taken.unid);
    }
    assert!(matches!(board.next(0), Task::Scan));
    assert!(board.begin_scan(), "everything is to be looked at");
    board.end_scan();
}

#[test]
fn a_claim_takes_a_message_out_wherever_it_waits() {
    let board = Board::default();
    let wait = Duration::from_millis(20);
    board.post(job(1));
    let ready = board.claim(&Unid([1; 16]), 0, wait).unwrap();
    assert!(board.claim(&ready.unid, 0, wait).is_none(), "somebody has it");
    board.retry(ready, Duration::from_secs(3_600));
    let later = board.claim(&Unid([1; 16]), 0, wait).unwrap();
    board.park(later, QueueState::Held);
    assert_eq!(board.counts().held, 1);
    let parked = board.claim(&Unid([1; 16]), 3, wait).unwrap();
    assert_eq!((parked.mailbox, board.counts().held), (3, 0));
    board.queue(parked, &"a".into(), Duration::ZERO);
    let lane = board.claim(&Unid([1; 16]), 0, wait).unwrap();
    board.done(&lane.unid);
    assert_eq!((board.counts(), board.transfers()), (Counts::default(), vec![]));
    board.wait_idle();
}

#[test]
fn a_destination_that_was_closed_before_is_closed_when_there_is_mail_for_it() {
    let board = Board::default();
    let lockout = |to: &str| Lockout {
        to: to.into(),
        failures: 4,
        left: Duration::from_secs(3_600),
        error: "gone".to_owned(),
    };
    board.restore(vec![lockout("a"), lockout("b")]);
    assert_eq!(board.transfers(), [], "nothing waits for them");
    enlane(&board, far(1), "a", Duration::ZERO);
    assert!(errand(&board, Some("a")).is_none());
    board.wait_idle();
    let row = board.transfers().remove(0);
    assert_eq!((row.waiting, row.attempts_failed, row.last_error), (1, 4, Some("gone".to_owned())));
    let kept: Vec<_> = board.lockouts().iter().map(|lockout| lockout.to.to_string()).collect();
    assert_eq!(kept, ["a", "b"]);
    assert_eq!(board.retry_now(None), 1);
    let (to, _) = errand(&board, None).unwrap();
    assert!(board.reached(&to));
    assert!(!board.reached(&to));
    assert_eq!(board.lockouts().len(), 1);
}

#[test]
fn threads_beyond_the_number_end() {
    let board = Board::default();
    board.set_threads(2, 1, 1);
    assert!(matches!(board.next(2), Task::End));
    assert!(matches!(board.next_errand(1, None, Duration::ZERO), Errand::End));
}
