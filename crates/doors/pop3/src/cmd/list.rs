//! LIST (RFC 1939 §5), and the shape that UIDL shares with it.

use super::{Command, no_message, only_number};
use crate::maildrop::Message;
use crate::reply::Fault;
use crate::session::{Session, Signed};

pub(super) struct List(Listing);

/// One message or all of them.
pub(super) struct Listing {
    only: Option<u32>,
}

impl Command for List {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        Listing::parse(args).map(List)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        self.0.write(session, |_, message| message.octets.to_string()).await
    }

    fn answer(self, _session: &mut Session) {}
}

impl Listing {
    pub(super) fn parse(args: &[u8]) -> Result<Self, Fault> {
        let only = match args.trim_ascii() {
            [] => None,
            word => Some(only_number(word)?),
        };
        Ok(Listing { only })
    }

    /// Writes a line for each message that is not deleted: its number and what `fact` tells.
    pub(super) async fn write(
        &self,
        session: &mut Session,
        fact: impl Fn(&Signed, Message) -> String + Send,
    ) -> Result<(), Fault> {
        let signed = session.signed()?;
        if let Some(number) = self.only {
            let message = signed.maildrop.get(number).ok_or_else(no_message)?;
            let line = format!("+OK {number} {}", fact(signed, message));
            session.say(&line);
            return Ok(());
        }
        let (count, octets) = signed.maildrop.left();
        let last = signed.maildrop.messages.len() as u32;
        session.say(&format!("+OK {count} messages ({octets} octets)"));
        for number in 1..=last {
            let signed = session.signed()?;
            if let Some(message) = signed.maildrop.get(number) {
                let line = format!("{number} {}", fact(signed, message));
                session.say(&line);
                session.flush_if_full().await?;
            }
        }
        session.say(".");
        Ok(())
    }
}
