//! UNSELECT (RFC 3691): closes the mailbox and expunges nothing.

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

pub(crate) struct Unselect;

impl Command for Unselect {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Unselect)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.selected = None;
        session.seat.set_state("signed in");
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Closed")
    }
}
