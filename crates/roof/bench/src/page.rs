//! A page with charts: one file that needs nothing beside it, no script and no network.

mod chart;
#[cfg(test)]
mod tests;

use crate::args::changes;
use crate::meters::Row;
use crate::outcome::{ActionLine, METRICS, Metric, Outcome, metric, number};
use chart::{Chart, Line};

const STYLE: &str = include_str!("page/style.css");

/// The figures that stand on top.
const TILES: &[&str] = &[
    "transactions_per_min",
    "response_mean_ms",
    "response_p95_ms",
    "response_p99_ms",
    "server_cpu_percent",
    "device_writes_per_s",
    "syncs_per_s",
    "server_pss_mb",
    "errors",
];

/// Reads a value of a row.
type Reading = fn(&Row) -> Option<f64>;

/// A chart of one run: title, unit, and its lines.
type Plan = (&'static str, &'static str, &'static [(&'static str, Reading)]);

const PLANS: &[Plan] = &[
    (
        "Response time",
        "ms",
        &[
            ("half took no longer", |row| took(row, row.p50_ms)),
            ("95 %", |row| took(row, row.p95_ms)),
            ("99 %", |row| took(row, row.p99_ms)),
        ],
    ),
    (
        "Throughput",
        "per minute",
        &[
            ("transactions", |row| Some(row.per_min)),
            ("errors", |row| (row.errors > 0).then_some(row.errors as f64)),
        ],
    ),
    (
        "CPU",
        "% of one core",
        &[("server", |row| row.server_cpu_percent), ("driver", |row| row.driver_cpu_percent)],
    ),
    (
        "Disk operations",
        "per second",
        &[("writes", |row| row.device_writes_per_s), ("reads", |row| row.device_reads_per_s)],
    ),
    ("Sync calls", "per second", &[("fsync and its kind", |row| row.syncs_per_s)]),
    (
        "Disk volume",
        "MB/s",
        &[("written", |row| row.device_write_mb_per_s), ("read", |row| row.device_read_mb_per_s)],
    ),
    (
        "Memory of the server",
        "MB",
        &[("resident", |row| row.server_rss_mb), ("proportional (PSS)", |row| row.server_pss_mb)],
    ),
    (
        "Network",
        "kbit/s",
        &[
            ("to the clients", |row| Some(row.network_in_kbit_per_s)),
            ("from the clients", |row| Some(row.network_out_kbit_per_s)),
        ],
    ),
    ("People", "who have joined", &[("people", |row| Some(f64::from(row.joined)))]),
];

/// What several runs are drawn together in.
const TOGETHER: &[(&str, &str, Reading)] = &[
    ("Response time, 95 %", "ms", |row| took(row, row.p95_ms)),
    ("Response time, mean", "ms", |row| took(row, row.mean_ms)),
    ("Throughput", "transactions per minute", |row| Some(row.per_min)),
    ("CPU of the server", "% of one core", |row| row.server_cpu_percent),
    ("Disk writes", "per second", |row| row.device_writes_per_s),
    ("Disk volume written", "MB/s", |row| row.device_write_mb_per_s),
    ("Sync calls", "per second", |row| row.syncs_per_s),
    ("Memory of the server", "MB, resident", |row| row.server_rss_mb),
];

/// A time, of seconds in which something ended.
fn took(row: &Row, value_ms: f64) -> Option<f64> {
    (row.transactions > 0).then_some(value_ms)
}

/// The page of these results; several are drawn together.
#[must_use]
pub fn page(outcomes: &[Outcome]) -> String {
    let title = match outcomes {
        [one] => one.heading(),
        several => format!("{} runs beside each other", several.len()),
    };
    let body = match outcomes {
        [one] => single(one),
        several => beside(several),
    };
    let title = escaped(&title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\
         </body></html>\n"
    )
}

fn single(outcome: &Outcome) -> String {
    let mut out = verdict(outcome);
    out.push_str(&facts(outcome));
    out.push_str(&tiles(outcome));
    let steady = window(outcome);
    out.push_str("<div class=\"charts\">\n");
    for (title, unit, lines) in PLANS {
        let lines = lines.iter().map(|(name, reading)| line(name, outcome, *reading)).collect();
        out.push_str(&Chart { title: (*title).to_owned(), unit, lines, steady }.html());
    }
    out.push_str(
        "</div>\n<p class=\"soft\">The shaded part is the steady window, which counts.</p>",
    );
    out.push_str(&actions(&outcome.actions));
    out.push_str(&probes(outcome));
    out.push_str(&figures(std::slice::from_ref(outcome)));
    out.push_str(&remarks(outcome));
    out
}

