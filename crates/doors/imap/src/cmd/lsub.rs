//! LSUB (RFC 3501 §6.3.9): what is subscribed to.

use std::collections::BTreeMap;

use store::{Folder, StoreError};

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::listing;
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
    /// Folders, and subscriptions that outlived theirs.
    type Found = (Vec<Folder>, Vec<String>);

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let reference = args.astring()?;
        args.space()?;
        let raw = args.pattern()?;
        let shows_parents = raw.ends_with(b"%");
        Ok(Lsub { pattern: Pattern::new(&reference, &raw), shows_parents })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Self::Found, Fault> {
        let file = session.file()?;
        let work = move || Ok::<_, StoreError>((file.folders()?, file.orphaned_subscriptions()?));
        let (folders, orphans) = session.run_work(Weight::Light, work).await??;
        session.out.saw(folders.lsn.max(orphans.lsn));
        Ok((folders.value, orphans.value))
    }

    fn answer(self, (folders, orphans): Self::Found, session: &mut Session) -> Done {
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        let subscribed = folders.iter().filter(|folder| folder.subscribed);
        for name in subscribed.map(|folder| &folder.name).chain(&orphans) {
            if self.shows_parents {
                for (at, _) in name.match_indices(DELIMITER) {
                    names.entry(&name[..at]).or_insert(false);
                }
            }
            names.insert(name, true);
        }
        for (name, subscribed) in names {
            if self.pattern.matches(name) {
                let attributes = match subscribed {
                    true => Vec::new(),
                    false => vec![String::from("\\Noselect")],
                };
                listing::line("LSUB", &attributes, name, &mut session.out.bytes);
            }
        }
        Done::plain("Listed")
    }
}
