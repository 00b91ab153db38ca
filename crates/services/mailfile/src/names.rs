//! Names of folders: UTF-8, with `/` between the levels.

use crate::MailError;

/// The folder into which mail is delivered.
pub const INBOX: &str = "INBOX";
/// Longest name of a folder in bytes.
pub const NAME_BYTES_MAX: usize = 1_000;
/// Deepest hierarchy of folders.
const LEVELS_MAX: usize = 40;

/// The name as it is stored: `INBOX`, alone or as the first level, in capitals.
pub fn canonical_name(name: &str) -> String {
    let (first, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
    if first.eq_ignore_ascii_case(INBOX) { format!("{INBOX}{rest}") } else { name.to_owned() }
}

/// Whether a folder may have this name.
///
/// # Errors
/// [`MailError::BadName`] says what is wrong.
pub(crate) fn check_name(name: &str) -> Result<(), MailError> {
    let bad = |why| Err(MailError::BadName { why });
    if name.is_empty() || name.split('/').any(str::is_empty) {
        return bad("a level of it is empty");
    }
    if name.len() > NAME_BYTES_MAX || name.split('/').count() > LEVELS_MAX {
        return bad("it is too long");
    }
    if name.chars().any(char::is_control) {
        return bad("it holds control characters");
    }
    Ok(())
}

/// The names above `name`, the topmost first.
pub(crate) fn parents(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(at, _)| &name[..at])
}

/// What follows `parent` and the delimiter when `name` lies below `parent`.
pub(crate) fn below<'a>(name: &'a str, parent: &str) -> Option<&'a str> {
    name.strip_prefix(parent)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inbox_has_one_spelling() {
        assert_eq!(canonical_name("inBox"), "INBOX");
        assert_eq!(canonical_name("Inbox/a"), "INBOX/a");
        assert_eq!(canonical_name("Inboxes"), "Inboxes");
        assert_eq!(canonical_name("a/inbox"), "a/inbox");
    }

    #[test]
    fn impossible_names_are_refused() {
        for name in ["", "/", "a/", "/a", "a//b", "a\u{7}b", "a\u{85}", &"x".repeat(1_001)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name(&vec!["a"; 41].join("/")).is_err());
        for name in ["a", "Entw\u{fc}rfe/2026", "R&D", " a b "] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_hierarchy_is_walked() {
        assert_eq!(parents("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(below("a/b", "a"), Some("b"));
        assert_eq!(below("ab/c", "a"), None);
    }
}
