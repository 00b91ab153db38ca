use clap::{CommandFactory, Parser};

use super::*;

#[derive(Debug, Parser)]
struct Whole {
    #[command(subcommand)]
    command: Bench,
}

fn parsed(line: &str) -> Result<Bench, clap::Error> {
    let words = std::iter::once("bench").chain(line.split_whitespace());
    Whole::try_parse_from(words).map(|whole| whole.command)
}

/// How a line ends that never reaches a server.
fn ending(line: &str) -> Ending {
    carry_out(parsed(line).unwrap(), &Around::default()).unwrap_err()
}

#[test]
fn the_command_line_is_consistent() {
    Whole::command().debug_assert();
}

#[test]
fn usual_lines_are_understood() {
    let lines = [
        "list",
        "list N85Entmail --file",
        "run N85Entmail --users 6000 --password x --smtp-port 2587 --imap-port 2143",
        "run R6IMAP --users 5 --password x --ramp 60s --steady 15min --speed 30 --seed 7 \
         --variant journaling,block-rules=10,replicas=20% --late-after 30s --settle 2min \
         --max-response 28ms --tls starttls --profile fixed:10000 --repeat-share 0% --sync-count \
         --server-cgroup / --server-data / --device vda --out a.json --html a.html --name first",
        "run --workload-file own.toml --users 5 --password x --via http --http-port 80",
        "peak SMTP-POP3 --users 4000 --password x --max-response 1s --from 50 --within 2%",
        "populate N8Mail --users 10 --password x --imap-port 143 --messages 50 --share 30",
        "compare a.json published:N85Entmail-8.5",
        "report a.json b.json --html c.html",
        "published entmail",
    ];
    for line in lines {
        if let Err(error) = parsed(line) {
            panic!("{line}: {error}");
        }
    }
}

#[test]
fn wrong_lines_are_refused_with_a_reason() {
    let run = "run N8Mail --password x --users";
    let cases = [
        ("run --users 5 --password x", "<WORKLOAD>"),
        (&format!("{run} 0"), "0 is not in 1..=100000"),
        (&format!("{run} many"), "invalid digit"),
        (&format!("{run} 5 --steady 60"), "needs a unit"),
        (&format!("{run} 5 --steady 0s"), "must be more than 0"),
        (&format!("{run} 5 --speed 0"), "is no speed"),
        (&format!("{run} 5 --tls maybe"), "none, starttls or implicit"),
        (&format!("{run} 5 --user-pattern mail@x"), "where the number stands"),
        (&format!("{run} 5 --repeat-share 300%"), "is no share"),
        (&format!("{run} 5 --variant scan,scan"), "named twice"),
        (&format!("{run} 5 --variant blah"), "no such variant"),
        (&format!("{run} 5 --server-data /nowhere/at/all"), "there is no such directory"),
        (&format!("{run} 5 --smtp-port 99999"), "99999 is not in 0..=65535"),
        ("run N8Mail --users 5 --password x --workload-file x.toml", "cannot be used with"),
        ("populate N8Mail --users 5 --password x --share 0", "0 is not in 1..=1000"),
        ("report a.json", "--html"),
        ("compare a.json", "<B>"),
        ("list --file", "<WORKLOAD>"),
    ];
    for (line, reason) in cases {
        let refused = parsed(line).unwrap_err();
        assert!(refused.to_string().contains(reason), "{line}: {refused}");
        assert_eq!(refused.exit_code(), 2, "{line}");
    }
}

#[test]
fn what_cannot_be_done_is_misuse() {
    let run = "run N8Mail --password x --users 2";
    let cases = [
        ("run N9Mail --password x --users 2", "N9Mail"),
        (&format!("{run} --via rpc"), "--via imap"),
        (&format!("{run} --via pigeon"), "--via"),
        (&format!("{run} --profile huge"), "--profile"),
        (&format!("{run} --server-pid 4294967295"), "--server-pid 4294967295"),
        (&format!("{run} --device no-such-disk"), "--device no-such-disk"),
        ("run --workload-file /nowhere/at/all.toml --password x --users 2", "/nowhere/at/all.toml"),
        ("populate N8Mail --password x --users 2", "imap-port"),
        ("run N8Mail --password x --users 2", "--smtp-port"),
        ("list N9Mail", "N9Mail"),
        ("list N9Mail --file", "N9Mail"),
        ("compare /nowhere/at/all.json published:N85Entmail-8.5", "/nowhere/at/all.json"),
        ("compare published:N8Entmail-8.0 published:N9", "nothing of this name was published"),
        ("report /nowhere/at/all.json --html /tmp/x.html", "/nowhere/at/all.json"),
        ("published N9", "nothing of this name was published"),
    ];
    for (line, reason) in cases {
        match ending(line) {
            Ending::Misuse(text) => assert!(text.contains(reason), "{line}: {text}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn moments_are_told_in_utc() {
    use std::time::{Duration, UNIX_EPOCH};
    let cases = [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_767_225_599, "2025-12-31T23:59:59Z"),
        (1_767_225_600, "2026-01-01T00:00:00Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ];
    for (s, wanted) in cases {
        assert_eq!(trial::utc(UNIX_EPOCH + Duration::from_secs(s)), wanted);
    }
    let name = trial::run_name('r', UNIX_EPOCH + Duration::from_millis(36 * 36 + 35));
    assert_eq!(name, "r10z");
}
