//! What is done with a message that came in whole, by DATA or by BDAT: deposit, wait for the log,
//! answer.

use crate::body::Body;
use crate::reply::{self, Reply};
use crate::session::{Envelope, Session, Step};
use crate::{Stats, trace};
use ::session::Weight;
use router::{Deposit, QueueId, RouterError};
use store::Written;

/// Ends the transaction with a message, or with what refuses it.
pub async fn finish(session: &mut Session, body: Result<Body, Reply>) -> Step {
    session.messages += 1;
    let reply = match body {
        Ok(body) => act(session, body).await,
        Err(reply) => reply,
    };
    if reply.is_refusal() {
        Stats::add(&session.door.parts.stats.messages_refused, 1);
        let from = session.envelope.sender.as_deref().unwrap_or_default();
        let (id, code, why) = (session.seat.id(), reply.code(), reply.text());
        tracing::info!(session = id, from, code, why, "message refused");
    } else {
        session.faults = 0;
    }
    session.envelope = Envelope::default();
    session.seat.set_state("connected");
    reply.into()
}

/// Deposits the message; the reply promises that it is on disk.
async fn act(session: &mut Session, body: Body) -> Reply {
    if router::received_count(body.message()) >= session.settings().hop_limit {
        return reply::LOOP;
    }
    let Body { bytes, trace_bytes, taken, .. } = body;
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
