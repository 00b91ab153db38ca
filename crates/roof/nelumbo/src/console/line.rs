//! Lines for the console: edited on a terminal, plain ones from a pipe.

use std::io::{self, BufRead};
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use server::DataDir;

use crate::Ending;

/// Lines of history that are kept.
const HISTORY_MAX: usize = 1000;

/// Where lines come from.
pub(super) enum Lines {
    /// A terminal, with history and completion.
    Edited(Box<Editor<Verbs, FileHistory>>, PathBuf),
    /// Anything else.
    Plain(io::Lines<io::BufReader<io::Stdin>>),
}

impl Lines {
    /// Lines of standard input; the history of a terminal is kept in the data directory.
    pub(super) fn open(dir: &DataDir, is_terminal: bool) -> Result<Self, Ending> {
        if !is_terminal {
            return Ok(Self::plain());
        }
        let config = Config::builder()
            .max_history_size(HISTORY_MAX)
            .and_then(|config| config.history_ignore_dups(true))
            .map(|config| config.completion_type(CompletionType::List));
        let config = config.map_err(|error| Ending::trouble(error.to_string()))?.build();
        let editor = Editor::with_config(config);
        let mut editor = editor.map_err(|error| Ending::trouble(error.to_string()))?;
        editor.set_helper(Some(Verbs(server::console_beginnings())));
        let history = dir.run().join("console.history");
        // The first time there is none.
        let _ = editor.load_history(&history);
        Ok(Self::Edited(Box::new(editor), history))
    }

    /// Lines of standard input as they come.
    pub(super) fn plain() -> Self {
        Self::Plain(io::BufReader::new(io::stdin()).lines())
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Option<String>, Ending> {
        match self {
            Self::Plain(lines) => Ok(lines.next().transpose()?),
            Self::Edited(editor, _) => match editor.readline(prompt) {
                Ok(line) => Ok(Some(line)),
                Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
                Err(ReadlineError::Eof) => Ok(None),
                Err(error) => Err(Ending::trouble(error.to_string())),
            },
        }
    }
}

impl Lines {
    /// Keeps a line in the history, unless it may hold a secret.
    pub(super) fn remember(&mut self, line: &str) {
        if let Self::Edited(editor, history) = self
            && !line.to_lowercase().contains("password")
        {
            // Whoever may not write there goes without a history.
            let _ = editor.add_history_entry(line);
            let _ = editor.save_history(history);
        }
    }
}

/// Completes the words of verbs.
pub(super) struct Verbs(Vec<String>);

impl Verbs {
    /// What the line may go on with, and where that begins.
    fn find(&self, line: &str) -> (usize, Vec<String>) {
        let begin = line.rfind(' ').map_or(0, |at| at + 1);
        let lower = line.to_lowercase();
        let mut words: Vec<String> = Vec::new();
        for verb in self.0.iter().filter(|verb| verb.to_lowercase().starts_with(&lower)) {
            let word = verb.get(begin..).and_then(|rest| rest.split(' ').next());
            let word = word.filter(|word| !word.is_empty()).map(|word| format!("{word} "));
            words.extend(word.filter(|word| !words.contains(word)));
        }
        (begin, words)
    }
}

impl Completer for Verbs {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.find(line.get(..at).unwrap_or(line)))
    }
}

impl Hinter for Verbs {
    type Hint = String;
}
impl Highlighter for Verbs {}
impl Validator for Verbs {}
impl Helper for Verbs {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_verbs_are_completed() {
        let verbs = ["show server", "show stat", "show tasks", "tell Router show queues", "quit"];
        let verbs = Verbs(verbs.map(str::to_owned).to_vec());
        let cases: &[(&str, usize, &[&str])] = &[
            ("sh", 0, &["show "]),
            ("show s", 5, &["server ", "stat "]),
            ("show ", 5, &["server ", "stat ", "tasks "]),
            ("tell router s", 12, &["show "]),
            ("quit", 0, &["quit "]),
            ("x", 0, &[]),
            ("é ü", 3, &[]),
        ];
        for (line, begin, words) in cases {
            let (at, found) = verbs.find(line);
            assert_eq!((at, found.as_slice()), (*begin, &owned(words)[..]), "{line}");
        }
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}
