//! Random histories compared with a model in memory.
//!
//! A failing history prints its seed; `STORE_MODEL_SEED=n cargo test -p store model` runs it alone.
//! `STORE_MODEL_HISTORIES`, `STORE_MODEL_STEPS` and `STORE_MODEL_FIRST` (seed) make a long run.

mod history;
pub(super) mod state;
mod synced;

use history::History;

/// Histories run by default.
const HISTORIES: u64 = 8;
/// Steps of a history.
const STEPS: u64 = 200;

fn asked(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |count| count.parse().expect("a number"))
}

#[test]
fn random_histories_match_the_model() {
    let seeds = match std::env::var("STORE_MODEL_SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => {
            let first = asked("STORE_MODEL_FIRST", 1);
            (first..first + asked("STORE_MODEL_HISTORIES", HISTORIES)).collect()
        }
    };
    let steps = asked("STORE_MODEL_STEPS", STEPS);
    for seed in seeds {
        let line = format!("STORE_MODEL_SEED={seed} cargo test -p store random_histories");
        let result = std::panic::catch_unwind(|| {
            let mut history = History::new(seed);
            (0..steps).for_each(|_| history.step());
            history.end();
        });
        if let Err(panic) = result {
            eprintln!("reproduce with: {line}");
            std::panic::resume_unwind(panic);
        }
    }
}
