//! Changing one value in the text of a configuration file; comments and order stay.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{KEYS, Key, ROWS, Row, in_toml, parse};
use crate::settings::ini;

/// Section of the names known from notes.ini.
const INI: &str = "ini";

/// Where a value stands, or shall stand, in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    section: String,
    name: String,
}

/// What a name means to `set config`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    /// A row of the table.
    Row(Key),
    /// A name known from notes.ini that sets a row.
    Alias(&'static ini::IniRow),
    /// A name without effect, and why.
    Moot(&'static str),
    /// Not known at all.
    Unknown,
}

/// Finds what a name means, without regard to case.
pub(crate) fn named(name: &str) -> Named {
    if let Some(at) = ROWS.iter().position(|row| row.name.eq_ignore_ascii_case(name)) {
        return Named::Row(KEYS[at]);
    }
    match ini::find(name) {
        Some(ini::IniRow { meaning: ini::Meaning::Moot(why), .. }) => Named::Moot(why),
        Some(row) => Named::Alias(row),
        None => Named::Unknown,
    }
}

/// The text of the file with `name` set to `value`; an empty value takes the line away, and the
/// default is in force again.
///
/// # Errors
/// What is wrong with the name, the value, or the file, for the administrator.
pub(crate) fn set(text: &str, name: &str, value: &str) -> Result<String, String> {
    match named(name) {
        Named::Row(key) => set_row(text, key, row_value(key, name, value)?.as_deref()),
        Named::Alias(ini::IniRow { name, meaning: ini::Meaning::Hour(_) }) => {
            set_ini(text, name, value)
        }
        Named::Alias(row) if value.is_empty() => match row.meaning.key() {
            Some(key) => set_row(text, key, None),
            None => set_ini(text, row.name, value),
        },
        Named::Alias(row) => match ini::translate(row.meaning, value) {
            Ok(Some((key, given))) => set_row(text, key, row_value(key, name, &given)?.as_deref()),
            Ok(None) => set_ini(text, row.name, value),
            Err(why) => Err(format!("{name}: {why}")),
        },
        Named::Moot(_) | Named::Unknown if is_bare(name) => set_ini(text, name, value),
        Named::Unknown if name.contains('.') => {
            Err(format!("there is no setting {name}; show config lists them"))
        }
        Named::Moot(_) | Named::Unknown => {
            Err(format!("{name}: a name has letters, digits, _ and - only"))
        }
    }
}

/// Sets a row; names under `[ini]` that set it too are taken away.
fn set_row(text: &str, key: Key, value: Option<&str>) -> Result<String, String> {
    let mut out = put(text, &row_place(&ROWS[key as usize]), value)?;
    if key == Key::TasksAt && value.is_none() {
        // They add to the row; back to the default means that nothing runs by the hour.
        for hour in 0..24 {
            out = set_ini(&out, &format!("ServerTasksAt{hour}"), "")?;
        }
    }
    for alias in ini::INI_ROWS.iter().filter(|alias| alias.meaning.key() == Some(key)) {
        if key != Key::TasksAt {
            let place = Place { section: INI.to_owned(), name: alias.name.to_owned() };
            out = put(&out, &place, None)?;
        }
    }
    Ok(out)
}

fn set_ini(text: &str, name: &str, value: &str) -> Result<String, String> {
    let place = Place { section: INI.to_owned(), name: name.to_owned() };
    let written = plain_value(value);
    put(text, &place, (!value.is_empty()).then_some(written.as_str()))
}

fn row_place(row: &Row) -> Place {
    let (section, name) = row.name.split_once('.').unwrap_or(("", row.name));
    Place { section: section.to_owned(), name: name.to_owned() }
}

/// How a value is written in the file; `None` for the default.
fn row_value(key: Key, name: &str, value: &str) -> Result<Option<String>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    let value = if value == "\"\"" || value == "''" { "" } else { value };
    let parsed = parse(&ROWS[key as usize], value).map_err(|why| format!("{name}: {why}"))?;
    Ok(Some(in_toml(&parsed)))
}

/// A number as a number, everything else as a text.
fn plain_value(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => toml::Value::from(value).to_string(),
    }
}

fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Where things stand in the text.
#[derive(Default)]
struct Found {
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
    has_section: bool,
}

fn put(text: &str, place: &Place, value: Option<&str>) -> Result<String, String> {
    let found = find(text, place)?;
    let mut out = text.to_owned();
    match (value, found.key, found.value) {
        (Some(value), _, Some(at)) => out.replace_range(at, value),
        (None, Some(key), Some(at)) => {
            let begin = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[at.end..].find('\n').map_or(text.len(), |rest| at.end + rest + 1);
            out.replace_range(begin..end, "");
        }
        (None, ..) => {}
        (Some(value), ..) => insert(&mut out, place, value, found.has_section)?,
    }
    // A file written in an unusual way must not be broken.
    let again = find(&out, place).map_err(|_| by_hand(place))?;
    match again.value.is_some() == value.is_some() {
        true => Ok(out),
        false => Err(by_hand(place)),
    }
}

