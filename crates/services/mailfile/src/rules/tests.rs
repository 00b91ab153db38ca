use proptest::prelude::*;
use store::{EntryFlags, StoreError, Stub};

use super::*;
use crate::fixture::Fixture;
use crate::{MailError, Outcome};

const LETTER: &[u8] = b"Return-Path: <bounce@lists.example.org>\r\n\
From: =?utf-8?Q?Z=C3=B6e_Quick?= <Zoe@News.Example.ORG>\r\n\
To: Ada <ada@demo.test>, bob@demo.test\r\n\
Cc: team@demo.test\r\n\
Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= about LOTUS\r\n\
X-Priority: 1\r\n\
List-Id: Lotus\r\n <lotus.example.org>\r\n\
X-Twice: one\r\n\
X-Twice: two\r\n\
\r\nhello\r\n";

fn rule(conditions: &[&str], actions: &[&str]) -> Rule {
    Rule {
        name: "r".to_owned(),
        enabled: true,
        any: false,
        conditions: conditions.iter().map(|text| Condition::parse(text).unwrap()).collect(),
        actions: actions.iter().map(|text| Action::parse(text).unwrap()).collect(),
    }
}

fn verdict(fixture: &Fixture, rules: Vec<Rule>, blocked: &[&str], sender: &str) -> Verdict {
    let prepared = fixture.prepared(LETTER);
    let blocked: Vec<String> = blocked.iter().map(|text| (*text).to_owned()).collect();
    let set = RuleSet::new(rules, blocked_of(&blocked).unwrap());
    judge(&set, &Letter::new(fixture.file.store(), &prepared, sender))
}

fn moved(folder: &str) -> Verdict {
    Verdict { folder: Some(folder.to_owned()), ..Verdict::default() }
}

#[test]
fn conditions_see_the_message() {
    let fixture = Fixture::new();
    let size = LETTER.len();
    let cases = [
        ("sender contains ZÖE", true),
        ("sender is zoe@news.example.org", true),
        ("sender is zöe quick <zoe@news.example.org>", true),
        ("sender contains bounce@lists", true),
        ("sender is-not zoe@news.example.org", false),
        ("sender begins zoe@", true),
        ("sender contains nobody", false),
        ("sender contains-not nobody", true),
        ("subject contains lotus", true),
        ("subject is grüße about lotus", true),
        ("subject begins GRÜSSE", false),
        ("subject begins grüße", true),
        ("subject is-not grüße", true),
        ("to is bob@demo.test", true),
        ("to is ada@demo.test", true),
        ("to contains team", false),
        ("cc is team@demo.test", true),
        ("to-or-cc is team@demo.test", true),
        ("to-or-cc contains-not demo.test", false),
        ("header list-id contains <LOTUS.example.org>", true),
        ("header X-Twice is two", true),
        ("header X-Twice is-not two", false),
        ("header X-None contains x", false),
        ("header X-None contains-not x", true),
        ("importance is high", true),
        ("importance is normal", false),
        ("size over 10", true),
        (&format!("size over {size}"), false),
        (&format!("size under {}", size + 1), true),
        ("size over 1M", false),
    ];
    for (condition, holds) in cases {
        let found =
            verdict(&fixture, vec![rule(&[condition], &["flag"])], &[], "bounce@lists.example.org");
        assert_eq!(found.flagged, holds, "{condition}");
    }
}

#[test]
fn all_any_none_and_the_order_of_rules() {
    let fixture = Fixture::new();
    let judged = |rules| verdict(&fixture, rules, &[], "");
    let (yes, no) = ("subject contains lotus", "subject contains tulip");
    let both = rule(&[yes, no], &["move A"]);
    assert_eq!(judged(vec![both.clone()]), Verdict::default());
    assert_eq!(judged(vec![Rule { any: true, ..both }]), moved("A"));
    assert_eq!(judged(vec![rule(&[], &["move A"])]), moved("A"));
    assert_eq!(judged(vec![Rule { any: true, ..rule(&[], &["move A"]) }]), moved("A"));
    assert_eq!(judged(vec![Rule { enabled: false, ..rule(&[], &["move A"]) }]), Verdict::default());
    let rules = vec![
        rule(&[no], &["stop"]),
        rule(&[yes], &["move A", "copy C", "copy c", "mark-read"]),
        rule(&[yes], &["move B", "forward x@far.test", "forward X@far.test", "stop"]),
        rule(&[yes], &["flag"]),
    ];
    let wanted = Verdict {
        copies: vec!["C".to_owned()],
        seen: true,
        forward: vec!["x@far.test".to_owned()],
        ..moved("A")
    };
    assert_eq!(judged(rules), wanted);
    let deleted =
        judged(vec![rule(&[], &["delete", "copy C"]), rule(&[], &["forward x@far.test"])]);
    assert!(deleted.discard && deleted.copies == ["C"] && deleted.forward.is_empty());
}

