//! Tables of text in aligned columns.

use serde_json::Value;

/// Space between two columns.
const GAP: usize = 2;

/// Lays rows out in columns; the first row is the heading. Numbers stand to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let numeric = |at: usize| {
        let mut cells = rows.iter().skip(1).filter_map(|row| row.get(at)).peekable();
        cells.peek().is_some() && cells.all(|cell| is_number(cell))
    };
    let layout: Vec<(usize, bool)> = (0..count).map(|at| (width(at), numeric(at))).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, (width, right)) in row.iter().zip(&layout) {
            let space = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, behind) = if *right { (&*space, "") } else { ("", &*space) };
            line.push_str(&format!("{before}{cell}{behind}{:GAP$}", ""));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A table of the named fields of a list of objects, without columns in which nothing stands.
pub(crate) fn of(list: &Value, names: &[&str]) -> String {
    let rows: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    let filled = |name: &&&str| rows.iter().any(|row| !row[**name].is_null());
    let names: Vec<&str> = names.iter().filter(filled).copied().collect();
    let heading = names.iter().map(|name| name.replace('_', " ")).collect();
    let cells = rows.iter().map(|row| names.iter().map(|name| cell(&row[*name])).collect());
    let all: Vec<Vec<String>> = std::iter::once(heading).chain(cells).collect();
    columns(&all).trim_end().to_owned()
}

/// Columns of the lists that stand inside of answers, by the name of the list.
static NESTED: &[(&str, &[&str])] = &[
    ("damaged", &["object", "block", "lsn", "reason"]),
    ("differences", &["object", "dbiid", "catalog", "counted"]),
    ("listeners", &["door", "address"]),
    (
        "objects",
        &["hash", "state", "raw_bytes", "stored_bytes", "references", "unreferenced_since"],
    ),
    (
        "thresholds",
        &[
            "bytes_min",
            "objects",
            "references",
            "raw_bytes",
            "stored_bytes",
            "referenced_bytes",
            "saved_bytes",
        ],
    ),
];

/// What stands inside of an answer under `name`, set in below the name: a list of objects as a
/// table, an object as names and values. `None` for what fits on the line of its name.
pub fn nested(name: &str, value: &Value) -> Option<String> {
    let inner = match value {
        Value::Array(list) if list.first().is_some_and(Value::is_object) => {
            let known = NESTED.iter().find(|(known, _)| *known == name).map(|(_, names)| *names);
            let fields = list[0].as_object().into_iter().flat_map(|object| object.keys());
            let all = || fields.map(String::as_str).collect::<Vec<_>>();
            of(value, &known.map_or_else(all, <[&str]>::to_vec))
        }
        Value::Object(_) => pairs_of(value),
        _ => return None,
    };
    Some(inner.lines().map(|line| format!("\n  {line}")).collect())
}

/// Names and values of an object, one on each line; what takes several lines stands last.
pub(crate) fn pairs_of(object: &Value) -> String {
    let Some(fields) = object.as_object() else { return cell(object) };
    let (mut short, mut long) = (Vec::new(), String::new());
    for (name, value) in fields {
        let heading = name.replace('_', " ");
        match nested(name, value) {
            None => short.push((heading, cell(value))),
            Some(lines) => long.push_str(&format!("\n{heading}{lines}")),
        }
    }
    format!("{}{long}", pairs(&short)).trim_start().to_owned()
}

/// Names and values, one on each line.
pub(crate) fn pairs(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    lines.join("\n")
}

/// So many of something that is counted: `1 session`, `2 sessions`.
pub(crate) fn counted(count: impl Into<u64>, one: &str) -> String {
    match count.into() {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

/// A text as one line, whatever a sender wrote: nothing in it steers the terminal.
pub fn harmless(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' => '⏎',
        letter if letter.is_control() => '\u{FFFD}',
        letter => letter,
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => harmless(text),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn is_number(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_aligned() {
        let rows: Vec<Vec<String>> = [["path", "notes"], ["mail/é.nsf", "7"], ["a.nsf", "120"]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec();
        assert_eq!(columns(&rows), "path        notes\nmail/é.nsf      7\na.nsf         120\n");
    }

    #[test]
    fn lists_inside_of_an_answer_stand_below_their_name() {
        let value = json!({
            "adopted": 2,
            "archive": { "segments": 1, "trouble": null },
            "recount_due": false,
            "thresholds": [{ "bytes_min": 4096, "saved_bytes": 70 }],
            "unknown": [{ "b": true, "a": "x\u{1b}" }],
            "missing": [],
        });
        let expected = "adopted      2\nmissing      none\nrecount due  no\n\
                        archive\n  segments  1\n  trouble\n\
                        thresholds\n  bytes min  saved bytes\n       4096           70\n\
                        unknown\n  a   b\n  x\u{FFFD}  yes";
        let lines: Vec<String> = pairs_of(&value).lines().map(|l| l.trim_end().into()).collect();
        assert_eq!(lines.join("\n"), expected);
        assert_eq!(nested("x", &json!([1, 2])), None);
    }

    #[test]
    fn one_is_told_from_many() {
        let told = [0u32, 1, 2].map(|count| counted(count, "session"));
        assert_eq!(told, ["0 sessions", "1 session", "2 sessions"]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(columns(&[]), "");
    }
}
