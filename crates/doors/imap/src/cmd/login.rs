//! LOGIN (RFC 3501 §6.2.3), and what both ways of signing in share.

use std::time::Duration;

use super::{Command, capabilities};
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;
use crate::stats::Stats;
use directory::DirectoryError;
use session::Weight;

pub(crate) struct Login {
    name: String,
    password: Vec<u8>,
}

impl Command for Login {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let name = String::from_utf8_lossy(&args.astring()?).into_owned();
        args.space()?;
        Ok(Login { name, password: args.astring()?.into_owned() })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_password(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        sign_in(session, std::mem::take(&mut self.name), std::mem::take(&mut self.password)).await
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        signed_in(session)
    }
}

/// Refuses a password over a connection that others may read.
pub(super) fn permit_password(session: &Session) -> Result<(), Fault> {
    match session.may_sign_in() {
        true => Ok(()),
        false => Err(Fault::no("PRIVACYREQUIRED", "Please use TLS before you sign in")),
    }
}

/// The reply to a sign-in, with the capabilities from now on.
pub(super) fn signed_in(session: &Session) -> Done {
    Done::coded(format!("CAPABILITY {}", capabilities(session)), "Signed in")
}

/// Checks name and password and opens the mail file. Each failure takes longer than the one before.
pub(super) async fn sign_in(
    session: &mut Session,
    name: String,
    password: Vec<u8>,
) -> Result<(), Fault> {
    let (directory, files) = (session.door.parts.directory.clone(), session.door.files.clone());
    let shown = name.clone();
    let registry = session.door.parts.registry.clone();
    // A password that was right not long ago needs no turn.
    let address = session.wire.peer().map(|peer| peer.ip());
    let known = directory.remembered_from(&name, &password, address)?;
    let turn = match known {
        Some(_) => None,
        None => {
            let turn = registry.sign_in_turn_of(session.wire.peer(), &name).await;
            Some(turn.ok_or(DirectoryError::Busy)?)
        }
    };
    let weight = if known.is_some() { Weight::Light } else { Weight::Heavy };
    let work = move || -> Result<_, Fault> {
        let person = match known {
            Some(person) => Some(person),
            // Who is locked out hears what everybody hears whose password is wrong.
            None => match directory.sign_in_from(&name, &password, address) {
                Err(DirectoryError::LockedOut { .. }) => None,
                answered => answered?,
            },
        };
        let Some(person) = person else { return Ok(None) };
        if person.mail_file.is_empty() {
            return Err(Fault::no("UNAVAILABLE", "There is no mail file"));
        }
        let file = files.open(&person.mail_file).inspect_err(|error| {
            tracing::warn!(user = %person.full_name, %error, "a mail file cannot be opened");
        })?;
        Ok(Some((person, file)))
    };
    let found = session.run_work(weight, work).await??;
    // The punishment of a failure is waited for without the turn.
    drop(turn);
    let Some((person, file)) = found else {
        return Err(failed(session, &shown).await);
    };
    if session.seat.try_set_user(&person.full_name).is_err() {
        return Err(Fault::no("LIMIT", "Too many connections of one user"));
    }
    Stats::add(&session.stats().logins, 1);
    session.seat.set_state("signed in");
    tracing::info!(user = %person.full_name, peer = session.wire.shown_peer(), "signed in");
    session.user = Some(Box::new(file));
    Ok(())
}

async fn failed(session: &mut Session, name: &str) -> Fault {
    Stats::add(&session.stats().logins_failed, 1);
    tracing::info!(user = ?name, peer = session.wire.shown_peer(), "a sign-in failed");
    let wait = session.settings().login_failure_wait;
    let wait = wait.saturating_mul(1 << session.failures.min(10)).min(Duration::from_secs(10));
    session.failures += 1;
    tokio::time::sleep(wait).await;
    Fault::no("AUTHENTICATIONFAILED", "Name or password is wrong")
}
