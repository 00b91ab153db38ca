//! NOOP (RFC 3501 §6.1.2): a chance to tell news.

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

pub(crate) struct Noop;

impl Command for Noop {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Noop)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Nothing done")
    }
}
