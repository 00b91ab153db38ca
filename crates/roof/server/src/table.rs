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

/// Names and values of an object, one on each line.
pub(crate) fn pairs_of(object: &Value) -> String {
    let Some(fields) = object.as_object() else { return cell(object) };
    let named = fields.iter().map(|(name, value)| (name.replace('_', " "), cell(value)));
    pairs(&named.collect::<Vec<_>>())
}

/// Names and values, one on each line.
pub(crate) fn pairs(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    lines.join("\n")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
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

    #[test]
    fn columns_are_aligned() {
        let rows: Vec<Vec<String>> = [["path", "notes"], ["mail/é.nsf", "7"], ["a.nsf", "120"]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec();
        assert_eq!(columns(&rows), "path        notes\nmail/é.nsf      7\na.nsf         120\n");
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(columns(&[]), "");
    }
}
