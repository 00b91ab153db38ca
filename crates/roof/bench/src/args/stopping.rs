//! Ctrl-C ends a run in order; a second one ends the program.

use crate::run::Stop;

/// Listens for Ctrl-C from now on. Must be called within a runtime.
pub(super) fn listen(stop: &Stop) {
    let stop = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        eprintln!("\nending in order; once more ends at once");
        stop.ask();
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("ended at once; switches of --variant were not put back");
            std::process::exit(3);
        }
    });
}
