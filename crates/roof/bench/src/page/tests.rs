use super::*;

/// Whether all elements are closed in order; gives how many there are.
fn well_formed(text: &str) -> Result<usize, String> {
    let (mut open, mut count, mut rest) = (Vec::new(), 0, text);
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').ok_or("a < without >")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') || tag.ends_with('/') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let opened = open.pop();
            if opened != Some(name) {
                return Err(format!("{opened:?} is closed by {name}"));
            }
            continue;
        }
        if tag.matches('"').count() % 2 == 1 {
            return Err(format!("<{tag}>: a quote is missing"));
        }
        count += 1;
        open.push(tag.split_whitespace().next().unwrap_or_default());
    }
    if open.is_empty() { Ok(count) } else { Err(format!("{open:?} stay open")) }
}

fn outcome(name: &str) -> Outcome {
    let mut outcome = Outcome { name: name.to_owned(), window_s: 40.0, ..Outcome::default() };
    outcome.figures.put("response_mean_ms", 12.5);
    outcome.asked.workload = "A <b>&\"c".to_owned();
    outcome.actions.push(ActionLine { name: "read & write".to_owned(), ..ActionLine::default() });
    outcome.remarks.push("a < b".to_owned());
    outcome.series = (0..60)
        .map(|at| Row {
            t_s: f64::from(at),
            steady: (10..50).contains(&at),
            transactions: 5,
            per_min: 300.0,
            p95_ms: f64::from(at),
            server_cpu_percent: Some(7.0),
            ..Row::default()
        })
        .collect();
    outcome
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    let published = crate::published::outcome("N85Entmail-8.5").unwrap();
    let pages = [
        page(&[outcome("a")]),
        page(&[outcome("a"), outcome("<script>b")]),
        page(&[outcome("a"), outcome("b"), published]),
        page(&[Outcome::default()]),
        page(&[]),
    ];
    for text in pages {
        let elements = well_formed(&text);
        assert!(elements.as_ref().is_ok_and(|count| *count > 5), "{elements:?}");
        for outside in ["http:", "https:", "<script", "url(", "NaN", "inf "] {
            assert!(!text.contains(outside), "{outside}");
        }
    }
}

#[test]
fn a_run_has_its_charts_and_its_verdict() {
    let text = page(&[outcome("a")]);
    for part in ["Response time", "Throughput", "CPU", "Network", "class=\"steady\"", "FAILED"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("Disk volume"), "what was not measured is not drawn");
    assert!(text.contains("read &amp; write") && text.contains("a &lt; b"));
    let text = page(&[outcome("a"), outcome("b")]);
    assert!(text.contains("% change") && text.contains("2 runs beside each other"));
}
