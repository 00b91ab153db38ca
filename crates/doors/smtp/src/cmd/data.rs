//! DATA (RFC 5321 §4.1.1.4): reads the message to the line with a dot.

use crate::accept;
use crate::body::Body;
use crate::reply::{self, Reply};
use crate::session::{Chunks, Session, Step};

/// Takes one message.
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    if let Err(reply) = permit(session, arguments) {
        return reply.into();
    }
    reply::SEND_DATA.print(&mut session.out);
    if session.flush().await.is_err() {
        return Step::Gone;
    }
    session.seat.set_state("data");
    match Body::read_data(session).await {
        Ok(body) => accept::finish(session, body).await,
        Err(step) => step,
    }
}

fn permit(session: &Session, arguments: &[u8]) -> Result<(), Reply> {
    if !session.envelope.begun {
        return Err(reply::NEED_MAIL);
    }
    if !arguments.trim_ascii().is_empty() {
        return Err(reply::NO_ARGUMENT);
    }
    if !matches!(session.envelope.chunks, Chunks::None) {
        return Err(reply::NOT_AFTER_BDAT);
    }
    if session.envelope.recipients.is_empty() {
        return Err(reply::NO_RECIPIENTS);
    }
    Ok(())
}
