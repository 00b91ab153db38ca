//! Tests of the table of verbs.

use super::{VERBS, find, unknown};

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

#[test]
fn a_verb_that_was_begun_is_told_with_its_kind() {
    let told = unknown("dbcache frob");
    assert!(
        told.ends_with("there are: dbcache flush, dbcache disable, dbcache enable, dbcache show")
    );
    assert!(unknown("frob").ends_with("help lists all of them"));
}
