//! UIDL (RFC 1939 §7): UIDVALIDITY and uid of the message in INBOX, which stay for ever.

use super::Command;
use super::list::Listing;
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Uidl(Listing);

impl Command for Uidl {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        Listing::parse(args).map(Uidl)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let id = |signed: &crate::session::Signed, message: crate::maildrop::Message| {
            format!("{:08x}{:08x}", signed.maildrop.uidvalidity, message.uid)
        };
        self.0.write(session, id).await
    }

    fn answer(self, _session: &mut Session) {}
}
