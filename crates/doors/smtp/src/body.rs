//! A message as it comes in: its trace header, its octets, and its share of the server's budget.

use crate::reply::{self, Reply};
use crate::session::{Session, Step};
use crate::{data::DataReader, trace};
use ::session::{Taken, WireError};
use std::time::Instant;

/// Bytes taken out of the server's budget at a time.
const BUDGET_STEP: u64 = 64 * 1024;

/// A message with its trace header.
#[derive(Debug)]
pub struct Body {
    pub bytes: Vec<u8>,
    /// How many of the bytes are the trace header.
    pub trace_bytes: usize,
    /// Its share of the budget.
    pub taken: Taken,
    started: Instant,
}

impl Body {
    /// An empty one.
    ///
    /// # Errors
    /// There is no room for a message.
    pub fn begin(session: &Session) -> Result<Body, Reply> {
        let header = trace::trace_header(session, session.messages);
        let taken = session.door.parts.budget.try_take(BUDGET_STEP).ok_or(reply::NO_ROOM)?;
        let room = session.envelope.announced_bytes.min(BUDGET_STEP / 2) as usize;
        let mut bytes = Vec::with_capacity(header.len() + room);
        bytes.extend_from_slice(header.as_bytes());
        Ok(Body { trace_bytes: bytes.len(), bytes, taken, started: Instant::now() })
    }

    /// Octets of the message as the client sent it.
    pub fn message(&self) -> &[u8] {
        &self.bytes[self.trace_bytes..]
    }

    /// Pays for `more` bytes that are to come; what keeps them out.
    pub fn refusal(&mut self, session: &Session, more: u64) -> Option<Reply> {
        let length = (self.bytes.len() - self.trace_bytes) as u64;
        if length.saturating_add(more) > session.message_bytes_max() {
            return Some(reply::TOO_BIG);
        }
        let wanted = (self.bytes.len() as u64).saturating_add(more);
        let missing = wanted.saturating_sub(self.taken.bytes());
        let step = missing.div_ceil(BUDGET_STEP) * BUDGET_STEP;
        (step > 0 && !self.taken.grow(step)).then_some(reply::NO_ROOM)
    }

    /// Makes room for `coming` bytes, or for all of them that were announced when these are not
    /// more than twice as many as came: each time that the room grows everything is copied.
    fn make_room(&mut self, coming: usize, announced: u64) {
        let needed = self.bytes.len() + coming;
        let whole = usize::try_from(announced).unwrap_or(0).saturating_add(self.trace_bytes);
        if needed > self.bytes.capacity() && (needed..=2 * needed).contains(&whole) {
            self.bytes.reserve_exact(whole - self.bytes.len());
        }
    }

    /// Reads dotted data to its end in any case, so that the dialogue stays in step. The outer
    /// error ends the connection, the inner one refuses the message.
    pub async fn read_data(session: &mut Session) -> Result<Result<Body, Reply>, Step> {
        let mut reader = DataReader::new(session.settings().normalize_line_ends);
        let mut body = match Body::begin(session) {
            Ok(body) => body,
            Err(refusal) => return drain(session, reader, refusal).await.map(Err),
        };
        let announced = session.envelope.announced_bytes;
        loop {
            body.make_room(session.wire.buffered().len(), announced);
            let pushed = reader.push(session.wire.buffered(), &mut body.bytes);
            session.wire.consume(pushed.consumed);
            if let Some(refusal) = body.refusal(session, 0) {
                drop(body);
                return match pushed.ended {
                    true => Ok(Err(refusal)),
                    false => drain(session, reader, refusal).await.map(Err),
                };
            }
            if pushed.ended {
                break;
            }
            more(session, body.started).await?;
        }
        if reader.saw_bare() && !session.settings().normalize_line_ends {
            return Ok(Err(reply::BARE_LINE_END));
        }
        Ok(Ok(body))
    }

    /// Reads `count` octets as they are (RFC 3030). The outer error ends the connection, the inner
    /// one refuses the message; the octets are read in any case.
    pub async fn read_chunk(
        session: &mut Session,
        body: &mut Body,
        mut count: u64,
    ) -> Result<Result<(), Reply>, Step> {
        if let Some(refusal) = body.refusal(session, count) {
            return skip(session, count).await.map(|()| Err(refusal));
        }
        loop {
            let buffered = session.wire.buffered();
            let ready = buffered.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            body.bytes.extend_from_slice(&buffered[..ready]);
            session.wire.consume(ready);
            count -= ready as u64;
            if count == 0 {
                return Ok(Ok(()));
            }
            more(session, body.started).await?;
        }
    }
}

/// Waits for more of a message that began at `started`.
async fn more(session: &mut Session, started: Instant) -> Result<(), Step> {
    if started.elapsed() > session.settings().message_wait {
        return Err(Step::Close(reply::TOO_QUIET));
    }
    let wait = session.settings().data_wait;
    match session.wire.fill(wait).await {
        Ok(_) => Ok(()),
        Err(WireError::Timeout) => Err(Step::Close(reply::TOO_QUIET)),
        Err(_) => Err(Step::Gone),
    }
}

/// Reads to the end of the data without keeping it.
async fn drain(
    session: &mut Session,
    mut reader: DataReader,
    refusal: Reply,
) -> Result<Reply, Step> {
    let (started, mut waste) = (Instant::now(), Vec::new());
    loop {
        waste.clear();
        let pushed = reader.push(session.wire.buffered(), &mut waste);
        session.wire.consume(pushed.consumed);
        if pushed.ended {
            return Ok(refusal);
        }
        more(session, started).await?;
    }
}

/// Reads `count` octets without keeping them.
pub async fn skip(session: &mut Session, mut count: u64) -> Result<(), Step> {
    let started = Instant::now();
    loop {
        let buffered = session.wire.buffered().len();
        let ready = buffered.min(usize::try_from(count).unwrap_or(usize::MAX));
        session.wire.consume(ready);
        count -= ready as u64;
        if count == 0 {
            return Ok(());
        }
        more(session, started).await?;
    }
}
