//! EXAMINE (RFC 3501 §6.3.2).

use store::Folder;

use super::{Command, select};
use crate::grammar::{Cursor, Parse};
use crate::names::Name;
use crate::reply::{Done, Fault};
use crate::session::Session;

pub(crate) struct Examine {
    name: Name,
}

impl Command for Examine {
    type Found = Folder;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        Ok(Examine { name: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Folder, Fault> {
        select::open(session, &self.name, true).await
    }

    fn answer(self, folder: Folder, session: &mut Session) -> Done {
        select::opened(session, &folder)
    }
}
