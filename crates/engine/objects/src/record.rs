//! Payloads of object records in the log: blocks and ends (`docs/formats/objects.md`).

use note::ObjectHash;
use note::bytes::{BytesError, Cursor, put_bytes, put_signed, put_varint};
use txlog::Lsn;

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
    put_varint(out, blocks.len() as u64);
    let mut before = 0_u64;
    for block in blocks {
        put_signed(out, block.lsn.0.wrapping_sub(before) as i64);
        put_varint(out, u64::from(block.raw_bytes));
        put_varint(out, u64::from(block.stored_bytes));
        before = block.lsn.0;
    }
}

/// The blocks of an object of `length` bytes; everything in `bytes` must belong to them.
pub(crate) fn decode_blocks(bytes: &[u8], length: u64) -> Option<Box<[BlockAddress]>> {
    read_blocks(&mut Cursor::new(bytes), length).ok()
}

/// Reads to the end.
fn read_blocks(cursor: &mut Cursor<'_>, length: u64) -> Result<Box<[BlockAddress]>, BytesError> {
    let count = cursor.count(3)?;
    if count > BLOCKS_MAX {
        return Err(BytesError::Range("number of blocks"));
    }
    let mut blocks = Vec::with_capacity(count);
    let (mut before, mut sum) = (0_u64, 0_u64);
    for _ in 0..count {
        before = before.wrapping_add(cursor.signed()? as u64);
        let raw_bytes: u32 = cursor.small("length of a block")?;
        let stored_bytes = cursor.small("length of a block")?;
        if raw_bytes == 0 || raw_bytes as usize > BLOCK_RAW_BYTES_MAX {
            return Err(BytesError::Range("length of a block"));
        }
        sum += u64::from(raw_bytes);
        blocks.push(BlockAddress { lsn: Lsn(before), raw_bytes, stored_bytes });
    }
    if cursor.is_empty() && sum == length {
        Ok(blocks.into_boxed_slice())
    } else {
        Err(BytesError::Range("length of an object"))
    }
}

/// Hash, length, blocks.
fn encode_object(hash: &ObjectHash, length: u64, blocks: &[BlockAddress], out: &mut Vec<u8>) {
    out.extend_from_slice(&hash.0);
    put_varint(out, length);
    encode_blocks(blocks, out);
}

fn decode_object(end_lsn: Lsn, bytes: &[u8]) -> Result<Entry, BytesError> {
    let mut cursor = Cursor::new(bytes);
    let (hash, length) = (cursor.hash()?, cursor.varint()?);
    let blocks = read_blocks(&mut cursor, length)?;
    Ok(Entry { hash, length, end_lsn, blocks })
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
    decode_object(end_lsn, object).ok()
}

/// Payload of a relocate record: form, then per object its length in bytes and the object.
pub(crate) fn encode_relocate(entries: &[Entry]) -> Vec<u8> {
    let mut out = vec![FORM_RELOCATE];
    let mut object = Vec::new();
    for entry in entries {
        object.clear();
        encode_object(&entry.hash, entry.length, &entry.blocks, &mut object);
        put_bytes(&mut out, &object);
    }
    out
}

pub(crate) fn decode_relocate(lsn: Lsn, payload: &[u8]) -> Option<Vec<Entry>> {
    let mut cursor = Cursor::new(payload.strip_prefix(&[FORM_RELOCATE])?);
    let mut entries = Vec::new();
    while !cursor.is_empty() {
        entries.push(decode_object(lsn, cursor.bytes().ok()?).ok()?);
    }
    Some(entries)
}

#[cfg(test)]
mod tests;
