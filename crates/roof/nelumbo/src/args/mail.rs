//! `mail`: mail that waits, comes in from elsewhere or goes out.

use clap::Subcommand;

use super::Words;
use super::import::{Export, Import};
use super::queue::Queue;
use super::restore::{self, Restore};
use crate::Ending;
use crate::place::Place;

#[derive(Debug, Subcommand)]
pub(super) enum Mail {
    /// Mail that waits in mail.box
    #[command(subcommand)]
    Queue(Queue),
    /// Bring mail from elsewhere into a person's mail file: DIR NAME
    ///
    /// A run that was broken off is simply repeated: what is there already is passed over. Exit
    /// code 1 when something could not be read.
    Import(Import),
    /// Write a person's mail into files: DIR NAME
    Export(Export),
    /// Messages of a person that were deleted and can be taken back: DIR NAME
    Deleted(Words),
    /// Take deleted messages back: DIR NAME [UNID…]
    Restore(Restore),
}

impl Mail {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        match self {
            Self::Queue(queue) => queue.run(place, json),
            Self::Import(import) => import.run(place, json),
            Self::Export(export) => export.run(place, json),
            Self::Deleted(words) => restore::deleted(words, place, json),
            Self::Restore(restore) => restore.run(place, json),
        }
    }
}
