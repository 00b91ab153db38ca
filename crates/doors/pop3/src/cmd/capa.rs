//! CAPA (RFC 2449 §5).

use super::{Command, nothing};
use crate::reply::Fault;
use crate::session::Session;

/// What is possible in every state. Mail stays until somebody deletes it: EXPIRE NEVER.
const ALWAYS: [&str; 6] =
    ["TOP", "UIDL", "RESP-CODES", "AUTH-RESP-CODE", "PIPELINING", "EXPIRE NEVER"];

pub(super) struct Capa;

impl Command for Capa {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Capa)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, session: &mut Session) {
        session.say("+OK Capabilities:");
        ALWAYS.iter().for_each(|name| session.say(name));
        if session.may_sign_in() {
            session.say("USER");
            session.say("SASL PLAIN");
        }
        if session.door.parts.tls.is_some() && !session.wire.is_tls() {
            session.say("STLS");
        }
        let product = format!("IMPLEMENTATION {}", session.settings().product);
        session.say(&product);
        session.say(".");
    }
}
