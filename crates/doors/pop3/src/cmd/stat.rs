//! STAT (RFC 1939 §5).

use super::{Command, nothing};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Stat {
    left: (usize, u64),
}

impl Command for Stat {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Stat { left: (0, 0) })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        self.left = session.signed()?.maildrop.left();
        Ok(())
    }

    fn answer(self, session: &mut Session) {
        session.say(&format!("+OK {} {}", self.left.0, self.left.1));
    }
}
