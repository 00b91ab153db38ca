//! The items of a note made of a message, so that views, formulas and replication see a document.

use note::{Item, ItemFlags, ItemValue, TimeDate};

use crate::{Address, Parsed, decode_words};

/// Longest text of one item in bytes; longer header fields are cut (the message itself is not).
const TEXT_BYTES_MAX: usize = 4_096;
/// Entries of one list item.
const LIST_MAX: usize = 1_000;

/// Items made of a message: `Form`, `From`, `SendTo`, `CopyTo`, `BlindCopyTo`, `ReplyTo`,
/// `Subject`, `PostedDate`, `$MessageID`, `In_Reply_To`, `References`, `$Mailer`, `Importance`,
/// `$Abstract`. Texts are decoded; what the message does not have is left out, except `Subject`.
/// All carry the summary flag.
pub fn note_items(parsed: &Parsed, message: &[u8]) -> Vec<Item> {
    let envelope = &parsed.envelope;
    let mut items = Items(Vec::with_capacity(16));
    items.text("Form", "Memo".to_owned());
    items.addresses("From", &envelope.from);
    items.addresses("SendTo", &envelope.to);
    items.addresses("CopyTo", &envelope.cc);
    items.addresses("BlindCopyTo", &envelope.bcc);
    if envelope.reply_to != envelope.from {
        items.addresses("ReplyTo", &envelope.reply_to);
    }
    items.put("Subject", text_of(envelope.subject.as_deref().unwrap_or_default()).into());
    if let Some(sent) = envelope.sent {
        items.put("PostedDate", ItemValue::Time(TimeDate(sent.saturating_mul(1_000_000))));
    }
    items.field("$MessageID", envelope.message_id.as_deref());
    items.field("In_Reply_To", envelope.in_reply_to.as_deref());
    items.list("References", envelope.references.iter().map(|id| cut(id.clone())).collect());
    items.header_fields(parsed, message);
    items.text("$Abstract", parsed.preview.clone());
    items.0
}

struct Items(Vec<Item>);

impl Items {
    fn put(&mut self, name: &str, value: ItemValue) {
        self.0.push(Item { name: name.to_owned(), flags: ItemFlags::SUMMARY, sequence: 1, value });
    }

    fn text(&mut self, name: &str, text: String) {
        if !text.is_empty() {
            self.put(name, ItemValue::Text(text));
        }
    }

    fn field(&mut self, name: &str, raw: Option<&[u8]>) {
        self.text(name, text_of(raw.unwrap_or_default()));
    }

    /// One text when there is one, else a list.
    fn list(&mut self, name: &str, mut texts: Vec<String>) {
        texts.truncate(LIST_MAX);
        match texts.len() {
            0 => {}
            1 => self.text(name, texts.remove(0)),
            _ => self.put(name, ItemValue::TextList(texts)),
        }
    }

    fn addresses(&mut self, name: &str, addresses: &[Address]) {
        let people = addresses.iter().filter(|address| address.host.is_some());
        self.list(name, people.take(LIST_MAX).map(print_address).collect());
    }

    /// What the envelope does not hold.
    fn header_fields(&mut self, parsed: &Parsed, message: &[u8]) {
        let header = parsed.parts.first().map(|root| root.header.end as usize);
        let header = header.and_then(|end| message.get(..end)).unwrap_or_default();
        let (mut mailer, mut importance) = (None, None);
        for (name, value, _) in crate::headers(header) {
            if name.eq_ignore_ascii_case(b"x-mailer") || name.eq_ignore_ascii_case(b"user-agent") {
                mailer.get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"importance") {
                importance = importance.or_else(|| importance_of(value));
            } else if name.eq_ignore_ascii_case(b"x-priority") {
                importance = importance.or_else(|| priority_of(value));
            }
        }
        self.field("$Mailer", mailer);
        self.text("Importance", importance.unwrap_or_default().to_owned());
    }
}

/// `1` high, `2` normal, `3` low, as the field writes it.
fn importance_of(value: &[u8]) -> Option<&'static str> {
    let value = value.trim_ascii();
    let levels: [(&[u8], &str); 3] = [(b"high", "1"), (b"normal", "2"), (b"low", "3")];
    levels.iter().find(|level| level.0.eq_ignore_ascii_case(value)).map(|level| level.1)
}

fn priority_of(value: &[u8]) -> Option<&'static str> {
    match value.trim_ascii().first()? {
        b'1' | b'2' => Some("1"),
        b'3' => Some("2"),
        b'4' | b'5' => Some("3"),
        _ => None,
    }
}

/// An address as people read it: `Ada Lovelace <ada@example.org>`, the name decoded.
pub fn print_address(address: &Address) -> String {
    let lossy = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let mut spec = lossy(&address.mailbox);
    let host = lossy(&address.host);
    if !host.is_empty() {
        spec.push('@');
        spec.push_str(&host);
    }
    let name = address.name.as_deref().map(decode_words).unwrap_or_default();
    cut(if name.is_empty() { spec } else { format!("{name} <{spec}>") })
}

fn text_of(raw: &[u8]) -> String {
    cut(decode_words(&raw[..raw.len().min(TEXT_BYTES_MAX)]))
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests;
