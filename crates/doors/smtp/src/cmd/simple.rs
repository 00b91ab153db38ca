//! RSET (RFC 5321 §4.1.1.5).

use crate::reply;
use crate::session::{Envelope, Session, Step};

/// Forgets the transaction in progress.
pub fn reset(session: &mut Session, arguments: &[u8]) -> Step {
    if !arguments.trim_ascii().is_empty() {
        return reply::NO_ARGUMENT.into();
    }
    session.envelope = Envelope::default();
    reply::OK.into()
}
