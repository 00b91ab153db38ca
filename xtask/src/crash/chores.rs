//! An administrator at work beside the load: databases are compacted, rebuilt, copied, moved and
//! removed, objects looked through. What a command said is compared after the crash.

use super::dice::Dice;
use super::load::{Mood, Shared};
use super::server::Place;
use std::collections::BTreeSet;

/// Folder of the copies.
const FOLDER: &str = "spare";
/// Copies from which on some are removed first.
const COPIES_MAX: usize = 5;
/// The commands as (command, verb).
const COMMANDS: [(&str, &str); 8] = [
    ("db", "compact"),
    ("db", "updall"),
    ("db", "fixup"),
    ("db", "copy"),
    ("db", "move"),
    ("db", "remove"),
    ("objects", "verify"),
    ("objects", "prune"),
];

/// The administrator's memory.
pub struct Chores {
    /// What this version of the program can do.
    known: Vec<(&'static str, &'static str)>,
    /// Copies that must be there.
    copies: BTreeSet<String>,
    /// Paths of which a command that was cut off may have made or ended a copy.
    doubtful: BTreeSet<String>,
    number: u64,
    done: u64,
    /// Objects that prune has deleted.
    pruned: u64,
}

impl Chores {
    /// Learns what the program can do.
    pub fn new(place: &Place) -> Result<Chores, String> {
        let help = |command| place.plain(&[command, "--help"]);
        let (db, objects) = (help("db")?, help("objects")?);
        let knows = |(command, verb): &(&str, &str)| {
            let text = if *command == "db" { &db } else { &objects };
            text.lines().any(|line| line.trim_start().starts_with(&format!("{verb} ")))
        };
        let known = COMMANDS.into_iter().filter(knows).collect();
        let (copies, doubtful) = (BTreeSet::new(), BTreeSet::new());
        Ok(Chores { known, copies, doubtful, number: 0, done: 0, pruned: 0 })
    }

    /// Commands that succeeded so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Objects that were deleted by `objects prune` so far.
    pub fn pruned(&self) -> u64 {
        self.pruned
    }

    /// Works until the server is gone.
    pub fn run(&mut self, place: &Place, shared: &Shared, dice: &mut Dice) {
        while shared.mood() == Mood::Calm && !self.known.is_empty() {
            let words = self.choose(shared.users.len() as u64, dice);
            let (before, after): (Vec<&str>, Vec<&str>) =
                (words.iter().take(2).map(String::as_str).collect(), words_behind(&words));
            let answer = place.ask(&before, &after);
            if shared.mood() != Mood::Calm {
                self.doubt(&words);
                return;
            }
            match answer {
                Ok((true, text)) => self.note(&words, &text),
                Ok((false, text)) => {
                    self.doubt(&words);
                    return shared.complain(format!("{words:?}: {}", text.trim()));
                }
                Err(trouble) => return shared.complain(trouble),
            }
        }
    }

    /// The words of the next command.
    fn choose(&mut self, users: u64, dice: &mut Dice) -> Vec<String> {
        let mail = format!("mail/u{:04}.nsf", 1 + dice.below(users));
        let copies: Vec<String> = self.copies.iter().cloned().collect();
        let mut command = *dice.pick(&self.known);
        let needs_copy = matches!(command.1, "move" | "remove");
        if needs_copy && copies.is_empty() || command.1 == "copy" && copies.len() >= COPIES_MAX {
            command = ("objects", "verify");
        }
        self.number += 1;
        let new = format!("{FOLDER}/c{}.nsf", self.number);
        let behind = match command.1 {
            "copy" => vec![mail, new],
            "move" => vec![dice.pick(&copies).clone(), new],
            "remove" => vec![dice.pick(&copies).clone(), "--yes".to_owned()],
            "verify" => Vec::new(),
            "prune" => vec!["--json".to_owned()],
            _ => vec![mail],
        };
        [command.0, command.1].map(str::to_owned).into_iter().chain(behind).collect()
    }

    /// A command was carried out and said `text`.
    fn note(&mut self, words: &[String], text: &str) {
        self.done += 1;
        match words {
            [_, verb, ..] if verb == "prune" => {
                let report: Option<serde_json::Value> = serde_json::from_str(text).ok();
                self.pruned += report.and_then(|r| r.get("objects")?.as_u64()).unwrap_or(0);
            }
            [_, verb, from, to] if verb == "move" => {
                self.copies.remove(from);
                self.copies.insert(to.clone());
            }
            [_, verb, _, to] if verb == "copy" => {
                self.copies.insert(to.clone());
            }
            [_, verb, path, _] if verb == "remove" => {
                self.copies.remove(path);
            }
            _ => {}
        }
    }

    /// Nobody knows whether a command was carried out.
    fn doubt(&mut self, words: &[String]) {
        for path in words.iter().filter(|word| word.starts_with(FOLDER)) {
            self.copies.remove(path);
            self.doubtful.insert(path.clone());
        }
    }

    /// Compares the copies with what a restarted server has; goes on from there.
    pub fn check(&mut self, place: &Place) -> Result<Vec<String>, String> {
        let (fine, text) = place.ask(&["db", "list"], &["--json"])?;
        let rows: Option<Vec<serde_json::Value>> = serde_json::from_str(&text).ok();
        let Some(rows) = rows.filter(|_| fine) else { return Err(format!("db list: {text}")) };
        let paths = rows.iter().filter_map(|row| row.get("path")?.as_str());
        let found: BTreeSet<String> =
            paths.filter(|path| path.starts_with(FOLDER)).map(str::to_owned).collect();
        let lost = self.copies.difference(&found).map(|path| format!("{path} is lost"));
        let mut wrong: Vec<String> = lost.collect();
        let mut expected = self.copies.clone();
        expected.append(&mut self.doubtful);
        wrong.extend(found.difference(&expected).map(|path| format!("{path} has come back")));
        for path in &found {
            let (fine, text) = place.ask(&["db", "info"], &[path])?;
            if !fine {
                wrong.push(format!("db info {path}: {}", text.trim()));
            }
        }
        self.copies = found;
        Ok(wrong)
    }
}

/// Whether a line of the log tells how a copy, move or removal that was cut off is brought to its
/// end.
pub fn is_announced(line: &str) -> bool {
    const TOLD: [&str; 3] =
        ["file is not a database", "database was moved", "foreign file or copy"];
    TOLD.iter().any(|words| line.contains(words)) && line.contains(&format!("{FOLDER}/"))
}

fn words_behind(words: &[String]) -> Vec<&str> {
    words.iter().skip(2).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::Chores;
    use std::collections::BTreeSet;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_was_said_is_remembered() {
        let (copies, doubtful) = (BTreeSet::new(), BTreeSet::new());
        let known = Vec::new();
        let mut chores = Chores { known, copies, doubtful, number: 0, done: 0, pruned: 0 };
        for line in [
            "db copy mail/u0001.nsf spare/c1.nsf",
            "db move spare/c1.nsf spare/c2.nsf",
            "db copy mail/u0001.nsf spare/c3.nsf",
            "db remove spare/c3.nsf --yes",
        ] {
            chores.note(&words(line), "");
        }
        chores.note(&words("objects prune --json"), "{\"objects\": 3}");
        assert_eq!(chores.copies, BTreeSet::from(["spare/c2.nsf".to_owned()]));
        chores.doubt(&words("db move spare/c2.nsf spare/c4.nsf"));
        assert!(chores.copies.is_empty() && chores.doubtful.len() == 2);
        assert_eq!((chores.done(), chores.pruned()), (5, 3));
    }
}
