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
}

impl Place {
    /// The place that a flag and the environment name.
    pub(crate) fn new(flag: Option<PathBuf>) -> Self {
        Self { flag, variable: std::env::var_os(VARIABLE).map(PathBuf::from) }
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
            return Err(Ending::misuse(
                "give DIR, or --data DIR, and then what the command is about; see --help",
            ));
        }
        if words.len() > max {
            return Err(Ending::misuse(format!("{}: one word too many; see --help", words[max])));
        }
        Ok((DataDir::new(dir), words))
    }

    fn divide(&self, mut words: Vec<String>, min: usize, max: usize) -> (PathBuf, Vec<String>) {
        if let Some(dir) = &self.flag {
            return (dir.clone(), words);
        }
        let first_is_dir = match words.len() {
            0 => false,
            count if count <= min => false,
            count if count > max => true,
            _ => holds_a_server(Path::new(&words[0])) || self.variable.is_none(),
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
        let place = Place { flag: flag.map(PathBuf::from), variable: variable.map(PathBuf::from) };
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

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_wrong_number_of_words_is_misuse() {
        let place = Place { flag: Some("d".into()), variable: None };
        assert_eq!(place.split(owned(&[]), 1, 1).unwrap_err().code, 2);
        assert_eq!(place.split(owned(&["a", "b"]), 1, 1).unwrap_err().code, 2);
    }
}
