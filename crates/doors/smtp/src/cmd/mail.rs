//! MAIL (RFC 5321 §4.1.1.2; SIZE RFC 1870, BODY RFC 6152, RET and ENVID RFC 3461 §4.3, §4.4,
//! AUTH RFC 4954 §5, SMTPUTF8 RFC 6531 §3.4).

use crate::Stats;
use crate::door::{Door, Listener};
use crate::grammar::{self, Address, Parameter};
use crate::reply::{self, Reply};
use crate::session::{Envelope, Session, Step};
use ::session::Weight;
use directory::{DirectoryError, Found, Person, Resolved};
use router::Ret;

/// Members of a group that are looked at to see whether somebody is one.
const MEMBERS_MAX: usize = 1_000;
/// Longest ENVID (RFC 3461 §4.4).
const ENVID_BYTES_MAX: usize = 100;

/// Begins a transaction.
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if let Err(step) = permit(session) {
        return step;
    }
    let (address, envelope) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(reply) => return reply.into(),
    };
    if envelope.announced_bytes > session.message_bytes_max() {
        return reply::TOO_BIG.into();
    }
    if let Err(reply) = verify(session, address).await {
        return reply.into();
    }
    if session.seat.spend_message().is_err() {
        Stats::add(&session.door.parts.stats.limited, 1);
        return reply::TOO_FAST.into();
    }
    session.envelope = envelope;
    session.seat.set_state("mail");
    reply::SENDER_OK.into()
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

fn parse(arguments: &[u8]) -> Result<(Option<Address>, Envelope), Reply> {
    let (address, parameters) =
        grammar::parse_path(arguments, "FROM:").map_err(|_| reply::BAD_SENDER)?;
    if grammar::is_repeated(&parameters) {
        return Err(reply::TWICE);
    }
    let sender = address.as_ref().map(|address| address.text.clone());
    let mut envelope = Envelope { begun: true, sender, ..Envelope::default() };
    for parameter in &parameters {
        apply(&mut envelope, parameter)?;
    }
    if address.as_ref().is_some_and(Address::is_utf8) && !envelope.utf8 {
        return Err(reply::NOT_ASCII);
    }
    Ok((address, envelope))
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
        "SMTPUTF8" if parameter.value.is_none() => envelope.utf8 = true,
        "RET" if value.eq_ignore_ascii_case("FULL") => envelope.ret = Ret::Full,
        "RET" if value.eq_ignore_ascii_case("HDRS") => envelope.ret = Ret::Hdrs,
        "ENVID" if value.len() <= ENVID_BYTES_MAX => {
            let id = grammar::decode_xtext(value).filter(|id| !id.is_empty());
            envelope.envelope_id = Some(id.ok_or(reply::BAD_PARAMETER)?);
        }
        // Whom another server believes to have sent it: not believed here.
        "AUTH" if grammar::decode_xtext(value).is_some_and(|name| !name.is_empty()) => {}
        "BODY" | "RET" | "ENVID" | "AUTH" | "SMTPUTF8" => return Err(reply::BAD_PARAMETER),
        _ => return Err(reply::UNKNOWN_PARAMETER),
    }
    Ok(())
}

/// Whether somebody who signed in may send from this address. The null sender is everybody's:
/// answers of programs have it (RFC 3798).
async fn verify(session: &Session, address: Option<Address>) -> Result<(), Reply> {
    let Some(person) = &session.person else { return Ok(()) };
    let Some(address) = address.filter(|_| session.settings().own_addresses && !person.admin)
    else {
        return Ok(());
    };
    // The usual case needs no look into the directory.
    if address.text.eq_ignore_ascii_case(&person.internet_address) {
        return Ok(());
    }
    let (groups, person) = (session.settings().group_addresses, person.clone());
    let work = move |door: &Door| is_own(door, &person, &address, groups);
    match session.run_work(Weight::Light, work).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(reply::NOT_OWN),
        Ok(Err(error)) => {
            tracing::warn!(session = session.seat.id(), %error, "the directory was not readable");
            Err(reply::DIRECTORY_TROUBLE)
        }
        Err(_) => Err(reply::DIRECTORY_TROUBLE),
    }
}

fn is_own(
    door: &Door,
    person: &Person,
    address: &Address,
    groups: bool,
) -> Result<bool, DirectoryError> {
    let directory = &door.parts.directory;
    if let Resolved::MailFile { name, .. } = directory.resolve(&address.mailbox)?
        && name.eq_ignore_ascii_case(&person.full_name)
    {
        return Ok(true);
    }
    match directory.find(&address.text)? {
        Found::Person(found) => Ok(found.unid == person.unid),
        Found::Group(group) if groups => {
            for member in group.members.iter().take(MEMBERS_MAX) {
                if matches!(directory.find(member)?, Found::Person(one) if one.unid == person.unid)
                {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}
