//! `mail deleted` and `mail restore`: messages that were deleted and have not expired.

use clap::Args;
use server::Request;

use super::{Words, one};
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, show};

/// Messages listed at most.
const LIMIT: usize = 10_000;
/// Seconds of an hour.
const HOUR_S: u64 = 3_600;

/// Options of `mail restore`.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// Data directory, name of the person, and UNIDs
    #[arg(value_name = "DIR|NAME|UNID")]
    words: Vec<String>,
    /// All messages that were deleted within so many hours
    #[arg(long, value_name = "HOURS")]
    since: Option<u64>,
    /// Folder they go to (default: where they were, or INBOX)
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
}

impl Restore {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, mut unids) = place.split(self.words, 1, usize::MAX)?;
        let name = unids.remove(0);
        if self.since.is_some() != unids.is_empty() {
            let problem = "give either UNIDs (nelumbo mail deleted lists them) or --since HOURS";
            return Err(Ending::misuse(problem));
        }
        let since_s = self.since.map(|hours| hours.saturating_mul(HOUR_S));
        let request = Request::MailRestore { name, unids, since_s, folder: self.folder };
        show::reply(carry_out(&dir, request)?, show::RESTORED, json)
    }
}

/// `mail deleted`.
pub(super) fn deleted(words: Words, place: &Place, json: bool) -> Result<(), Ending> {
    let (dir, name) = one(place, words.words)?;
    let request = Request::MailDeleted { name, limit: LIMIT };
    show::reply(carry_out(&dir, request)?, show::DELETED, json)
}
