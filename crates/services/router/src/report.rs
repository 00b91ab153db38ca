//! Delivery reports: what the sender is told about a recipient, and the message that tells.

use message::dsn::{self, Action, RecipientStatus, Report, Returned};
use note::{TimeDate, Unid};

use crate::envelope::{Envelope, Recipient, Ret};
use crate::route::Failure;

/// Largest message that goes back whole on RET=FULL, in bytes.
pub(crate) const RETURNED_BYTES_MAX: u64 = 256 * 1024;

/// What became of a recipient, as a report tells it.
#[derive(Debug, Clone)]
pub(crate) struct Fate(RecipientStatus);

impl Fate {
    pub(crate) fn failed(recipient: &Recipient, why: &Failure) -> Fate {
        let (status, sentence) = (why.status(), why.sentence());
        let mut fate = fate(recipient, Action::Failed, status, sentence);
        fate.0.diagnostic = Some(match why {
            Failure::Refused { said, .. } => format!("smtp; {said}"),
            Failure::Expired(cause) if !cause.is_empty() => format!("x-nelumbo; {cause}"),
            _ => format!("smtp; 550 {status} {sentence}"),
        });
        if let Failure::Refused { host, said } = why
            && said.code != 0
        {
            fate.0.remote_mta = Some(host.to_string());
        }
        fate
    }

    /// Delivered, or handed to a group or to a host that reports no success.
    pub(crate) fn succeeded(recipient: &Recipient, action: Action) -> Fate {
        let (status, sentence) = match action {
            Action::Expanded => ("2.1.5", "The message was sent to the members of the group."),
            Action::Relayed => {
                ("2.1.9", "The message was handed to a server that reports no deliveries.")
            }
            _ => ("2.1.5", "The message was put into the mail file."),
        };
        fate(recipient, action, status, sentence)
    }

    /// Handed to another host.
    pub(crate) fn relayed(recipient: &Recipient, host: &str) -> Fate {
        let mut fate = Fate::succeeded(recipient, Action::Relayed);
        fate.0.remote_mta = Some(host.to_owned());
        fate
    }

    pub(crate) fn delayed(recipient: &Recipient, cause: &str) -> Fate {
        let sentence = "The message still waits; delivery is tried again.";
        let mut fate = fate(recipient, Action::Delayed, "4.4.7", sentence);
        fate.0.diagnostic = (!cause.is_empty()).then(|| format!("x-nelumbo; {cause}"));
        fate
    }
}

fn fate(recipient: &Recipient, action: Action, status: &str, sentence: &str) -> Fate {
    Fate(RecipientStatus {
        final_recipient: recipient.address.clone(),
        original_recipient: recipient.original.clone(),
        action,
        status: status.to_owned(),
        diagnostic: None,
        remote_mta: None,
        explanation: sentence.to_owned(),
    })
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

/// Whether the whole message is to go back. It never does in reports of success (RFC 3461
/// section 4.3).
pub(crate) fn returns_whole(envelope: &Envelope, size: u64, fates: &[Fate]) -> bool {
    let failed = fates.iter().any(|fate| fate.0.action == Action::Failed);
    failed && envelope.ret == Ret::Full && size <= RETURNED_BYTES_MAX
}

/// Builds the report; `None` when the sender is the null sender, who is never told anything
/// (RFC 5321 section 4.5.5).
pub(crate) fn build(
    about: &About<'_>,
    fates: Vec<Fate>,
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
        recipients: fates.into_iter().map(|fate| fate.0).collect(),
        returned: if about.whole { Returned::Message } else { Returned::Headers },
        message: about.message,
    };
    let mut bytes = crate::envelope::return_path(&None).into_bytes();
    bytes.extend_from_slice(&dsn::build(&report));
    Some(bytes)
}
