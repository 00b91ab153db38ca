//! ENVELOPE (RFC 3501 §7.4.2): always ten members.

use message::{Address, Envelope};

use crate::text;

/// Appends an envelope.
pub(super) fn print(envelope: &Envelope, out: &mut Vec<u8>) {
    out.push(b'(');
    words(envelope.date.as_deref(), out);
    out.push(b' ');
    words(envelope.subject.as_deref(), out);
    let lists = [
        &envelope.from,
        &envelope.sender,
        &envelope.reply_to,
        &envelope.to,
        &envelope.cc,
        &envelope.bcc,
    ];
    for list in lists {
        out.push(b' ');
        addresses(list, out);
    }
    out.push(b' ');
    words(envelope.in_reply_to.as_deref(), out);
    out.push(b' ');
    words(envelope.message_id.as_deref(), out);
    out.push(b')');
}

/// Appends text of a header: 8-bit bytes go as encoded words, so that every client can read it.
pub(super) fn words(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => text::string(&message::encode_words(value), out),
        None => out.extend_from_slice(b"NIL"),
    }
}

/// Appends NIL or a list of at least one address.
fn addresses(list: &[Address], out: &mut Vec<u8>) {
    if list.is_empty() {
        out.extend_from_slice(b"NIL");
        return;
    }
    out.push(b'(');
    for address in list {
        out.push(b'(');
        words(address.name.as_deref(), out);
        out.push(b' ');
        text::nstring(address.route.as_deref(), out);
        out.push(b' ');
        text::nstring(address.mailbox.as_deref(), out);
        out.push(b' ');
        text::nstring(address.host.as_deref(), out);
        out.push(b')');
    }
    out.push(b')');
}
