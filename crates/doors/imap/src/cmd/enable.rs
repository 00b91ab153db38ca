//! ENABLE (RFC 5161): CONDSTORE and QRESYNC (RFC 7162) can be switched on.

use super::Command;
use crate::grammar::{Bad, Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

/// Names in one command at most.
const NAMES_MAX: usize = 100;

#[derive(Default)]
pub(crate) struct Enable {
    condstore: bool,
    qresync: bool,
}

impl Command for Enable {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        let mut enable = Enable::default();
        for _ in 0..NAMES_MAX {
            args.space()?;
            let name = args.atom()?;
            enable.condstore |= name.eq_ignore_ascii_case("CONDSTORE");
            enable.qresync |= name.eq_ignore_ascii_case("QRESYNC");
            if args.is_at_end() {
                return Ok(enable);
            }
        }
        Err(Bad("too many names"))
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    /// Names what was switched on by this command.
    fn answer(self, (): (), session: &mut Session) -> Done {
        let before = session.enabled();
        let mut line = String::from("* ENABLED");
        if self.condstore && !before.condstore {
            line.push_str(" CONDSTORE");
        }
        if self.qresync && !before.qresync {
            line.push_str(" QRESYNC");
        }
        session.out.line(&line);
        if self.condstore || self.qresync {
            session.enable(self.qresync);
        }
        Done::plain("Enabled what is known")
    }
}
