//! Delivery reports: which recipients the sender is told about, and the message that tells.

use message::dsn::{self, Action, RecipientStatus, Report, Returned};
use note::{TimeDate, Unid};

use crate::envelope::{Envelope, Recipient, Ret};
use crate::route::Failure;

/// Largest message that goes back whole on RET=FULL, in bytes.
pub(crate) const RETURNED_BYTES_MAX: u64 = 256 * 1024;

/// A recipient and what became of it.
pub(crate) enum Fate<'a> {
    Failed(&'a Recipient, Failure),
    Delivered(&'a Recipient),
}

/// The lines of a report: failures and deliveries the sender wants to hear of.
pub(crate) fn statuses(fates: &[Fate<'_>]) -> Vec<RecipientStatus> {
    let wanted = fates.iter().filter(|fate| match fate {
        Fate::Failed(recipient, _) => recipient.notify.failure,
        Fate::Delivered(recipient) => recipient.notify.success,
    });
    wanted.map(status).collect()
}

fn status(fate: &Fate<'_>) -> RecipientStatus {
    let (recipient, action, status, explanation) = match fate {
        Fate::Failed(recipient, failure) => {
            (recipient, Action::Failed, failure.status(), failure.sentence())
        }
        Fate::Delivered(recipient) => {
            (recipient, Action::Delivered, "2.1.5", "The message was put into the mail file.")
        }
    };
    let failed = action == Action::Failed;
    RecipientStatus {
        final_recipient: recipient.address.clone(),
        original_recipient: recipient.original.clone(),
        action,
        status: status.to_owned(),
        diagnostic: failed.then(|| format!("smtp; 550 {status} {explanation}")),
        remote_mta: None,
        explanation: explanation.to_owned(),
    }
}

/// What the report says about the message.
pub(crate) struct About<'a> {
    pub envelope: &'a Envelope,
    /// The bytes of the message, or of its header when the rest does not go back.
    pub message: &'a [u8],
    pub whole: bool,
    pub arrival: TimeDate,
    pub now: TimeDate,
    pub unid: Unid,
}

/// Whether the whole message is to go back.
pub(crate) fn returns_whole(envelope: &Envelope, size: u64) -> bool {
    envelope.ret == Ret::Full && size <= RETURNED_BYTES_MAX
}

/// Builds the report; `None` when the sender is the null sender, who is never told anything
/// (RFC 5321 section 4.5.5).
pub(crate) fn build(
    about: &About<'_>,
    recipients: Vec<RecipientStatus>,
    host: &str,
    domain: &str,
) -> Option<Vec<u8>> {
    let to = about.envelope.sender.clone()?;
    let report = Report {
        reporting_mta: host.to_owned(),
        from: format!("postmaster@{domain}"),
        to,
        unique: about.unid.to_string(),
        date: about.now.unix_seconds(),
        arrival: Some(about.arrival.unix_seconds()),
        envelope_id: about.envelope.envelope_id.clone(),
        recipients,
        returned: if about.whole { Returned::Message } else { Returned::Headers },
        message: about.message,
    };
    let mut bytes = crate::envelope::return_path(&None).into_bytes();
    bytes.extend_from_slice(&dsn::build(&report));
    Some(bytes)
}
