//! The command line: every subcommand with its options and help.

mod bench;
mod db;
mod directory;
mod group;
mod import;
mod mail;
mod objects;
mod queue;
mod restore;
mod user;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use self::db::Db;
use self::directory::{CatchAll, MailIn};
use self::group::Group;
use self::mail::Mail;
use self::objects::{Log, Objects};
use self::user::User;
use crate::place::Place;
use crate::{Ending, console, manual, password, reference, run, show};
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};

/// A collaboration server: mail, people and groups, databases.
///
/// DIR is the data directory of a server. It is the first word of a command, or given by --data,
/// or by NELUMBO_DATA; the default is /var/lib/nelumbo.
#[derive(Debug, Parser)]
#[command(version, name = "nelumbo", propagate_version = true)]
pub(crate) struct Arguments {
    /// Data directory
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Machine output where a command prints a table
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make (the first time) and run the demo domain
    Demo(Demo),
    /// Make a new server
    Setup(Setup),
    /// Run a server until it is told to stop
    Serve(Dir),
    /// Stop a running server in order
    Stop(Dir),
    /// What a running server is doing
    Status(Dir),
    /// Let a running server read its configuration and certificate again
    Reload(Dir),
    /// Everything that is wrong with a configuration and its data
    Check(Dir),
    /// The version of this program
    Version,
    /// Write the manual pages of this program into a folder
    Manual {
        /// The folder
        folder: PathBuf,
    },
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the reference pages into a folder
    #[command(hide = true)]
    Reference {
        /// The folder
        folder: PathBuf,
    },
    /// Console of a running server: one COMMAND, or interactive without
    Console(Line),
    /// People
    #[command(subcommand)]
    User(User),
    /// Groups
    #[command(subcommand)]
    Group(Group),
    /// Databases
    #[command(subcommand)]
    Db(Db),
    /// The object store
    #[command(subcommand)]
    Objects(Objects),
    /// The transaction log
    #[command(subcommand)]
    Log(Log),
    /// Mail that waits, comes in from elsewhere or goes out
    #[command(subcommand)]
    Mail(Mail),
    /// Databases that take mail under an address of their own
    #[command(subcommand)]
    MailIn(MailIn),
    /// Who gets mail for addresses of a domain that nobody has
    #[command(subcommand)]
    CatchAll(CatchAll),
    /// Measure a mail server by people who read, write and delete mail
    #[command(subcommand)]
    Bench(::bench::args::Bench),
}

#[derive(Debug, Args)]
struct Dir {
    /// Data directory
    #[arg(value_name = "DIR")]
    words: Vec<String>,
}

#[derive(Debug, Args)]
struct Words {
    /// Data directory, and what the command is about
    #[arg(value_name = "DIR|WORD")]
    words: Vec<String>,
}

#[derive(Debug, Args)]
struct Line {
    /// Data directory, and the words of the console command
    #[arg(value_name = "DIR|WORD", trailing_var_arg = true)]
    words: Vec<String>,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Added to every port number
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub port_offset: u16,
    /// Also have the people u0001 … uNNNN
    #[arg(long, default_value_t = 0, value_name = "N",
          value_parser = clap::value_parser!(u32).range(0..=i64::from(server::DEMO_USERS_MAX)))]
    pub users: u32,
    /// Address to listen on; passwords are random when it is not loopback
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDR")]
    pub bind: IpAddr,
    /// Internet domain
    #[arg(long, default_value = server::DEMO_DOMAIN, value_name = "NAME")]
    pub domain: String,
    /// Password of everybody
    #[arg(long, value_name = "WORD")]
    pub password: Option<String>,
    /// Let the mail files be empty
    #[arg(long)]
    pub no_mail: bool,
}

#[derive(Debug, Args)]
struct Setup {
    /// Data directory
    #[arg(value_name = "DIR")]
    words: Vec<String>,
    /// Internet domain whose mail is kept here
    #[arg(long, value_name = "NAME")]
    domain: String,
    /// Hierarchical name of the server, such as mail1/Example
    #[arg(long, value_name = "NAME")]
    server: String,
    /// Full name of the administrator
    #[arg(long, value_name = "NAME")]
    admin: String,
    /// Read the administrator's password from standard input
    #[arg(long)]
    password_stdin: bool,
}

impl Arguments {
    /// Does what was asked; `usage` is how the command is called.
    pub(crate) fn run(self, usage: String) -> Result<(), Ending> {
        let place = Place::new(self.data.clone(), usage);
        let json = self.json;
        match self.command {
            Command::Demo(demo) => run::demo(self.data, demo),
            Command::Setup(setup) => setup.run(&place),
            Command::Serve(dir) => run::serve(&place.split(dir.words, 0, 0)?.0),
            Command::Stop(dir) => run::stop(&place.split(dir.words, 0, 0)?.0),
            Command::Status(dir) => run::status(&place.split(dir.words, 0, 0)?.0, json),
            Command::Reload(dir) => run::reload(&place.split(dir.words, 0, 0)?.0),
            Command::Check(dir) => run::check(&place.split(dir.words, 0, 0)?.0, json),
            Command::Version => show::line(&format!("nelumbo {}", env!("CARGO_PKG_VERSION"))),
            Command::Manual { folder } => manual::write(&folder),
            Command::Completions { shell } => manual::complete(shell),
            Command::Reference { folder } => reference::write(&folder),
            Command::Console(words) => {
                let (dir, words) = place.split(words.words, 0, usize::MAX)?;
                console::run(&dir, &words.join(" "))
            }
            Command::User(user) => user.run(&place, json),
            Command::Group(group) => group.run(&place, json),
            Command::Db(db) => db.run(&place, json),
            Command::Objects(objects) => objects.run(&place, json),
            Command::Log(log) => log.run(&place, json),
            Command::Mail(mail) => mail.run(&place, json),
            Command::MailIn(mail_in) => mail_in.run(&place, json),
            Command::CatchAll(catch_all) => catch_all.run(&place, json),
            Command::Bench(command) => bench::run(command, self.data, json),
        }
    }
}

