//! Packing.

use super::{SUMMARY_VERSION, address_bits, envelope_bits, part_bits};
use crate::{Address, Defects, Envelope, Kind, Parsed, Part};

pub(super) fn summary(parsed: &Parsed) -> Vec<u8> {
    let mut envelope = Sink(Vec::with_capacity(256));
    envelope.envelope(&parsed.envelope);
    let mut out = Sink(Vec::with_capacity(envelope.0.len() + 256 + parsed.parts.len() * 64));
    out.0.push(SUMMARY_VERSION);
    out.number(u64::from(parsed.defects.0));
    out.number(envelope.0.len() as u64);
    out.number(parsed.preview.len() as u64);
    out.0.extend_from_slice(&envelope.0);
    out.0.extend_from_slice(parsed.preview.as_bytes());
    out.number(parsed.parts.len() as u64);
    let mut before = 0;
    for (index, part) in parsed.parts.iter().enumerate() {
        out.part(index as u64, part, before);
        before = part.header.end;
    }
    out.0
}

/// A summary of sections that are packed already, with an empty preview.
pub(super) fn shortened(defects: Defects, envelope: &[u8], parts: &[u8]) -> Vec<u8> {
    let mut out = Sink(Vec::with_capacity(12 + envelope.len() + parts.len()));
    out.0.push(SUMMARY_VERSION);
    out.number(u64::from(defects.0));
    out.number(envelope.len() as u64);
    out.number(0);
    out.0.extend_from_slice(envelope);
    out.0.extend_from_slice(parts);
    out.0
}

struct Sink(Vec<u8>);

impl Sink {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn optional(&mut self, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }

    fn params(&mut self, params: &[(String, String)]) {
        self.number(params.len() as u64);
        for (name, value) in params {
            self.bytes(name.as_bytes());
            self.bytes(value.as_bytes());
        }
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        for text in texts {
            self.bytes(text.as_bytes());
        }
    }

    /// `before` is the header end of the part before; the body begins at the header's end.
    fn part(&mut self, index: u64, part: &Part, before: u64) {
        self.number(part.header.start - before);
        self.number(part.header.end - part.header.start);
        self.number(part.body.end - part.body.start);
        self.number(part.parent.map_or(0, |parent| index - u64::from(parent)));
        self.number(bits_of_part(part));
        self.number(u64::from(part.lines));
        self.bytes(part.media_type.as_bytes());
        self.bytes(part.subtype.as_bytes());
        self.bytes(part.encoding.as_bytes());
        self.params(&part.params);
        self.optional(part.content_id.as_deref());
        self.optional(part.description.as_deref());
        self.optional(part.md5.as_deref());
        if let Some((token, params)) = &part.disposition {
            self.bytes(token.as_bytes());
            self.params(params);
        }
        if !part.languages.is_empty() {
            self.texts(&part.languages);
        }
        self.optional(part.location.as_ref().map(String::as_bytes));
        if let Some(envelope) = &part.envelope {
            self.envelope(envelope);
        }
    }

    fn envelope(&mut self, envelope: &Envelope) {
        let bits = bits_of_envelope(envelope);
        self.number(bits);
        self.optional(envelope.date.as_deref());
        self.optional(envelope.subject.as_deref());
        self.optional(envelope.in_reply_to.as_deref());
        self.optional(envelope.message_id.as_deref());
        if let Some(sent) = envelope.sent {
            self.number(((sent << 1) ^ (sent >> 63)) as u64);
        }
        self.addresses(&envelope.from);
        if bits & envelope_bits::SENDER != 0 {
            self.addresses(&envelope.sender);
        }
        if bits & envelope_bits::REPLY_TO != 0 {
            self.addresses(&envelope.reply_to);
        }
        self.addresses(&envelope.to);
        self.addresses(&envelope.cc);
        self.addresses(&envelope.bcc);
        self.texts(&envelope.references);
    }

    fn addresses(&mut self, addresses: &[Address]) {
        self.number(addresses.len() as u64);
        for address in addresses {
            let fields = [
                (&address.name, address_bits::NAME),
                (&address.route, address_bits::ROUTE),
                (&address.mailbox, address_bits::MAILBOX),
                (&address.host, address_bits::HOST),
            ];
            let there = fields.iter().filter(|field| field.0.is_some());
            self.0.push(there.map(|field| field.1).sum());
            for (field, _) in fields {
                self.optional(field.as_deref());
            }
        }
    }
}

fn bits_of_part(part: &Part) -> u64 {
    let kind = match part.kind {
        Kind::Leaf => 0,
        Kind::Multipart => 1,
        Kind::Message => 2,
    };
    let flag = |there: bool, bit: u64| if there { bit } else { 0 };
    kind | flag(part.content_id.is_some(), part_bits::CONTENT_ID)
        | flag(part.description.is_some(), part_bits::DESCRIPTION)
        | flag(part.md5.is_some(), part_bits::MD5)
        | flag(part.disposition.is_some(), part_bits::DISPOSITION)
        | flag(!part.languages.is_empty(), part_bits::LANGUAGES)
        | flag(part.location.is_some(), part_bits::LOCATION)
        | flag(part.envelope.is_some(), part_bits::ENVELOPE)
}

fn bits_of_envelope(envelope: &Envelope) -> u64 {
    let flag = |there: bool, bit: u64| if there { bit } else { 0 };
    flag(envelope.date.is_some(), envelope_bits::DATE)
        | flag(envelope.subject.is_some(), envelope_bits::SUBJECT)
        | flag(envelope.in_reply_to.is_some(), envelope_bits::IN_REPLY_TO)
        | flag(envelope.message_id.is_some(), envelope_bits::MESSAGE_ID)
        | flag(envelope.sent.is_some(), envelope_bits::SENT)
        | flag(envelope.sender != envelope.from, envelope_bits::SENDER)
        | flag(envelope.reply_to != envelope.from, envelope_bits::REPLY_TO)
}
