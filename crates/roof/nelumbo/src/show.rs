//! Printing replies: as JSON, or as tables for people.

use std::io::{self, Write};

use serde_json::Value;
use server::{Reply, columns, harmless, nested};

use crate::Ending;

/// Columns of people.
pub(crate) const USER: &[&str] = &[
    "short_name",
    "full_name",
    "internet_address",
    "mail_file",
    "used_bytes",
    "quota_bytes",
    "admin",
    "disabled",
];
/// Fields of one person.
pub(crate) const USER_ONE: &[&str] = &[
    "short_name",
    "full_name",
    "internet_address",
    "aliases",
    "forward",
    "mail_file",
    "used_bytes",
    "quota_bytes",
    "warn_bytes",
    "message_bytes_max",
    "admin",
    "disabled",
];
/// Columns of groups.
pub(crate) const GROUP: &[&str] = &["name", "internet_address", "type", "members"];
/// Fields of one group.
pub(crate) const GROUP_ONE: &[&str] =
    &["name", "internet_address", "type", "members", "unknown_members"];
/// Columns of rules for incoming mail.
pub(crate) const RULES: &[&str] = &["name", "enabled", "if", "then"];
/// Columns of blocked senders.
pub(crate) const BLOCKED: &[&str] = &["full_name", "blocked"];
/// Columns of databases that take mail.
pub(crate) const MAIL_IN: &[&str] = &["name", "internet_address", "path", "aliases"];
/// Columns of who gets mail for unknown addresses.
pub(crate) const CATCH_ALL: &[&str] = &["domain", "name"];
/// Columns of mail that waits.
pub(crate) const QUEUE: &[&str] =
    &["id", "state", "sender", "recipients", "size", "date", "subject", "cause"];
/// Columns of what became of messages.
pub(crate) const QUEUE_DONE: &[&str] = &["id", "done"];
/// Columns of destinations that mail waits for.
pub(crate) const DESTINATIONS: &[&str] =
    &["destination", "waiting", "working", "attempts_failed", "next_try_s", "last_error"];
/// Columns of messages that were taken back.
pub(crate) const RESTORED: &[&str] = &["unid", "folder", "error"];
/// Columns of messages that can be taken back.
pub(crate) const DELETED: &[&str] = &["unid", "from", "subject", "size", "date", "deleted"];
/// Columns of `db list`.
pub(crate) const DB: &[&str] = &["path", "title", "notes", "deleted", "size_bytes", "fenced"];
/// Columns of `db info`.
pub(crate) const DB_INFO: &[&str] = &[
    "path",
    "title",
    "replica_id",
    "dbiid",
    "ods",
    "notes",
    "deleted",
    "size_bytes",
    "logical_bytes",
    "quota_bytes",
    "warn_bytes",
    "checkpointed_lsn",
    "applied_lsn",
    "fenced",
];
/// Fields of a database written into a file.
pub(crate) const EXPORTED: &[&str] = &["path", "file", "notes", "objects", "bytes"];
/// Fields of notes brought over.
pub(crate) const COPIED_NOTES: &[&str] = &["copied", "already", "missing", "left"];
/// Columns of `db compact`.
pub(crate) const COMPACT: &[&str] =
    &["path", "bytes_before", "bytes_after", "freed_bytes", "error"];
/// Columns of `db fixup`.
pub(crate) const FIXUP: &[&str] =
    &["path", "state", "mended", "notes", "lost", "lost_entries", "lost_changes", "found", "error"];
/// Columns of `db updall`.
pub(crate) const UPDALL: &[&str] = &["path", "mended", "error"];
/// Columns of the notes of a database.
pub(crate) const NOTES: &[&str] =
    &["note_id", "unid", "form", "title", "sequence", "size", "modified"];
/// Columns of one note.
pub(crate) const NOTE: &[&str] =
    &["note_id", "unid", "class", "sequence", "size", "modified", "seen", "items"];
/// Columns of the object store.
pub(crate) const OBJECTS: &[&str] = &[
    "objects",
    "references",
    "unreferenced",
    "logical_bytes",
    "stored_bytes",
    "segments",
    "adopted",
    "blocks",
    "bytes",
    "compared",
    "skipped",
    "damaged",
    "mismatched",
    "differences",
    "missing",
    "not_counted",
    "recount_due",
];
/// Fields of a list of objects.
pub(crate) const OBJECT_LIST: &[&str] = &["objects", "next"];
/// Fields of a prune.
pub(crate) const PRUNED: &[&str] =
    &["objects", "logical_bytes", "stored_bytes", "pinned", "changed", "dry_run", "stopped"];
/// Fields of an estimate.
pub(crate) const ESTIMATE: &[&str] = &[
    "thresholds",
    "unreferenced",
    "unreferenced_bytes",
    "prunable",
    "prunable_bytes",
    "dead_bytes",
    "adopted_bytes",
];
/// Fields of a copy into the archive.
pub(crate) const ARCHIVED: &[&str] = &["segments", "bytes", "waiting", "trouble"];
/// Columns of the log.
pub(crate) const LOG: &[&str] = &[
    "style",
    "extents",
    "bytes",
    "spare_bytes",
    "durable_lsn",
    "oldest_needed_lsn",
    "groups",
    "syncs",
    "records",
    "full",
    "stopped",
    "archive",
];
/// Columns of `status`.
pub(crate) const STATUS: &[&str] = &[
    "server",
    "version",
    "pid",
    "started",
    "uptime_s",
    "sessions",
    "mail_waiting",
    "databases",
    "listeners",
    "alarms",
    "failure",
];

