use super::*;

const SMALL: &str = r#"
name = "Small"
title = "t"
door = "imap"
period_s = 60
messages = 3
profile = 900
[[step]]
act = "read"
times = 2
every = 2
pause_s = [1, 2]
[[step]]
act = "send"
recipients = 3
"#;

#[test]
fn every_workload_that_is_built_in_can_be_read() {
    for name in names() {
        let workload = named(&name.to_lowercase()).unwrap();
        assert_eq!(workload.name, name);
        assert!(!workload.origin.is_empty(), "{name} says where its numbers come from");
        assert_eq!(workload.actions()[SIGN_IN], "sign in");
        assert_eq!(workload.actions()[workload.replicate()], "replicate");
    }
    assert!(named("R7").unwrap_err().to_string().contains("N85Entmail"));
}

/// The counts for 24 iterations as they are published.
#[test]
fn the_enterprise_workload_has_the_published_counts() {
    let workload = named("N85Entmail").unwrap();
    let expected = [
        (Act::Refresh, 1, 24.0),
        (Act::Read, 1, 120.0),
        (Act::Reply, 3, 12.0),
        (Act::Send, 1, 24.0),
        (Act::Send, 3, 12.0),
        (Act::Appointment, 1, 1.0),
        (Act::Invite, 3, 1.0),
        (Act::Rsvp, 1, 1.0),
        (Act::Switch, 1, 24.0),
        (Act::Poll, 1, 24.0),
        (Act::Delete, 1, 24.0),
    ];
    for (act, recipients, in_24) in expected {
        let step = workload.steps.iter().find(|s| s.act == act && s.recipients == recipients);
        let step = step.unwrap_or_else(|| panic!("{act} to {recipients}"));
        assert_eq!(f64::from(step.times) * step.rate.share() * 24.0, in_24, "{act}");
    }
    assert_eq!(workload.steps.len(), expected.len());
    assert_eq!((workload.period_s, workload.messages), (900, 3000));
}

#[test]
fn a_rate_is_spread_evenly() {
    for (part, of) in [(1, 1), (1, 6), (12, 24), (8, 24), (24, 24), (5, 24)] {
        let rate = Rate { part, of };
        let hits: Vec<u64> = (0..u64::from(of) * 3).filter(|n| rate.hits(*n)).collect();
        assert_eq!(hits.len(), part as usize * 3, "{part}/{of}");
        let widest = hits.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(widest <= u64::from(of.div_ceil(part)), "{part}/{of}: {widest}");
    }
}

#[test]
fn the_table_tells_how_often() {
    let workload = parse(SMALL).unwrap();
    let rows = workload.mix();
    assert_eq!(
        (rows[0].name.as_str(), rows[0].per_iteration, rows[0].per_hour),
        ("read", 1.0, 60.0)
    );
    assert_eq!((rows[1].name.as_str(), rows[1].per_hour), ("send to 3", 60.0));
    assert_eq!(workload.folders_needed(), [Folder { name: "Sent".into(), messages: 0 }]);
}

#[test]
fn a_file_that_makes_no_sense_is_refused_with_its_place() {
    let cases = [
        ("period_s = 60", "period_s = 0", "period_s"),
        ("period_s = 60", "period_s = 2", "pauses"),
        ("profile = 900", "profile = \"r9\"", "profile"),
        ("door = \"imap\"", "door = \"x400\"", "door"),
        ("act = \"read\"", "act = \"nap\"", "step 1 (nap)"),
        ("every = 2", "every = 0", "every"),
        ("every = 2", "every = 2\nper_24 = 2", "not both"),
        ("pause_s = [1, 2]", "pause_s = [2, 1]", "pause_s"),
        ("act = \"send\"", "act = \"move\"", "folder"),
        ("recipients = 3", "recipients = 3\nfolder = \"a\\u000Ab\"", "folder"),
        ("times = 2", "time = 2", "time"),
        ("name = \"Small\"", "name = \"\"", "name"),
        ("messages = 3", "messages = 3\nreplicas = 1.5", "replicas"),
    ];
    for (from, to, place) in cases {
        let text = SMALL.replacen(from, to, 1);
        let error = parse(&text).expect_err(to).to_string();
        assert!(error.contains(place), "{to}: {error}");
    }
}

#[test]
fn doors_are_told_apart() {
    assert_eq!(Via::parse("IMAP").unwrap(), Via::Imap);
    assert!(Via::parse("rpc").unwrap_err().to_string().contains("--via imap"));
    assert!(Via::parse("uucp").is_err());
}
