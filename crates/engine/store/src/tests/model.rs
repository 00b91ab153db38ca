//! Random histories compared with a model in memory.
//!
//! A failing history prints its seed; `STORE_MODEL_SEED=n cargo test -p store model` runs it alone.

mod history;
pub(super) mod state;
mod synced;

use history::History;

/// Histories run by default.
const HISTORIES: u64 = 10;
/// Steps of a history.
const STEPS: usize = 160;

/// How many histories to run: `STORE_MODEL_HISTORIES`, else the default.
fn histories() -> u64 {
    let asked = std::env::var("STORE_MODEL_HISTORIES").ok();
    asked.map_or(HISTORIES, |count| count.parse().expect("a number"))
}

#[test]
fn random_histories_match_the_model() {
    let seeds = match std::env::var("STORE_MODEL_SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => (1..=histories()).collect(),
    };
    for seed in seeds {
        let line = format!("STORE_MODEL_SEED={seed} cargo test -p store random_histories");
        let result = std::panic::catch_unwind(|| {
            let mut history = History::new(seed);
            (0..STEPS).for_each(|_| history.step());
            history.end();
        });
        if let Err(panic) = result {
            eprintln!("reproduce with: {line}");
            std::panic::resume_unwind(panic);
        }
    }
}
