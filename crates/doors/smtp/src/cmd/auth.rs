//! AUTH PLAIN and AUTH LOGIN (RFC 4954, RFC 4616).

use crate::Stats;
use crate::door::Door;
use crate::reply::{self, Reply};
use crate::session::{Session, Step};
use ::session::{Broken, Weight, WireError};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::GeneralPurposeConfig;
use directory::{DirectoryError, Person};

/// Base64 as clients write it: with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Name and password as the client gave them.
struct Credentials {
    name: String,
    password: Vec<u8>,
}

/// Signs in.
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if let Err(reply) = permit(session) {
        return reply.into();
    }
    let text = String::from_utf8_lossy(arguments).into_owned();
    let (mechanism, initial) = match text.trim().split_once(' ') {
        Some((mechanism, initial)) => (mechanism, Some(initial.trim().to_owned())),
        None => (text.trim(), None),
    };
    let credentials = match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => plain(session, initial).await,
        "LOGIN" => login(session, initial).await,
        _ => return reply::UNKNOWN_MECHANISM.into(),
    };
    match credentials {
        Ok(credentials) => act(session, credentials).await,
        Err(step) => step,
    }
}

fn permit(session: &Session) -> Result<(), Reply> {
    if session.helo.is_none() {
        return Err(reply::NEED_HELO);
    }
    if session.person.is_some() {
        return Err(reply::ALREADY_SIGNED_IN);
    }
    if session.envelope.begun {
        return Err(reply::NOT_IN_TRANSACTION);
    }
    if session.may_sign_in() { Ok(()) } else { Err(reply::TLS_FIRST) }
}

/// `authorization NUL authentication NUL password` (RFC 4616 §2).
async fn plain(session: &mut Session, initial: Option<String>) -> Result<Credentials, Step> {
    let bytes = match initial {
        Some(text) => decode(&text)?,
        None => ask(session, "").await?,
    };
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let [authorization, name, password] = fields.as_slice() else {
        return Err(reply::BAD_BASE64.into());
    };
    // Acting for somebody else is not offered.
    if !authorization.is_empty() && !authorization.eq_ignore_ascii_case(name) {
        return Err(reply::WRONG_PASSWORD.into());
    }
    Ok(Credentials { name: text_of(name)?, password: password.to_vec() })
}

async fn login(session: &mut Session, initial: Option<String>) -> Result<Credentials, Step> {
    let name = match initial {
        Some(text) => decode(&text)?,
        None => ask(session, "VXNlcm5hbWU6").await?,
    };
    let password = ask(session, "UGFzc3dvcmQ6").await?;
    Ok(Credentials { name: text_of(&name)?, password })
}

fn text_of(bytes: &[u8]) -> Result<String, Step> {
    String::from_utf8(bytes.to_vec()).map_err(|_| reply::WRONG_PASSWORD.into())
}

/// `=` stands for an empty response (RFC 4954 §4).
fn decode(text: &str) -> Result<Vec<u8>, Step> {
    match text {
        "*" => Err(reply::SIGN_IN_CANCELLED.into()),
        "=" => Ok(Vec::new()),
        text => BASE64.decode(text).map_err(|_| reply::BAD_BASE64.into()),
    }
}

/// Sends a challenge and reads the response to it.
async fn ask(session: &mut Session, challenge: &'static str) -> Result<Vec<u8>, Step> {
    Reply::fixed(334, "", challenge).print(&mut session.out);
    session.flush().await.map_err(|_| Step::Gone)?;
    let (max, wait) = (session.settings().line_bytes_max, session.settings().command_wait);
    let mut line = Vec::new();
    match session.wire.read_line(&mut line, max, wait).await {
        Ok(_) => decode(String::from_utf8_lossy(&line).trim()),
        Err(WireError::TooLong { .. }) => Err(reply::LINE_TOO_LONG.into()),
        Err(WireError::Timeout) => Err(Step::Close(reply::TOO_QUIET)),
        Err(_) => Err(Step::Gone),
    }
}

/// Whom name and password belong to. One that was right not long ago needs no turn.
async fn check(
    session: &Session,
    credentials: Credentials,
) -> Result<Result<Option<Person>, DirectoryError>, Broken> {
    let Credentials { name, password } = credentials;
    let directory = &session.door.parts.directory;
    let peer = session.wire.peer();
    let address = peer.map(|peer| peer.ip());
    match directory.remembered_from(&name, &password, address) {
        Ok(None) => {}
        known => return Ok(known),
    }
    let Some(_turn) = session.door.parts.registry.sign_in_turn_of(peer, &name).await else {
        return Ok(Err(DirectoryError::Busy));
    };
    let work = move |door: &Door| door.parts.directory.sign_in_from(&name, &password, address);
    session.run_work(Weight::Heavy, work).await
}

async fn act(session: &mut Session, credentials: Credentials) -> Step {
    let name = credentials.name.clone();
    match check(session, credentials).await {
        Ok(Ok(Some(person))) if session.seat.try_set_user(&person.full_name).is_err() => {
            Stats::add(&session.door.parts.stats.limited, 1);
            reply::USER_TOO_BUSY.into()
        }
        Ok(Ok(Some(person))) => {
            Stats::add(&session.door.parts.stats.logins, 1);
            let (id, peer) = (session.seat.id(), session.wire.shown_peer());
            tracing::info!(session = id, user = %person.full_name, peer, "signed in");
            session.person = Some(person);
            reply::SIGNED_IN.into()
        }
        // Whoever is locked out hears what a wrong password hears.
        Ok(Ok(None) | Err(DirectoryError::LockedOut { .. })) => {
            tracing::info!(
                session = session.seat.id(),
                name,
                peer = session.wire.shown_peer(),
                "sign-in refused"
            );
            session.punish().await;
            if session.login_failures >= session.settings().login_failures_max {
                return Step::Close(reply::WRONG_PASSWORD);
            }
            reply::WRONG_PASSWORD.into()
        }
        Ok(Err(error)) => {
            tracing::warn!(session = session.seat.id(), %error, "a password was not checked");
            reply::SIGN_IN_TROUBLE.into()
        }
        Err(_) => reply::SIGN_IN_TROUBLE.into(),
    }
}