fn beside(outcomes: &[Outcome]) -> String {
    let mut out = String::from("<ul>");
    for outcome in outcomes {
        out.push_str(&format!("<li>{} {}</li>", escaped(&outcome.name), badge(outcome)));
    }
    out.push_str("</ul>\n");
    out.push_str(&headline(outcomes));
    out.push_str("<h2>Over time</h2><div class=\"charts\">\n");
    for (title, unit, reading) in TOGETHER {
        let lines = outcomes.iter().map(|one| line(&one.name, one, *reading)).collect();
        out.push_str(&Chart { title: (*title).to_owned(), unit, lines, steady: None }.html());
    }
    out.push_str("</div>\n");
    out.push_str(&figures(outcomes));
    for outcome in outcomes {
        out.push_str(&format!("<h2>{} {}</h2>", escaped(&outcome.name), badge(outcome)));
        out.push_str(&facts(outcome));
        out.push_str(&actions(&outcome.actions));
        out.push_str(&remarks(outcome));
    }
    out
}

fn line(name: &str, outcome: &Outcome, reading: Reading) -> Line {
    let points = outcome.series.iter().filter_map(|row| Some((row.t_s, reading(row)?)));
    Line { name: name.to_owned(), points: points.collect() }
}

fn window(outcome: &Outcome) -> Option<(f64, f64)> {
    let mut steady = outcome.series.iter().filter(|row| row.steady).map(|row| row.t_s);
    let first = steady.next()?;
    let begin = first.min((first - 1.0).max(0.0));
    Some((begin, begin + outcome.window_s))
}

fn badge(outcome: &Outcome) -> String {
    if outcome.host.published {
        return "<small>published, other hardware</small>".to_owned();
    }
    let (class, word) = if outcome.passed { (" good", "passed") } else { ("", "FAILED") };
    format!("<span class=\"verdict{class}\">{word}</span>")
}

fn verdict(outcome: &Outcome) -> String {
    let mut out = format!("<p>{}</p>\n", badge(outcome));
    if !outcome.reasons.is_empty() {
        out.push_str(&list(outcome.reasons.iter().map(String::as_str), "bad"));
    }
    out
}

/// What was asked for, and on which machine.
fn facts(outcome: &Outcome) -> String {
    let (asked, host) = (&outcome.asked, &outcome.host);
    if host.published {
        let source = format!("{}: {}", outcome.driver, host.cpu);
        return format!("<p class=\"soft\">Other hardware. {}</p>\n", escaped(&source));
    }
    let mut text = format!(
        "Began {}, ramp {} s, steady {} s, seed {}, sizes {}, {} messages there before. ",
        outcome.began,
        number(asked.ramp_s, 0),
        number(outcome.window_s, 0),
        asked.seed,
        asked.profile,
        number(asked.messages_before as f64, 0),
    );
    if !asked.via_remark.is_empty() {
        text.push_str(&format!("Workload {}. ", asked.via_remark));
    }
    text.push_str(&format!(
        "Driver {} on {}: {}, {} cores, {} MB, Linux {}.",
        outcome.driver,
        host.name,
        host.cpu,
        host.cores,
        number(host.memory_mb, 0),
        host.kernel,
    ));
    format!("<p class=\"soft\">{}</p>\n", escaped(&text))
}

fn tiles(outcome: &Outcome) -> String {
    let mut out = String::from("<div class=\"tiles\">");
    for name in TILES {
        if let (Some(metric), Some(value)) = (metric(name), outcome.figures.get(name)) {
            let (value, label) = (metric.show(value), escaped(metric.label));
            out.push_str(&format!("<div><b>{value}</b><span>{label}</span></div>"));
        }
    }
    out + "</div>\n"
}

