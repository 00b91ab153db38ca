//! The command line: every subcommand with its options and help.

mod db;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use server::{Request, UserAdd, UserSet};

use self::db::Db;
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, console, password, reference, run, show};

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

#[derive(Debug, Subcommand)]
enum User {
    /// Register a person: DIR NAME
    Add(AddUser),
    /// Change a person: DIR NAME
    Set(SetUser),
    /// Set a password: DIR NAME
    Passwd {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Give a person another full name: DIR NAME NEWNAME
    Rename(Words),
    /// Remove a person: DIR NAME; the mail file stays
    Remove {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Also delete the mail file
        #[arg(long)]
        with_mail: bool,
    },
    /// All people
    List(Dir),
}

#[derive(Debug, Args)]
struct AddUser {
    /// Data directory and full name
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    /// Short name and local part of the address (default: made of the full name)
    #[arg(long, value_name = "NAME", alias = "short")]
    short_name: Option<String>,
    /// Another name or address (may be given again)
    #[arg(long = "alias", value_name = "NAME")]
    aliases: Vec<String>,
    /// Mail goes on to this address
    #[arg(long, value_name = "ADDRESS")]
    forward: Option<String>,
    /// Make the person an administrator
    #[arg(long)]
    admin: bool,
    /// Read the password from standard input
    #[arg(long, conflicts_with = "no_password")]
    password_stdin: bool,
    /// The person cannot sign in
    #[arg(long)]
    no_password: bool,
}

#[derive(Debug, Args)]
struct SetUser {
    /// Data directory and name
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    /// Replace the other names and addresses (may be given again; one empty one: none)
    #[arg(long = "alias", value_name = "NAME")]
    aliases: Vec<String>,
    /// Mail goes on to this address (empty: no more)
    #[arg(long, value_name = "ADDRESS")]
    forward: Option<String>,
    /// Refuse or allow sign-in
    #[arg(long, value_name = "true|false")]
    disabled: Option<bool>,
    /// Make or unmake an administrator
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    admin: Option<bool>,
}

#[derive(Debug, Subcommand)]
enum Group {
    /// Add a group: DIR NAME
    Add {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Internet address of the group
        #[arg(long, value_name = "ADDRESS")]
        address: Option<String>,
        /// A member: name or address (may be given again)
        #[arg(long = "member", value_name = "NAME")]
        members: Vec<String>,
    },
    /// Remove a group: DIR NAME
    Remove(Words),
    /// All groups
    List(Dir),
    /// Members of a group: DIR NAME
    Members {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Add a member (may be given again)
        #[arg(long, value_name = "NAME")]
        add: Vec<String>,
        /// Take a member out (may be given again)
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
enum Objects {
    /// Totals
    Status(Dir),
    /// Read every object and check it
    Verify(Dir),
    /// Compare the counts with the databases, and mend them
    Resync(Dir),
}

#[derive(Debug, Subcommand)]
enum Log {
    /// State of the log
    Status(Dir),
}

impl Arguments {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<(), Ending> {
        let place = Place::new(self.data.clone());
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
            Command::Reference { folder } => reference::write(&folder),
            Command::Console(words) => {
                let (dir, words) = place.split(words.words, 0, usize::MAX)?;
                console::run(&dir, &words.join(" "))
            }
            Command::User(user) => user.run(&place, json),
            Command::Group(group) => group.run(&place, json),
            Command::Db(db) => db.run(&place, json),
            Command::Objects(objects) => objects.run(&place, json),
            Command::Log(Log::Status(dir)) => {
                let (dir, _) = place.split(dir.words, 0, 0)?;
                show::reply(carry_out(&dir, Request::LogStatus)?, show::LOG, json)
            }
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

impl User {
    fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Add(add) => add.request(place)?,
            Self::Set(set) => set.request(place)?,
            Self::Passwd { words, password_stdin } => {
                let (dir, name) = one(place, words)?;
                let password = password::get(password_stdin, &name)?;
                (dir, Request::UserPasswd { name, password })
            }
            Self::Rename(words) => {
                let (dir, mut words) = place.split(words.words, 2, 2)?;
                let full_name = words.remove(1);
                (dir, Request::UserRename { name: words.remove(0), full_name })
            }
            Self::Remove { words, with_mail } => {
                let (dir, name) = one(place, words)?;
                (dir, Request::UserRemove { name, with_mail })
            }
            Self::List(dir) => (place.split(dir.words, 0, 0)?.0, Request::UserList),
        };
        show::reply(carry_out(&dir, request)?, show::USER, json)
    }
}

/// The data directory and the one word besides.
fn one(place: &Place, words: Vec<String>) -> Result<(server::DataDir, String), Ending> {
    let (dir, mut words) = place.split(words, 1, 1)?;
    Ok((dir, words.remove(0)))
}

impl AddUser {
    fn request(self, place: &Place) -> Result<(server::DataDir, Request), Ending> {
        let (dir, full_name) = one(place, self.words)?;
        let password = match self.no_password {
            true => None,
            false => Some(password::get(self.password_stdin, &full_name)?),
        };
        let short_name = self.short_name.unwrap_or_else(|| server::short_name(&full_name));
        if short_name.is_empty() {
            let problem = format!("{full_name}: {}; give --short-name", server::NO_SHORT_NAME);
            return Err(Ending::misuse(problem));
        }
        let add = UserAdd {
            full_name,
            short_name,
            password,
            aliases: self.aliases,
            forward: self.forward,
            admin: self.admin,
        };
        Ok((dir, Request::UserAdd(add)))
    }
}

impl SetUser {
    fn request(self, place: &Place) -> Result<(server::DataDir, Request), Ending> {
        let (dir, name) = one(place, self.words)?;
        let named = !self.aliases.is_empty();
        let aliases = self.aliases.into_iter().filter(|alias| !alias.is_empty()).collect();
        let set = UserSet {
            name,
            aliases: named.then_some(aliases),
            forward: self.forward,
            disabled: self.disabled,
            admin: self.admin,
        };
        Ok((dir, Request::UserSet(set)))
    }
}

impl Group {
    fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Add { words, address, members } => {
                let (dir, name) = one(place, words)?;
                (dir, Request::GroupAdd { name, address, members })
            }
            Self::Remove(words) => {
                let (dir, name) = one(place, words.words)?;
                (dir, Request::GroupRemove { name })
            }
            Self::List(dir) => (place.split(dir.words, 0, 0)?.0, Request::GroupList),
            Self::Members { words, add, remove } => {
                let (dir, name) = one(place, words)?;
                (dir, Request::GroupMembers { name, add, remove })
            }
        };
        show::reply(carry_out(&dir, request)?, show::GROUP, json)
    }
}

impl Objects {
    fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Status(dir) => (dir, Request::ObjectsStatus),
            Self::Verify(dir) => (dir, Request::ObjectsVerify),
            Self::Resync(dir) => (dir, Request::ObjectsResync),
        };
        let (dir, _) = place.split(dir.words, 0, 0)?;
        show::reply(carry_out(&dir, request)?, show::OBJECTS, json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

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
            "log status DIR --json",
        ];
        for line in lines {
            let words = std::iter::once("nelumbo").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
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