#[test]
fn blocked_senders_go_to_junk_before_all_rules() {
    let fixture = Fixture::new();
    let cases = [
        ("zoe@news.example.org", "", true),
        ("ZOE@NEWS.example.org", "", true),
        ("news.example.org", "", true),
        ("@example.org", "", true),
        ("*.example.org", "", true),
        ("org", "", true),
        ("ample.org", "", false),
        ("ws.example.org", "", false),
        ("other@news.example.org", "", false),
        ("bounce@far.test", "Bounce@FAR.test", true),
        ("far.test", "", false),
    ];
    for (blocked, sender, wanted) in cases {
        let rules = vec![rule(&[], &["move A", "forward x@far.test"])];
        let expected = if wanted {
            Verdict { blocked: true, ..moved("\\Junk") }
        } else {
            Verdict { forward: vec!["x@far.test".to_owned()], ..moved("A") }
        };
        assert_eq!(verdict(&fixture, rules, &[blocked], sender), expected, "{blocked} {sender}");
    }
}

#[test]
fn texts_of_conditions_and_actions_come_back() {
    let conditions = [
        "sender contains a b",
        "subject is-not x",
        "to begins ada",
        "cc contains-not @x",
        "to-or-cc is a@b",
        "header X-Spam is YES",
        "size over 1048576",
        "size under 5",
        "importance is low",
    ];
    for text in conditions {
        assert_eq!(Condition::parse(text).unwrap().to_string(), text);
    }
    for text in ["move A/b c", "copy \\Junk", "delete", "forward a@b", "mark-read", "flag", "stop"]
    {
        assert_eq!(Action::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Condition::parse(" SIZE Over 2K ").unwrap(), Condition::SizeOver(2_048));
    for text in [
        "",
        "sender",
        "sender has x",
        "sender contains",
        "colour is red",
        "size over",
        "size over x",
        "size over 99999999999999G",
        "importance is grave",
        "header X contains",
    ] {
        assert!(Condition::parse(text).is_err(), "{text}");
    }
    for text in ["", "move", "delete now", "burn", "forward ", "stop it"] {
        assert!(Action::parse(text).is_err(), "{text}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let fixture = Fixture::new();
    let bad = Rule {
        name: "\u{7}".to_owned(),
        actions: Vec::new(),
        conditions: vec![Condition::Text {
            field: Field::Header("a b".to_owned()),
            test: Test::Is,
            value: "x".to_owned(),
        }],
        ..rule(&[], &[])
    };
    let other = rule(&[], &["move a//b", "copy \\Junk/x"]);
    let Err(MailError::BadRules { faults }) = fixture.file.set_rules(&[bad, other]) else {
        panic!()
    };
    assert_eq!(faults.len(), 5, "{faults:?}");
    assert!(faults[4].starts_with("rule 2 (\"r\")"), "{faults:?}");
    let many = vec![rule(&[], &["stop"]); RULES_MAX + 1];
    assert!(fixture.file.set_rules(&many).is_err());
    let senders = ["a b".to_owned(), "x@".to_owned(), "fine@x.test".to_owned(), String::new()];
    let Err(MailError::BadRules { faults }) = fixture.file.set_blocked_senders(&senders) else {
        panic!()
    };
    assert_eq!(faults.len(), 3);
    assert!(fixture.file.rules_list().unwrap().value.is_empty());
}

#[test]
fn rules_and_blocked_senders_are_kept_in_the_mail_file() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    let rules = vec![
        rule(&["subject contains lotus"], &["move A"]),
        Rule { enabled: false, any: true, ..rule(&["sender is x@y.test"], &["delete"]) },
        rule(&[], &["flag", "stop"]),
    ];
    file.set_rules(&rules).unwrap();
    assert_eq!(file.rules_list().unwrap().value, rules);
    file.set_rules(&rules[1..2]).unwrap();
    assert_eq!(file.rules_list().unwrap().value, rules[1..2]);
    file.set_rules(&rules).unwrap();
    assert_eq!(file.rules_list().unwrap().value, rules);
    let senders = ["B.test", "@b.test", "a@x.test"].map(str::to_owned);
    file.set_blocked_senders(&senders).unwrap();
    assert_eq!(file.blocked_senders().unwrap().value, ["@b.test", "a@x.test"]);
    assert_eq!(file.usage().unwrap().value.used_bytes, 0, "they do not count");
    assert_eq!(fixture.uids(crate::INBOX), [0_u32; 0]);
    let seq = |fixture: &Fixture| fixture.file.read(|rows| Ok(rows.change_seq())).unwrap().value;
    let before = seq(&fixture);
    file.set_rules(&rules).unwrap();
    file.set_blocked_senders(&senders).unwrap();
    assert_eq!(seq(&fixture), before, "what is the same is not written");
    file.set_blocked_senders(&[]).unwrap();
    file.set_rules(&[]).unwrap();
    assert!(fixture.files.rules(file.database()).unwrap().is_empty());
}

#[test]
fn the_kept_rules_follow_every_change() {
    let fixture = Fixture::new();
    let (file, files) = (&fixture.file, &fixture.files);
    let db = file.database();
    let set = || files.rules(db).unwrap();
    assert!(set().is_empty());
    file.set_rules(&[rule(&[], &["flag"])]).unwrap();
    let kept = set();
    assert_eq!(kept.rules.len(), 1);
    fixture.deliver(&fixture.prepared(LETTER));
    assert!(std::sync::Arc::ptr_eq(&kept, &set()), "a delivery does not make them read again");
    // Somebody else writes the note, as replication does.
    let gone = |w: &mut store::Writer<'_>| {
        let meta = w.reader(db)?.note_by_unid(&slot_unid(1))?.unwrap();
        w.delete_note(db, meta.id, Stub::Keep)
    };
    file.store().write::<_, StoreError>(&[db], gone).unwrap();
    assert!(set().is_empty());
    file.set_blocked_senders(&["x.test".to_owned()]).unwrap();
    assert!(set().blocks("a@x.test"));
}

#[test]
fn a_copy_of_a_mail_file_has_rules_of_its_own() {
    let fixture = Fixture::new();
    let store = fixture.file.store();
    fixture.file.set_rules(&[rule(&[], &["flag"])]).unwrap();
    assert!(!fixture.files.rules(fixture.file.database()).unwrap().is_empty());
    store.copy("mail/ada.nsf", "mail/copy.nsf", false).unwrap();
    let copy = fixture.files.open("mail/copy.nsf").unwrap();
    assert_eq!(fixture.files.rules(copy.database()).unwrap().rules.len(), 1);
    copy.set_rules(&[]).unwrap();
    assert!(fixture.files.rules(copy.database()).unwrap().is_empty());
    assert_eq!(fixture.files.rules(fixture.file.database()).unwrap().rules.len(), 1);
}

#[test]
fn a_rule_note_that_cannot_be_read_is_not_followed() {
    let fixture = Fixture::new();
    let (file, db) = (&fixture.file, fixture.file.database());
    file.set_rules(&[rule(&[], &["flag"]), rule(&[], &["mark-read"])]).unwrap();
    let spoil = |w: &mut store::Writer<'_>| {
        put_slot(w, db, 1, |note| note.set("ActionList", "explode everything"))
    };
    file.store().write::<_, StoreError>(&[db], spoil).unwrap();
    let prepared = fixture.prepared(LETTER);
    let set = fixture.files.rules(db).unwrap();
    let found = judge(&set, &Letter::new(file.store(), &prepared, ""));
    assert!(!found.flagged && found.seen);
}

