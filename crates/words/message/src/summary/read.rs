//! Unpacking, with every number checked.

use std::ops::Range;

use super::{SummaryError, address_bits, envelope_bits, part_bits};
use crate::{Address, Envelope, Kind, Part};

/// Room made for a list before its members were read.
const ROOM_MAX: u64 = 16;

pub(super) fn damaged(what: &'static str) -> SummaryError {
    SummaryError::Damaged(what)
}

type Result<T> = std::result::Result<T, SummaryError>;

/// What is left to read.
pub(super) struct Source<'a> {
    rest: &'a [u8],
}

/// The fixed first fields of a part.
pub(super) struct PartHead {
    pub(super) header: Range<u64>,
    pub(super) body: Range<u64>,
    parent_distance: u64,
}

/// Reads the section of the parts and checks that they make a tree in pre-order whose ranges lie in
/// each other.
pub(super) fn parts(section: &[u8]) -> Result<Vec<Part>> {
    let mut source = Source::new(section);
    let count = source.number()?;
    let mut parts: Vec<Part> = Vec::with_capacity(count.min(ROOM_MAX) as usize);
    let mut before = 0;
    for index in 0..count {
        let head = source.part_head(before)?;
        before = head.header.end;
        let parent = index.checked_sub(head.parent_distance).ok_or(damaged("parent"))?;
        let parent = (head.parent_distance > 0).then_some(parent as u32);
        let mut part = source.part_rest()?;
        (part.header, part.body, part.parent) = (head.header, head.body, parent);
        place(part, &mut parts)?;
    }
    source.finish()?;
    check_children(&parts)?;
    Ok(parts)
}

fn place(part: Part, parts: &mut Vec<Part>) -> Result<()> {
    let index = parts.len() as u32;
    let Some(parent) = part.parent else {
        if index > 0 {
            return Err(damaged("second root"));
        }
        parts.push(part);
        return Ok(());
    };
    let Some(above) = parts.get_mut(parent as usize) else { return Err(damaged("parent")) };
    if part.header.start < above.body.start || part.body.end > above.body.end {
        return Err(damaged("range outside of its parent"));
    }
    above.children.push(index);
    parts.push(part);
    Ok(())
}

fn check_children(parts: &[Part]) -> Result<()> {
    let right = |part: &Part| match part.kind {
        Kind::Leaf => part.children.is_empty(),
        Kind::Multipart => !part.children.is_empty(),
        Kind::Message => part.children.len() == 1,
    };
    if parts.is_empty() || !parts.iter().all(right) {
        return Err(damaged("children"));
    }
    Ok(())
}

impl<'a> Source<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn finish(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("bytes left over")) }
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(damaged("too short"))?;
        self.rest = rest;
        Ok(byte)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(damaged("number too large"));
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("number too long"))
    }

    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        if length > self.rest.len() as u64 {
            return Err(damaged("too short"));
        }
        let (taken, rest) = self.rest.split_at(length as usize);
        self.rest = rest;
        Ok(taken)
    }

    /// A text, not copied.
    pub(super) fn text_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        Ok(self.text_bytes()?.to_vec())
    }

    fn text(&mut self) -> Result<String> {
        let length = self.number()?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| damaged("text"))?;
        Ok(text.to_owned())
    }

    fn list<T>(&mut self, member: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.number()?;
        let mut list = Vec::with_capacity(count.min(ROOM_MAX) as usize);
        for _ in 0..count {
            list.push(member(self)?);
        }
        Ok(list)
    }

    fn params(&mut self) -> Result<Vec<(String, String)>> {
        self.list(|source| Ok((source.text()?, source.text()?)))
    }

    pub(super) fn part_head(&mut self, before: u64) -> Result<PartHead> {
        let mut behind = |at: u64| -> Result<u64> {
            at.checked_add(self.number()?).ok_or(damaged("range too large"))
        };
        let start = behind(before)?;
        let middle = behind(start)?;
        let end = behind(middle)?;
        Ok(PartHead { header: start..middle, body: middle..end, parent_distance: self.number()? })
    }

    fn part_rest(&mut self) -> Result<Part> {
        let bits = self.number()?;
        if bits > part_bits::ALL {
            return Err(damaged("part bits"));
        }
        let kind = match bits & part_bits::KIND {
            0 => Kind::Leaf,
            1 => Kind::Multipart,
            2 => Kind::Message,
            _ => return Err(damaged("kind")),
        };
        let lines = u32::try_from(self.number()?).map_err(|_| damaged("lines"))?;
        let mut part = Part { kind, lines, ..Part::default() };
        part.media_type = self.text()?;
        part.subtype = self.text()?;
        if part.media_type.is_empty() || part.subtype.is_empty() {
            return Err(damaged("media type"));
        }
        part.encoding = self.text()?;
        part.params = self.params()?;
        self.optional_fields(bits, &mut part)?;
        Ok(part)
    }

    fn optional_fields(&mut self, bits: u64, part: &mut Part) -> Result<()> {
        let there = |bit: u64| bits & bit != 0;
        if there(part_bits::CONTENT_ID) {
            part.content_id = Some(self.bytes()?);
        }
        if there(part_bits::DESCRIPTION) {
            part.description = Some(self.bytes()?);
        }
        if there(part_bits::MD5) {
            part.md5 = Some(self.bytes()?);
        }
        if there(part_bits::DISPOSITION) {
            part.disposition = Some((self.text()?, self.params()?));
        }
        if there(part_bits::LANGUAGES) {
            part.languages = self.list(Self::text)?;
        }
        if there(part_bits::LOCATION) {
            part.location = Some(self.text()?);
        }
        if there(part_bits::ENVELOPE) {
            part.envelope = Some(Box::new(self.envelope()?));
        }
        Ok(())
    }

    pub(super) fn envelope(&mut self) -> Result<Envelope> {
        let bits = self.number()?;
        if bits > envelope_bits::ALL {
            return Err(damaged("envelope bits"));
        }
        let there = |bit: u64| bits & bit != 0;
        let mut optional = |bit: u64| there(bit).then(|| self.bytes()).transpose();
        let date = optional(envelope_bits::DATE)?;
        let subject = optional(envelope_bits::SUBJECT)?;
        let in_reply_to = optional(envelope_bits::IN_REPLY_TO)?;
        let message_id = optional(envelope_bits::MESSAGE_ID)?;
        let sent = there(envelope_bits::SENT).then(|| self.signed()).transpose()?;
        let from = self.addresses()?;
        let mut other = |bit: u64| if there(bit) { self.addresses() } else { Ok(from.clone()) };
        let sender = other(envelope_bits::SENDER)?;
        let reply_to = other(envelope_bits::REPLY_TO)?;
        let to = self.addresses()?;
        let cc = self.addresses()?;
        let bcc = self.addresses()?;
        let references = self.list(Self::text)?;
        Ok(Envelope {
            date,
            subject,
            from,
            sender,
            reply_to,
            to,
            cc,
            bcc,
            in_reply_to,
            message_id,
            references,
            sent,
        })
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn addresses(&mut self) -> Result<Vec<Address>> {
        self.list(|source| {
            let bits = source.byte()?;
            if bits > address_bits::ALL {
                return Err(damaged("address bits"));
            }
            let mut field = |bit: u8| (bits & bit != 0).then(|| source.bytes()).transpose();
            Ok(Address {
                name: field(address_bits::NAME)?,
                route: field(address_bits::ROUTE)?,
                mailbox: field(address_bits::MAILBOX)?,
                host: field(address_bits::HOST)?,
            })
        })
    }
}
