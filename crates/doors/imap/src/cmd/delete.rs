//! DELETE (RFC 3501 §6.3.4).

use super::{Command, good_name};
use crate::grammar::{Cursor, Parse};
use crate::names::Name;
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Delete {
    name: Name,
}

impl Command for Delete {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        Ok(Delete { name: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let name = good_name(&self.name)?;
        let file = session.file()?;
        let open = session.selected.as_ref().map(|selected| selected.folder);
        let work = move || {
            let written = file.delete_folder(&name)?;
            let gone = match open {
                Some(open) => file.is_gone(open)?,
                None => false,
            };
            Ok::<_, mailfile::MailError>((written.lsn, gone))
        };
        let (lsn, gone) = session.run_work(Weight::Heavy, work).await??;
        session.out.saw(lsn);
        if gone {
            session.selected = None;
        }
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Deleted")
    }
}
