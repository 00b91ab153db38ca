//! ENVELOPE (RFC 3501 §7.4.2): always ten members.

use message::{Address, Envelope, EnvelopeView};

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

/// Appends an envelope from where it is stored.
pub(super) fn print_view(envelope: &EnvelopeView<'_>, out: &mut Vec<u8>) {
    out.push(b'(');
    words(envelope.date, out);
    out.push(b' ');
    words(envelope.subject, out);
    let lists =
        [envelope.from, envelope.sender, envelope.reply_to, envelope.to, envelope.cc, envelope.bcc];
    for list in lists {
        out.push(b' ');
        if list.is_empty() {
            out.extend_from_slice(b"NIL");
            continue;
        }
        out.push(b'(');
        list.iter().for_each(|one| address([one.name, one.route, one.mailbox, one.host], out));
        out.push(b')');
    }
    out.push(b' ');
    words(envelope.in_reply_to, out);
    out.push(b' ');
    words(envelope.message_id, out);
    out.push(b')');
}

/// Appends an address: name, route, mailbox, host.
fn address([name, route, mailbox, host]: [Option<&[u8]>; 4], out: &mut Vec<u8>) {
    out.push(b'(');
    words(name, out);
    for field in [route, mailbox, host] {
        out.push(b' ');
        text::nstring(field, out);
    }
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
    for one in list {
        let fields = [&one.name, &one.route, &one.mailbox, &one.host];
        address(fields.map(|field| field.as_deref()), out);
    }
    out.push(b')');
}
