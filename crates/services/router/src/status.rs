//! What the console and the statistics see of the router.

use note::TimeDate;

use crate::envelope::QueueId;

/// State of a message in mail.box (item RoutingState).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueState {
    /// Waits for dispatch or a retry.
    Waiting,
    /// Kept back; only a release takes it up again.
    Held,
    /// Could not be delivered nor reported.
    Dead,
}

/// One message in mail.box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Its queue id.
    pub id: QueueId,
    /// Path of the mail.box it lies in.
    pub mailbox: String,
    /// Waiting, held or dead.
    pub state: QueueState,
    /// Envelope sender; empty for the null sender.
    pub sender: String,
    /// Recipients that are not done.
    pub recipients: Vec<String>,
    /// Subject, decoded.
    pub subject: String,
    /// Bytes on the wire.
    pub size: u64,
    /// When it was deposited.
    pub date: TimeDate,
    /// Why it waits, is held or dead.
    pub cause: Option<String>,
}

/// Which messages of mail.box are wanted; the default: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those in this state.
    pub state: Option<QueueState>,
    /// Only those with this text, in any case, in the sender, a recipient, the subject, the cause
    /// or the queue id.
    pub text: Option<String>,
}

impl Filter {
    pub(crate) fn takes(&self, message: &QueuedMessage) -> bool {
        if self.state.is_some_and(|state| state != message.state) {
            return false;
        }
        let Some(text) = &self.text else { return true };
        let text = text.to_lowercase();
        let holds = |field: &str| field.to_lowercase().contains(&text);
        holds(&message.sender)
            || message.recipients.iter().any(|recipient| holds(recipient))
            || holds(&message.subject)
            || message.cause.as_deref().is_some_and(holds)
            || holds(&message.id.to_string())
    }
}

/// A destination that mail waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRow {
    /// Its name.
    pub destination: String,
    /// Messages that wait.
    pub waiting: usize,
    /// Threads at work for it.
    pub working: usize,
    /// Attempts in a row at which it could not be reached.
    pub attempts_failed: u32,
    /// Seconds until the next try; `None` when nothing keeps it from being now.
    pub next_try_s: Option<u64>,
    /// Why the last try failed.
    pub last_error: Option<String>,
}
