//! RENAME (RFC 3501 §6.3.5).

use super::{Command, good_name};
use crate::grammar::{Cursor, Parse};
use crate::names::{DELIMITER, Name};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Rename {
    from: Name,
    to: Name,
}

impl Command for Rename {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let from = args.mailbox()?;
        args.space()?;
        Ok(Rename { from, to: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let (from, to) = (good_name(&self.from)?, good_name(&self.to)?);
        let to = to.strip_suffix(DELIMITER).unwrap_or(&to).to_owned();
        let file = session.file()?;
        let written =
            session.run_work(Weight::Light, move || file.rename_folder(&from, &to)).await??;
        session.out.saw(written.lsn);
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Renamed")
    }
}
