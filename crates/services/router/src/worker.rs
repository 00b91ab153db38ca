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
pub(crate) const TOLD_EVERY: u32 = 60;

/// Works until the board says that it is over.
pub(crate) fn run(desk: &Desk, number: usize) {
    loop {
        match desk.board.next(number) {
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
    match catch_unwind(AssertUnwindSafe(|| desk.dispatch(&mut job))) {
        Ok(Ok(After::Done)) => desk.board.done(&job.unid),
        Ok(Ok(After::Parked(state))) => {
            tracing::info!(queue_id = %job.unid, ?state, "a message stays in mail.box");
            desk.board.park(job, state);
        }
        Ok(Ok(After::Transfer(to, wait))) => desk.board.queue(job, &to, wait),
        Ok(Ok(After::Later(cause))) => later(desk, job, cause),
        Ok(Err(error)) if desk.renew_after(&error) => desk.board.retry(job, Duration::ZERO),
        Ok(Err(error)) => later(desk, job, causes(&error)),
        Err(panic) => crashed(desk, job, text(&*panic)),
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

/// Once more at once; after the second time, whether or not the server was started anew in
/// between, the message is parked with its cause.
pub(crate) fn crashed(desk: &Desk, job: Job, cause: &str) {
    let marked = desk.crashed(job.mailbox, &job.unid, CRASHES_MAX, cause);
    tracing::error!(queue_id = %job.unid, ?marked, cause, "a message ended a thread in a panic");
    match marked {
        Ok(crashes) if crashes < CRASHES_MAX => desk.board.retry(job, Duration::ZERO),
        // Also one that cannot be marked: it must not go round in a circle.
        _ => desk.board.park(job, QueueState::Held),
    }
}

pub(crate) fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}
