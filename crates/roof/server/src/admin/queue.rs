//! `mail queue` commands: what waits in mail.box.

use router::{Filter, QueueId, QueueState, QueuedMessage, Router, RouterError};
use serde_json::{Value, json};

use super::Failure;
use crate::options;
use crate::request::{QueueDeed, QueueOrder, chain};
use crate::site::Site;

/// What is shown of each message.
pub(crate) const COLUMNS: &[&str] =
    &["id", "state", "sender", "recipients", "size", "date", "subject", "cause"];
/// Messages looked through for the beginning of an id.
const SEARCHED_MAX: usize = 100_000;
/// Shortest beginning of an id.
const ID_CHARS_MIN: usize = 4;

impl From<RouterError> for Failure {
    fn from(error: RouterError) -> Self {
        match error {
            RouterError::NotFound(_) | RouterError::TooManyRecipients { .. } => {
                Self::Refused(chain(&error))
            }
            error => Self::Trouble(chain(&error)),
        }
    }
}

fn shown(message: &QueuedMessage) -> Value {
    let state = match message.state {
        QueueState::Waiting => "waiting",
        QueueState::Held => "held",
        QueueState::Dead => "dead",
    };
    json!({
        "id": message.id.to_string(),
        "mailbox": message.mailbox,
        "state": state,
        "sender": message.sender,
        "recipients": message.recipients,
        "subject": message.subject,
        "size": message.size,
        "date": message.date.to_string(),
        "cause": message.cause,
    })
}

/// Messages that name `text` in id, sender, recipients, subject or cause, of one state or all.
pub(crate) fn list(
    router: &Router,
    state: Option<QueueState>,
    text: &str,
    limit: usize,
) -> Result<Value, Failure> {
    let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let messages = router.messages(&Filter { state, text }, limit)?;
    Ok(messages.iter().map(shown).collect())
}

/// Destinations that mail waits for.
pub(crate) fn destinations(router: &Router) -> Value {
    let rows = router.transfers().into_iter().map(|row| {
        json!({
            "destination": row.destination,
            "waiting": row.waiting,
            "working": row.working,
            "attempts_failed": row.attempts_failed,
            "next_try_s": row.next_try_s,
            "last_error": row.last_error,
        })
    });
    rows.collect()
}

/// The message that an id, or its unmistakable beginning, names.
fn find(router: &Router, id: &str) -> Result<QueueId, Failure> {
    if let Ok(id) = id.parse() {
        return Ok(id);
    }
    let short = id.trim().to_uppercase();
    if short.len() < ID_CHARS_MIN {
        let problem = format!("{id}: give an id, or at least {ID_CHARS_MIN} characters of it");
        return Err(Failure::Refused(problem));
    }
    let filter = Filter { state: None, text: Some(short.clone()) };
    let messages = router.messages(&filter, SEARCHED_MAX)?;
    let mut found = messages.iter().filter(|one| one.id.to_string().starts_with(&short));
    match (found.next(), found.next()) {
        (Some(message), None) => Ok(message.id),
        (Some(_), Some(_)) => Err(Failure::Refused(format!("several ids begin with {id}"))),
        (None, _) => Err(Failure::Refused(format!("no message has the id {id}"))),
    }
}

/// One thing done to messages, and what it came to.
pub(crate) fn act(router: &Router, deed: &QueueDeed, ids: &[String]) -> Result<Value, Failure> {
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        let id = find(router, id)?;
        match deed {
            QueueDeed::Hold => router.hold(id)?,
            QueueDeed::Release => router.release(id)?,
            QueueDeed::Resend { to } => router.resend(id, to)?,
            QueueDeed::Delete => router.remove(id)?,
        }
        rows.push(json!({ "id": id.to_string(), "done": deed.done() }));
    }
    Ok(Value::Array(rows))
}

/// Does what a command of the queue asks, with the router of a running server.
pub(crate) fn answer(router: &Router, order: &QueueOrder) -> Result<Value, Failure> {
    match order {
        QueueOrder::List { state, text, limit } => {
            let state = state.as_deref().map(state_named).transpose()?;
            list(router, state, text, *limit)
        }
        QueueOrder::Destinations => Ok(destinations(router)),
        QueueOrder::Act { deed, ids } => act(router, deed, ids),
    }
}

/// The same for a data directory that nobody serves: nothing is delivered meanwhile.
pub(super) fn without_server(site: &Site, order: &QueueOrder) -> Result<Value, Failure> {
    let options = options::router_at_rest(&site.settings());
    let router = Router::start(site.store.clone(), site.directory.clone(), options)?;
    let answer = answer(&router, order);
    router.stop();
    answer
}

fn state_named(name: &str) -> Result<QueueState, Failure> {
    match name.to_lowercase().as_str() {
        "waiting" => Ok(QueueState::Waiting),
        "held" => Ok(QueueState::Held),
        "dead" => Ok(QueueState::Dead),
        _ => Err(Failure::Refused(format!("{name}: a message is waiting, held or dead"))),
    }
}