fn by_hand(place: &Place) -> String {
    let Place { section, name } = place;
    format!("nelumbo.toml is written in a way that only you can change: set {name} of [{section}]")
}

fn find(text: &str, place: &Place) -> Result<Found, String> {
    let table = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let mut found = Found::default();
    for (section, value) in table.get_ref() {
        let DeValue::Table(inner) = value.get_ref() else { continue };
        if !section.get_ref().eq_ignore_ascii_case(&place.section) {
            continue;
        }
        found.has_section = true;
        for (name, value) in inner {
            if name.get_ref().eq_ignore_ascii_case(&place.name) {
                found.key = Some(name.span());
                found.value = Some(value.span());
            }
        }
    }
    Ok(found)
}

/// Adds a line to the section, or the section to the end.
fn insert(out: &mut String, place: &Place, value: &str, exists: bool) -> Result<(), String> {
    let line = format!("{} = {value}\n", place.name);
    if !exists {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("\n[{}]\n{line}", place.section));
        return Ok(());
    }
    let mut at = 0;
    for row in out.split_inclusive('\n') {
        at += row.len();
        let inner = row.trim().strip_prefix('[').and_then(|rest| rest.split(']').next());
        if inner.is_some_and(|name| name.trim().eq_ignore_ascii_case(&place.section)) {
            let line = if row.ends_with('\n') { line } else { format!("\n{line}") };
            out.insert_str(at, &line);
            return Ok(());
        }
    }
    Err(by_hand(place))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::Settings;

    const FILE: &str = "# mine\n[server]\nname = 'mail1/Example' # the name\npool_tasks = 4\n\n\
                        [ini]\nMailMaxDeliveryThreads = 3\n";

    #[test]
    fn values_are_changed_in_their_place() {
        let cases = [
            ("server.pool_tasks", "8", "pool_tasks = 8\n"),
            ("server.name", "a/B", "name = \"a/B\" # the name\n"),
            ("server.log_level", "debug", "[server]\nlog_level = \"debug\"\n"),
            ("router.hop_limit", "30", "\n[router]\nhop_limit = 30\n"),
            ("mailmaxdeliverythreads", "5", "[ini]\n\n[router]\ndelivery_threads = 5\n"),
            ("Mailboxes", "4", "[router]\nmailboxes = 4\n"),
            ("TRANSLOG_Style", "2", "[log]\nstyle = \"linear\"\n"),
            ("ServerTasksAt2", "UpdAll", "[ini]\nServerTasksAt2 = \"UpdAll\"\n"),
            ("HomeMade", "x y", "[ini]\nHomeMade = \"x y\"\n"),
        ];
        for (name, value, part) in cases {
            let changed = set(FILE, name, value).unwrap();
            assert!(changed.contains(part), "{name}: {changed}");
            assert!(changed.starts_with("# mine\n"), "{changed}");
        }
    }

    #[test]
    fn an_empty_value_takes_the_line_away() {
        let changed = set(FILE, "server.pool_tasks", "").unwrap();
        assert_eq!(changed, FILE.replace("pool_tasks = 4\n", ""));
        assert_eq!(set(FILE, "router.hop_limit", "").unwrap(), FILE);
        let changed = set(FILE, "router.delivery_threads", "").unwrap();
        assert_eq!(changed, FILE.replace("MailMaxDeliveryThreads = 3\n", ""));
        let hourly = format!("{FILE}ServerTasksAt1 = 'Compact'\nservertasksat23 = 'UpdAll'\n");
        assert_eq!(set(&hourly, "server.tasks_at", "").unwrap(), FILE);
        let emptied = set(FILE, "server.log_file", "''").unwrap();
        assert!(emptied.contains("log_file = \"\"\n"), "{emptied}");
    }

    #[test]
    fn every_setting_can_be_set_and_unset() {
        let read = |text: &str| {
            let loaded = Settings::parse(Path::new("nelumbo.toml"), text);
            loaded.map(|loaded| loaded.settings).unwrap()
        };
        for (key, row) in KEYS.iter().zip(ROWS) {
            let value = match row.default {
                "" => "\"\"",
                default => default,
            };
            let changed = set(FILE, &row.name.to_uppercase(), value).unwrap();
            assert_eq!(
                parse(row, row.default).as_ref(),
                Ok(read(&changed).value(*key)),
                "{changed}"
            );
            assert!(read(&changed).is_given(*key), "{}", row.name);
            let unset = set(&changed, row.name, "").unwrap();
            assert!(!read(&unset).is_given(*key), "{}: {unset}", row.name);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cases = [
            (FILE, "server.pool_tasks", "many"),
            (FILE, "a b", "1"),
            (FILE, "router.hop_limt", "9"),
            (FILE, "listen.smtp", "here"),
            ("server = { name = 'x' }\n", "server.pool_tasks", "4"),
            ("[server\n", "server.pool_tasks", "4"),
        ];
        for (file, name, value) in cases {
            assert!(set(file, name, value).is_err(), "{name} = {value} in {file}");
        }
    }
}
