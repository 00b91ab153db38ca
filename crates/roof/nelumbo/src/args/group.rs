//! `group`: groups.

use clap::Subcommand;
use server::Request;

use super::{Dir, Words, one};
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, show};

#[derive(Debug, Subcommand)]
pub(super) enum Group {
    /// Add a group: DIR NAME
    Add {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Internet address of the group
        #[arg(long, value_name = "ADDRESS")]
        address: Option<String>,
        /// What it is for
        #[arg(long = "type", value_name = "TYPE", default_value = "multi",
              value_parser = server::GROUP_TYPES.to_vec())]
        kind: String,
        /// A member: name or address (may be given again)
        #[arg(long = "member", value_name = "NAME")]
        members: Vec<String>,
    },
    /// Change a group: DIR NAME
    Set {
        /// Data directory and name
        #[arg(value_name = "DIR|NAME")]
        words: Vec<String>,
        /// Internet address of the group (empty: none)
        #[arg(long, value_name = "ADDRESS")]
        address: Option<String>,
        /// What it is for
        #[arg(long = "type", value_name = "TYPE",
              value_parser = server::GROUP_TYPES.to_vec())]
        kind: Option<String>,
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

impl Group {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request) = match self {
            Self::Add { words, address, kind, members } => {
                let (dir, name) = one(place, words)?;
                (dir, Request::GroupAdd { name, address, kind: Some(kind), members })
            }
            Self::Set { words, address, kind } => {
                let (dir, name) = one(place, words)?;
                (dir, Request::GroupSet { name, address, kind })
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
        let fields = match request {
            Request::GroupList => show::GROUP,
            _ => show::GROUP_ONE,
        };
        show::reply(carry_out(&dir, request)?, fields, json)
    }
}
