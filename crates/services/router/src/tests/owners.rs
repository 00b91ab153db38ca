//! What the owner of a mail file wishes: rules that forward, and quotas.

use mailfile::rules::{Action, Rule};
use store::Quota;

use super::*;

fn rule(place: &Place, name: &str, actions: Vec<Action>) {
    let files = mailfile::MailFiles::new(place.store.clone());
    let file = files.open(&format!("mail/{name}.nsf")).unwrap();
    let rule = Rule {
        name: "all".to_owned(),
        enabled: true,
        any: false,
        conditions: vec![mailfile::rules::Condition::parse("subject contains lamps").unwrap()],
        actions,
    };
    let written = file.set_rules(&[rule]).unwrap();
    place.store.durable(written.lsn).wait().unwrap();
}

fn forward_to(address: &str) -> Vec<Action> {
    vec![Action::parse(&format!("forward {address}")).unwrap()]
}

fn quota(place: &Place, name: &str, limit_bytes: u64, warn_bytes: u64) {
    let database = place.store.database(&format!("mail/{name}.nsf")).unwrap();
    let quota = Quota { limit_bytes, warn_bytes };
    place.store.write(&[&database], |writer| writer.set_quota(&database, quota)).unwrap();
}

#[test]
fn a_rule_forwards_a_copy_in_the_owners_name() {
    let place = place(&["ada", "bob", "eve"]);
    rule(&place, "bob", forward_to("eve@demo.test"));
    let id = send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    let copy = inbox(&place.store, "eve").remove(0);
    assert_ne!(copy.oid.unid, id.0);
    assert_eq!(bytes(&place.store, &copy), MESSAGE);
    assert_eq!((left(&place), inbox(&place.store, "ada")), (vec![], vec![]));
}

#[test]
fn the_owner_hears_of_a_forward_that_failed_and_nobody_of_a_forwarded_report() {
    let place = place(&["ada", "bob"]);
    rule(&place, "bob", forward_to("ghost@demo.test"));
    send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    let got = inbox(&place.store, "bob");
    assert_eq!(got.len(), 2, "the message and the report");
    assert!(text(&place.store, &got[1]).contains("Status: 5.1.1"));
    assert_eq!(inbox(&place.store, "ada"), []);
    send(&place, letter("", &["bob@demo.test"]));
    assert_eq!(inbox(&place.store, "bob").len(), 3);
    assert_eq!(left(&place), [], "what came with the null sender leaves nothing dead");
}

#[test]
fn rules_that_forward_in_a_circle_come_to_an_end() {
    let place = place(&["ada", "bob", "eve"]);
    rule(&place, "bob", forward_to("eve@demo.test"));
    rule(&place, "eve", forward_to("bob@demo.test"));
    send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    let counts = ["ada", "bob", "eve"].map(|name| inbox(&place.store, name).len());
    assert_eq!(counts, [0, 2, 1], "bob, eve, bob, and no further");
    assert_eq!(left(&place), []);
}

#[test]
fn a_rule_moves_and_deletes() {
    let place = place(&["ada", "bob", "eve"]);
    rule(&place, "bob", vec![Action::parse("delete").unwrap()]);
    rule(&place, "eve", vec![Action::parse("move Junk").unwrap()]);
    send(&place, letter("ada@demo.test", &["bob@demo.test", "eve@demo.test"]));
    assert_eq!((inbox(&place.store, "bob").len(), inbox(&place.store, "eve").len()), (0, 0));
    assert_eq!(left(&place), []);
    assert_eq!(place.router.stats().delivered, 2);
}

#[test]
fn a_full_mail_file_sends_mail_back_and_the_others_get_theirs() {
    let place = place(&["ada", "bob", "eve"]);
    quota(&place, "bob", 10, 0);
    let id = send(&place, letter("ada@demo.test", &["bob@demo.test", "eve@demo.test"]));
    assert_eq!(inbox(&place.store, "bob"), []);
    assert_eq!(unids(&inbox(&place.store, "eve")), [id.0]);
    let report = text(&place.store, &inbox(&place.store, "ada")[0]);
    assert!(report.contains("Status: 5.2.2") && report.contains("bob@demo.test"), "{report}");
    assert_eq!(left(&place), []);
}

#[test]
fn a_full_mail_file_keeps_mail_waiting_when_that_is_wanted() {
    let place = place(&["ada", "bob"]);
    let chosen = RouterOptions { over_quota: OverQuota::Hold, ..options() };
    place.router.configure(chosen).unwrap();
    quota(&place, "bob", 10, 0);
    let id = send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    assert_eq!(left(&place)[0].recipients, ["bob@demo.test"]);
    assert!(left(&place)[0].cause.as_deref().unwrap_or_default().contains("full"));
    quota(&place, "bob", 0, 0);
    place.router.route_now(None);
    place.router.wait_idle();
    assert_eq!(unids(&inbox(&place.store, "bob")), [id.0]);
    assert_eq!((left(&place), inbox(&place.store, "ada")), (vec![], vec![]));
}

#[test]
fn the_owner_is_warned_once_a_day() {
    let place = place(&["ada", "bob"]);
    quota(&place, "bob", 1_000_000, 10);
    for _ in 0..3 {
        send(&place, letter("ada@demo.test", &["bob@demo.test"]));
    }
    let got = inbox(&place.store, "bob");
    let warnings =
        got.iter().filter(|n| n.text("Subject") == Some("Your mail file is nearly full"));
    let warnings: Vec<_> = warnings.map(|note| text(&place.store, note)).collect();
    assert_eq!((got.len(), warnings.len()), (4, 1));
    assert!(warnings[0].contains("Auto-Submitted: auto-generated"), "{}", warnings[0]);
    assert_eq!(left(&place), []);
}

#[test]
fn a_group_is_reported_as_expanded_and_its_members_are_not_named() {
    let place = place(&["ada", "bob", "eve"]);
    group(&place.directory, "Team", &["bob", "eve"]);
    let mut deposit = letter("ada@demo.test", &["team@demo.test"]);
    deposit.recipients[0].notify.success = true;
    send(&place, deposit);
    let report = text(&place.store, &inbox(&place.store, "ada")[0]);
    assert_eq!(report.matches("Action: expanded").count(), 1, "{report}");
    assert_eq!(report.matches("Final-Recipient:").count(), 1, "{report}");
    assert!(report.contains("team@demo.test") && !report.contains("eve"), "{report}");
}

#[test]
fn what_is_larger_than_the_router_takes_goes_back() {
    let place = place(&["ada", "bob"]);
    let fits = MESSAGE.len() as u64;
    for (message_bytes_max, delivered) in [(fits - 1, 0), (fits, 1), (0, 2)] {
        place.router.configure(RouterOptions { message_bytes_max, ..options() }).unwrap();
        send(&place, letter("ada@demo.test", &["bob@demo.test"]));
        assert_eq!(inbox(&place.store, "bob").len(), delivered, "{message_bytes_max}");
    }
    let reports = inbox(&place.store, "ada");
    assert_eq!((reports.len(), left(&place)), (1, vec![]));
    assert!(text(&place.store, &reports[0]).contains("Status: 5.3.4"));
}