/// Least width of the names of values.
const NAME_WIDTH: usize = 18;

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Ending> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Prints a reply and tells how the command ends.
pub(crate) fn reply(reply: Reply, names: &[&str], json: bool) -> Result<(), Ending> {
    let finding = matches!(reply, Reply::Finding { .. });
    match reply {
        Reply::Done { value } | Reply::Finding { value } => {
            if json {
                line(&serde_json::to_string_pretty(&value).unwrap_or_default())?;
            } else {
                line(table(&value, names).trim_end())?;
            }
        }
        Reply::Refused { reason } => return Err(Ending::misuse(reason)),
        Reply::Trouble { reason } => return Err(Ending::trouble(reason)),
        Reply::Starting => return Err(Ending::trouble("the server is still starting")),
    }
    if finding { Err(Ending::finding()) } else { Ok(()) }
}

/// A value for people: a list as a table, an object as names and values.
fn table(value: &Value, names: &[&str]) -> String {
    match value {
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => {
            let heading = names.iter().map(|name| name.replace('_', " ")).collect();
            let row = |one: &Value| names.iter().map(|name| cell(&one[*name])).collect();
            let rows: Vec<Vec<String>> =
                std::iter::once(heading).chain(list.iter().map(row)).collect();
            columns(&rows)
        }
        Value::Object(object) => {
            let mut out = String::new();
            let known = || names.iter().filter(|name| object.contains_key(**name));
            let width = known().map(|name| name.len()).max().unwrap_or(0).max(NAME_WIDTH);
            for name in known() {
                let heading = name.replace('_', " ");
                let shown = detail(name, &object[*name]);
                match shown.starts_with('\n') {
                    true => out.push_str(&format!("{heading}{shown}\n")),
                    false => out.push_str(&format!("{heading:width$} {shown}\n")),
                }
            }
            out
        }
        other => cell(other),
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => harmless(text),
        Value::Array(list) => list.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Object(_) => member(value),
        other => other.to_string(),
    }
}

/// A value that may take several lines.
fn detail(name: &str, value: &Value) -> String {
    match value {
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::Array(list) if list.iter().any(is_item) => {
            let one = |value: &Value| format!("\n  {}", member(value));
            list.iter().map(one).collect()
        }
        other => nested(name, other).unwrap_or_else(|| cell(other)),
    }
}

/// Whether it is the item of a note.
fn is_item(value: &Value) -> bool {
    value["name"].is_string() && !value["value"].is_null()
}

fn member(value: &Value) -> String {
    if is_item(value) {
        let name = value["name"].as_str().unwrap_or_default();
        return format!("{name} ({}) = {}", cell(&value["type"]), cell(&value["value"]));
    }
    match value.as_object() {
        Some(object) => {
            let pairs = object.iter().map(|(name, value)| format!("{name} {}", cell(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
        None => cell(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_become_tables() {
        let value = json!([
            { "name": "Everybody", "internet_address": "e@x.test", "type": "mail",
              "members": ["ada", "ben"] },
            { "name": "B", "internet_address": "", "type": "multi", "members": [] },
        ]);
        let expected = "name       internet address  type   members\n\
                        Everybody  e@x.test          mail   ada, ben\n\
                        B                            multi\n";
        assert_eq!(table(&value, GROUP), expected);
    }

    #[test]
    fn an_empty_list_says_so() {
        assert_eq!(table(&json!([]), GROUP), "none");
    }

    #[test]
    fn objects_become_names_and_values() {
        let value = json!({ "objects": 3, "damaged": [], "missing": ["AB"], "other": 1 });
        let shown = table(&value, OBJECTS);
        assert_eq!(shown, "objects            3\ndamaged            none\nmissing            AB\n");
    }

    #[test]
    fn lists_in_objects_become_tables_below_their_names() {
        let value = json!({
            "thresholds": [{ "objects": 2, "bytes_min": 4096 }],
            "unreferenced": 1,
            "internet_address": "",
        });
        let shown = table(&value, &["thresholds", "unreferenced", "internet_address"]);
        assert_eq!(
            shown,
            "thresholds\n  bytes min  objects\n       4096        2\nunreferenced       1\n\
             internet address   none\n"
        );
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let value = json!({ "objects": "a\u{1b}[31m\r\nb\tc", "missing": ["x\u{7}"] });
        let shown = table(&value, OBJECTS);
        assert_eq!(
            shown,
            "objects            a\u{FFFD}[31m⏎b\u{FFFD}c\nmissing            x\u{FFFD}\n"
        );
    }

    #[test]
    fn endings_follow_the_outcome() {
        let refused = reply(Reply::Refused { reason: "no".into() }, USER, false).unwrap_err();
        let trouble = reply(Reply::Trouble { reason: "no".into() }, USER, false).unwrap_err();
        assert_eq!((refused.code, trouble.code), (2, 3));
    }
}
