//! AUTHENTICATE (RFC 3501 §6.2.2) with an initial response (RFC 4959); mechanism PLAIN (RFC 4616).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Command, login};
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;

/// Longest answer to a challenge in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024;

pub(crate) struct Authenticate {
    mechanism: String,
    initial: Option<Vec<u8>>,
}

/// What PLAIN carries.
struct Plain {
    acts_for: String,
    name: String,
    password: Vec<u8>,
}

impl Command for Authenticate {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let mechanism = args.atom()?.to_ascii_uppercase();
        let initial = match args.eat(b' ') {
            true => Some(args.astring()?.into_owned()),
            false => None,
        };
        Ok(Authenticate { mechanism, initial })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        login::permit_password(session)?;
        match self.mechanism.as_str() {
            "PLAIN" => Ok(()),
            _ => Err(Fault::no("CANNOT", "This mechanism is not known, use PLAIN")),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let answer = match self.initial.take() {
            // A lone "=" is an empty initial response.
            Some(initial) if initial == b"=" => Vec::new(),
            Some(initial) => initial,
            None => challenge(session).await?,
        };
        let plain = plain(&answer).ok_or(Fault::Bad("the answer is not base64 of three fields"))?;
        if !plain.acts_for.is_empty() && plain.acts_for != plain.name {
            return Err(Fault::no("AUTHORIZATIONFAILED", "Nobody may act for somebody else"));
        }
        login::sign_in(session, plain.name, plain.password).await
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        login::signed_in(session)
    }
}

/// Sends the empty challenge, whose space matters, and reads the answer.
async fn challenge(session: &mut Session) -> Result<Vec<u8>, Fault> {
    session.out.line("+ ");
    session.flush().await?;
    let wait = session.wait();
    let mut answer = Vec::new();
    session.wire.read_line(&mut answer, ANSWER_BYTES_MAX, wait).await?;
    match &answer[..] {
        b"*" => Err(Fault::Bad("the sign-in was given up")),
        _ => Ok(answer),
    }
}

fn plain(answer: &[u8]) -> Option<Plain> {
    let decoded = STANDARD.decode(answer).ok()?;
    let mut fields = decoded.split(|byte| *byte == 0);
    let mut field = || fields.next();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let (acts_for, name, password) = (text(field()?)?, text(field()?)?, field()?.to_vec());
    let plain = Plain { acts_for, name, password };
    (field().is_none() && !plain.name.is_empty()).then_some(plain)
}
