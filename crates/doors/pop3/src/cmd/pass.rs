//! PASS (RFC 1939 §7), and what both ways of signing in share.

use std::time::Duration;

use directory::{DirectoryError, Person};
use session::Weight;

use super::Command;
use crate::maildrop::Maildrop;
use crate::reply::{Fault, LASTING, TEMPORARY};
use crate::session::{Session, Signed};
use crate::stats::Stats;

/// Longest delay of the answer to a failed sign-in.
const FAILURE_WAIT_MAX: Duration = Duration::from_secs(10);

pub(super) struct Pass(Vec<u8>);

impl Command for Pass {
    /// Spaces may be part of a password (RFC 1939 §7).
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        Ok(Pass(args.to_vec()))
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_password(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let name = session.name.take().ok_or(Fault::Bad("USER comes first"))?;
        sign_in(session, name, std::mem::take(&mut self.0)).await
    }

    fn answer(self, session: &mut Session) {
        signed_in(session);
    }
}

/// Refuses a password over a connection that others may read.
pub(super) fn permit_password(session: &Session) -> Result<(), Fault> {
    match session.may_sign_in() {
        true => Ok(()),
        false => Err(Fault::no("", "Please use TLS (STLS) before you sign in")),
    }
}

/// The reply to a sign-in.
pub(super) fn signed_in(session: &mut Session) {
    let left = session.signed.as_ref().map_or((0, 0), |signed| signed.maildrop.left());
    session.say(&format!("+OK {} messages ({} octets)", left.0, left.1));
}

/// Checks name and password and opens the maildrop. Each failure takes longer than the one before.
pub(super) async fn sign_in(
    session: &mut Session,
    name: String,
    password: Vec<u8>,
) -> Result<(), Fault> {
    let shown = name.clone();
    let Some(person) = check(session, name, password).await? else {
        return Err(failed(session, &shown).await);
    };
    if person.mail_file.is_empty() {
        return Err(Fault::no(LASTING, "There is no mail file"));
    }
    let signed = open(session, person.mail_file).await?;
    if session.seat.try_set_user(&person.full_name).is_err() {
        return Err(Fault::no(TEMPORARY, "You have too many connections, please try later"));
    }
    Stats::add(&session.stats().logins, 1);
    session.seat.set_state("maildrop open");
    tracing::info!(user = %person.full_name, peer = session.wire.shown_peer(), "signed in");
    session.signed = Some(signed);
    Ok(())
}

/// Whom name and password belong to. One that was right not long ago needs no turn.
async fn check(
    session: &Session,
    name: String,
    password: Vec<u8>,
) -> Result<Option<Person>, Fault> {
    let directory = session.door.parts.directory.clone();
    let address = session.wire.peer().map(|peer| peer.ip());
    let known = directory.remembered_from(&name, &password, address);
    if let Some(person) = unless_locked(known)? {
        return Ok(Some(person));
    }
    let registry = &session.door.parts.registry;
    let turn = registry.sign_in_turn_of(session.wire.peer(), &name).await;
    let _turn = turn.ok_or(DirectoryError::Busy)?;
    let work = move || directory.sign_in_from(&name, &password, address);
    Ok(unless_locked(session.run_work(Weight::Heavy, work).await?)?)
}

/// Who is locked out is answered as for a wrong password, so that nothing is told of the lock.
fn unless_locked(
    answer: Result<Option<Person>, DirectoryError>,
) -> Result<Option<Person>, DirectoryError> {
    match answer {
        Err(DirectoryError::LockedOut { .. }) => Ok(None),
        other => other,
    }
}

async fn open(session: &mut Session, path: String) -> Result<Box<Signed>, Fault> {
    let (door, messages_max) = (session.door.clone(), session.settings().messages_max);
    let work = move || -> Result<_, Fault> {
        let file = door.parts.files.open(&path)?;
        let lock = door.locks.take(file.database().dbiid());
        let Some(lock) = lock else {
            Stats::add(&door.parts.stats.logins_in_use, 1);
            return Err(Fault::no("IN-USE", "Another session has this maildrop"));
        };
        let (mut maildrop, lsn) = Maildrop::open(&file, lock, messages_max)?;
        let is_known = maildrop.look(&file, &door.octets)?;
        Ok((Box::new(Signed { file, maildrop }), lsn, is_known))
    };
    let (mut signed, lsn, mut is_known) = session.run_work(Weight::Heavy, work).await??;
    session.saw(lsn);
    // Many messages that nobody has looked at yet: in steps, so that others get their turn.
    while !is_known {
        let door = session.door.clone();
        let work = move || {
            let is_known = signed.maildrop.look(&signed.file, &door.octets);
            is_known.map(|is_known| (signed, is_known))
        };
        (signed, is_known) = session.run_work(Weight::Heavy, work).await??;
    }
    Ok(signed)
}

async fn failed(session: &mut Session, name: &str) -> Fault {
    Stats::add(&session.stats().logins_failed, 1);
    tracing::info!(user = ?name, peer = session.wire.shown_peer(), "a sign-in failed");
    let wait = session.settings().login_failure_wait;
    let wait = wait.saturating_mul(1 << session.failures.min(10)).min(FAILURE_WAIT_MAX);
    session.failures += 1;
    tokio::time::sleep(wait).await;
    Fault::no("AUTH", "Name or password is wrong")
}
