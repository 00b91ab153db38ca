//! The envelope of a message, from its header (RFC 9051 §7.5.2, RFC 5322 §3.6).

use crate::address::read_addresses;
use crate::cursor::{Cursor, is_space};
use crate::scan::Budget;
use crate::{Address, Envelope, parse_date};

/// Reads the envelope. Of a field that occurs twice the first counts, but several fields of
/// recipients are put together (RFC 5322 §4.5).
pub(crate) fn read_envelope(header: &[u8], budget: &mut Budget) -> Envelope {
    let mut envelope = Envelope::default();
    let mut references = None;
    for (name, value, _) in crate::headers(header) {
        match name.len() {
            2 if name.eq_ignore_ascii_case(b"to") => append(&mut envelope.to, value, budget),
            2 if name.eq_ignore_ascii_case(b"cc") => append(&mut envelope.cc, value, budget),
            3 if name.eq_ignore_ascii_case(b"bcc") => append(&mut envelope.bcc, value, budget),
            4 if name.eq_ignore_ascii_case(b"from") => once(&mut envelope.from, value, budget),
            4 if name.eq_ignore_ascii_case(b"date") => text(&mut envelope.date, value),
            6 if name.eq_ignore_ascii_case(b"sender") => once(&mut envelope.sender, value, budget),
            7 if name.eq_ignore_ascii_case(b"subject") => text(&mut envelope.subject, value),
            8 if name.eq_ignore_ascii_case(b"reply-to") => {
                once(&mut envelope.reply_to, value, budget);
            }
            10 if name.eq_ignore_ascii_case(b"message-id") => text(&mut envelope.message_id, value),
            10 if name.eq_ignore_ascii_case(b"references") => {
                references.get_or_insert(value);
            }
            11 if name.eq_ignore_ascii_case(b"in-reply-to") => {
                text(&mut envelope.in_reply_to, value);
            }
            _ => {}
        }
    }
    complete(&mut envelope);
    envelope.references = message_ids(references.unwrap_or_default(), budget.limits.parameters);
    envelope
}

fn text(slot: &mut Option<Vec<u8>>, value: &[u8]) {
    slot.get_or_insert_with(|| crate::unfold(value).into_owned());
}

fn once(slot: &mut Vec<Address>, value: &[u8], budget: &mut Budget) {
    if slot.is_empty() {
        append(slot, value, budget);
    }
}

fn append(slot: &mut Vec<Address>, value: &[u8], budget: &mut Budget) {
    slot.append(&mut read_addresses(value, &mut budget.addresses));
}

fn complete(envelope: &mut Envelope) {
    for slot in [&mut envelope.sender, &mut envelope.reply_to] {
        if slot.is_empty() {
            slot.clone_from(&envelope.from);
        }
    }
    envelope.sent = envelope.date.as_deref().and_then(parse_date);
}

/// Message ids of a `References` field, at most `ids_max` of them.
fn message_ids(raw: &[u8], ids_max: usize) -> Vec<String> {
    let mut cursor = Cursor::new(raw);
    let mut ids = Vec::new();
    while cursor.peek().is_some() && ids.len() < ids_max {
        cursor.skip_cfws();
        let start = cursor.at();
        let id = match cursor.peek() {
            Some(b'<') => {
                cursor.take_while(|b| b != b'>' && !is_space(b));
                cursor.eat(b'>');
                cursor.slice(start, cursor.at())
            }
            _ => {
                cursor.take_while(|b| b != b'<' && b != b'(' && !is_space(b));
                continue;
            }
        };
        ids.push(String::from_utf8_lossy(id).into_owned());
    }
    ids
}

#[cfg(test)]
mod tests;
