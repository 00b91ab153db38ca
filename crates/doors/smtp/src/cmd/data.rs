//! DATA (RFC 5321 §4.1.1.4): reads the message, deposits it, waits for the log, answers 250.

use crate::data::DataReader;
use crate::reply::{self, Reply};
use crate::session::{Envelope, Session, Step};
use crate::{Stats, trace};
use ::session::{Taken, Weight, WireError};
use router::{Deposit, QueueId, RouterError};
use std::time::Instant;
use store::Written;

/// Bytes taken out of the server's budget at a time.
const BUDGET_STEP: u64 = 64 * 1024;

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
    let body = match Body::read(session).await {
        Ok(body) => body,
        Err(step) => return step,
    };
    session.messages += 1;
    let reply = match body {
        Ok(body) => act(session, body).await,
        Err(reply) => reply,
    };
    if reply.is_refusal() {
        Stats::add(&session.door.parts.stats.messages_refused, 1);
    } else {
        session.faults = 0;
    }
    session.envelope = Envelope::default();
    session.seat.set_state("connected");
    reply.into()
}

fn permit(session: &Session, arguments: &[u8]) -> Result<(), Reply> {
    if !session.envelope.begun {
        return Err(reply::NEED_MAIL);
    }
    if !arguments.trim_ascii().is_empty() {
        return Err(reply::NO_ARGUMENT);
    }
    if session.envelope.recipients.is_empty() {
        return Err(reply::NO_RECIPIENTS);
    }
    Ok(())
}

/// A message with its trace header, and its share of the budget.
struct Body {
    bytes: Vec<u8>,
    trace_bytes: usize,
    taken: Taken,
}

impl Body {
    /// Reads to the end of the data in any case, so that the dialogue stays in step. The outer
    /// error ends the connection, the inner one refuses the message.
    async fn read(session: &mut Session) -> Result<Result<Body, Reply>, Step> {
        let header = trace::trace_header(session, session.messages);
        let Some(taken) = session.door.parts.budget.try_take(BUDGET_STEP) else {
            return drain(session, reply::NO_ROOM).await.map(Err);
        };
        let room = session.envelope.announced_bytes.min(BUDGET_STEP / 2) as usize;
        let mut bytes = Vec::with_capacity(header.len() + room);
        bytes.extend_from_slice(header.as_bytes());
        let mut body = Body { trace_bytes: bytes.len(), bytes, taken };
        let mut reader = DataReader::new(session.settings().normalize_line_ends);
        let started = Instant::now();
        loop {
            let pushed = reader.push(session.wire.buffered(), &mut body.bytes);
            session.wire.consume(pushed.consumed);
            if let Some(refusal) = body.refusal(session) {
                drop(body);
                return if pushed.ended {
                    Ok(Err(refusal))
                } else {
                    drain_with(session, reader, refusal).await.map(Err)
                };
            }
            if pushed.ended {
                break;
            }
            more(session, started).await?;
        }
        if reader.saw_bare() && !session.settings().normalize_line_ends {
            return Ok(Err(reply::BARE_LINE_END));
        }
        if router::received_count(&body.bytes[body.trace_bytes..]) >= session.settings().hop_limit {
            return Ok(Err(reply::LOOP));
        }
        Ok(Ok(body))
    }

    /// Why this message cannot be taken, as far as it has come.
    fn refusal(&mut self, session: &Session) -> Option<Reply> {
        let length = (self.bytes.len() - self.trace_bytes) as u64;
        if length > session.settings().message_bytes_max {
            return Some(reply::TOO_BIG);
        }
        let missing = (self.bytes.len() as u64).saturating_sub(self.taken.bytes());
        let step = missing.div_ceil(BUDGET_STEP) * BUDGET_STEP;
        (step > 0 && !self.taken.grow(step)).then_some(reply::NO_ROOM)
    }
}

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

async fn drain(session: &mut Session, refusal: Reply) -> Result<Reply, Step> {
    let reader = DataReader::new(session.settings().normalize_line_ends);
    drain_with(session, reader, refusal).await
}

/// Reads to the end of the data without keeping it.
async fn drain_with(
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

/// Deposits the message; the reply promises that it is on disk.
async fn act(session: &mut Session, body: Body) -> Reply {
    let Body { bytes, trace_bytes, taken } = body;
    let size = (bytes.len() - trace_bytes) as u64;
    let bytes = mended(session, bytes, trace_bytes);
    let envelope = std::mem::take(&mut session.envelope);
    let told = Told {
        from: envelope.sender.clone().unwrap_or_default(),
        recipients: envelope.recipients.len(),
        size,
    };
    let authenticated = session.person.as_ref().map(|person| person.full_name.clone());
    let weight = Weight::of_bytes(bytes.len());
    let deposited = session
        .run_work(weight, move |door| {
            let _held_until_deposited = taken;
            door.parts.router.deposit(Deposit {
                sender: envelope.sender,
                recipients: envelope.recipients,
                message: &bytes,
                envelope_id: envelope.envelope_id,
                ret: envelope.ret,
                authenticated,
            })
        })
        .await;
    match deposited {
        Ok(Ok(written)) => answer(session, written, told).await,
        Ok(Err(error)) => trouble(session, &error),
        Err(_) => reply::STORE_TROUBLE,
    }
}

/// What a submission server mends of a message: it adds what lacks and takes out what the other
/// recipients must not see (RFC 6409 §8, RFC 5322 §3.6.3).
fn mended(session: &Session, mut bytes: Vec<u8>, trace_bytes: usize) -> Vec<u8> {
    if session.person.is_some() {
        for range in trace::secret_lines(&bytes[trace_bytes..]).into_iter().rev() {
            bytes.drain(trace_bytes + range.start..trace_bytes + range.end);
        }
        let lines = trace::missing_lines(session, &bytes[trace_bytes..]);
        bytes.splice(trace_bytes..trace_bytes, lines.into_bytes());
    }
    bytes
}

/// What the log says of a message.
struct Told {
    from: String,
    recipients: usize,
    size: u64,
}

async fn answer(session: &Session, written: Written<QueueId>, told: Told) -> Reply {
    let parts = &session.door.parts;
    if let Err(error) = parts.store.durable(written.lsn).await {
        tracing::error!(session = session.seat.id(), %error, "a message did not reach the log");
        return reply::STORE_TROUBLE;
    }
    Stats::add(&parts.stats.messages, 1);
    let Told { from, recipients, size } = told;
    Stats::add(&parts.stats.message_bytes, size);
    let (queue_id, session) = (written.value, session.seat.id());
    tracing::info!(session, %queue_id, from, recipients, size, "message accepted");
    Reply::of(250, "2.0.0", format!("Message accepted, queued as {queue_id}"))
}

fn trouble(session: &Session, error: &RouterError) -> Reply {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    tracing::warn!(session = session.seat.id(), %error, cause, "a message was not stored");
    reply::STORE_TROUBLE
}
