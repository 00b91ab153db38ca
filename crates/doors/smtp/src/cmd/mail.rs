//! MAIL (RFC 5321 §4.1.1.2; SIZE RFC 1870, BODY RFC 6152, RET and ENVID RFC 3461 §4.3, §4.4,
//! AUTH RFC 4954 §5).

use crate::door::Listener;
use crate::grammar::{self, Parameter, PathError};
use crate::reply::{self, Reply};
use crate::session::{Envelope, Session, Step};
use router::Ret;

/// Begins a transaction.
pub fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if let Err(step) = permit(session) {
        return step;
    }
    match parse(arguments) {
        Ok(envelope) if envelope.announced_bytes > session.settings().message_bytes_max => {
            reply::TOO_BIG.into()
        }
        Ok(envelope) => {
            session.envelope = envelope;
            session.seat.set_state("mail");
            reply::SENDER_OK.into()
        }
        Err(reply) => reply.into(),
    }
}

fn permit(session: &Session) -> Result<(), Step> {
    if session.helo.is_none() {
        return Err(reply::NEED_HELO.into());
    }
    if session.envelope.begun {
        return Err(reply::NESTED_MAIL.into());
    }
    if session.listener != Listener::Relay && session.person.is_none() {
        return Err(reply::SIGN_IN_FIRST.into());
    }
    if session.messages >= session.settings().messages_max {
        return Err(Step::Close(reply::TOO_MANY_MESSAGES));
    }
    Ok(())
}

fn parse(arguments: &[u8]) -> Result<Envelope, Reply> {
    let (address, parameters) =
        grammar::parse_path(arguments, "FROM:").map_err(|error| match error {
            PathError::Syntax => reply::BAD_SENDER,
            PathError::NotAscii => reply::NOT_ASCII,
        })?;
    let sender = address.map(|address| address.text);
    let mut envelope = Envelope { begun: true, sender, ..Envelope::default() };
    for parameter in &parameters {
        apply(&mut envelope, parameter)?;
    }
    Ok(envelope)
}

fn apply(envelope: &mut Envelope, parameter: &Parameter<'_>) -> Result<(), Reply> {
    let value = parameter.value.unwrap_or_default();
    match parameter.key.as_str() {
        "SIZE" => {
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number || value.len() > 20 {
                return Err(reply::BAD_PARAMETER);
            }
            envelope.announced_bytes = value.parse().unwrap_or(u64::MAX);
        }
        "BODY" if value.eq_ignore_ascii_case("7BIT") => {}
        "BODY" if value.eq_ignore_ascii_case("8BITMIME") => {}
        "RET" if value.eq_ignore_ascii_case("FULL") => envelope.ret = Ret::Full,
        "RET" if value.eq_ignore_ascii_case("HDRS") => envelope.ret = Ret::Hdrs,
        "ENVID" if value.len() <= 100 => {
            let id = grammar::decode_xtext(value).filter(|id| !id.is_empty());
            envelope.envelope_id = Some(id.ok_or(reply::BAD_PARAMETER)?);
        }
        "AUTH" if !value.is_empty() => {}
        "BODY" | "RET" | "ENVID" | "AUTH" => return Err(reply::BAD_PARAMETER),
        _ => return Err(reply::UNKNOWN_PARAMETER),
    }
    Ok(())
}
