//! `mail queue`: mail that waits in mail.box.

use clap::Subcommand;
use server::{QueueDeed, QueueOrder, Request};

use super::{Dir, Words};
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, show};

#[derive(Debug, Subcommand)]
pub(super) enum Queue {
    /// Messages that wait, are held or dead: DIR [TEXT]
    List {
        /// Data directory, and a text in sender, recipients, subject, cause or id
        #[arg(value_name = "DIR|TEXT")]
        words: Vec<String>,
        /// Only those in this state
        #[arg(long, value_name = "STATE", value_parser = ["waiting", "held", "dead"])]
        state: Option<String>,
        /// Most messages shown
        #[arg(long, value_name = "N", default_value_t = 1000)]
        limit: usize,
    },
    /// Destinations that mail waits for
    Destinations(Dir),
    /// Keep messages back: DIR ID…
    Hold(Words),
    /// Route messages that were held or are dead: DIR ID…
    Release(Words),
    /// Route messages again: DIR ID…
    Resend {
        /// Data directory and ids (or their beginnings)
        #[arg(value_name = "DIR|ID")]
        words: Vec<String>,
        /// To this address instead (may be given again)
        #[arg(long, value_name = "ADDRESS")]
        to: Vec<String>,
    },
    /// Delete messages; nobody is told: DIR ID…
    Delete {
        /// Data directory and ids (or their beginnings)
        #[arg(value_name = "DIR|ID")]
        words: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

impl Queue {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (words, deed) = match self {
            Self::List { words, state, limit } => {
                let (dir, words) = place.split(words, 0, 1)?;
                let text = words.into_iter().next().unwrap_or_default();
                let request = Request::Queue(QueueOrder::List { state, text, limit });
                return show::reply(carry_out(&dir, request)?, show::QUEUE, json);
            }
            Self::Destinations(dir) => {
                let (dir, _) = place.split(dir.words, 0, 0)?;
                let request = Request::Queue(QueueOrder::Destinations);
                return show::reply(carry_out(&dir, request)?, show::DESTINATIONS, json);
            }
            Self::Hold(words) => (words.words, QueueDeed::Hold),
            Self::Release(words) => (words.words, QueueDeed::Release),
            Self::Resend { words, to } => (words, QueueDeed::Resend { to }),
            Self::Delete { words, yes } => {
                if !yes {
                    crate::ask::confirm("delete these messages?", "--yes")?;
                }
                (words, QueueDeed::Delete)
            }
        };
        let (dir, ids) = place.split(words, 1, usize::MAX)?;
        let request = Request::Queue(QueueOrder::Act { deed, ids });
        show::reply(carry_out(&dir, request)?, show::QUEUE_DONE, json)
    }
}
