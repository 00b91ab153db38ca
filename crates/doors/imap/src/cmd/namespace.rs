//! NAMESPACE (RFC 2342): one personal namespace.

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

pub(crate) struct Namespace;

impl Command for Namespace {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Namespace)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        session.out.line("* NAMESPACE ((\"\" \"/\")) NIL NIL");
        Done::plain("That is all")
    }
}
