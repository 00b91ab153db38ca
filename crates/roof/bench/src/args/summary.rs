//! The end of a run on a terminal: what was measured, and whether it is any good.

use super::table::table;
use crate::outcome::{ActionLine, Figures, Outcome, PeakFound, metric, number};
use crate::variant::State;

/// Texts of one kind that are shown.
const TEXTS_MAX: usize = 5;

/// Figures side by side: a heading and the names.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "server",
        &[
            "server_cpu_percent",
            "server_cpu_ms_per_transaction",
            "server_pss_mb",
            "server_rss_mb",
            "server_threads",
            "server_processes",
            "syncs_per_s",
            "server_write_mb_per_s",
        ],
    ),
    (
        "disk",
        &[
            "device_reads_per_s",
            "device_writes_per_s",
            "device_read_mb_per_s",
            "device_write_mb_per_s",
            "device_flushes_per_s",
            "device_busy_percent",
            "written_per_logical",
            "space_before_mb",
            "space_after_mb",
        ],
    ),
    ("network", &["network_in_kbit_per_s", "network_out_kbit_per_s", "requests_per_s"]),
    ("driver", &["driver_cpu_percent", "driver_lag_p99_ms", "machine_cpu_percent"]),
];

/// A result as text.
pub(super) fn show(outcome: &Outcome) -> String {
    let mut out = format!("\n{}\n", outcome.heading());
    let asked = &outcome.asked;
    out.push_str(&format!(
        "  ramp {:.0} s, steady {:.0} s, seed {}, sizes {}, {} messages there before\n",
        asked.ramp_s,
        outcome.window_s,
        asked.seed,
        asked.profile,
        number(asked.messages_before as f64, 0),
    ));
    if !asked.via_remark.is_empty() {
        out.push_str(&format!("  {}\n", asked.via_remark));
    }
    if let Some(peak) = &outcome.peak {
        out.push_str(&probes(peak));
    }
    out.push_str(&response(&outcome.figures));
    out.push_str(&actions(&outcome.actions));
    for (heading, names) in GROUPS {
        out.push_str(&group(heading, names, &outcome.figures));
    }
    out.push_str(&mailboxes(outcome));
    out.push_str(&switches(outcome));
    for missing in &outcome.not_measured {
        out.push_str(&format!("  not measured: {}: {}\n", missing.what, missing.why));
    }
    out.extend(outcome.remarks.iter().map(|remark| format!("  note: {remark}\n")));
    out.push_str(&verdict(outcome));
    out
}

fn response(figures: &Figures) -> String {
    let value = |name: &str, digits| figures.get(name).map_or("-".into(), |v| number(v, digits));
    format!(
        "\n  {} transactions/min    response mean {} ms, median {}, 95 % {}, 99 % {}, \
         longest {}\n\n",
        value("transactions_per_min", 0),
        value("response_mean_ms", 1),
        value("response_p50_ms", 1),
        value("response_p95_ms", 1),
        value("response_p99_ms", 1),
        value("response_max_ms", 0),
    )
}

