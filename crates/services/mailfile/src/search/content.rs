//! The content of one message, pulled only as far as a search key needs it.

use message::{Kind, Parsed, SummaryView};
use note::Piece;

use super::Needle;
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
}

impl<'a> Content<'a> {
    pub(super) fn open(file: &'a MailFile, loaded: &'a Loaded) -> Result<Content<'a>, MailError> {
        let opened = loaded.open()?;
        let summary = opened.summary()?;
        Ok(Content { file, opened, summary, pieces: None, header: None })
    }

    /// The date in the message, in microseconds since 1970.
    pub(super) fn sent_us(&self) -> Result<Option<i64>, MailError> {
        let sent = self.summary.envelope()?.sent;
        Ok(sent.map(|seconds| seconds.saturating_mul(1_000_000)))
    }

    fn bytes(&mut self, range: std::ops::Range<u64>) -> Result<Vec<u8>, MailError> {
        if self.pieces.is_none() {
            self.pieces = Some(self.opened.content()?);
        }
        let end = range.end.min(range.start.saturating_add(PART_BYTES_MAX));
        let mut out = Vec::new();
        let pieces = self.pieces.as_deref().unwrap_or_default();
        self.file.read_content(pieces, range.start..end, &mut out)?;
        Ok(out)
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
        Ok(named.any(|field| field_holds(field.1, text)))
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

fn field_holds(raw: &[u8], text: &Needle) -> bool {
    let unfolded = message::unfold(raw);
    text.is_in(&message::decode_words(&unfolded)) || text.is_in(&String::from_utf8_lossy(&unfolded))
}

fn header_text_holds(header: &[u8], text: &Needle) -> bool {
    message::headers(header).any(|(name, value, _)| {
        let whole = [name, b": ", &message::unfold(value)[..]].concat();
        field_holds(&whole, text)
    })
}
