//! AUTH (RFC 5034) with an initial response; mechanism PLAIN (RFC 4616).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use session::WireError;

use super::{Command, pass};
use crate::reply::Fault;
use crate::session::Session;

/// Base64 as clients write it: with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Longest answer to a challenge in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024;

pub(super) enum Auth {
    /// Without a mechanism: those that are possible are listed.
    List,
    /// PLAIN, perhaps with an initial response.
    Plain(Option<Vec<u8>>),
}

/// What PLAIN carries.
struct Plain {
    acts_for: String,
    name: String,
    password: Vec<u8>,
}

impl Command for Auth {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        let mut words = args.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let Some(mechanism) = words.next() else { return Ok(Auth::List) };
        if !mechanism.eq_ignore_ascii_case(b"PLAIN") {
            return Err(Fault::no("", "This mechanism is not known, use PLAIN"));
        }
        let initial = words.next().map(<[u8]>::to_vec);
        match words.next() {
            None => Ok(Auth::Plain(initial)),
            Some(_) => Err(Fault::Bad("Too many words")),
        }
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        match self {
            Auth::List => Ok(()),
            Auth::Plain(_) => pass::permit_password(session),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let Auth::Plain(initial) = self else { return Ok(()) };
        session.name = None;
        let answer = match initial.take() {
            // A lone "=" is an empty initial response.
            Some(initial) if initial == b"=" => Vec::new(),
            Some(initial) => initial,
            None => challenge(session).await?,
        };
        let plain = plain(&answer).ok_or(Fault::Bad("This is not base64 of three fields"))?;
        if !plain.acts_for.is_empty() && plain.acts_for != plain.name {
            return Err(Fault::no("AUTH", "Nobody may act for somebody else"));
        }
        pass::sign_in(session, plain.name, plain.password).await
    }

    fn answer(self, session: &mut Session) {
        match self {
            Auth::Plain(_) => pass::signed_in(session),
            Auth::List => {
                session.say("+OK Mechanisms:");
                if session.may_sign_in() {
                    session.say("PLAIN");
                }
                session.say(".");
            }
        }
    }
}

/// Sends the empty challenge, whose space matters, and reads the answer.
async fn challenge(session: &mut Session) -> Result<Vec<u8>, Fault> {
    session.say("+ ");
    session.flush().await?;
    let wait = session.wait();
    let mut answer = Vec::new();
    match session.wire.read_line(&mut answer, ANSWER_BYTES_MAX, wait).await {
        Ok(_) if answer == b"*" => Err(Fault::Bad("The sign-in was given up")),
        Ok(_) => Ok(answer),
        Err(WireError::TooLong { .. }) => Err(Fault::Bad("The answer is too long")),
        Err(error) => Err(error.into()),
    }
}

fn plain(answer: &[u8]) -> Option<Plain> {
    let decoded = BASE64.decode(answer).ok()?;
    let mut fields = decoded.split(|byte| *byte == 0);
    let mut field = || fields.next();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let (acts_for, name, password) = (text(field()?)?, text(field()?)?, field()?.to_vec());
    let plain = Plain { acts_for, name, password };
    (field().is_none() && !plain.name.is_empty()).then_some(plain)
}
