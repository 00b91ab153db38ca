//! CLOSE (RFC 3501 §6.4.2): expunges without telling, and closes the mailbox.

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Close;

impl Command for Close {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Close)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.seat.set_state("signed in");
        let Some(selected) = session.selected.take() else { return Ok(()) };
        if !selected.read_only {
            let (file, folder) = (selected.file.clone(), selected.folder);
            let weight = Weight::of_messages(selected.view.len() as usize);
            let gone = session.run_work(weight, move || file.expunge(folder, None)).await??;
            session.out.saw(gone.lsn);
        }
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Closed")
    }
}
