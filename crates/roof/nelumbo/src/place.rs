//! The data directory of a command: `--data`, the first word, `NELUMBO_DATA`, or the default.

use std::path::{Path, PathBuf};

use server::DataDir;

use crate::Ending;

/// Where a server lies when nothing else is said.
const DEFAULT: &str = "/var/lib/nelumbo";
/// The variable that names the data directory.
const VARIABLE: &str = "NELUMBO_DATA";

/// What names the data directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// `--data`.
    pub flag: Option<PathBuf>,
    /// `NELUMBO_DATA`.
    pub variable: Option<PathBuf>,
    /// How the command is called, such as `nelumbo user add DIR NAME`; told when it was not.
    pub usage: String,
}

impl Place {
    /// The place that a flag and the environment name.
    pub(crate) fn new(flag: Option<PathBuf>, usage: String) -> Self {
        Self { flag, variable: std::env::var_os(VARIABLE).map(PathBuf::from), usage }
    }

    /// Tells the data directory from the words of a command that takes `min` to `max` words
    /// besides. With `--data` every word is an argument; without it a first word is the
    /// directory when the others suffice, and it is one or nothing else names one.
    pub(crate) fn split(
        &self,
        words: Vec<String>,
        min: usize,
        max: usize,
    ) -> Result<(DataDir, Vec<String>), Ending> {
        let (dir, words) = self.divide(words, min, max);
        if words.len() < min {
            let usage = &self.usage;
            return Err(Ending::misuse(format!("a word is missing; usage: {usage}")));
        }
        if words.len() > max {
            let (extra, usage) = (&words[max], &self.usage);
            return Err(Ending::misuse(format!("{extra}: one word too many; usage: {usage}")));
        }
        Ok((DataDir::new(dir), words))
    }

    fn divide(&self, mut words: Vec<String>, min: usize, max: usize) -> (PathBuf, Vec<String>) {
        if let Some(dir) = &self.flag {
            return (dir.clone(), words);
        }
        let first_is_dir = match words.len() {
            0 => false,
            count if count > max => true,
            // Also when that leaves too little: then the command was not given what it is about.
            _ if holds_a_server(Path::new(&words[0])) => true,
            count => count > min && self.variable.is_none(),
        };
        if first_is_dir {
            return (PathBuf::from(words.remove(0)), words);
        }
        (self.variable.clone().unwrap_or_else(|| PathBuf::from(DEFAULT)), words)
    }
}

fn holds_a_server(path: &Path) -> bool {
    path.join("nelumbo.toml").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case<'a> = (&'a [&'a str], usize, usize, Option<&'a str>, Option<&'a str>);

    fn divided(case: Case<'_>) -> (String, Vec<String>) {
        let (words, min, max, flag, variable) = case;
        let (flag, variable) = (flag.map(PathBuf::from), variable.map(PathBuf::from));
        let place = Place { flag, variable, usage: String::new() };
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let (dir, words) = place.divide(words, min, max);
        (dir.display().to_string(), words)
    }

    #[test]
    fn the_directory_is_told_from_the_words() {
        let cases: &[(Case<'_>, &str, &[&str])] = &[
            ((&[], 0, 0, None, None), DEFAULT, &[]),
            ((&["d"], 0, 0, None, None), "d", &[]),
            ((&["d"], 0, 0, None, Some("e")), "d", &[]),
            ((&["ada"], 1, 1, None, Some("e")), "e", &["ada"]),
            ((&["ada"], 1, 1, None, None), DEFAULT, &["ada"]),
            ((&["d", "ada"], 1, 1, None, Some("e")), "d", &["ada"]),
            ((&["ada"], 1, 1, Some("f"), Some("e")), "f", &["ada"]),
            ((&["a.nsf"], 0, 1, None, Some("e")), "e", &["a.nsf"]),
            ((&["d"], 0, 1, None, None), "d", &[]),
            ((&["d", "a.nsf"], 0, 1, None, Some("e")), "d", &["a.nsf"]),
        ];
        for (case, dir, words) in cases {
            let (found, rest) = divided(*case);
            assert_eq!((found.as_str(), rest.as_slice()), (*dir, &owned(words)[..]), "{case:?}");
        }
    }

    #[test]
    fn a_directory_is_not_taken_for_what_the_command_is_about() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("nelumbo.toml"), "").unwrap();
        let words = vec![dir.path().display().to_string()];
        let refused = Place::default().split(words.clone(), 1, usize::MAX).unwrap_err();
        assert_eq!(refused.code, 2);
        let (found, rest) = Place::default().split(words, 0, 1).unwrap();
        assert_eq!((found.root(), rest.len()), (dir.path(), 0));
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_wrong_number_of_words_is_misuse() {
        let usage = "nelumbo user add DIR NAME".to_owned();
        let place = Place { flag: Some("d".into()), variable: None, usage };
        for words in [&[][..], &["a", "b"]] {
            let refused = place.split(owned(words), 1, 1).unwrap_err();
            assert_eq!(refused.code, 2);
            assert!(refused.text.ends_with("usage: nelumbo user add DIR NAME"), "{refused:?}");
        }
    }
}
