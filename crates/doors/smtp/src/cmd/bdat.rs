//! BDAT (RFC 3030 §2): a piece of the message of known length, taken as it is.

use crate::accept;
use crate::body::{self, Body};
use crate::reply::{self, Reply};
use crate::session::{Chunks, Session, Step};

/// Takes one chunk. Its octets follow the command in any case and are read in any case, so that
/// none of them is taken for a command.
pub async fn run(session: &mut Session, arguments: &[u8]) -> Step {
    // Without a length nobody knows where the next command stands.
    let Some((count, last)) = parse(arguments) else {
        return Step::Close(reply::BAD_CHUNK);
    };
    // What is so far beyond the limit is not even skipped.
    if count > session.message_bytes_max().saturating_mul(2) {
        return Step::Close(reply::TOO_BIG);
    }
    let body = match permit(session) {
        Ok(body) => body,
        Err(reply) => return refuse(session, count, last, reply).await,
    };
    session.seat.set_state("data");
    let mut body = match body {
        Some(body) => body,
        None => match Body::begin(session) {
            Ok(body) => body,
            Err(reply) => return refuse(session, count, last, reply).await,
        },
    };
    match Body::read_chunk(session, &mut body, count).await {
        Err(step) => step,
        Ok(Ok(())) if last => accept::finish(session, Ok(body)).await,
        Ok(Ok(())) => {
            session.envelope.chunks = Chunks::Open(body);
            Reply::of(250, "2.0.0", format!("{count} octets received")).into()
        }
        Ok(Err(reply)) => failed(session, last, reply).await,
    }
}

/// `SIZE [LAST]`.
fn parse(arguments: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(arguments).ok()?;
    let mut words = text.split_ascii_whitespace();
    let size = words.next().filter(|size| size.bytes().all(|byte| byte.is_ascii_digit()))?;
    let last = match words.next() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("LAST") => true,
        Some(_) => return None,
    };
    words.next().is_none().then_some(())?;
    Some((size.parse().ok()?, last))
}

/// What came so far.
fn permit(session: &mut Session) -> Result<Option<Body>, Reply> {
    if !session.envelope.begun {
        return Err(reply::NEED_MAIL);
    }
    if session.envelope.recipients.is_empty() {
        return Err(reply::NO_RECIPIENTS);
    }
    match std::mem::take(&mut session.envelope.chunks) {
        Chunks::None => Ok(None),
        Chunks::Open(body) => Ok(Some(body)),
        Chunks::Failed => {
            session.envelope.chunks = Chunks::Failed;
            Err(reply::CHUNK_LOST)
        }
    }
}

async fn refuse(session: &mut Session, count: u64, last: bool, reply: Reply) -> Step {
    match body::skip(session, count).await {
        Ok(()) => failed(session, last, reply).await,
        Err(step) => step,
    }
}

/// The message is refused; so are its further chunks (RFC 3030 §2).
async fn failed(session: &mut Session, last: bool, reply: Reply) -> Step {
    if last && session.envelope.begun {
        return accept::finish(session, Err(reply)).await;
    }
    if session.envelope.begun {
        session.envelope.chunks = Chunks::Failed;
    }
    reply.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_or_refused() {
        let cases: [(&str, Option<(u64, bool)>); 10] = [
            ("100", Some((100, false))),
            ("0 last", Some((0, true))),
            (" 7  LAST ", Some((7, true))),
            ("", None),
            ("LAST", None),
            ("-1", None),
            ("+1", None),
            ("1 LASTING", None),
            ("1 LAST x", None),
            ("99999999999999999999999", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text.as_bytes()), wanted, "{text:?}");
        }
        assert_eq!(parse(b"1\xff"), None);
    }
}
