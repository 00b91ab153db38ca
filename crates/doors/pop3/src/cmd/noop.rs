//! NOOP (RFC 1939 §5).

use super::{Command, nothing};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Noop;

impl Command for Noop {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Noop)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, session: &mut Session) {
        session.say("+OK");
    }
}
