//! STLS (RFC 2595 §4).

use super::{Command, nothing};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct Stls;

impl Command for Stls {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Stls)
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        if session.wire.is_tls() {
            return Err(Fault::Bad("TLS is active already"));
        }
        match session.door.parts.tls {
            Some(_) => Ok(()),
            None => Err(Fault::no("", "The server has no certificate")),
        }
    }

    /// Answers before the handshake, so that the reply is still in plain text. What the client
    /// told before, and what it sent behind the command, is forgotten.
    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.name = None;
        session.say("+OK Begin TLS now");
        session.flush().await?;
        let Some(acceptor) = session.door.parts.tls.clone() else {
            return Err(Fault::Bad("There is no TLS"));
        };
        let wait = session.settings().handshake_wait;
        Ok(session.wire.start_tls(&acceptor, wait).await?)
    }

    fn answer(self, _session: &mut Session) {}
}
