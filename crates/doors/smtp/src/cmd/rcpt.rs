//! RCPT (RFC 5321 §4.1.1.3; NOTIFY and ORCPT RFC 3461 §4.1, §4.2).

use crate::Stats;
use crate::grammar::{self, Address, Parameter};
use crate::reply::{self, Reply};
use crate::session::{Chunks, Session, Step};
use ::session::Weight;
use directory::{Mailbox, Resolved};
use router::{Notify, Recipient};

/// Longest ORCPT (RFC 3461 §4.2).
const ORCPT_BYTES_MAX: usize = 500;

/// Adds a recipient after the directory was asked.
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if let Err(reply) = permit(session) {
        return reply.into();
    }
    let (mailbox, recipient) = match parse(session, arguments) {
        Ok(parsed) => parsed,
        Err(reply) => return reply.into(),
    };
    if session.seat.spend_recipient().is_err() {
        Stats::add(&session.door.parts.stats.limited, 1);
        return reply::RECIPIENTS_TOO_FAST.into();
    }
    let stats = &session.door.parts.stats;
    match verify(session, mailbox).await {
        Ok(()) => {
            Stats::add(&stats.recipients, 1);
            session.envelope.recipients.push(recipient);
            reply::RECIPIENT_OK.into()
        }
        Err(reply) => {
            Stats::add(&stats.recipients_refused, 1);
            tracing::info!(
                session = session.seat.id(),
                recipient = recipient.address,
                code = reply.code(),
                "recipient refused"
            );
            reply.into()
        }
    }
}

fn permit(session: &Session) -> Result<(), Reply> {
    if !session.envelope.begun {
        return Err(reply::NEED_MAIL);
    }
    if !matches!(session.envelope.chunks, Chunks::None) {
        return Err(reply::NOT_AFTER_BDAT);
    }
    if session.envelope.recipients.len() >= session.settings().recipients_max {
        return Err(reply::TOO_MANY_RECIPIENTS);
    }
    Ok(())
}

fn parse(session: &Session, arguments: &[u8]) -> Result<(Mailbox, Recipient), Reply> {
    let (address, parameters) =
        grammar::parse_path(arguments, "TO:").map_err(|_| reply::BAD_RECIPIENT)?;
    if grammar::is_repeated(&parameters) {
        return Err(reply::TWICE);
    }
    let address = address.ok_or(reply::BAD_RECIPIENT)?;
    if address.is_utf8() && !session.envelope.utf8 {
        return Err(reply::NOT_ASCII);
    }
    let Address { text, mailbox } = complete(session, address)?;
    let mut recipient = Recipient { address: text, ..Recipient::default() };
    for parameter in &parameters {
        apply(&mut recipient, parameter)?;
    }
    Ok((mailbox, recipient))
}

/// `<postmaster>` without a domain is the postmaster of this server (RFC 5321 §4.5.1).
fn complete(session: &Session, mut address: Address) -> Result<Address, Reply> {
    if address.mailbox.domain.is_empty() {
        let domains = session.door.parts.directory.domains();
        let domains = domains.map_err(|_| reply::DIRECTORY_TROUBLE)?;
        let domain = domains.first().cloned().unwrap_or_default();
        address.text = format!("{}@{domain}", address.text);
        address.mailbox.domain = domain;
    }
    Ok(address)
}

fn apply(recipient: &mut Recipient, parameter: &Parameter<'_>) -> Result<(), Reply> {
    let value = parameter.value.unwrap_or_default();
    match parameter.key.as_str() {
        "NOTIFY" => recipient.notify = parse_notify(value).ok_or(reply::BAD_PARAMETER)?,
        "ORCPT" => {
            recipient.original = Some(parse_original(value).ok_or(reply::BAD_PARAMETER)?);
        }
        _ => return Err(reply::UNKNOWN_PARAMETER),
    }
    Ok(())
}

/// `type;xtext` (RFC 3461 §4.2), and `utf-8;` with the address as it is written in ASCII
/// (RFC 6533 §3).
fn parse_original(value: &str) -> Option<String> {
    let (kind, coded) = value.split_once(';').filter(|_| value.len() <= ORCPT_BYTES_MAX)?;
    let is_atom =
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let text = grammar::decode_xtext(coded).filter(|text| is_atom && !text.is_empty())?;
    Some(format!("{kind};{text}"))
}

fn parse_notify(value: &str) -> Option<Notify> {
    if value.eq_ignore_ascii_case("NEVER") {
        return Some(Notify::NEVER);
    }
    let mut notify = Notify::NEVER;
    for word in value.split(',') {
        match word.to_ascii_uppercase().as_str() {
            "SUCCESS" if !notify.success => notify.success = true,
            "FAILURE" if !notify.failure => notify.failure = true,
            "DELAY" if !notify.delay => notify.delay = true,
            _ => return None,
        }
    }
    Some(notify)
}

/// Asks the directory. Trouble there is a temporary answer, never "unknown". Mail for other
/// domains is taken of people who signed in, when there is a way to them.
async fn verify(session: &Session, mailbox: Mailbox) -> Result<(), Reply> {
    let domain = mailbox.domain.clone();
    let carries = || session.person.is_some() && session.door.parts.router.carries(&domain);
    let resolved =
        session.run_work(Weight::Light, move |door| door.parts.directory.resolve(&mailbox)).await;
    match resolved {
        Ok(Ok(Resolved::MailFile { .. } | Resolved::Group(_) | Resolved::Forward(_))) => Ok(()),
        Ok(Ok(Resolved::Unknown)) => Err(reply::UNKNOWN_USER),
        Ok(Ok(Resolved::Ambiguous)) => Err(reply::AMBIGUOUS_USER),
        Ok(Ok(Resolved::OtherDomain)) if carries() => Ok(()),
        Ok(Ok(Resolved::OtherDomain)) => Err(reply::NO_RELAY),
        Ok(Err(error)) => {
            tracing::warn!(session = session.seat.id(), %error, "the directory was not readable");
            Err(reply::DIRECTORY_TROUBLE)
        }
        Err(_) => Err(reply::DIRECTORY_TROUBLE),
    }
}
