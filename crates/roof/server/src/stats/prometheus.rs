//! Statistics in the text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::families::{FAMILIES, PARTED};
use super::{Stat, StatValue};

/// The doors whose name becomes a label.
const DOORS: &[&str] = &["SMTP", "IMAP", "POP3", "LDAP", "HTTP"];

/// Statistic, metric and meaning of every row of the table.
pub fn families() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let parted = PARTED.iter().map(|row| (row.0, row.1, row.3));
    FAMILIES.iter().map(|row| (row.stat, row.metric, row.help)).chain(parted)
}

/// Metrics of one name.
#[derive(Default)]
struct Group {
    help: String,
    samples: Vec<(String, f64)>,
}

/// Prints all numbers among the statistics; texts become labels of `nelumbo_info`.
pub fn print(stats: &[Stat]) -> String {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut info = Vec::new();
    for stat in stats {
        match &stat.value {
            StatValue::Number(number) => {
                let (metric, help, labels) = describe(&stat.name);
                let group = groups.entry(metric).or_default();
                group.help = help;
                group.samples.push((labels, *number));
            }
            StatValue::Text(text) if ["Server.Name", "Server.Version"].contains(&&*stat.name) => {
                let label = stat.name.trim_start_matches("Server.").to_lowercase();
                info.push(format!("{label}=\"{}\"", escape(text)));
            }
            StatValue::Text(_) | StatValue::Time(_) => {}
        }
    }
    let mut out = String::with_capacity(16 * 1024);
    let labels = format!("{{{}}}", info.join(","));
    let group = Group { help: "Which server this is".to_owned(), samples: vec![(labels, 1.0)] };
    groups.insert("nelumbo_info".to_owned(), group);
    for (metric, group) in &groups {
        print_group(&mut out, metric, group);
    }
    out
}

fn print_group(out: &mut String, metric: &str, group: &Group) {
    let kind = if metric.ends_with("_total") { "counter" } else { "gauge" };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {metric} {}\n# TYPE {metric} {kind}", group.help);
    for (labels, number) in &group.samples {
        let _ = writeln!(out, "{metric}{labels} {number}");
    }
}

/// Name, help and labels of a statistic.
fn describe(name: &str) -> (String, String, String) {
    let door = name.split_once('.').filter(|(first, _)| DOORS.contains(first));
    let label = |door: &str| format!("{{door=\"{}\"}}", door.to_lowercase());
    for row in FAMILIES {
        if row.stat == name {
            return (row.metric.to_owned(), row.help.to_owned(), String::new());
        }
        if let (Some((door, rest)), Some(wanted)) = (door, row.stat.strip_prefix("*."))
            && rest == wanted
        {
            return (row.metric.to_owned(), row.help.to_owned(), label(door));
        }
    }
    for (begin, metric, label, help) in PARTED {
        if let Some(part) = name.strip_prefix(begin) {
            let labels = format!("{{{label}=\"{}\"}}", escape(part));
            return ((*metric).to_owned(), (*help).to_owned(), labels);
        }
    }
    (format!("nelumbo_{}", snake(name)), format!("Statistic {name}"), String::new())
}

/// `Database.DbCache.MaxEntries` as `database_db_cache_max_entries`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = '.';
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            out.push('_');
        } else {
            let starts_word = c.is_ascii_uppercase() && before.is_ascii_lowercase();
            if starts_word {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
