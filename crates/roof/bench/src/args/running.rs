//! `run`: one run.

use tokio::runtime::{Builder, Runtime};

use super::options::{Course, Run};
use super::trial::{Trial, with_variant};
use super::{Around, Ending, say, stopping, summary};
use crate::outcome::{Outcome, write_whole};
use crate::page;

/// Runs once.
pub(super) fn run(run: &Run, around: &Around) -> Result<(), Ending> {
    let trial = Trial::new(&run.work, &run.server, &run.course, run.max_response)?;
    let runtime = runtime()?;
    let console = around.console.as_deref();
    let (outcome, variant) = with_variant(&trial, console, || {
        runtime.block_on(async {
            stopping::listen(&trial.stop);
            trial.run(run.server.users).await
        })
    })?;
    let mut outcome = outcome?;
    outcome.variant = variant;
    finish(&outcome, &run.course, around.json)
}

/// Where people live.
pub(super) fn runtime() -> Result<Runtime, Ending> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// Writes and shows a result; one that did not pass is a failure.
pub(super) fn finish(outcome: &Outcome, course: &Course, json: bool) -> Result<(), Ending> {
    // It is shown first: it must not be lost because a file cannot be written.
    say(&if json { outcome.json() + "\n" } else { summary::show(outcome) })?;
    if let Some(path) = &course.out {
        outcome.save(path)?;
    }
    if let Some(path) = &course.html {
        write_whole(path, &page::page(std::slice::from_ref(outcome)))?;
    }
    if outcome.passed { Ok(()) } else { Err(Ending::Failed) }
}
