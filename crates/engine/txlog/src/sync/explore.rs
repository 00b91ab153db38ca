//! Running a test under many schedules, and what such tests choose.
//!
//! `cargo test -p CRATE --features schedules schedules`; `SCHEDULES=20000` tries so many of each,
//! `SCHEDULES_SEED=7` others. A failure prints the schedule, which `shuttle::replay` repeats.

use std::io;

use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner, thread};

use crate::faults::{Call, Watch};

/// Stack of each thread of a schedule.
const STACK_BYTES: usize = 1 << 20;
/// A schedule that is longer than this does not end.
const STEPS_MAX: usize = 5_000_000;
/// Steps at which priorities change.
const CHANGES: usize = 3;

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs `body` under `count` schedules: half of them chosen at random at every step, the others
/// with priorities that change at few steps.
pub fn explore(count: usize, body: fn()) {
    let count = number("SCHEDULES", count);
    let seed = number("SCHEDULES_SEED", 1) as u64;
    let config = || {
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
        config
    };
    let random = RandomScheduler::new_from_seed(seed, count - count / 2);
    Runner::new(random, config()).run(body);
    let few = PctScheduler::new_from_seed(seed, CHANGES, count / 2);
    Runner::new(few, config()).run(body);
}

/// True `percent` times of a hundred; the schedule repeats it.
pub fn chance(percent: u32) -> bool {
    shuttle::rand::thread_rng().gen_range(0..100) < percent
}

/// Lets others go on before each call of the disk.
pub struct Yields;

impl Watch for Yields {
    fn before(&self, _: &Call<'_>) -> io::Result<()> {
        thread::yield_now();
        Ok(())
    }
}