#[test]
fn a_damaged_rule_note_is_not_followed_and_can_be_written_again() {
    let fixture = Fixture::new();
    let named = |name: &str, action| Rule { name: name.to_owned(), ..rule(&[], &[action]) };
    let rules = [named("spoil me", "flag"), named("sound", "mark-read")];
    fixture.file.set_rules(&rules).unwrap();
    let fixture = fixture.spoiled(b"spoil me");
    let found = |fixture: &Fixture| {
        let prepared = fixture.prepared(LETTER);
        let set = fixture.files.rules(fixture.file.database()).unwrap();
        judge(&set, &Letter::new(fixture.file.store(), &prepared, ""))
    };
    assert_eq!((found(&fixture).flagged, found(&fixture).seen), (false, true));
    fixture.file.set_rules(&rules).unwrap();
    assert!(found(&fixture).flagged);
    assert_eq!(fixture.file.rules_list().unwrap().value, rules);
}

#[test]
fn deliveries_do_what_the_verdict_says() {
    let fixture = Fixture::new();
    fixture.file.create_folder("Projects/Lotus", None).unwrap();
    let delivered = |verdict: &Verdict| fixture.deliver_as(&fixture.prepared(LETTER), verdict);
    let at = |uid| Outcome::Delivered { uid, warn: None };
    assert_eq!(delivered(&moved("projects/LOTUS")), at(1));
    assert_eq!(fixture.uids("Projects/Lotus"), [1]);
    assert_eq!(delivered(&moved("\\junk")), at(1));
    assert_eq!(fixture.uids("Junk"), [1]);
    assert_eq!(delivered(&moved("inbox")), at(1));
    assert_eq!(delivered(&moved("Gone")), at(2));
    assert_eq!(fixture.uids(crate::INBOX), [1, 2]);
    let copies = ["Junk", "projects/lotus", "gone too"].map(str::to_owned).to_vec();
    let verdict = Verdict { copies, seen: true, flagged: true, ..Verdict::default() };
    assert_eq!(delivered(&verdict), at(3), "a copy for a folder that is gone is the one in INBOX");
    assert_eq!(fixture.uids(crate::INBOX), [1, 2, 3]);
    assert_eq!((fixture.uids("Junk"), fixture.uids("Projects/Lotus")), (vec![1, 2], vec![1, 2]));
    let entries = fixture.file.entries(fixture.folder("Junk"), &[1, 2]).unwrap().value;
    assert_eq!(entries[0].flags, EntryFlags::NONE);
    assert_eq!(entries[1].flags, EntryFlags::SEEN | EntryFlags::FLAGGED);
}