fn actions(lines: &[ActionLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let heading = ["action", "count", "errors", "mean ms", "median", "95 %", "99 %", "longest"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for line in lines {
        let ms = |value: f64| number(value, 1);
        rows.push(vec![
            line.name.clone(),
            number(line.count as f64, 0),
            number(line.errors as f64, 0),
            ms(line.mean_ms),
            ms(line.p50_ms),
            ms(line.p95_ms),
            ms(line.p99_ms),
            ms(line.max_ms),
        ]);
    }
    table(&rows).lines().map(|line| format!("  {line}\n")).collect::<String>() + "\n"
}

/// `heading  A 1, B 2`, in lines of less than 100 characters.
fn group(heading: &str, names: &[&str], figures: &Figures) -> String {
    let shown = names.iter().filter_map(|name| {
        let (metric, value) = (metric(name)?, figures.get(name)?);
        Some(format!("{} {}", metric.label, metric.show(value)))
    });
    let mut out = String::new();
    let mut line = format!("  {heading:8}");
    for (at, one) in shown.enumerate() {
        if at > 0 && line.chars().count() + one.chars().count() > 96 {
            out.push_str(&format!("{line},\n"));
            line = format!("  {:8}{one}", "");
        } else {
            line.push_str(if at > 0 { ", " } else { "" });
            line.push_str(&one);
        }
    }
    match line.trim() == heading {
        true => out,
        false => format!("{out}{line}\n"),
    }
}

fn mailboxes(outcome: &Outcome) -> String {
    let looked = &outcome.findings.looked;
    let people = &outcome.people;
    let mut out = format!(
        "  people  {} joined, {} iterations, {} errors\n",
        number(f64::from(people.joined), 0),
        number(people.iterations as f64, 0),
        number(people.errors as f64, 0),
    );
    if looked.people > 0 {
        out.push_str(&format!(
            "  check   {} messages in {} folders of {} people; {} of this run expected, {} \
             compared byte for byte\n",
            number(looked.messages as f64, 0),
            number(looked.folders as f64, 0),
            number(looked.people as f64, 0),
            number(looked.expected as f64, 0),
            number(looked.compared as f64, 0),
        ));
    }
    let more = people.first_errors.iter().take(TEXTS_MAX).map(|text| format!("  error: {text}\n"));
    out.extend(more);
    for (kind, finding) in &outcome.findings.kinds {
        let first = finding.first.iter().take(TEXTS_MAX);
        out.extend(first.map(|text| format!("  {}: {text}\n", kind.word())));
    }
    out
}

fn switches(outcome: &Outcome) -> String {
    let mut out = String::new();
    for record in &outcome.variant {
        let state = match record.state {
            State::Set | State::Driver => "in force",
            State::Already => "was so already",
            State::NotPossible => "NOT POSSIBLE with this server",
        };
        out.push_str(&format!("  variant {}: {state}: {}\n", record.switch, record.how));
        let put_back = record.put_back.as_deref().unwrap_or_default();
        if !put_back.is_empty() {
            out.push_str(&format!("  variant {}: NOT PUT BACK: {put_back}\n", record.switch));
        }
    }
    out
}

fn probes(peak: &PeakFound) -> String {
    let heading = ["users", "held", "mean ms", "99 % ms", "per min", "why not"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for probe in &peak.probes {
        let value = |name: &str, digits| {
            probe.figures.get(name).map_or("-".to_owned(), |value| number(value, digits))
        };
        rows.push(vec![
            number(f64::from(probe.users), 0),
            if probe.held { "yes" } else { "no" }.to_owned(),
            value("response_mean_ms", 1),
            value("response_p99_ms", 1),
            value("transactions_per_min", 0),
            probe.why.clone(),
        ]);
    }
    let table: String = table(&rows).lines().map(|line| format!("  {line}\n")).collect();
    let users = number(f64::from(peak.users), 0);
    format!("\n{table}\n  peak: {users} users{}\n", if peak.at_most { " or more" } else { "" })
}

fn verdict(outcome: &Outcome) -> String {
    if outcome.passed {
        return "\nPASSED\n".to_owned();
    }
    let reasons: String = outcome.reasons.iter().map(|reason| format!("  {reason}\n")).collect();
    format!("\nFAILED\n{reasons}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_groups_are_broken() {
        let mut figures = Figures::default();
        for (at, name) in GROUPS[1].1.iter().enumerate() {
            figures.put(name, at as f64 * 1000.0);
        }
        let text = group(GROUPS[1].0, GROUPS[1].1, &figures);
        assert!(
            text.lines().count() > 1 && text.lines().all(|l| l.chars().count() <= 100),
            "{text}"
        );
        assert!(text.starts_with("  disk    Disk reads/s 0.0, Disk writes/s 1,000.0"), "{text}");
        assert_eq!(group("disk", GROUPS[1].1, &Figures::default()), "");
    }

    #[test]
    fn a_failed_run_says_why() {
        let mut outcome = Outcome::default();
        outcome.reasons.push("3 missing, first: u0001 INBOX".to_owned());
        let text = show(&outcome);
        assert!(text.ends_with("\nFAILED\n  3 missing, first: u0001 INBOX\n"), "{text}");
        outcome.passed = true;
        assert!(show(&outcome).ends_with("\nPASSED\n"));
    }
}
