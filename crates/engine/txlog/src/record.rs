//! Records: header layout, checks, reading one record.

use note::Dbiid;

use crate::group::{u32_at, u64_at};
use crate::{DiskFile, LogError, Lsn};

/// Length of a record header.
pub(crate) const RECORD_HEADER_BYTES: usize = 24;
/// Records begin at multiples of this.
const RECORD_ALIGN: u64 = 8;
const CRC_AT: usize = 20;
/// One read of this length serves small records whole.
const FIRST_READ_BYTES: usize = 4096;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// Results of one atomic change to databases.
    Change = 1,
    /// A block of an object.
    ObjectBlock = 2,
    /// The end of an object: hash, length, addresses of its blocks.
    ObjectEnd = 3,
    /// Create, rename, delete, restore of a database.
    Life = 4,
    /// Blocks of objects have moved.
    Relocate = 5,
    /// The register of databases.
    Checkpoint = 6,
}

impl RecordKind {
    fn of(code: u8) -> Option<RecordKind> {
        Some(match code {
            1 => RecordKind::Change,
            2 => RecordKind::ObjectBlock,
            3 => RecordKind::ObjectEnd,
            4 => RecordKind::Life,
            5 => RecordKind::Relocate,
            6 => RecordKind::Checkpoint,
            _ => return None,
        })
    }
}

/// What is known of a record without reading its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where the record begins.
    pub lsn: Lsn,
    /// Where it ends: it is durable when the log is durable up to here.
    pub end: Lsn,
    /// What it says.
    pub kind: RecordKind,
    /// The database it concerns; 0 for none or several.
    pub dbiid: Dbiid,
    /// Length of the payload, in bytes.
    pub length: u32,
}

impl Head {
    /// The payload in the bytes of the record, as [`read_known`] gives them.
    pub fn payload_of<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.get(RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + self.length as usize).unwrap_or(&[])
    }
}

/// Bytes a record with a payload of `length` bytes takes in its group.
pub(crate) fn record_bytes(length: u64) -> u64 {
    (RECORD_HEADER_BYTES as u64 + length).next_multiple_of(RECORD_ALIGN)
}

/// A record on its way into a group: all but its position.
#[derive(Clone, Copy)]
pub(crate) struct Draft<'a> {
    kind: RecordKind,
    dbiid: Dbiid,
    payload: &'a [u8],
    payload_crc: u32,
}

