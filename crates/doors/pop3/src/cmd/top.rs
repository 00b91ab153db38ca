//! TOP (RFC 1939 §7).

use super::{Command, number, retr};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Top {
    number: u32,
    lines: u64,
}

impl Command for Top {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        let mut words = args.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        match (words.next(), words.next(), words.next()) {
            (Some(message), Some(lines), None) => {
                Ok(Top { number: number(message)?, lines: number(lines)? })
            }
            _ => Err(Fault::Bad("A message and a number of lines are wanted")),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        retr::send(session, self.number, Some(self.lines)).await
    }

    fn answer(self, _session: &mut Session) {}
}
