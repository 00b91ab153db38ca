//! `user`: people.

use clap::{Args, Subcommand};
use server::{Request, RuleText, UserAdd, UserSet};

use super::{Dir, Words, one};
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, password, show};

#[derive(Debug, Subcommand)]
pub(super) enum User {
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
    /// Let a person sign in again who was locked out for wrong passwords: DIR [NAME]
    Unlock(Words),
    /// Rules for incoming mail
    #[command(subcommand)]
    Rule(Rule),
    /// Senders whose mail a person does not want: DIR NAME
    Block {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Add an address or @domain (may be given again)
        #[arg(long, value_name = "ADDRESS")]
        add: Vec<String>,
        /// Take one out (may be given again)
        #[arg(long, value_name = "ADDRESS")]
        remove: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Rule {
    /// All rules of a person, in their order: DIR NAME
    List(Words),
    /// Add a rule, or replace the one of the same name: DIR NAME
    ///
    /// A condition is such as "sender contains @example.org", "subject is-not Hello",
    /// "to-or-cc contains list@", "size over 1000000", "importance is high",
    /// "header List-Id contains rust". An action is "move FOLDER", "copy FOLDER", "delete",
    /// "forward ADDRESS", "mark-read", "flag" or "stop".
    Add(AddRule),
    /// Remove a rule: DIR NAME RULE
    Remove(Words),
}

#[derive(Debug, Args)]
pub(super) struct AddRule {
    /// Data directory and name
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    /// Name of the rule
    #[arg(long = "name", value_name = "NAME")]
    rule: String,
    /// A condition (may be given again; none: every message)
    #[arg(long = "if", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// What is done (may be given again)
    #[arg(long = "then", value_name = "ACTION", required = true)]
    actions: Vec<String>,
    /// One condition suffices
    #[arg(long)]
    any: bool,
    /// Keep the rule without applying it
    #[arg(long)]
    off: bool,
    /// Put it before the others
    #[arg(long)]
    first: bool,
}

#[derive(Debug, Args)]
pub(super) struct AddUser {
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
pub(super) struct SetUser {
    /// Data directory and name
    #[arg(value_name = "DIR|NAME")]
    words: Vec<String>,
    /// Replace the other names and addresses (may be given again; one empty one: none)
    #[arg(long = "alias", value_name = "NAME")]
    aliases: Vec<String>,
    /// Mail goes on to this address (empty: no more)
    #[arg(long, value_name = "ADDRESS")]
    forward: Option<String>,
    /// Most that the mail file may hold, such as 2G or 500M (0: no limit)
    #[arg(long, value_name = "SIZE")]
    quota: Option<String>,
    /// Size from which the person is warned (0: never)
    #[arg(long, value_name = "SIZE")]
    warning: Option<String>,
    /// Largest message that the person may send, such as 5M (0: as the server)
    #[arg(long, value_name = "SIZE")]
    message_size: Option<String>,
    /// Refuse or allow sign-in
    #[arg(long, value_name = "true|false")]
    disabled: Option<bool>,
    /// Make or unmake an administrator
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    admin: Option<bool>,
}

impl User {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
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
            Self::Unlock(words) => {
                let (dir, words) = place.split(words.words, 0, 1)?;
                (dir, Request::UserUnlock { name: words.into_iter().next() })
            }
            Self::Rule(rule) => return rule.run(place, json),
            Self::Block { words, add, remove } => {
                let (dir, name) = one(place, words)?;
                let request = Request::UserBlock { name, add, remove };
                return show::reply(carry_out(&dir, request)?, show::BLOCKED, json);
            }
        };
        let fields = match request {
            Request::UserList => show::USER,
            _ => show::USER_ONE,
        };
        show::reply(carry_out(&dir, request)?, fields, json)
    }
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
            quota_bytes: self.quota.as_deref().map(size).transpose()?,
            warn_bytes: self.warning.as_deref().map(size).transpose()?,
            message_bytes_max: self.message_size.as_deref().map(size).transpose()?,
            disabled: self.disabled,
            admin: self.admin,
        };
        Ok((dir, Request::UserSet(set)))
    }
}

impl Rule {
    fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::List(words) => {
                let (dir, name) = one(place, words.words)?;
                (dir, Request::UserRules { name })
            }
            Self::Add(add) => {
                let (dir, name) = one(place, add.words)?;
                let rule = RuleText {
                    name: add.rule,
                    enabled: !add.off,
                    any: add.any,
                    conditions: add.conditions,
                    actions: add.actions,
                };
                (dir, Request::UserRuleAdd { name, rule, first: add.first })
            }
            Self::Remove(words) => {
                let (dir, mut words) = place.split(words.words, 2, 2)?;
                let rule = words.remove(1);
                (dir, Request::UserRuleRemove { name: words.remove(0), rule })
            }
        };
        show::reply(carry_out(&dir, request)?, show::RULES, json)
    }
}

/// A size in bytes: a number, maybe with a fraction, and K, M, G or T behind it (powers of 1024).
fn size(text: &str) -> Result<u64, Ending> {
    let misuse = || Ending::misuse(format!("{text}: not a size, such as 500M or 2G"));
    let trimmed = text.trim().trim_end_matches(['B', 'b']).trim_end_matches("i");
    let (number, shift) = match trimmed.chars().last().map(|c| c.to_ascii_uppercase()) {
        Some('K') => (&trimmed[..trimmed.len() - 1], 10),
        Some('M') => (&trimmed[..trimmed.len() - 1], 20),
        Some('G') => (&trimmed[..trimmed.len() - 1], 30),
        Some('T') => (&trimmed[..trimmed.len() - 1], 40),
        _ => (trimmed, 0),
    };
    let number: f64 = number.trim().parse().map_err(|_| misuse())?;
    let bytes = number * f64::from(1_u32 << 10).powi(shift / 10);
    match number >= 0.0 && bytes < SIZE_MAX {
        true => Ok(bytes as u64),
        false => Err(misuse()),
    }
}

/// Sizes are below this, in bytes.
const SIZE_MAX: f64 = 1e18;

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read() {
        let cases = [
            ("0", 0),
            ("1000", 1000),
            ("2G", 2 << 30),
            ("1.5m", 1_572_864),
            ("500 MiB", 500 << 20),
            ("1KB", 1024),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "G", "-1", "many", "1e300", "NaN", "2X"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
