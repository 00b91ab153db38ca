//! STARTTLS (RFC 3207).

use crate::door::HANDSHAKE_WAIT;
use crate::reply;
use crate::session::{Envelope, Session, Step};

/// Begins TLS. What was said before does not count any more (RFC 3207 §4.2).
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if !arguments.trim_ascii().is_empty() {
        return reply::NO_ARGUMENT.into();
    }
    if session.wire.is_tls() {
        return reply::ALREADY_TLS.into();
    }
    if session.envelope.begun {
        return reply::NOT_IN_TRANSACTION.into();
    }
    let Some(acceptor) = session.door.parts.tls.clone() else {
        return reply::TLS_TROUBLE.into();
    };
    reply::READY_FOR_TLS.print(&mut session.out);
    if session.flush().await.is_err() {
        return Step::Gone;
    }
    match session.wire.start_tls(&acceptor, HANDSHAKE_WAIT).await {
        Ok(()) => {
            session.helo = None;
            session.person = None;
            session.envelope = Envelope::default();
            Step::Answered
        }
        Err(error) => {
            tracing::debug!(%error, "a TLS handshake failed");
            Step::Gone
        }
    }
}
