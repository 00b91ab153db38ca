//! DELE (RFC 1939 §5): marks a message; it is deleted at QUIT.

use super::{Command, no_message, only_number};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Dele {
    number: u32,
}

impl Command for Dele {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        only_number(args).map(|number| Dele { number })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        match session.signed()?.maildrop.delete(self.number) {
            true => Ok(()),
            false => Err(no_message()),
        }
    }

    fn answer(self, session: &mut Session) {
        session.say("+OK Marked to be deleted");
    }
}
