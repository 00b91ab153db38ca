//! Names of folders: from those of the source to those of the mail file.

use mailfile::{INBOX, NAME_BYTES_MAX, canonical_name};

/// Levels kept; what lies deeper becomes one name.
const LEVELS_MAX: usize = 30;
/// Bytes of one level at most.
const LEVEL_BYTES_MAX: usize = 200;

/// A name that a folder can have, as much like `levels` as possible.
pub(crate) fn name_of<S: AsRef<str>>(levels: &[S]) -> String {
    let clean = levels.iter().map(|level| level_of(level.as_ref()));
    let mut name = String::new();
    for (at, level) in clean.filter(|level| !level.is_empty()).enumerate() {
        if name.len() + level.len() + 1 > NAME_BYTES_MAX {
            break;
        }
        if at > 0 {
            name.push(if at < LEVELS_MAX { '/' } else { '_' });
        }
        name.push_str(&level);
    }
    match name.is_empty() {
        true => INBOX.to_owned(),
        false => canonical_name(&name),
    }
}

/// The file or directory of a level: a leading dot would hide it, or leave the tree.
pub(crate) fn file_of(level: &str) -> String {
    match level.strip_prefix('.') {
        Some(rest) => format!("%2E{rest}"),
        None => level.to_owned(),
    }
}

/// The level that a file or directory stands for.
pub(crate) fn level_of_file(name: &str) -> String {
    match name.strip_prefix("%2E") {
        Some(rest) => format!(".{rest}"),
        None => name.to_owned(),
    }
}

fn level_of(level: &str) -> String {
    let level = level.trim();
    let is_bad = |c: char| c.is_control() || c == '/';
    let mut clean: String = level.chars().map(|c| if is_bad(c) { '_' } else { c }).collect();
    let mut end = clean.len().min(LEVEL_BYTES_MAX);
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    clean.truncate(end);
    clean
}

/// The name below `into`; INBOX becomes `into` itself.
pub(crate) fn below(into: Option<&str>, name: &str) -> String {
    let Some(into) = into else { return name.to_owned() };
    match name.strip_prefix(INBOX) {
        Some("") => into.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{into}{rest}"),
        _ => format!("{into}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_possible() {
        let none: [&str; 0] = [];
        assert_eq!(name_of(&none), "INBOX");
        assert_eq!(name_of(&["inbox"]), "INBOX");
        assert_eq!(name_of(&["Inbox", "a/b", "", " c\u{7}"]), "INBOX/a_b/c_");
        let deep = vec!["x"; 60];
        assert!(name_of(&deep).split('/').count() <= LEVELS_MAX);
        let long = "\u{fc}".repeat(600);
        assert!(name_of(&vec![long.as_str(); 40]).len() <= NAME_BYTES_MAX);
    }

    #[test]
    fn no_level_leaves_its_directory() {
        for level in ["..", ".", ".hidden", "a.b"] {
            assert!(!file_of(level).starts_with('.'), "{level}");
            assert_eq!(level_of_file(&file_of(level)), level);
        }
    }

    #[test]
    fn everything_can_go_below_a_folder() {
        assert_eq!(below(None, "Sent"), "Sent");
        assert_eq!(below(Some("Old"), "Sent/a"), "Old/Sent/a");
        assert_eq!(below(Some("Old"), "INBOX"), "Old");
        assert_eq!(below(Some("Old"), "INBOX/a"), "Old/a");
        assert_eq!(below(Some("Old"), "INBOXES"), "Old/INBOXES");
    }
}
