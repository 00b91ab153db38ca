//! CAPABILITY (RFC 3501 §6.1.1).

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

/// What is possible in every state.
const ALWAYS: &str = "IMAP4rev1 LITERAL+ SASL-IR ID ENABLE NAMESPACE UIDPLUS UNSELECT CHILDREN \
                      IDLE MOVE MULTIAPPEND SPECIAL-USE CREATE-SPECIAL-USE LIST-EXTENDED \
                      LIST-STATUS STATUS=SIZE CONDSTORE QRESYNC ESEARCH SEARCHRES WITHIN SORT \
                      SORT=DISPLAY ESORT THREAD=ORDEREDSUBJECT THREAD=REFERENCES";

/// The capabilities of a session as it is now.
pub(crate) fn capabilities(session: &Session) -> String {
    let mut text = format!("{ALWAYS} APPENDLIMIT={}", session.settings().append_bytes_max);
    if session.user.is_some() {
        return text;
    }
    if session.door.parts.tls.is_some() && !session.wire.is_tls() {
        text.push_str(" STARTTLS");
    }
    text.push_str(if session.may_sign_in() { " AUTH=PLAIN" } else { " LOGINDISABLED" });
    text
}

pub(crate) struct Capability;

impl Command for Capability {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Capability)
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        Ok(())
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        let line = format!("* CAPABILITY {}", capabilities(session));
        session.out.line(&line);
        Done::plain("That is what I can do")
    }
}
