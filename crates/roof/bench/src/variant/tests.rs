use super::*;

#[test]
fn variants_are_read() {
    let cases: [(&str, Vec<Switch>); 5] = [
        ("", vec![]),
        ("journaling, scan", vec![Switch::Journaling, Switch::Scan]),
        (
            "block-rules=10,trash=2/15min,mailboxes=2",
            vec![
                Switch::BlockRules(10),
                Switch::Trash { messages: 2, every_s: 900 },
                Switch::Mailboxes(2),
            ],
        ),
        ("dedupe=off,compression=on", vec![Switch::Dedupe(false), Switch::Compression(true)]),
        ("replicas=20%", vec![Switch::Replicas(20)]),
    ];
    for (text, switches) in cases {
        assert_eq!(Variant::parse(text), Ok(Variant { switches }), "{text}");
    }
    assert_eq!(Variant::parse("replicas=20%").unwrap().replicas_percent(), Some(20));
    assert_eq!(Variant::parse("scan").unwrap().replicas_percent(), None);
}

#[test]
fn wrong_variants_are_refused() {
    let wrong = [
        "journal",
        "journaling=off",
        "block-rules",
        "block-rules=0",
        "block-rules=1001",
        "mailboxes=11",
        "mailboxes=-1",
        "dedupe=yes",
        "dedupe",
        "replicas=101%",
        "replicas=x",
        "trash=2",
        "trash=0/15min",
        "trash=2/15",
        "trash=2/min",
        "trash=2/15weeks",
        "scan,scan",
    ];
    for text in wrong {
        assert!(Variant::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_switch_prints_as_it_is_read() {
    let text = "journaling,block-rules=10,trash=2/900s,scan,dedupe=off,compression=on,mailboxes=2,\
                replicas=20%";
    let variant = Variant::parse(text).unwrap();
    let printed: Vec<String> = variant.switches.iter().map(Switch::to_string).collect();
    assert_eq!(printed.join(","), text);
}
