//! `peak`: the search for the most people whom the server bears.

use super::options::Peak;
use super::running::{finish, runtime};
use super::trial::{Trial, probe_line, with_variant};
use super::{Around, Ending, stopping};
use crate::outcome::{Outcome, PeakFound};
use crate::run::{self, PeakOptions, Verdict};

/// Probes at the most.
const PROBES_MAX: u32 = 40;

/// What a search holds.
#[derive(Default)]
struct Search {
    found: PeakFound,
    /// The best probe, or the last when none held.
    shown: Option<Outcome>,
}

/// Searches.
pub(super) fn peak(peak: &Peak, around: &Around) -> Result<(), Ending> {
    let limit = Some(peak.max_response);
    let trial = Trial::new(&peak.work, &peak.server, &peak.course, limit)?;
    let runtime = runtime()?;
    let console = around.console.as_deref();
    let (found, variant) = with_variant(&trial, console, || {
        runtime.block_on(async {
            stopping::listen(&trial.stop);
            search(peak, &trial).await
        })
    })?;
    let Search { found, shown } = found?;
    let mut outcome = shown.ok_or_else(|| Ending::Trouble("no probe was made".to_owned()))?;
    outcome.passed = found.users > 0 && !trial.stop.asked();
    if found.users > 0 {
        outcome.reasons.clear();
        outcome.remarks.push(match found.at_most {
            true => format!("all {} people were borne; the server may bear more", found.users),
            false => format!("the most people whom the server bore: {}", found.users),
        });
    }
    if trial.stop.asked() {
        outcome.reasons.push("the search was ended early by its user".to_owned());
    }
    outcome.variant = variant;
    outcome.peak = Some(found);
    finish(&outcome, &peak.course, around.json)
}

async fn search(peak: &Peak, trial: &Trial<'_>) -> Result<Search, Ending> {
    let options = PeakOptions {
        from: peak.from,
        users_max: peak.server.users,
        within: peak.within,
        probes_max: PROBES_MAX,
    };
    let mut search = Search::default();
    let found = {
        let search = &mut search;
        run::peak(options, async |users| probe(trial, search, users).await).await
    };
    match found {
        Ok(found) => (search.found.users, search.found.at_most) = (found.users, found.at_most),
        // What was found before it was ended is worth to be shown.
        Err(_) if trial.stop.asked() && search.shown.is_some() => {}
        Err(ending) => return Err(ending),
    }
    Ok(search)
}

async fn probe(trial: &Trial<'_>, search: &mut Search, users: u32) -> Result<Verdict, Ending> {
    eprintln!("probe with {users} people");
    let outcome = trial.run(users).await?;
    let line = probe_line(&outcome);
    let shown = |name: &str| line.figures.get(name).unwrap_or_default();
    eprintln!(
        "  {}: mean {:.1} ms, {:.0} transactions/min{}",
        if line.held { "held" } else { "not held" },
        shown("response_mean_ms"),
        shown("transactions_per_min"),
        if line.held { String::new() } else { format!(", {}", line.why) },
    );
    let verdict = if line.held { Verdict::Held } else { Verdict::Failed(line.why.clone()) };
    if line.held {
        search.found.users = search.found.users.max(users);
    }
    search.found.probes.push(line);
    let better = |shown: &Outcome| {
        (outcome.passed, outcome.passed && outcome.asked.users > shown.asked.users)
            > (shown.passed, false)
    };
    if search.shown.as_ref().is_none_or(better) {
        search.shown = Some(outcome);
    }
    match trial.stop.asked() {
        true => Err(Ending::Trouble("ended by its user".to_owned())),
        false => Ok(verdict),
    }
}
