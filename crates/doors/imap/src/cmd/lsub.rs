//! LSUB (RFC 3501 §6.3.9): what is subscribed to.

use std::collections::BTreeMap;

use store::Folder;

use super::{Command, list};
use crate::grammar::{Cursor, Parse};
use crate::names::{DELIMITER, Pattern};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Lsub {
    pattern: Pattern,
    /// The pattern ends with `%`: names above subscribed ones are shown too.
    shows_parents: bool,
}

impl Command for Lsub {
    type Found = Vec<Folder>;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let reference = args.astring()?;
        args.space()?;
        let raw = args.pattern()?;
        let shows_parents = raw.ends_with(b"%");
        Ok(Lsub { pattern: Pattern::new(&reference, &raw), shows_parents })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Vec<Folder>, Fault> {
        let file = session.file()?;
        let read = session.run_work(Weight::Light, move || file.folders()).await??;
        session.out.saw(read.lsn);
        Ok(read.value)
    }

    fn answer(self, folders: Vec<Folder>, session: &mut Session) -> Done {
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        for folder in folders.iter().filter(|folder| folder.subscribed) {
            if self.shows_parents {
                for (at, _) in folder.name.match_indices(DELIMITER) {
                    names.entry(&folder.name[..at]).or_insert(false);
                }
            }
            names.insert(&folder.name, true);
        }
        for (name, subscribed) in names {
            if self.pattern.matches(name) {
                let attributes = match subscribed {
                    true => Vec::new(),
                    false => vec![String::from("\\Noselect")],
                };
                list::line("LSUB", &attributes, name, &mut session.out.bytes);
            }
        }
        Done::plain("Listed")
    }
}
