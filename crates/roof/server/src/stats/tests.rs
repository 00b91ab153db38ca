//! Tests of statistics and their forms.

use note::TimeDate;

use super::prometheus::{families, print};
use super::{Stat, StatValue};

fn number(name: &str, value: f64) -> Stat {
    Stat { name: name.to_owned(), value: StatValue::Number(value) }
}

fn text(name: &str, value: &str) -> Stat {
    Stat { name: name.to_owned(), value: StatValue::Text(value.to_owned()) }
}

#[test]
fn values_print_as_administrators_expect() {
    let cases = [
        (StatValue::Number(3.0), "3"),
        (StatValue::Number(0.5), "0.500"),
        (StatValue::Text("mail1/Example".to_owned()), "mail1/Example"),
        (StatValue::Time(TimeDate(0)), "1970-01-01T00:00:00.000000Z"),
    ];
    for (value, shown) in cases {
        assert_eq!(value.to_string(), shown);
    }
}

#[test]
fn the_table_of_families_is_whole() {
    let mut names = std::collections::HashSet::new();
    for (stat, metric, help) in families() {
        assert!(names.insert(metric), "{metric} stands twice");
        assert!(metric.starts_with("nelumbo_"), "{metric}");
        assert!(!stat.is_empty() && !help.is_empty(), "{metric}");
    }
}

#[test]
fn doors_become_labels_and_names_get_units() {
    let page = print(&[
        text("Server.Name", "mail \"1\"/Example"),
        number("SMTP.Sessions.Inbound.Active", 2.0),
        number("IMAP.Sessions.Inbound.Active", 5.0),
        number("Server.ElapsedTime", 60.0),
        number("Database.DbCache.MaxEntries", 100.0),
        number("Mail.DeliveredSize.Under_1KB", 3.0),
    ]);
    let expected = "\
# HELP nelumbo_database_db_cache_max_entries Statistic Database.DbCache.MaxEntries
# TYPE nelumbo_database_db_cache_max_entries gauge
nelumbo_database_db_cache_max_entries 100
# HELP nelumbo_info Which server this is
# TYPE nelumbo_info gauge
nelumbo_info{name=\"mail \\\"1\\\"/Example\"} 1
# HELP nelumbo_mail_delivered_size_messages_total Messages delivered, by their size
# TYPE nelumbo_mail_delivered_size_messages_total counter
nelumbo_mail_delivered_size_messages_total{size=\"Under_1KB\"} 3
# HELP nelumbo_sessions Sessions open now
# TYPE nelumbo_sessions gauge
nelumbo_sessions{door=\"smtp\"} 2
nelumbo_sessions{door=\"imap\"} 5
# HELP nelumbo_uptime_seconds Time since the start
# TYPE nelumbo_uptime_seconds gauge
nelumbo_uptime_seconds 60
";
    assert_eq!(page, expected);
}