fn actions(lines: &[ActionLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let heading = ["Action", "count", "errors", "mean ms", "median", "95 %", "99 %", "longest"];
    let rows = lines.iter().map(|line| {
        let ms = |value: f64| number(value, 1);
        let (count, errors) = (number(line.count as f64, 0), number(line.errors as f64, 0));
        vec![
            line.name.clone(),
            count,
            errors,
            ms(line.mean_ms),
            ms(line.p50_ms),
            ms(line.p95_ms),
            ms(line.p99_ms),
            ms(line.max_ms),
        ]
    });
    format!("<h2>Actions</h2>{}", table(&heading.map(str::to_owned), rows))
}

fn probes(outcome: &Outcome) -> String {
    let Some(peak) = &outcome.peak else { return String::new() };
    let heading = ["Users", "held", "mean ms", "per min", "why not"].map(str::to_owned);
    let rows = peak.probes.iter().map(|probe| {
        let value = |name: &str, digits| {
            probe.figures.get(name).map_or("-".to_owned(), |value| number(value, digits))
        };
        vec![
            number(f64::from(probe.users), 0),
            if probe.held { "yes" } else { "no" }.to_owned(),
            value("response_mean_ms", 1),
            value("transactions_per_min", 0),
            probe.why.clone(),
        ]
    });
    let users = number(f64::from(peak.users), 0);
    format!("<h2>Search for the peak: {users} users</h2>{}", table(&heading, rows))
}

/// All figures, one column for each result, and the change when there are two.
fn figures(outcomes: &[Outcome]) -> String {
    let mut heading = vec!["Figure".to_owned()];
    heading.extend(match outcomes {
        [_] => vec!["value".to_owned()],
        several => several.iter().map(|one| one.name.clone()).collect(),
    });
    if let [a, b] = outcomes {
        heading.push("% change".to_owned());
        let rows = changes(a, b).into_iter().map(Vec::from);
        return format!("<h2>Figures</h2>{}", table(&heading, rows));
    }
    format!("<h2>Figures</h2>{}", table(&heading, rows(METRICS.iter(), outcomes)))
}

/// The figures that stand on top, one column for each result.
fn headline(outcomes: &[Outcome]) -> String {
    let heading: Vec<String> = std::iter::once("The most important".to_owned())
        .chain(outcomes.iter().map(|one| one.name.clone()))
        .collect();
    let metrics = TILES.iter().filter_map(|name| metric(name));
    table(&heading, rows(metrics, outcomes))
}

/// A row for each figure that one of them has.
fn rows<'a>(
    metrics: impl Iterator<Item = &'a Metric>,
    outcomes: &[Outcome],
) -> impl Iterator<Item = Vec<String>> {
    metrics.filter_map(|metric| {
        let values: Vec<Option<f64>> =
            outcomes.iter().map(|one| one.figures.get(metric.name)).collect();
        values.iter().any(Option::is_some).then(|| {
            let shown = values.iter().map(|v| v.map_or("-".to_owned(), |v| metric.show(v)));
            std::iter::once(metric.label.to_owned()).chain(shown).collect()
        })
    })
}

fn remarks(outcome: &Outcome) -> String {
    let mut out = String::new();
    let texts = outcome.people.first_errors.iter().map(String::as_str);
    let kinds = outcome.findings.kinds.values();
    let found: Vec<&str> =
        texts.chain(kinds.flat_map(|f| f.first.iter().map(String::as_str))).collect();
    if !found.is_empty() {
        out.push_str(&format!("<h2>What went wrong</h2>{}", list(found.into_iter(), "bad")));
    }
    let mut notes = outcome.remarks.clone();
    notes.extend(outcome.variant.iter().map(|r| format!("{}: {}", r.switch, r.how)));
    let missing = outcome.not_measured.iter();
    notes.extend(missing.map(|m| format!("not measured: {}: {}", m.what, m.why)));
    if !notes.is_empty() {
        let notes = list(notes.iter().map(String::as_str), "soft");
        out.push_str(&format!("<h2>Notes</h2>{notes}"));
    }
    out
}

fn list<'a>(texts: impl Iterator<Item = &'a str>, class: &str) -> String {
    let items: String = texts.map(|text| format!("<li>{}</li>", escaped(text))).collect();
    format!("<ul class=\"{class}\">{items}</ul>\n")
}

fn table(heading: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    let rows: String = rows.map(|row| format!("<tr>{}</tr>\n", cells("td", &row))).collect();
    let heading = cells("th", heading);
    format!("<div class=\"wide\"><table><tr>{heading}</tr>\n{rows}</table></div>\n")
}

/// A text that cannot be taken for markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
