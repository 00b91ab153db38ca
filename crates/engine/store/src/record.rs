//! The change record: results of one write over up to 64 databases.

use note::{Dbiid, TimeDate};
use objects::TicketDelta;

use crate::bytes::{BytesError, Cursor, put_bytes, put_signed, put_varint};
use crate::prepared::PreparedNote;

/// Most databases in one record.
pub(crate) const SECTIONS_MAX: usize = 64;

const FORMAT: u8 = 1;
/// Origin of records made by this server.
const ORIGIN_HERE: u64 = 0;

/// One section while it is written.
#[derive(Clone, Copy)]
pub(crate) struct SectionFacts<'a> {
    pub dbiid: Dbiid,
    pub change_seq: u64,
    pub deltas: &'a [TicketDelta],
    pub ops: &'a [u8],
}

/// Writes a record into `out`, which is cleared first.
pub(crate) fn encode<'a>(
    out: &mut Vec<u8>,
    time: TimeDate,
    blobs: &[PreparedNote],
    sections: impl ExactSizeIterator<Item = SectionFacts<'a>> + Clone,
) {
    out.clear();
    out.push(FORMAT);
    put_names(out, sections.clone().map(|section| section.dbiid));
    out.extend_from_slice(&ORIGIN_HERE.to_le_bytes());
    out.extend_from_slice(&0_u64.to_le_bytes());
    out.extend_from_slice(&time.0.to_le_bytes());
    put_varint(out, blobs.len() as u64);
    blobs.iter().for_each(|prepared| put_bytes(out, prepared.blob()));
    put_varint(out, sections.len() as u64);
    for section in sections {
        out.extend_from_slice(&section.dbiid.0.to_le_bytes());
        put_varint(out, section.change_seq);
        put_varint(out, section.deltas.len() as u64);
        for delta in section.deltas {
            out.extend_from_slice(&delta.hash.0);
            put_signed(out, delta.count);
        }
        put_bytes(out, section.ops);
    }
}

/// Names the databases of a record that has several, under a sum of their own: a record whose
/// payload is damaged still tells whom it concerns. A single one stands in the record header.
fn put_names(out: &mut Vec<u8>, dbiids: impl ExactSizeIterator<Item = Dbiid>) {
    if dbiids.len() < 2 {
        return out.push(0);
    }
    // At most SECTIONS_MAX.
    out.push(dbiids.len() as u8);
    dbiids.for_each(|dbiid| out.extend_from_slice(&dbiid.0.to_le_bytes()));
    let sum = crc32fast::hash(out);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// The databases that a record names although its payload may be damaged; `None` when it names
/// none or their sum is wrong too.
pub(crate) fn names_of_damaged(payload: &[u8]) -> Option<Vec<Dbiid>> {
    let count = usize::from(*payload.get(1)?);
    let (names, rest) = payload.split_at_checked(2 + 8 * count)?;
    let sum = u32::from_le_bytes(*rest.first_chunk()?);
    let is_good = names[0] == FORMAT && count > 0 && crc32fast::hash(names) == sum;
    let name = |bytes: &[u8; 8]| Dbiid(u64::from_le_bytes(*bytes));
    is_good.then(|| names[2..].as_chunks().0.iter().map(name).collect())
}

/// A record that is read; its sections are read when asked for.
pub(crate) struct ChangeRecord<'a> {
    pub blobs: Vec<&'a [u8]>,
    sections: Cursor<'a>,
    count: usize,
}

/// One section of a record.
pub(crate) struct Section<'a> {
    pub dbiid: Dbiid,
    pub change_seq: u64,
    pub deltas: Vec<TicketDelta>,
    pub ops: &'a [u8],
}

impl<'a> ChangeRecord<'a> {
    pub fn decode(payload: &'a [u8]) -> Result<ChangeRecord<'a>, BytesError> {
        let mut cursor = Cursor::new(payload);
        match cursor.byte()? {
            FORMAT => {}
            other => return Err(BytesError::Format(other)),
        }
        let named = usize::from(cursor.byte()?);
        cursor.take(if named == 0 { 0 } else { 8 * named + 4 })?;
        let (_origin, _origin_lsn, _time) = (cursor.u64()?, cursor.u64()?, cursor.time()?);
        let mut blobs = Vec::new();
        for _ in 0..cursor.varint()? {
            blobs.push(cursor.bytes()?);
        }
        let count = cursor.small("number of sections")?;
        if count > SECTIONS_MAX {
            return Err(BytesError::Range("number of sections"));
        }
        Ok(ChangeRecord { blobs, sections: cursor, count })
    }

    /// All sections in order of DBIID.
    pub fn sections(&self) -> Result<Vec<Section<'a>>, BytesError> {
        let mut cursor = self.sections.clone();
        let sections: Result<Vec<_>, _> = (0..self.count).map(|_| section(&mut cursor)).collect();
        if cursor.is_empty() { sections } else { Err(BytesError::Range("length of the record")) }
    }

    /// The section of one database.
    pub fn section(&self, dbiid: Dbiid) -> Result<Option<Section<'a>>, BytesError> {
        Ok(self.sections()?.into_iter().find(|section| section.dbiid == dbiid))
    }
}

fn section<'a>(cursor: &mut Cursor<'a>) -> Result<Section<'a>, BytesError> {
    let dbiid = Dbiid(cursor.u64()?);
    let change_seq = cursor.varint()?;
    let mut deltas = Vec::new();
    for _ in 0..cursor.varint()? {
        deltas.push(TicketDelta { hash: cursor.hash()?, count: cursor.signed()? });
    }
    Ok(Section { dbiid, change_seq, deltas, ops: cursor.bytes()? })
}

#[cfg(test)]
mod tests;
