//! LOGOUT (RFC 3501 §6.1.3).

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, End, Fault};
use crate::session::Session;

pub(crate) struct Logout;

impl Command for Logout {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Logout)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.out.line("* BYE Good-bye");
        Err(Fault::End(End::Logout))
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Signed out")
    }
}
