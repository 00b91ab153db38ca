//! `objects` and `log`: the object store and the transaction log.

use clap::Subcommand;
use server::Request;

use super::Dir;
use crate::ask::carry_out;
use crate::place::Place;
use crate::{Ending, show};

#[derive(Debug, Subcommand)]
pub(super) enum Objects {
    /// Totals
    Status(Dir),
    /// Objects, in the order of their hashes
    List {
        /// Data directory
        #[arg(value_name = "DIR")]
        words: Vec<String>,
        /// Begin behind this hash
        #[arg(long, value_name = "HASH")]
        after: Option<String>,
        /// Most objects shown
        #[arg(long, value_name = "N", default_value_t = 1000)]
        limit: usize,
    },
    /// Delete objects that nobody refers to any more, and free their space
    Prune {
        /// Data directory
        #[arg(value_name = "DIR")]
        words: Vec<String>,
        /// Days for which they must have been unreferenced (default: objects.defer_s)
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
        /// Only tell what would go
        #[arg(long)]
        dry_run: bool,
    },
    /// What a prune and other thresholds would save
    Estimate {
        /// Data directory
        #[arg(value_name = "DIR")]
        words: Vec<String>,
        /// A size from which contents would be objects, in bytes (may be given again)
        #[arg(long = "threshold", value_name = "BYTES")]
        thresholds: Vec<u64>,
    },
    /// Read every object and check it
    Verify(Dir),
    /// Compare the counts with the databases, and mend them
    Resync(Dir),
}

#[derive(Debug, Subcommand)]
pub(super) enum Log {
    /// State of the log
    Status(Dir),
    /// Copy full segments into the archive now (log.style = archive)
    Archive(Dir),
}

/// Seconds of a day.
const DAY_S: u64 = 86_400;

impl Objects {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (words, request) = match self {
            Self::Status(dir) => (dir.words, Request::ObjectsStatus),
            Self::List { words, after, limit } => (words, Request::ObjectsList { after, limit }),
            Self::Prune { words, days, dry_run } => {
                let defer_s = days.map(|days| days.saturating_mul(DAY_S));
                (words, Request::ObjectsPrune { defer_s, dry_run })
            }
            Self::Estimate { words, thresholds } => {
                (words, Request::ObjectsEstimate { thresholds })
            }
            Self::Verify(dir) => (dir.words, Request::ObjectsVerify),
            Self::Resync(dir) => (dir.words, Request::ObjectsResync),
        };
        let (dir, _) = place.split(words, 0, 0)?;
        let columns = match &request {
            Request::ObjectsList { .. } => show::OBJECT_LIST,
            Request::ObjectsPrune { .. } => show::PRUNED,
            Request::ObjectsEstimate { .. } => show::ESTIMATE,
            _ => show::OBJECTS,
        };
        show::reply(carry_out(&dir, request)?, columns, json)
    }
}

impl Log {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request, columns) = match self {
            Self::Status(dir) => (dir, Request::LogStatus, show::LOG),
            Self::Archive(dir) => (dir, Request::LogArchive, show::ARCHIVED),
        };
        let (dir, _) = place.split(dir.words, 0, 0)?;
        show::reply(carry_out(&dir, request)?, columns, json)
    }
}
