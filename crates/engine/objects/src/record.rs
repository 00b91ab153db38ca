//! Payloads of object records in the log: blocks and ends (`docs/formats/objects.md`).

use note::ObjectHash;
use txlog::Lsn;

use crate::varint;

/// Bytes in front of the data of a block: form, raw length, checksum.
pub(crate) const BLOCK_HEADER_BYTES: usize = 9;
/// Most raw bytes one block may hold.
pub(crate) const BLOCK_RAW_BYTES_MAX: usize = 1 << 20;
/// Most blocks one object may have: 16 GiB in blocks of 64 KiB.
pub(crate) const BLOCKS_MAX: usize = 1 << 18;

const FORM_STORED: u8 = 0x10;
const FORM_ZSTD: u8 = 0x11;
const FORM_END: u8 = 0x10;
const FORM_RELOCATE: u8 = 0x10;

/// How the data of a block stands for its raw bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Stored,
    Zstd,
}

/// A block payload taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    pub packing: Packing,
    pub raw_bytes: u32,
    /// CRC-32 (IEEE) of the raw bytes.
    pub crc: u32,
    pub data: &'a [u8],
}

/// Fills the header of a block payload whose data is already behind it.
pub(crate) fn write_block_header(out: &mut [u8], packing: Packing, raw: &[u8]) {
    out[0] = match packing {
        Packing::Stored => FORM_STORED,
        Packing::Zstd => FORM_ZSTD,
    };
    out[1..5].copy_from_slice(&(raw.len() as u32).to_le_bytes());
    out[5..9].copy_from_slice(&crc32fast::hash(raw).to_le_bytes());
}

pub(crate) fn decode_block(payload: &[u8]) -> Option<Block<'_>> {
    let (header, data) = payload.split_first_chunk::<BLOCK_HEADER_BYTES>()?;
    let packing = match header[0] {
        FORM_STORED => Packing::Stored,
        FORM_ZSTD => Packing::Zstd,
        _ => return None,
    };
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let raw_bytes = number(1);
    let fits = raw_bytes as usize <= BLOCK_RAW_BYTES_MAX
        && (packing == Packing::Zstd || data.len() == raw_bytes as usize);
    fits.then_some(Block { packing, raw_bytes, crc: number(5), data })
}

/// Where one block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockAddress {
    pub lsn: Lsn,
    /// Bytes of content in the block, at least 1.
    pub raw_bytes: u32,
    /// Length of its record payload.
    pub stored_bytes: u32,
}

/// What is known of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub hash: ObjectHash,
    /// Bytes of content.
    pub length: u64,
    /// Its end record, or the relocate record that moved it last; of two objects with one hash the
    /// later one counts.
    pub end_lsn: Lsn,
    pub blocks: Box<[BlockAddress]>,
}

impl Entry {
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.stored_bytes)).sum()
    }
}

/// Count, then per block: LSN (difference to the one before, zigzag), raw bytes, stored bytes.
pub(crate) fn encode_blocks(blocks: &[BlockAddress], out: &mut Vec<u8>) {
    varint::put(out, blocks.len() as u64);
    let mut before = 0_u64;
    for block in blocks {
        varint::put(out, varint::zigzag(block.lsn.0.wrapping_sub(before) as i64));
        varint::put(out, u64::from(block.raw_bytes));
        varint::put(out, u64::from(block.stored_bytes));
        before = block.lsn.0;
    }
}

/// The blocks of an object of `length` bytes; everything in `bytes` must belong to them.
pub(crate) fn decode_blocks(mut bytes: &[u8], length: u64) -> Option<Box<[BlockAddress]>> {
    let count = varint::take(&mut bytes)?;
    if count > (bytes.len() / 3).min(BLOCKS_MAX) as u64 {
        return None;
    }
    let mut blocks = Vec::with_capacity(count as usize);
    let (mut before, mut sum) = (0_u64, 0_u64);
    for _ in 0..count {
        before = before.wrapping_add(varint::unzigzag(varint::take(&mut bytes)?) as u64);
        let raw_bytes = u32::try_from(varint::take(&mut bytes)?).ok()?;
        let stored_bytes = u32::try_from(varint::take(&mut bytes)?).ok()?;
        if raw_bytes == 0 || raw_bytes as usize > BLOCK_RAW_BYTES_MAX {
            return None;
        }
        sum += u64::from(raw_bytes);
        blocks.push(BlockAddress { lsn: Lsn(before), raw_bytes, stored_bytes });
    }
    (bytes.is_empty() && sum == length).then(|| blocks.into_boxed_slice())
}

/// Hash, length, blocks.
fn encode_object(hash: &ObjectHash, length: u64, blocks: &[BlockAddress], out: &mut Vec<u8>) {
    out.extend_from_slice(&hash.0);
    varint::put(out, length);
    encode_blocks(blocks, out);
}

fn decode_object(end_lsn: Lsn, mut bytes: &[u8]) -> Option<Entry> {
    let hash = ObjectHash(varint::take_bytes(&mut bytes, 32)?.try_into().ok()?);
    let length = varint::take(&mut bytes)?;
    let blocks = decode_blocks(bytes, length)?;
    Some(Entry { hash, length, end_lsn, blocks })
}

/// Payload of an end record: form, object.
pub(crate) fn encode_end(hash: &ObjectHash, length: u64, blocks: &[BlockAddress]) -> Vec<u8> {
    let mut out = Vec::with_capacity(48 + blocks.len() * 12);
    out.push(FORM_END);
    encode_object(hash, length, blocks, &mut out);
    out
}

pub(crate) fn decode_end(end_lsn: Lsn, payload: &[u8]) -> Option<Entry> {
    let object = payload.strip_prefix(&[FORM_END])?;
    decode_object(end_lsn, object)
}

/// Payload of a relocate record: form, then per object its length in bytes and the object.
pub(crate) fn encode_relocate(entries: &[Entry]) -> Vec<u8> {
    let mut out = vec![FORM_RELOCATE];
    let mut object = Vec::new();
    for entry in entries {
        object.clear();
        encode_object(&entry.hash, entry.length, &entry.blocks, &mut object);
        varint::put(&mut out, object.len() as u64);
        out.extend_from_slice(&object);
    }
    out
}

pub(crate) fn decode_relocate(lsn: Lsn, payload: &[u8]) -> Option<Vec<Entry>> {
    let mut rest = payload.strip_prefix(&[FORM_RELOCATE])?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let bytes = usize::try_from(varint::take(&mut rest)?).ok()?;
        entries.push(decode_object(lsn, varint::take_bytes(&mut rest, bytes)?)?);
    }
    Some(entries)
}

#[cfg(test)]
mod tests;