impl Setup {
    fn run(self, place: &Place) -> Result<(), Ending> {
        let (dir, _) = place.split(self.words, 0, 0)?;
        let password = password::get(self.password_stdin, &self.admin)?;
        let options = server::SetupOptions {
            domain: self.domain,
            server: self.server,
            admin: self.admin,
            password,
        };
        run::setup(&dir, &options)
    }
}

/// How the command that was given is called: its name, and the words that its help names behind a
/// colon.
pub(crate) fn usage(matches: &ArgMatches) -> String {
    let (mut command, mut matches) = (&Arguments::command(), matches);
    let mut usage = command.get_name().to_owned();
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        usage = format!("{usage} {name}");
        (command, matches) = (found, inner);
    }
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let words = about.split_once(": ").map_or("DIR", |(_, rest)| rest);
    let words = words.split(';').next().unwrap_or_default();
    let is_word = |word: &&str| word.chars().all(|c| c.is_uppercase() || "[]…".contains(c));
    let words: Vec<&str> = words.split(' ').take_while(is_word).collect();
    format!("{usage} {}", words.join(" ")).trim_end().to_owned()
}

/// The data directory and the one word besides.
fn one(place: &Place, words: Vec<String>) -> Result<(server::DataDir, String), Ending> {
    let (dir, mut words) = place.split(words, 1, 1)?;
    Ok((dir, words.remove(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn usual_lines_are_understood() {
        let lines = [
            "demo --users 200 --port-offset 100 --bind ::1",
            "setup DIR --domain example.org --server mail1/Example --admin Ada --password-stdin",
            "serve DIR",
            "stop --data DIR",
            "status DIR --json",
            "console DIR show stat Mail",
            "user add DIR Ada --short-name ada --password-stdin --alias director --admin",
            "user set DIR ada --disabled true --alias x --alias y --admin",
            "user list DIR --json",
            "group members DIR Everybody --add ada --remove ben",
            "db cat DIR mail/ada.nsf --note 17",
            "db info DIR mail/ada.nsf --json",
            "db compact DIR mail list.ind names.nsf",
            "db updall DIR --all --json",
            "db fixup DIR mail/ada.nsf",
            "db copy DIR mail/ada.nsf mail/eve.nsf --new-replica",
            "db move DIR mail/ada.nsf archive/ada.nsf",
            "db remove DIR mail/ada.nsf --yes",
            "objects verify DIR",
            "objects list DIR --after AB --limit 5",
            "objects prune DIR --days 0 --dry-run",
            "objects estimate DIR --threshold 4096 --threshold 65536",
            "log status DIR --json",
            "log archive DIR",
            "manual man1",
            "completions bash",
            "mail import DIR ada --mbox PATH",
            "mail import DIR ada --imap HOST --user NAME --password-stdin --folder Sent --into Old",
            "mail export DIR ada --maildir PATH",
            "mail restore DIR ada --since 24 --folder INBOX",
            "mail deleted DIR ada",
            "db copy DIR mail/ada.nsf /backup/ada.nsf --self-contained",
            "db copy DIR /backup/ada.nsf mail/ada2.nsf --from-file",
            "user set DIR ada --quota 2G --warning 1.8G --message-size 5M",
            "user rule add DIR ada --name Lists --if=header --then=stop",
            "user block DIR ada --add spam@example.org",
            "user unlock DIR",
            "group add DIR Staff --type mail",
            "mail queue list DIR --state held",
            "mail queue resend DIR 1234ABCD --to ben@example.org",
            "mail-in add DIR Orders orders.nsf --address orders@example.org",
            "catch-all set DIR example.org ada",
            "bench list",
            "bench run N8Mail --users 5 --password x --smtp-port 2025 --imap-port 2143 --data DIR",
            "bench compare a.json published:N85Entmail-8.5 --json",
        ];
        for line in lines {
            let words = std::iter::once("nelumbo").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
        }
    }

    #[test]
    fn the_usage_of_a_command_names_its_words() {
        let cases = [
            ("user add", "nelumbo user add DIR NAME"),
            ("user list", "nelumbo user list DIR"),
            ("user unlock", "nelumbo user unlock DIR [NAME]"),
            ("user remove", "nelumbo user remove DIR NAME"),
            ("user rule add --name X --then stop", "nelumbo user rule add DIR NAME"),
            ("db compact", "nelumbo db compact DIR [PATH…]"),
            ("db copy", "nelumbo db copy DIR FROM TO"),
            ("mail queue hold", "nelumbo mail queue hold DIR ID…"),
            ("serve", "nelumbo serve DIR"),
        ];
        for (line, expected) in cases {
            let words = std::iter::once("nelumbo").chain(line.split(' '));
            assert_eq!(usage(&Arguments::command().get_matches_from(words)), expected);
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "demo --users many", "user", "user add DIR Ada --password secret", "x"] {
            let words = std::iter::once("nelumbo").chain(line.split_whitespace());
            assert!(Arguments::try_parse_from(words).is_err(), "{line}");
        }
    }
}
