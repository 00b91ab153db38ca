//! ENABLE (RFC 5161): there is nothing to enable yet, which the answer says.

use super::Command;
use crate::grammar::{Bad, Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

/// Names in one command at most.
const NAMES_MAX: usize = 100;

pub(crate) struct Enable;

impl Command for Enable {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        for _ in 0..NAMES_MAX {
            args.space()?;
            args.atom()?;
            if args.is_at_end() {
                return Ok(Enable);
            }
        }
        Err(Bad("too many names"))
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        session.out.line("* ENABLED");
        Done::plain("Enabled what is known")
    }
}
