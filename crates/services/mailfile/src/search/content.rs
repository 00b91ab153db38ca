//! The content of one message, pulled only as far as a search key needs it.

use message::{AddressView, Kind, Parsed, SummaryView};
use note::Piece;

use super::{Field, Needle};
use crate::messages::{Loaded, Opened};
use crate::{MailError, MailFile};

/// Bytes of one part that are searched; the rest of a longer one is not.
const PART_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A message under a search.
pub(super) struct Content<'a> {
    file: &'a MailFile,
    opened: Opened<'a>,
    summary: SummaryView<'a>,
    pieces: Option<Vec<Piece>>,
    header: Option<Vec<u8>>,
    bytes_read: u64,
}

impl<'a> Content<'a> {
    pub(super) fn open(file: &'a MailFile, loaded: &'a Loaded) -> Result<Content<'a>, MailError> {
        let opened = loaded.open()?;
        let summary = opened.summary()?;
        Ok(Content { file, opened, summary, pieces: None, header: None, bytes_read: 0 })
    }

    /// The day in the message as it is written, in days since 1970.
    pub(super) fn sent_day(&self) -> Result<Option<i64>, MailError> {
        Ok(self.summary.envelope_view()?.date.and_then(message::parse_day))
    }

    /// Whether a field of the envelope holds the text; with an empty text, whether it is there.
    pub(super) fn field_holds(&self, field: Field, text: &Needle) -> Result<bool, MailError> {
        let envelope = self.summary.envelope_view()?;
        let addresses = match field {
            Field::Subject => {
                return Ok(envelope.subject.is_some_and(|raw| raw_holds(raw, text)));
            }
            Field::Bcc => envelope.bcc,
            Field::Cc => envelope.cc,
            Field::From => envelope.from,
            Field::To => envelope.to,
        };
        Ok(addresses.iter().any(|address| text.is_in(&shown(&address))))
    }

    fn bytes(&mut self, range: std::ops::Range<u64>) -> Result<Vec<u8>, MailError> {
        if self.pieces.is_none() {
            self.pieces = Some(self.opened.content()?);
        }
        let end = range.end.min(range.start.saturating_add(PART_BYTES_MAX));
        let mut out = Vec::new();
        let pieces = self.pieces.as_deref().unwrap_or_default();
        self.file.read_content(pieces, range.start..end, &mut out)?;
        self.bytes_read += out.len() as u64;
        Ok(out)
    }

    /// Bytes of the message that were looked at.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn header(&mut self) -> Result<&[u8], MailError> {
        if self.header.is_none() {
            let (range, _) = self.summary.root()?;
            self.header = Some(self.bytes(range)?);
        }
        Ok(self.header.as_deref().unwrap_or_default())
    }

    /// Whether a field of this name holds the text.
    pub(super) fn header_holds(&mut self, name: &str, text: &Needle) -> Result<bool, MailError> {
        let fields = message::headers(self.header()?);
        let mut named = fields.filter(|field| field.0.eq_ignore_ascii_case(name.as_bytes()));
        Ok(named.any(|field| raw_holds(field.1, text)))
    }

    /// Whether any field, with its name, holds the text.
    pub(super) fn any_header_holds(&mut self, text: &Needle) -> Result<bool, MailError> {
        Ok(header_text_holds(self.header()?, text))
    }

    /// Whether the text of the body holds the text: of every part that is text, decoded, and of the
    /// headers of enclosed messages.
    pub(super) fn body_holds(&mut self, text: &Needle) -> Result<bool, MailError> {
        let parsed: Parsed = self.summary.parsed()?;
        for part in &parsed.parts {
            if part.kind == Kind::Message {
                let inner = part.children.first().and_then(|at| parsed.parts.get(*at as usize));
                if let Some(inner) = inner
                    && header_text_holds(&self.bytes(inner.header.clone())?, text)
                {
                    return Ok(true);
                }
            }
            if part.kind != Kind::Leaf || !matches!(&*part.media_type, "text" | "message") {
                continue;
            }
            let bytes = self.bytes(part.body.clone())?;
            let decoded = message::decode_text(&bytes, &part.encoding, part.charset());
            if text.is_in(&decoded) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// `Name <local@domain>`, decoded; the name of a group, or nothing at its end.
fn shown(address: &AddressView<'_>) -> String {
    let mailbox = String::from_utf8_lossy(address.mailbox.unwrap_or_default());
    let Some(host) = address.host else { return message::decode_words(mailbox.as_bytes()) };
    let name = address.name.map(message::decode_words).unwrap_or_default();
    format!("{name} <{mailbox}@{}>", String::from_utf8_lossy(host))
}

/// Whether header text holds the text, decoded or as it stands.
fn raw_holds(raw: &[u8], text: &Needle) -> bool {
    let unfolded = message::unfold(raw);
    text.is_in(&message::decode_words(&unfolded))
        || (unfolded.contains(&b'?') && text.is_in(&String::from_utf8_lossy(&unfolded)))
}

fn header_text_holds(header: &[u8], text: &Needle) -> bool {
    message::headers(header).any(|(name, value, _)| {
        let whole = [name, b": ", &message::unfold(value)[..]].concat();
        raw_holds(&whole, text)
    })
}
