//! `list`, `report` and `published`: what can be said without a server.

use std::path::{Path, PathBuf};

use super::table::table;
use super::{Ending, comparing, say};
use crate::outcome::{Outcome, number, write_whole};
use crate::page;
use crate::published::{PREFIX, Study, studies};
use crate::workload::{Workload, named, names, text};

/// Results on one page.
const RESULTS_MAX: usize = 24;

/// `list`.
pub(super) fn list(name: Option<&str>, json: bool) -> Result<(), Ending> {
    let names = match name {
        Some(name) => vec![name],
        None => names(),
    };
    let all: Result<Vec<Workload>, Ending> = names.into_iter().map(known).collect();
    let all = all?;
    if json {
        let values: Vec<serde_json::Value> = all.iter().map(as_json).collect();
        return say(&format!("{:#}\n", serde_json::Value::from(values)));
    }
    let shown: Vec<String> = all.iter().map(shown).collect();
    say(&shown.join("\n"))
}

/// `list WORKLOAD --file`.
pub(super) fn file(name: &str) -> Result<(), Ending> {
    say(text(&known(name)?.name).unwrap_or_default())
}

fn known(name: &str) -> Result<Workload, Ending> {
    named(name).map_err(|error| Ending::Misuse(error.to_string()))
}

fn shown(workload: &Workload) -> String {
    let mut text = format!("{}: {}\n", workload.name, workload.title);
    text.push_str(&format!(
        "  defined over {}; an iteration of {} min; {} messages in INBOX; sizes {}\n",
        workload.door,
        number(f64::from(workload.period_s) / 60.0, 0),
        number(f64::from(workload.messages), 0),
        workload.profile,
    ));
    if workload.replicas > 0.0 {
        let percent = workload.replicas * 100.0;
        text.push_str(&format!("  {percent:.0} % of the people work on a local replica\n"));
    }
    if let Some(spread) = workload.spread {
        let (people, mail) = (spread.people * 100.0, spread.mail * 100.0);
        text.push_str(&format!("  {people:.0} % of the people get {mail:.0} % of the mail\n"));
    }
    let heading = ["action", "per iteration", "per hour", "over IMAP and SMTP"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for mix in workload.mix() {
        let per_hour = number(mix.per_hour, 2);
        rows.push(vec![mix.name, number(mix.per_iteration, 3), per_hour, mix.how]);
    }
    text.extend(table(&rows).lines().map(|line| format!("    {line}\n")));
    text.extend(workload.origin.iter().map(|origin| format!("  from: {origin}\n")));
    text
}

fn as_json(workload: &Workload) -> serde_json::Value {
    let mix = workload.mix().into_iter().map(|mix| {
        serde_json::json!({
            "action": mix.name,
            "per_iteration": mix.per_iteration,
            "per_hour": mix.per_hour,
            "how": mix.how,
        })
    });
    serde_json::json!({
        "name": workload.name,
        "title": workload.title,
        "door": workload.door,
        "period_s": workload.period_s,
        "messages": workload.messages,
        "profile": workload.profile,
        "replicas": workload.replicas,
        "origin": workload.origin,
        "mix": mix.collect::<Vec<_>>(),
    })
}

/// `report`.
pub(super) fn report(results: &[PathBuf], html: &Path) -> Result<(), Ending> {
    if results.len() > RESULTS_MAX {
        return Err(Ending::Misuse(format!("at most {RESULTS_MAX} results fit on a page")));
    }
    let loaded: Result<Vec<Outcome>, Ending> =
        results.iter().map(|path| comparing::load(&path.display().to_string())).collect();
    write_whole(html, &page::page(&loaded?))?;
    say(&format!("{} results are in {}\n", results.len(), html.display()))
}

/// `published`.
pub(super) fn published(name: Option<&str>, json: bool) -> Result<(), Ending> {
    let misuse = |trouble: crate::published::Trouble| Ending::Misuse(trouble.to_string());
    let all = studies().map_err(misuse)?;
    let wanted = name.map(|name| name.strip_prefix(PREFIX).unwrap_or(name));
    let by_study: Vec<&Study> = match wanted {
        None => all.iter().collect(),
        Some(name) => all.iter().filter(|study| study.name.eq_ignore_ascii_case(name)).collect(),
    };
    if by_study.is_empty() {
        let outcome = crate::published::outcome(wanted.unwrap_or_default()).map_err(misuse)?;
        return say(&if json { outcome.json() + "\n" } else { figures(&outcome) });
    }
    if json {
        let value = serde_json::to_value(&by_study).map_err(|e| Ending::Trouble(e.to_string()))?;
        return say(&format!("{value:#}\n"));
    }
    let texts: Vec<String> = by_study.into_iter().map(study).collect();
    say(&texts.join("\n"))
}

/// The figures of one published result.
fn figures(outcome: &Outcome) -> String {
    let mut rows = vec![vec![outcome.name.clone(), String::new()]];
    for metric in crate::outcome::METRICS {
        if let Some(value) = outcome.figures.get(metric.name) {
            rows.push(vec![metric.label.to_owned(), metric.show(value)]);
        }
    }
    let mut text = table(&rows);
    text.push_str(&format!("hardware: {}\nfrom: {}\n", outcome.host.cpu, outcome.driver));
    text
}

fn study(study: &Study) -> String {
    let mut text = format!("{}: {}\n", study.name, study.title);
    text.push_str(&format!("  OTHER HARDWARE: {}\n  from: {}\n", study.hardware, study.source));
    text.extend(study.notes.iter().map(|note| format!("  note: {note}\n")));
    for one in &study.tables {
        text.push_str(&format!("\n  {}\n", one.title));
        let rows: Vec<Vec<String>> =
            std::iter::once(one.columns.clone()).chain(one.rows.iter().cloned()).collect();
        text.extend(table(&rows).lines().map(|line| format!("    {line}\n")));
    }
    if !study.results.is_empty() {
        let names = study.results.iter().map(|r| format!("    {PREFIX}{}\n", r.name));
        text.push_str("\n  to compare with:\n");
        text.extend(names);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_shown_with_its_mix() {
        for name in names() {
            let workload = named(name).unwrap();
            let text = shown(&workload);
            assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
            assert!(workload.mix().iter().all(|mix| text.contains(&mix.name)), "{text}");
            assert_eq!(as_json(&workload)["name"], name);
        }
    }

    #[test]
    fn every_study_says_that_it_is_of_other_hardware() {
        for one in studies().unwrap() {
            let text = study(one);
            assert!(text.contains("OTHER HARDWARE: "), "{text}");
            assert!(one.results.iter().all(|result| text.contains(&result.name)), "{text}");
        }
        let text = figures(&crate::published::outcome("N85Entmail-8.5").unwrap());
        assert!(text.contains("Disk writes/s") && text.contains("453.0"), "{text}");
    }
}
