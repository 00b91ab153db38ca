//! `compare`: two results side by side in the form of the published tables.

use std::path::Path;

use serde::Serialize;

use super::table::table;
use super::{Ending, say};
use crate::outcome::{Better, METRICS, Outcome, number};
use crate::published::{self, PREFIX};

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Line {
    /// The name of the figure.
    pub(crate) metric: String,
    /// What it is called, with its unit.
    pub(crate) label: String,
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    /// From A to B.
    pub(crate) change_percent: Option<f64>,
    #[serde(skip)]
    digits: usize,
    /// Whether B is better, where that can be said.
    pub(crate) better: Option<bool>,
}

/// Figures that are put to one person when the numbers of people differ, and by how many people
/// they are counted.
const PER_USER: [(&str, &str, f64, usize); 5] = [
    ("transactions_per_min", "Transactions/min per user", 1.0, 2),
    ("device_ios_per_s", "Disk I/O per s and 1,000 users", 1000.0, 1),
    ("device_writes_per_s", "Disk writes/s per 1,000 users", 1000.0, 1),
    ("network_kbit_per_s", "Network kbit/s per user", 1.0, 2),
    ("server_cpu_percent", "CPU % (of one core) per 1,000 users", 1000.0, 1),
];

/// Compares two results and prints the table.
pub(super) fn compare(a: &str, b: &str, json: bool) -> Result<(), Ending> {
    let (a, b) = (load(a)?, load(b)?);
    let lines = lines(&a, &b);
    if json {
        let value = serde_json::json!({ "a": a.name, "b": b.name, "lines": lines });
        return say(&format!("{value:#}\n"));
    }
    say(&shown(&a, &b, &lines))
}

/// A result by its file, or a published one by its name.
pub(super) fn load(name: &str) -> Result<Outcome, Ending> {
    match name.strip_prefix(PREFIX) {
        Some(name) => {
            published::outcome(name).map_err(|trouble| Ending::Misuse(trouble.to_string()))
        }
        None => Ok(Outcome::load(Path::new(name))?),
    }
}

/// Every figure that at least one of them has; beside a published result, which has few, those
/// that both have.
pub(crate) fn lines(a: &Outcome, b: &Outcome) -> Vec<Line> {
    let only_common = a.host.published != b.host.published;
    let mut lines: Vec<Line> = METRICS
        .iter()
        .filter_map(|metric| {
            let (a, b) = (a.figures.get(metric.name), b.figures.get(metric.name));
            let change = change(a, b);
            let better = match metric.better {
                Better::Less => change.map(|change| change < 0.0),
                Better::More => change.map(|change| change > 0.0),
                Better::Neither => None,
            };
            a.or(b).filter(|_| !only_common || a.is_some() && b.is_some())?;
            Some(Line {
                metric: metric.name.to_owned(),
                label: metric.label.to_owned(),
                a,
                b,
                change_percent: change,
                digits: metric.digits,
                better: better.filter(|_| change.is_some_and(|change| change.abs() >= 0.5)),
            })
        })
        .collect();
    if a.asked.users != b.asked.users {
        lines.extend(PER_USER.iter().filter_map(|row| per_user(row, a, b)));
    }
    lines
}

fn per_user(row: &(&str, &str, f64, usize), a: &Outcome, b: &Outcome) -> Option<Line> {
    let (name, label, people, digits) = *row;
    let of = |outcome: &Outcome| {
        let users = outcome.figures.get("users").filter(|users| *users > 0.0)?;
        Some(outcome.figures.get(name)? / users * people)
    };
    let (a, b) = (Some(of(a)?), Some(of(b)?));
    let metric = format!("{name}_per_user");
    let (label, change_percent) = (label.to_owned(), change(a, b));
    Some(Line { metric, label, a, b, change_percent, digits, better: None })
}

/// From A to B in %.
fn change(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    (a != 0.0).then(|| (b - a) / a * 100.0)
}

/// A change as the published tables tell it: whole percents with their sign.
pub(crate) fn percent(change: f64) -> String {
    match change.round() {
        0.0 => "0".to_owned(),
        whole => format!("{}{}", if whole > 0.0 { "+" } else { "" }, number(whole, 0)),
    }
}

impl Line {
    /// The cells of a table.
    pub(crate) fn cells(&self) -> [String; 4] {
        let value = |value: Option<f64>| value.map_or("-".to_owned(), |v| number(v, self.digits));
        let change = self.change_percent.map_or("-".to_owned(), percent);
        [self.label.clone(), value(self.a), value(self.b), change]
    }
}