impl<'a> Draft<'a> {
    /// Sums the payload, whose length was checked before.
    pub fn new(kind: RecordKind, dbiid: Dbiid, payload: &'a [u8]) -> Draft<'a> {
        Draft { kind, dbiid, payload, payload_crc: crc32fast::hash(payload) }
    }

    /// Bytes it takes in a group.
    pub fn bytes(&self) -> u64 {
        record_bytes(self.payload.len() as u64)
    }

    /// Appends header, payload and padding to a group's buffer.
    pub fn put(&self, lsn: Lsn, buffer: &mut Vec<u8>) -> Head {
        let length = self.payload.len() as u32;
        let mut header = [0; RECORD_HEADER_BYTES];
        header[0..4].copy_from_slice(&length.to_le_bytes());
        header[4] = self.kind as u8;
        header[8..16].copy_from_slice(&self.dbiid.0.to_le_bytes());
        header[16..20].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = header_crc(lsn, &header);
        header[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        let padded = buffer.len() + self.bytes() as usize;
        buffer.extend_from_slice(&header);
        buffer.extend_from_slice(self.payload);
        buffer.resize(padded, 0);
        let end = Lsn(lsn.0 + self.bytes());
        Head { lsn, end, kind: self.kind, dbiid: self.dbiid, length }
    }
}

/// The sum over a record's position and its header, so that a header is valid in one place only.
fn header_crc(lsn: Lsn, header: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&lsn.0.to_le_bytes());
    hasher.update(&header[..CRC_AT]);
    hasher.finalize()
}

/// The record header in the first bytes of `bytes`, with the sum of the payload; `None` when no
/// valid header for this position is there.
///
/// One flipped bit is mended by the sum: without the header everything behind it in its group is
/// lost too. The payload has a sum of its own, so that a header taken wrongly shows nothing.
pub(crate) fn decode_head(bytes: &[u8], lsn: Lsn) -> Option<(Head, u32)> {
    let mut header: [u8; RECORD_HEADER_BYTES] = *bytes.first_chunk()?;
    decode_exact(&header, lsn).or_else(|| {
        (0..RECORD_HEADER_BYTES * 8).find_map(|bit| {
            header[bit / 8] ^= 1 << (bit % 8);
            let mended = decode_exact(&header, lsn);
            header[bit / 8] ^= 1 << (bit % 8);
            mended
        })
    })
}

fn decode_exact(header: &[u8; RECORD_HEADER_BYTES], lsn: Lsn) -> Option<(Head, u32)> {
    if header_crc(lsn, header) != u32_at(header, CRC_AT) || header[5..8] != [0; 3] {
        return None;
    }
    let kind = RecordKind::of(header[4])?;
    let length = u32_at(header, 0);
    let offset_end = u64::from(lsn.offset()) + record_bytes(u64::from(length));
    if offset_end > u64::from(u32::MAX) {
        return None;
    }
    let end = Lsn::new(lsn.segment(), offset_end as u32);
    let head = Head { lsn, end, kind, dbiid: Dbiid(u64_at(header, 8)), length };
    Some((head, u32_at(header, 16)))
}

/// Reads the record at `offset` of a segment file into `out`, checking both of its sums.
///
/// `out` is cleared first and holds the payload afterwards. [`LogError::Damaged`] when no valid
/// record stands there; an error of the disk is [`LogError::Read`].
pub fn read_record(
    file: &dyn DiskFile,
    segment: u32,
    offset: u32,
    out: &mut Vec<u8>,
) -> Result<Head, LogError> {
    let lsn = Lsn::new(segment, offset);
    let failed = |source| LogError::Read { lsn, source };
    out.clear();
    let mut first = [0; FIRST_READ_BYTES];
    let count = file.read_at(&mut first, u64::from(offset)).map_err(failed)?;
    let (head, crc) = decode_head(&first[..count], lsn).ok_or(LogError::Damaged { lsn })?;
    let length = head.length as usize;
    let here = &first[RECORD_HEADER_BYTES..count];
    out.extend_from_slice(&here[..here.len().min(length)]);
    let have = out.len();
    if have < length {
        let rest_at = u64::from(offset) + (RECORD_HEADER_BYTES + have) as u64;
        if file.len().map_err(failed)? < rest_at + (length - have) as u64 {
            return Err(LogError::Damaged { lsn });
        }
        out.resize(length, 0);
        file.read_at(&mut out[have..], rest_at).map_err(failed)?;
    }
    if crc32fast::hash(out) == crc { Ok(head) } else { Err(LogError::Damaged { lsn }) }
}

/// Reads the record at `lsn` of a segment file, whose payload is known to have `length` bytes, with
/// one read into the first bytes of `record`, checking both of its sums.
///
/// `record` grows where that is needed and is never cut, so that it can be used again; see
/// [`Head::payload_of`]. [`LogError::Damaged`] when no valid record of that length stands there; an
/// error of the disk is [`LogError::Read`].
pub fn read_known(
    file: &dyn DiskFile,
    lsn: Lsn,
    length: u32,
    record: &mut Vec<u8>,
) -> Result<Head, LogError> {
    let bytes = RECORD_HEADER_BYTES + length as usize;
    if record.len() < bytes {
        record.resize(bytes, 0);
    }
    let count = file
        .read_at(&mut record[..bytes], u64::from(lsn.offset()))
        .map_err(|source| LogError::Read { lsn, source })?;
    let (head, crc) = decode_head(&record[..count], lsn)
        .filter(|(head, _)| head.length == length && count == bytes)
        .ok_or(LogError::Damaged { lsn })?;
    let is_sound = crc32fast::hash(head.payload_of(record)) == crc;
    if is_sound { Ok(head) } else { Err(LogError::Damaged { lsn }) }
}

#[cfg(test)]
mod tests;
