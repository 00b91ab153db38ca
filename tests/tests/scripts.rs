//! Scripted IMAP conversations: our own, and those of the imaptest program where they are at hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use std::path::{Path, PathBuf};
use tests::{Account, Example, Verdict, cargo_folder, play};

/// Scripts of imaptest that fail although the server announces what they need, and why that is
/// right. This list may only become shorter.
const EXCEPTIONS: [(&str, &str); 0] = [];

fn account(example: &Example) -> Account {
    Account {
        port: example.0.imap(),
        user: "alice@example.test".to_owned(),
        password: Example::ALICE.to_owned(),
    }
}

/// The scripts in a folder, by name.
fn scripts(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let named = paths.map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, path)
    });
    let mut found: Vec<_> = named.filter(|(name, _)| !name.ends_with(".mbox")).collect();
    found.sort();
    found
}

/// Scripts of imaptest beside this repository, or where `IMAPTEST_SCRIPTS` says.
fn imaptest() -> Option<PathBuf> {
    let named = std::env::var_os("IMAPTEST_SCRIPTS").map(PathBuf::from);
    let beside = cargo_folder().ancestors().nth(2)?.join("shared/suites/imaptest/tests");
    named.or_else(|| beside.is_dir().then_some(beside))
}

#[test]
fn our_scripts_pass() {
    let example = Example::start();
    for (name, path) in scripts(&cargo_folder().join("scripts/good")) {
        assert_eq!(play(&path, &account(&example)), Verdict::Passed, "{name}");
    }
}

#[test]
fn a_wrong_script_is_noticed() {
    let example = Example::start();
    for (name, path) in scripts(&cargo_folder().join("scripts/wrong")) {
        let verdict = play(&path, &account(&example));
        match name.strip_prefix("needs-") {
            None => assert!(matches!(verdict, Verdict::Failed(_)), "{name}: {verdict:?}"),
            Some(what) => assert_eq!(verdict, Verdict::Skipped(what.to_ascii_uppercase())),
        }
    }
}

#[test]
fn the_scripts_of_imaptest_pass() {
    let Some(folder) = imaptest() else {
        println!("no scripts of imaptest here");
        return;
    };
    let example = Example::start();
    let account = account(&example);
    let only = std::env::var("IMAPTEST_ONLY").ok();
    let (mut passed, mut skipped, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (name, path) in scripts(&folder) {
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let known = EXCEPTIONS.iter().find(|(exception, _)| *exception == name);
        match (play(&path, &account), known) {
            (Verdict::Passed, None) => passed.push(name),
            (Verdict::Passed, Some(_)) => {
                wrong.push(format!("{name} passes: no exception any more"))
            }
            (Verdict::Skipped(missing), None) => skipped.push(format!("{name} ({missing})")),
            (Verdict::Skipped(_), Some(_)) => wrong.push(format!("{name} is skipped anyway")),
            (Verdict::Failed(_), Some((_, reason))) => println!("{name} fails: {reason}"),
            (Verdict::Failed(how), None) => wrong.push(format!("{name}: {how}")),
        }
    }
    println!("{} passed: {}", passed.len(), passed.join(", "));
    println!("{} skipped: {}", skipped.len(), skipped.join(", "));
    assert!(wrong.is_empty(), "{} failed:\n{}", wrong.len(), wrong.join("\n"));
}
