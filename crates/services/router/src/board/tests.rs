use super::*;

fn job(number: u8) -> Job {
    Job::new(Unid([number; 16]), 0, None)
}

fn deliver(board: &Board) -> Job {
    match board.next() {
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
    board.retry_now();
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
    assert!(matches!(board.next(), Task::Scan));
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
    assert!(matches!(board.next(), Task::Scan));
    assert!(board.begin_scan(), "everything is to be looked at");
    board.end_scan();
    board.wait_idle();
}

#[test]
fn a_stop_ends_workers_and_waiters() {
    let board = Board::default();
    board.post(job(1));
    board.stop();
    assert!(matches!(board.next(), Task::End));
    board.wait_idle();
}
