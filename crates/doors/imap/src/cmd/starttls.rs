//! STARTTLS (RFC 3501 §6.2.1).

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault, tagged};
use crate::session::Session;

pub(crate) struct StartTls;

impl Command for StartTls {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(StartTls)
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        if session.wire.is_tls() {
            return Err(Fault::Bad("TLS is active already"));
        }
        match session.door.parts.tls {
            Some(_) => Ok(()),
            None => Err(Fault::no("UNAVAILABLE", "The server has no certificate")),
        }
    }

    /// Answers before the handshake, so that the tagged reply is still in plain text; the reply
    /// of the table is then not sent.
    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let line = session.line.clone();
        let tag = Cursor::new(&line).tag()?;
        tagged(tag, "OK", ("", "Begin TLS now"), &mut session.out.bytes);
        session.flush().await?;
        let Some(acceptor) = session.door.parts.tls.clone() else {
            return Err(Fault::Bad("there is no TLS"));
        };
        let wait = session.settings().handshake_wait;
        Ok(session.wire.start_tls(&acceptor, wait).await?)
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::silent()
    }
}
