//! CHECK (RFC 3501 §6.4.1): nothing to do here, since what was answered is durable.

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

pub(crate) struct Check;

impl Command for Check {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Check)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Checked")
    }
}