#[test]
fn what_a_rule_deletes_can_be_restored_and_is_not_delivered_twice() {
    let fixture = Fixture::new();
    let prepared = fixture.prepared(LETTER);
    let discard = Verdict { discard: true, ..Verdict::default() };
    assert_eq!(fixture.deliver_as(&prepared, &discard), Outcome::Discarded);
    assert_eq!(fixture.deliver_as(&prepared, &discard), Outcome::Already);
    assert_eq!(fixture.file.usage().unwrap().value.used_bytes, 0);
    let deleted = fixture.file.deleted(10).unwrap().value;
    assert_eq!((deleted.len(), deleted[0].subject.as_str()), (1, "Grüße about LOTUS"));
    let restored = fixture.file.restore(&deleted[0].unid, None).unwrap().value;
    assert_eq!((restored.folder.as_str(), restored.uid), (crate::INBOX, 1));
    let kept = Verdict { copies: vec!["Junk".to_owned()], ..discard };
    let outcome = fixture.deliver_as(&fixture.prepared(LETTER), &kept);
    assert_eq!(outcome, Outcome::Delivered { uid: 1, warn: None });
    assert_eq!(fixture.uids("Junk"), [1]);
}

#[test]
fn the_notes_are_as_the_format_says() {
    let fixture = Fixture::new();
    fixture.file.set_rules(&[rule(&["subject is x", "size over 5"], &["copy A", "stop"])]).unwrap();
    fixture.file.set_blocked_senders(&["A@x.test".to_owned()]).unwrap();
    let note = |unid: &[u8; 16]| {
        let read = fixture.file.read(|rows| {
            let meta = rows.note_by_unid(&note::Unid(*unid))?.unwrap();
            assert_eq!((meta.class.0, meta.size), (0x200, 0));
            rows.note(meta.id)
        });
        read.unwrap().value.unwrap()
    };
    let first = note(b"nelumbo.mail\0\0\0\x01");
    for (item, texts) in [
        ("Form", vec!["MailRule"]),
        ("Subject", vec!["r"]),
        ("Enable", vec!["1"]),
        ("MatchAny", vec!["0"]),
        ("ConditionList", vec!["subject is x", "size over 5"]),
        ("ActionList", vec!["copy A", "stop"]),
    ] {
        assert_eq!(first.texts(item), texts, "{item}");
    }
    assert_eq!(first.number("OrderNum"), Some(1.0));
    let blocked = note(b"nelumbo.mail\0\0\xFF\xFF");
    assert_eq!(blocked.texts("BlockedSenders"), ["a@x.test"]);
}

proptest! {
    #[test]
    fn any_text_is_a_rule_that_comes_back_or_is_refused(text in ".{0,60}", word in 0..8_usize) {
        let words = ["", "header ", "subject is ", "size over ", "move ", "sender begins ",
            "header a: contains ", "importance "];
        let text = format!("{}{text}", words[word]);
        if let Ok(condition) = Condition::parse(&text) {
            let rule = Rule { conditions: vec![condition.clone()], ..rule(&[], &["stop"]) };
            if faults_of(&[rule]).is_empty() {
                prop_assert_eq!(Condition::parse(&condition.to_string()), Ok(condition));
            }
        }
        if let Ok(action) = Action::parse(&text) {
            prop_assert_eq!(Action::parse(&action.to_string()), Ok(action));
        }
        if let Ok(blocked) = blocked_of(&[text]) {
            prop_assert_eq!(blocked_of(&blocked), Ok(blocked.clone()));
        }
    }
}
