//! Tests of the table of verbs.

use super::{VERBS, find};

#[test]
fn every_verb_is_whole_and_found() {
    for verb in VERBS {
        assert!(!verb.help.is_empty() && !verb.help.ends_with('.'), "{}", verb.words);
        let line = format!("  {}   the rest ", verb.words.to_uppercase().replace(' ', "   "));
        let (found, rest) = find(&line).unwrap();
        assert_eq!((found.words, rest), (verb.words, "the rest"));
    }
}

#[test]
fn other_lines_are_no_verbs() {
    for line in ["", "show", "showserver", "show servers", "quitting", "\u{1F331}", "show\u{0}"] {
        assert!(find(line).is_none(), "{line}");
    }
}
