//! A delivery thread: takes what the board gives, survives what a message does to it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::board::{Job, Task};
use crate::desk::Desk;
use crate::dispatch::{After, causes};
use crate::route::backoff;
use crate::status::QueueState;

/// A message that ended a worker this often is parked.
const CRASHES_MAX: u32 = 2;

/// Of the attempts of one message the first and every n-th is logged.
const TOLD_EVERY: u32 = 60;

/// Works until the board says that it is over.
pub(crate) fn run(desk: &Desk) {
    loop {
        match desk.board.next() {
            Task::End => return,
            Task::Scan => {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| desk.scan())) {
                    tracing::error!(cause = text(&*panic), "looking at mail.box ended in a panic");
                    desk.board.end_scan();
                }
            }
            Task::Deliver(job) => deliver(desk, job),
        }
    }
}

fn deliver(desk: &Desk, mut job: Job) {
    match catch_unwind(AssertUnwindSafe(|| desk.dispatch(&job))) {
        Ok(Ok(After::Done)) => desk.board.done(&job.unid),
        Ok(Ok(After::Parked(state))) => {
            tracing::info!(queue_id = %job.unid, ?state, "a message stays in mail.box");
            desk.board.park(job, state);
        }
        Ok(Ok(After::Later(cause))) => later(desk, job, cause),
        Ok(Err(error)) => later(desk, job, causes(&error)),
        Err(panic) => {
            job.crashes += 1;
            crashed(desk, job, text(&*panic));
        }
    }
}

fn later(desk: &Desk, mut job: Job, cause: String) {
    let wait = backoff(job.attempts);
    job.attempts = job.attempts.saturating_add(1);
    let wait_ms = wait.as_millis() as u64;
    let attempt = job.attempts;
    if attempt == 1 || attempt.is_multiple_of(TOLD_EVERY) {
        tracing::warn!(queue_id = %job.unid, attempt, wait_ms, cause, "delivery waits");
    }
    job.cause = Some(cause);
    desk.board.retry(job, wait);
}

/// Once more at once; after the second time the message is parked with its cause.
fn crashed(desk: &Desk, job: Job, cause: &str) {
    let crashes = job.crashes;
    tracing::error!(queue_id = %job.unid, crashes, cause, "a delivery ended in a panic");
    if job.crashes < CRASHES_MAX {
        return desk.board.retry(job, Duration::ZERO);
    }
    let cause = format!("ended a delivery thread {CRASHES_MAX} times: {cause}");
    match desk.set_state(job.mailbox, &job.unid, QueueState::Held, Some(&cause)) {
        Ok(()) => {}
        Err(error) => {
            tracing::error!(queue_id = %job.unid, %error, "a message cannot be marked held")
        }
    }
    desk.board.park(job, QueueState::Held);
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}
