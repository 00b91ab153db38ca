//! What the log says of deliveries.

use mailfile::rules::Verdict;

use crate::course::{Local, Message};
use crate::envelope::QueueId;

/// Recipients that a log line names.
const NAMED_MAX: usize = 20;

/// What became of the deliveries of a record, in the log: one line for those without a rule, one
/// for each other.
pub(crate) fn delivered(message: &Message, batch: &[Local]) {
    let queue_id = QueueId(message.prepared.unid());
    let (from, size) = (message.envelope.sender.as_deref(), message.prepared.size());
    let from = from.unwrap_or_default();
    let plain = |local: &&Local| ruled(&local.verdict).is_none();
    let to = Named(batch.iter().filter(plain).collect());
    if !to.0.is_empty() {
        tracing::info!(%queue_id, from, %to, size, "delivered");
    }
    for local in batch {
        let to = &local.delivery.recipient.address;
        match ruled(&local.verdict) {
            None => {}
            Some((folder, what)) if folder.is_empty() => {
                tracing::info!(%queue_id, from, to, size, "{what}");
            }
            Some((folder, what)) => {
                tracing::info!(%queue_id, from, to, size, folder, "{what}");
            }
        }
    }
}

/// The folders and what was done, when the owner's rules wanted anything but the INBOX.
fn ruled(verdict: &Verdict) -> Option<(String, &'static str)> {
    let folder = verdict.folder.iter().filter(|_| !verdict.discard);
    let folders = folder.chain(&verdict.copies).map(String::as_str);
    let folders = folders.collect::<Vec<_>>().join(",");
    match verdict {
        Verdict { blocked: true, .. } => Some((folders, "delivered: the sender is blocked")),
        Verdict { discard: true, copies, .. } if copies.is_empty() => {
            Some((folders, "deleted by a rule"))
        }
        Verdict { discard: true, .. } | Verdict { folder: Some(_), .. } => {
            Some((folders, "moved by a rule"))
        }
        Verdict { copies, .. } if !copies.is_empty() => {
            Some((folders, "delivered, and copied by a rule"))
        }
        _ => None,
    }
}

/// The recipients of a batch in a log line.
struct Named<'a>(Vec<&'a Local>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, local) in self.0.iter().take(NAMED_MAX).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", local.delivery.recipient.address)?;
        }
        match self.0.len().saturating_sub(NAMED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_what_a_rule_did() {
        let moved = Verdict { folder: Some("\\Junk".to_owned()), ..Verdict::default() };
        let copies = vec!["A".to_owned(), "B".to_owned()];
        let cases = [
            (Verdict { seen: true, ..Verdict::default() }, None),
            (
                Verdict { blocked: true, ..moved.clone() },
                Some(("\\Junk", "delivered: the sender is blocked")),
            ),
            (moved.clone(), Some(("\\Junk", "moved by a rule"))),
            (Verdict { discard: true, ..moved.clone() }, Some(("", "deleted by a rule"))),
            (
                Verdict { discard: true, copies: copies.clone(), ..moved },
                Some(("A,B", "moved by a rule")),
            ),
            (
                Verdict { copies, ..Verdict::default() },
                Some(("A,B", "delivered, and copied by a rule")),
            ),
        ];
        for (verdict, wanted) in cases {
            let wanted = wanted.map(|(folders, what)| (folders.to_owned(), what));
            assert_eq!(ruled(&verdict), wanted, "{verdict:?}");
        }
    }
}