/// What makes two results hard to compare.
pub(crate) fn cautions(a: &Outcome, b: &Outcome) -> Vec<String> {
    let mut cautions = Vec::new();
    for (letter, outcome) in [("A", a), ("B", b)] {
        if outcome.host.published {
            cautions.push(format!(
                "{letter} was published and measured on other hardware: {}",
                outcome.host.cpu
            ));
        }
        if !outcome.passed {
            let why = outcome.reasons.first().map_or("", String::as_str);
            cautions.push(format!("{letter} is of a run that FAILED: {why}"));
        }
        if !outcome.asked.via_remark.is_empty() {
            cautions.push(format!("{letter}: {}", outcome.asked.via_remark));
        }
    }
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            cautions.push(format!("{what}: A {a}, B {b}"));
        }
    };
    differ("workload", a.asked.workload.clone(), b.asked.workload.clone());
    differ("speed", a.asked.speed.to_string(), b.asked.speed.to_string());
    cautions
}

fn shown(a: &Outcome, b: &Outcome, lines: &[Line]) -> String {
    let mut text = format!("A  {}\nB  {}\n\n", a.name, b.name);
    let mut rows = vec![["Metric", "A", "B", "% change"].map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(|line| line.cells().to_vec()));
    text.push_str(&table(&rows));
    let cautions = cautions(a, b);
    if !cautions.is_empty() {
        text.push('\n');
        text.extend(cautions.iter().map(|caution| format!("note  {caution}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: [&str; 11] = [
        "response_mean_ms",
        "transactions_per_min",
        "server_cpu_machine_percent",
        "device_ios_per_s",
        "device_reads_per_s",
        "device_writes_per_s",
        "device_mb_per_s",
        "device_read_mb_per_s",
        "device_write_mb_per_s",
        "network_kbit_per_s",
        "server_virtual_mb",
    ];

    #[test]
    fn changes_are_the_published_ones() {
        let results = [
            ("N8Entmail-8.0", "N85Entmail-8.5"),
            ("N8Entmail-8.0", "N85Entmail-8.5-new-format"),
            ("N85Entmail-8.5-new-format", "N85Entmail-8.5-shared-attachments"),
            ("N85Entmail-8.5-shared-attachments", "N85Entmail-8.5-no-replicas"),
        ];
        // Where the published percentage does not follow from the published figures.
        let inexact = [
            ("N85Entmail-8.5-new-format", "server_virtual_mb", "+1"),
            ("N85Entmail-8.5-no-replicas", "device_ios_per_s", "+14"),
        ];
        let study = &published::studies().unwrap()[0];
        for ((a, b), row) in results.into_iter().zip(&study.tables[1].rows) {
            let (a, b_outcome) = (load(&format!("{PREFIX}{a}")), load(&format!("{PREFIX}{b}")));
            let lines = lines(&a.unwrap(), &b_outcome.unwrap());
            for (name, published) in FIGURES.iter().zip(&row[1..]) {
                let line = lines.iter().find(|line| line.metric == *name).unwrap();
                let exact = inexact.iter().find(|(of, what, _)| (of, what) == (&b, name));
                let wanted = exact.map_or(published.as_str(), |(_, _, wanted)| *wanted);
                assert_eq!(line.cells()[3], wanted, "{b}: {name}");
            }
        }
    }

    #[test]
    fn other_numbers_of_people_are_put_to_one() {
        let a = load("published:R6Mail-5.0.11-zos").unwrap();
        let b = load("published:R6Mail-6-solaris").unwrap();
        let names = |lines: &[Line]| lines.iter().map(|l| l.metric.clone()).collect::<Vec<_>>();
        assert!(!names(&lines(&a, &b)).contains(&"network_kbit_per_s_per_user".to_owned()));
        let a = load("published:R6iNotes-6-solaris").unwrap();
        let all = lines(&a, &b);
        let line = all.iter().find(|line| line.metric == "network_kbit_per_s_per_user").unwrap();
        assert_eq!(line.cells()[1..3], ["3.76", "1.39"]);
        let text = shown(&a, &b, &all);
        assert!(text.contains("note  workload: A R6iNotes, B R6Mail"), "{text}");
        assert!(text.contains("other hardware"), "{text}");
    }

    #[test]
    fn small_changes_are_none() {
        let cases = [(0.4, "0"), (-0.4, "0"), (3.3, "+3"), (-15.2, "-15"), (1234.0, "+1,234")];
        for (change, shown) in cases {
            assert_eq!(percent(change), shown);
        }
        assert_eq!(change(Some(0.0), Some(1.0)), None);
    }
}
