//! The result of a parse in compact form, as it is stored beside the message.
//!
//! Layout, version 1. A *number* is unsigned LEB128, a *text* is a number (its length in bytes) and
//! that many bytes, a *list* is a number (how many) and that many members.
//!
//! ```text
//! summary   := byte 1 (the version), number defects (Defects), number E, number P,
//!              envelope (E bytes), preview (P bytes of UTF-8), list of part (up to the end)
//! part      := number from the end of the header of the part before (0 for the first) to the
//!              start of this header, number length of header, number length of body (it begins
//!              where the header ends), number index minus index of the parent (0: no parent),
//!              number bits (0-1 kind: leaf, multipart, message; 2 id, 3 description, 4 MD5,
//!              5 disposition, 6 languages, 7 location, 8 envelope), number lines,
//!              text type, text subtype, text encoding, params,
//!              then for each set bit: text id, text description, text MD5, text disposition
//!              and params, list of text languages, text location, envelope
//! params    := list of (text name, text value)
//! envelope  := number bits (0 date, 1 subject, 2 in-reply-to, 3 message-id, 4 sent, 5 sender is
//!              not from, 6 reply-to is not from), a text for each set bit of 0 to 3, number sent
//!              (zigzag seconds) if bit 4, addresses from, addresses sender if bit 5, addresses
//!              reply-to if bit 6, addresses to, cc, bcc, list of text references
//! addresses := list of (byte bits 0 name, 1 route, 2 mailbox, 3 host; a text for each set bit)
//! ```
//!
//! The lengths in front let a reader build only what it needs. Parts stand in pre-order; a reader
//! checks that they make a tree whose ranges lie in each other.

mod read;
mod view;
mod write;

use std::ops::Range;

use thiserror::Error;

use crate::{Defects, Envelope, Parsed};
use read::Source;

pub use view::{AddressView, AddressesView, EnvelopeView};

/// Version of the layout, its first byte.
pub const SUMMARY_VERSION: u8 = 1;

/// Why stored summary bytes cannot be read.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum SummaryError {
    /// The version byte is none that this program knows.
    #[error("summary has unknown version {0}")]
    Version(u8),
    /// The bytes end too early or contradict each other.
    #[error("summary is damaged: {0}")]
    Damaged(&'static str),
}

/// Packs what [`crate::parse`] found.
pub fn summary_encode(parsed: &Parsed) -> Vec<u8> {
    write::summary(parsed)
}

/// Unpacks and checks a whole summary.
///
/// # Errors
/// [`SummaryError`] for bytes that [`summary_encode`] did not make; never a panic, never more
/// memory than the bytes justify.
pub fn summary_decode(bytes: &[u8]) -> Result<Parsed, SummaryError> {
    SummaryView::new(bytes)?.parsed()
}

/// A summary of which only what is asked for is built.
#[derive(Debug, Clone, Copy)]
pub struct SummaryView<'a> {
    defects: Defects,
    envelope: &'a [u8],
    preview: &'a [u8],
    parts: &'a [u8],
}

impl<'a> SummaryView<'a> {
    /// Looks at version and section lengths.
    ///
    /// # Errors
    /// [`SummaryError`] when they are wrong. Sections are checked when they are asked for.
    pub fn new(bytes: &'a [u8]) -> Result<Self, SummaryError> {
        let mut source = Source::new(bytes);
        match source.byte()? {
            SUMMARY_VERSION => {}
            other => return Err(SummaryError::Version(other)),
        }
        let defects = u32::try_from(source.number()?).map_err(|_| read::damaged("defects"))?;
        let envelope_bytes = source.number()?;
        let preview_bytes = source.number()?;
        let envelope = source.take(envelope_bytes)?;
        let preview = source.take(preview_bytes)?;
        Ok(Self { defects: Defects(defects), envelope, preview, parts: source.rest() })
    }

    /// What the message did not do as the standards ask.
    pub fn defects(&self) -> Defects {
        self.defects
    }

    /// Builds the envelope alone.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn envelope(&self) -> Result<Envelope, SummaryError> {
        let mut source = Source::new(self.envelope);
        let envelope = source.envelope()?;
        source.finish()?;
        Ok(envelope)
    }

    /// The envelope alone, not copied.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn envelope_view(&self) -> Result<EnvelopeView<'a>, SummaryError> {
        EnvelopeView::read(self.envelope)
    }

    /// The preview, not copied.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn preview(&self) -> Result<&'a str, SummaryError> {
        std::str::from_utf8(self.preview).map_err(|_| read::damaged("preview"))
    }

    /// The same summary packed again with an empty preview, for those who keep many of them.
    pub fn without_preview(&self) -> Vec<u8> {
        write::shortened(self.defects, self.envelope, self.parts)
    }

    /// Header and body of the message itself, without building the parts.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn root(&self) -> Result<(Range<u64>, Range<u64>), SummaryError> {
        let mut source = Source::new(self.parts);
        source.number()?;
        let head = source.part_head(0)?;
        Ok((head.header, head.body))
    }

    /// Builds the parts alone: envelope and preview stay empty.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn structure(&self) -> Result<Parsed, SummaryError> {
        let parts = read::parts(self.parts)?;
        let (envelope, preview) = (Envelope::default(), String::new());
        Ok(Parsed { parts, envelope, preview, defects: self.defects })
    }

    /// Builds everything.
    ///
    /// # Errors
    /// [`SummaryError::Damaged`].
    pub fn parsed(&self) -> Result<Parsed, SummaryError> {
        Ok(Parsed {
            parts: read::parts(self.parts)?,
            envelope: self.envelope()?,
            preview: self.preview()?.to_owned(),
            defects: self.defects,
        })
    }
}

/// Bits that tell which fields of a part follow.
mod part_bits {
    pub(super) const KIND: u64 = 3;
    pub(super) const CONTENT_ID: u64 = 1 << 2;
    pub(super) const DESCRIPTION: u64 = 1 << 3;
    pub(super) const MD5: u64 = 1 << 4;
    pub(super) const DISPOSITION: u64 = 1 << 5;
    pub(super) const LANGUAGES: u64 = 1 << 6;
    pub(super) const LOCATION: u64 = 1 << 7;
    pub(super) const ENVELOPE: u64 = 1 << 8;
    pub(super) const ALL: u64 = (1 << 9) - 1;
}

/// Bits that tell which fields of an envelope follow.
mod envelope_bits {
    pub(super) const DATE: u64 = 1;
    pub(super) const SUBJECT: u64 = 1 << 1;
    pub(super) const IN_REPLY_TO: u64 = 1 << 2;
    pub(super) const MESSAGE_ID: u64 = 1 << 3;
    pub(super) const SENT: u64 = 1 << 4;
    /// `sender` differs from `from`.
    pub(super) const SENDER: u64 = 1 << 5;
    /// `reply_to` differs from `from`.
    pub(super) const REPLY_TO: u64 = 1 << 6;
    pub(super) const ALL: u64 = (1 << 7) - 1;
}

/// Bits that tell which fields of an address follow.
mod address_bits {
    pub(super) const NAME: u8 = 1;
    pub(super) const ROUTE: u8 = 2;
    pub(super) const MAILBOX: u8 = 4;
    pub(super) const HOST: u8 = 8;
    pub(super) const ALL: u8 = 15;
}

#[cfg(test)]
mod tests;
