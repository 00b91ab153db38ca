//! RSET (RFC 1939 §5): takes all marks of DELE back.

use super::{Command, nothing};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Rset;

impl Command for Rset {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Rset)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.signed()?.maildrop.reset();
        Ok(())
    }

    fn answer(self, session: &mut Session) {
        let left = session.signed.as_ref().map_or((0, 0), |signed| signed.maildrop.left());
        session.say(&format!("+OK {} messages ({} octets)", left.0, left.1));
    }
}
