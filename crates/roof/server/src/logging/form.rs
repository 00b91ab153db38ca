//! A line of the log: time, severity, kind and source of an event, as administrators know them.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use note::TimeDate;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Where an event comes from: beginning of the module path, name shown, kind of its events.
const SOURCES: &[(&str, &str, &str)] = &[
    ("router", "Router", "mail"),
    ("smtp", "SMTP Server", "mail"),
    ("imap", "IMAP Server", "comm"),
    ("pop3", "POP3 Server", "comm"),
    ("session", "Network", "network"),
    ("directory", "Directory", "security"),
    ("migrate", "Import", "mail"),
    ("mailfile", "Database", "database"),
    ("store", "Database", "database"),
    ("objects", "Object store", "resource"),
    ("txlog", "Transaction log", "resource"),
];

/// Writes `TIME SEVERITY KIND SOURCE: message (name=value, …)`.
pub(super) struct Form;

impl<S, N> FormatEvent<S, N> for Form
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut told = Told::default();
        event.record(&mut told);
        let facts = event.metadata();
        writeln!(out, "{} {}", now(), told.line(*facts.level(), facts.target()))
    }
}

fn now() -> TimeDate {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimeDate(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// What an event says.
#[derive(Default)]
struct Told {
    message: String,
    /// Named by the event itself, in place of what its module says.
    task: Option<String>,
    kind: Option<String>,
    fields: String,
}

impl Told {
    fn line(&self, level: Level, target: &str) -> String {
        let module = target.split("::").next().unwrap_or(target);
        let known = SOURCES.iter().find(|source| source.0 == module);
        let (source, kind) = known.map_or(("Server", "server"), |known| (known.1, known.2));
        let source = self.task.as_deref().unwrap_or(source);
        let kind = self.kind.as_deref().unwrap_or(kind);
        let mut line = format!("{:7} {kind:8} {source}: ", severity(level));
        push_on_one_line(&mut line, &self.message);
        if !self.fields.is_empty() {
            line.push_str(" (");
            push_on_one_line(&mut line, &self.fields);
            line.push(')');
        }
        line
    }

    fn take(&mut self, name: &str, text: String) {
        match name {
            "message" => self.message = text,
            "task" => self.task = Some(text),
            "kind" => self.kind = Some(text),
            _ => {
                let comma = if self.fields.is_empty() { "" } else { ", " };
                // Writing to a string cannot fail.
                let _ = write!(self.fields, "{comma}{name}={text}");
            }
        }
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field.name(), value.to_owned());
    }
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::ERROR => "failure",
        Level::WARN => "warning",
        Level::INFO => "normal",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// Control characters become escapes: what clients send must not forge a line.
fn push_on_one_line(line: &mut String, text: &str) {
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)]) -> Told {
        let mut told = Told::default();
        pairs.iter().for_each(|(name, text)| told.take(name, (*text).to_owned()));
        told
    }

    #[test]
    fn events_are_told_in_the_words_of_the_field() {
        type Case<'a> = (&'a [(&'a str, &'a str)], Level, &'a str, &'a str);
        let cases: &[Case<'_>] = &[
            (&[("message", "x")], Level::INFO, "router::desk", "normal  mail     Router: x"),
            (&[("message", "x")], Level::WARN, "store", "warning database Database: x"),
            (&[("message", "x")], Level::ERROR, "server::x", "failure server   Server: x"),
            (
                &[("message", "x"), ("task", "Compact"), ("kind", "update")],
                Level::INFO,
                "server",
                "normal  update   Compact: x",
            ),
            (
                &[("message", "x"), ("a", "1"), ("b", "2")],
                Level::DEBUG,
                "smtp::session",
                "debug   mail     SMTP Server: x (a=1, b=2)",
            ),
        ];
        for (pairs, level, target, line) in cases {
            assert_eq!(told(pairs).line(*level, target), *line);
        }
    }

    #[test]
    fn no_event_forges_a_line() {
        let line = told(&[("message", "a\r\nb"), ("x", "\u{1b}[2J\n")]).line(Level::INFO, "smtp");
        assert!(!line.contains(char::is_control), "{line}");
        assert!(line.contains("a\\r\\nb"), "{line}");
    }
}
