//! What a package ships beside the program and the program makes itself: manual pages and
//! completions for shells.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::{Ending, show};

/// Writes `nelumbo.1`, `nelumbo-user.1`, `nelumbo-user-add.1` … into a folder.
pub(crate) fn write(folder: &Path) -> Result<(), Ending> {
    let failed = |error: std::io::Error| {
        Ending::trouble(format!("{} cannot be written: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (name, page) in pages()? {
        std::fs::write(folder.join(name), page).map_err(failed)?;
    }
    Ok(())
}

/// Every page: file name and text.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Ending> {
    let mut program = Arguments::command();
    program.build();
    let mut pages = Vec::new();
    page("nelumbo", &program, &mut pages)?;
    Ok(pages)
}

fn page(name: &str, command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Ending> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Ok(());
    }
    let mut text = Vec::new();
    // A built command knows its name with dashes itself.
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    pages.push((format!("{name}.1"), tidied(name, &String::from_utf8_lossy(&text))));
    for inner in command.get_subcommands() {
        page(&format!("{name}-{}", inner.get_name()), inner, pages)?;
    }
    Ok(())
}

/// A page with the heading of this program, which has no date, and without blank lines that are
/// spaced twice.
fn tidied(name: &str, page: &str) -> Vec<u8> {
    let title = name.to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    let heading = format!(".TH \"{title}\" \"1\" \"\" \"nelumbo {version}\" \"nelumbo manual\"\n");
    let lines = page.split_inclusive('\n');
    let page: String =
        lines.map(|line| if line.starts_with(".TH ") { &*heading } else { line }).collect();
    page.replace("\n.br\n\n.br\n", "\n.sp\n").into_bytes()
}

/// The completions of a shell, to standard output.
pub(crate) fn complete(shell: Shell) -> Result<(), Ending> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "nelumbo", &mut text);
    show::line(String::from_utf8_lossy(&text).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|page| page.0.as_str()).collect();
        for name in ["nelumbo.1", "nelumbo-serve.1", "nelumbo-user-add.1", "nelumbo-db-compact.1"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        for (name, page) in &pages {
            let text = String::from_utf8_lossy(page);
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{name}");
            let title = name.trim_end_matches(".1").replace('-', "\\-");
            assert!(text.contains(&title), "{title}");
            let heading = format!(".TH \"{}\" \"1\"", name.trim_end_matches(".1").to_uppercase());
            assert_eq!(text.matches(".TH ").count(), 1, "{name}");
            assert!(text.contains(&heading) && !text.contains(".br\n\n.br"), "{name}");
            assert!(!name.contains("reference"), "{name}");
        }
    }

    #[test]
    fn shells_complete_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "nelumbo", &mut text);
            let text = String::from_utf8(text).unwrap();
            for word in ["compact", "password-stdin", "estimate"] {
                assert!(text.contains(word), "{word} for {shell}");
            }
        }
    }

    /// A file of the folder `packaging`.
    fn packaged(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging");
        std::fs::read_to_string(folder.join(name)).unwrap()
    }

    fn is_a_command(line: &str) -> bool {
        Arguments::try_parse_from(line.split_whitespace()).is_ok()
    }

    #[test]
    fn the_unit_calls_commands_that_are_there() {
        let unit = packaged("nelumbo.service");
        let mut commands = 0;
        for line in unit.lines().map(str::trim) {
            let known = line.is_empty() || line.starts_with(['#', '[']) || line.contains('=');
            assert!(known && !line.ends_with('\\'), "{line}");
            if let Some(command) = line.strip_prefix("Exec").and_then(|rest| rest.split_once('=')) {
                assert!(command.1.starts_with("/usr/bin/nelumbo ") && is_a_command(command.1));
                commands += 1;
            }
        }
        assert_eq!(commands, 2);
        for section in ["[Unit]", "[Service]", "[Install]"] {
            assert_eq!(unit.matches(section).count(), 1, "{section}");
        }
    }

    /// Where systemd is, it says itself what it thinks of the unit.
    #[test]
    fn systemd_takes_the_unit() {
        let dir = tempfile::tempdir().unwrap();
        let unit = dir.path().join("nelumbo.service");
        let this = std::env::current_exe().unwrap();
        let text = packaged("nelumbo.service").replace("/usr/bin/nelumbo", this.to_str().unwrap());
        std::fs::write(&unit, text).unwrap();
        let mut verify = std::process::Command::new("systemd-analyze");
        let Ok(output) = verify.args(["verify", "--man=no"]).arg(&unit).output() else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        let about: Vec<&str> = said.lines().filter(|line| line.contains("nelumbo")).collect();
        assert!(about.is_empty(), "{about:?}");
    }

    #[test]
    fn the_container_builds_from_what_is_there() {
        let file = packaged("Containerfile");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for line in file.lines().filter(|line| line.starts_with("COPY ")) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            if !line.contains("--from") {
                let sources = &words[..words.len() - 1];
                assert!(sources.iter().all(|source| root.join(source).exists()), "{line}");
            }
        }
        assert!(is_a_command("nelumbo serve /var/lib/nelumbo"));
        assert!(is_a_command("nelumbo status /var/lib/nelumbo"));
    }
}
