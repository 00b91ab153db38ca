use super::*;

fn outcome() -> Outcome {
    let mut outcome = Outcome { version: VERSION, ..Outcome::default() };
    outcome.asked.workload = "N85Entmail".to_owned();
    (outcome.asked.users, outcome.asked.speed) = (6000, 30.0);
    outcome.asked.spoken = "IMAP and SMTP".to_owned();
    outcome.figures.put("response_mean_ms", 12.5);
    outcome.series.push(Row { t_s: 1.0, ..Row::default() });
    outcome
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("result.json");
    outcome().save(&path).unwrap();
    assert_eq!(Outcome::load(&path).unwrap(), outcome());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(outcome().heading(), "N85Entmail, 6,000 users over IMAP and SMTP, speed 30");
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let cases = [
        ("", "x: this is no result of a run"),
        ("{}", "x: this is no result of a run: missing field"),
        ("[1]", "x: this is no result of a run"),
        ("{\"version\": 7}", "x: a result of form 7; this program reads form 1"),
    ];
    for (text, reason) in cases {
        let refused = Outcome::parse(text, "x").unwrap_err().to_string();
        assert!(refused.starts_with(reason), "{text}: {refused}");
    }
    let refused = Outcome::load(Path::new("/nowhere/at/all.json")).unwrap_err().to_string();
    assert!(refused.starts_with("/nowhere/at/all.json: "), "{refused}");
    assert!(outcome().save(Path::new("/nowhere/at/all.json")).is_err());
}
