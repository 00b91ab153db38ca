//! `db`: databases.

use std::io::IsTerminal;

use clap::{Args, Subcommand};
use server::Request;

use super::{Dir, Words, one};
use crate::ask::{carry_out, confirm};
use crate::place::Place;
use crate::{Ending, show};

#[derive(Debug, Subcommand)]
pub(super) enum Db {
    /// All databases
    List(Dir),
    /// Make a database: DIR PATH
    Create {
        /// Data directory and path below data/
        #[arg(value_name = "DIR|PATH")]
        words: Vec<String>,
        /// Title (default: the path)
        #[arg(long)]
        title: Option<String>,
        /// Make it a mail file
        #[arg(long)]
        mail: bool,
    },
    /// Facts of a database, of those of a directory or a list (.ind), or of all: DIR [PATH]
    Info(Words),
    /// Free the space of deleted documents: DIR [PATH…]
    ///
    /// A PATH below data/ may be a database, a directory, or a list (.ind, a path on each line).
    /// The databases are served meanwhile. Needs free space for two copies of the largest.
    Compact(Care),
    /// Check databases, and save what can be saved of damaged ones: DIR [PATH…]
    ///
    /// A database of which something is lost gets a new instance id, and the damaged file stays
    /// beside it, ending in .damaged. Exit code 1 when something was lost.
    Fixup(Care),
    /// Rebuild indexes and counters: DIR [PATH…]
    Updall(Care),
    /// Copy a database within the server, or into a file and back: DIR FROM TO
    Copy {
        /// Data directory, path below data/ and path of the copy
        #[arg(value_name = "DIR|PATH")]
        words: Vec<String>,
        /// The copy is no replica of the first
        #[arg(long)]
        new_replica: bool,
        /// TO is a new file outside of the data directory, whole by itself: a backup of one
        /// database, taken while it is in use
        #[arg(long, conflicts_with_all = ["new_replica", "from_file", "notes"])]
        self_contained: bool,
        /// FROM is such a file; TO is a new path below data/
        #[arg(long, conflicts_with_all = ["new_replica", "notes"])]
        from_file: bool,
        /// Bring only this note over into TO, a database that is there (may be given again)
        #[arg(long = "note", value_name = "UNID", conflicts_with = "new_replica")]
        notes: Vec<String>,
    },
    /// Give a database another path, making directories: DIR FROM TO
    ///
    /// Documents of people and mail-in databases that name the old path are not changed.
    Move(Words),
    /// Delete a database with all its documents: DIR PATH
    Remove {
        /// Data directory and path below data/
        #[arg(value_name = "DIR|PATH")]
        words: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Notes of a database: DIR PATH
    Cat {
        /// Data directory and path below data/
        #[arg(value_name = "DIR|PATH")]
        words: Vec<String>,
        /// One note with its items: UNID or note id
        #[arg(long, value_name = "ID")]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct Care {
    /// Data directory, and databases, directories or lists below data/
    #[arg(value_name = "DIR|PATH")]
    words: Vec<String>,
    /// Every database, without asking
    #[arg(long)]
    all: bool,
}

/// The data directory and the two words besides.
fn two(place: &Place, words: Vec<String>) -> Result<(server::DataDir, [String; 2]), Ending> {
    let (dir, mut words) = place.split(words, 2, 2)?;
    let second = words.remove(1);
    Ok((dir, [words.remove(0), second]))
}

impl Care {
    fn request(
        self,
        place: &Place,
        care: server::Care,
        columns: &'static [&'static str],
    ) -> Result<(server::DataDir, Request, &'static [&'static str]), Ending> {
        let (dir, words) = place.split(self.words, 0, usize::MAX)?;
        if words.is_empty() && !self.all {
            confirm(&every(&dir), "--all")?;
        }
        if self.all && !words.is_empty() {
            return Err(Ending::misuse("--all and a PATH exclude one another"));
        }
        let paths = words.iter().map(|word| named_list(word)).collect();
        Ok((dir, Request::DbCare { care, paths }, columns))
    }
}

/// The question before work on every database: how many, and how much, where that can be told.
fn every(dir: &server::DataDir) -> String {
    let plain = "every database of the server?".to_owned();
    if !std::io::stdin().is_terminal() {
        return plain;
    }
    match carry_out(dir, Request::DbList) {
        Ok(server::Reply::Done { value }) => {
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let bytes: u64 = list.iter().filter_map(|row| row["size_bytes"].as_u64()).sum();
            format!("every database of the server, {} with {bytes} bytes?", list.len())
        }
        // A damaged one is a reason to go on with fixup.
        _ => plain,
    }
}

/// A list of databases that lies here is named so that the server finds it too.
fn named_list(word: &str) -> String {
    let here = word.ends_with(".ind").then(|| std::fs::canonicalize(word).ok()).flatten();
    here.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| word.to_owned())
}

impl Db {
    pub(super) fn run(self, place: &Place, json: bool) -> Result<(), Ending> {
        let (dir, request, columns) = match self {
            Self::List(dir) => (place.split(dir.words, 0, 0)?.0, Request::DbList, show::DB),
            Self::Create { words, title, mail } => {
                let (dir, path) = one(place, words)?;
                let title = title.unwrap_or_else(|| path.clone());
                (dir, Request::DbCreate { path, title, mail }, show::DB)
            }
            Self::Info(words) => {
                let (dir, words) = place.split(words.words, 0, 1)?;
                (
                    dir,
                    Request::DbInfo { path: words.first().map(|word| named_list(word)) },
                    show::DB_INFO,
                )
            }
            Self::Compact(care) => care.request(place, server::Care::Compact, show::COMPACT)?,
            Self::Fixup(care) => care.request(place, server::Care::Fixup, show::FIXUP)?,
            Self::Updall(care) => care.request(place, server::Care::Updall, show::UPDALL)?,
            Self::Copy { words, new_replica, self_contained, from_file, notes } => {
                let (dir, [from, to]) = two(place, words)?;
                if self_contained {
                    let file = std::path::absolute(to)?;
                    (dir, Request::DbExport { path: from, file }, show::EXPORTED)
                } else if from_file {
                    let file = std::path::absolute(from)?;
                    (dir, Request::DbImport { file, to }, show::DB)
                } else if notes.is_empty() {
                    (dir, Request::DbCopy { from, to, new_replica }, show::DB)
                } else {
                    (dir, Request::DbCopyNotes { from, to, unids: notes }, show::COPIED_NOTES)
                }
            }
            Self::Move(words) => {
                let (dir, [from, to]) = two(place, words.words)?;
                (dir, Request::DbMove { from, to }, show::DB)
            }
            Self::Remove { words, yes } => {
                let (dir, path) = one(place, words)?;
                if !yes {
                    confirm(&format!("delete {path} with all its documents?"), "--yes")?;
                }
                (dir, Request::DbRemove { path }, show::DB)
            }
            Self::Cat { words, note } => {
                let (dir, path) = one(place, words)?;
                let columns = if note.is_some() { show::NOTE } else { show::NOTES };
                (dir, Request::DbCat { path, note }, columns)
            }
        };
        show::reply(carry_out(&dir, request)?, columns, json)
    }
}
