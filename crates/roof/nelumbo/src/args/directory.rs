//! `mail-in` and `catch-all`: mail that is for no person.

use clap::Subcommand;
use server::Request;

use super::{Dir, Words, one};
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, show};

#[derive(Debug, Subcommand)]
pub(super) enum MailIn {
    /// Let a database take mail: DIR NAME PATH
    Add {
        /// Data directory, name, and path of the database below data/
        #[arg(value_name = "DIR|NAME|PATH")]
        words: Vec<String>,
        /// Its address (default: made of the name)
        #[arg(long, value_name = "ADDRESS")]
        address: Option<String>,
        /// Another name or address (may be given again)
        #[arg(long = "alias", value_name = "NAME")]
        aliases: Vec<String>,
    },
    /// Let it take no more mail: DIR NAME; the database stays
    Remove(Words),
    /// All of them
    List(Dir),
}

#[derive(Debug, Subcommand)]
pub(super) enum CatchAll {
    /// Give mail for unknown addresses of a domain to somebody: DIR DOMAIN NAME
    Set(Words),
    /// Refuse such mail again: DIR DOMAIN
    Remove(Words),
    /// All of them
    List(Dir),
}

impl MailIn {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Add { words, address, aliases } => {
                let (dir, mut words) = place.split(words, 2, 2)?;
                let path = words.remove(1);
                (dir, Request::MailInAdd { name: words.remove(0), path, address, aliases })
            }
            Self::Remove(words) => {
                let (dir, name) = one(place, words.words)?;
                (dir, Request::MailInRemove { name })
            }
            Self::List(dir) => (place.split(dir.words, 0, 0)?.0, Request::MailInList),
        };
        show::reply(carry_out(&dir, request)?, show::MAIL_IN, json)
    }
}

impl CatchAll {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Set(words) => {
                let (dir, mut words) = place.split(words.words, 2, 2)?;
                let name = Some(words.remove(1));
                (dir, Request::CatchAllSet { domain: words.remove(0), name })
            }
            Self::Remove(words) => {
                let (dir, domain) = one(place, words.words)?;
                (dir, Request::CatchAllSet { domain, name: None })
            }
            Self::List(dir) => (place.split(dir.words, 0, 0)?.0, Request::CatchAllList),
        };
        show::reply(carry_out(&dir, request)?, show::CATCH_ALL, json)
    }
}
