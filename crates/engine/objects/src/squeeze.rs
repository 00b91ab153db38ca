//! Packing and unpacking of blocks, with zstd contexts that each thread keeps.

use std::cell::Cell;
use std::io::{self, Cursor};

use zstd::bulk::{Compressor, Decompressor};

use crate::record::{self, BLOCK_HEADER_BYTES, Packing};

/// A block is stored packed when it loses at least one byte in this many (3 %).
const WORTHWHILE_DIVISOR: usize = 33;
/// Blocks that are stored unpacked, untried, behind one that did not shrink.
const UNTRIED_BLOCKS: u32 = 7;

struct Contexts {
    compressor: Compressor<'static>,
    level: i32,
    decompressor: Decompressor<'static>,
    /// Payload being made; its length is what the largest block so far needed.
    payload: Vec<u8>,
}

thread_local! {
    /// Taken out while in use, so that a nested use makes contexts of its own.
    static CONTEXTS: Cell<Option<Box<Contexts>>> = const { Cell::new(None) };
}

fn with_contexts<T>(f: impl FnOnce(&mut Contexts) -> io::Result<T>) -> io::Result<T> {
    let mut contexts = match CONTEXTS.take() {
        Some(contexts) => contexts,
        None => Box::new(Contexts {
            compressor: Compressor::new(1)?,
            level: 1,
            decompressor: Decompressor::new()?,
            payload: Vec::new(),
        }),
    };
    let result = f(&mut contexts);
    CONTEXTS.set(Some(contexts));
    result
}

impl Contexts {
    fn set_level(&mut self, level: i32) -> io::Result<()> {
        if self.level != level {
            self.compressor.set_compression_level(level)?;
            self.level = level;
        }
        Ok(())
    }

    /// Packs `raw` behind the place of the header; `None` when that is not worth it.
    fn compress(&mut self, raw: &[u8]) -> Option<usize> {
        let room = &mut self.payload[BLOCK_HEADER_BYTES..BLOCK_HEADER_BYTES + raw.len()];
        let limit = raw.len() - raw.len().div_ceil(WORTHWHILE_DIVISOR);
        // a destination shorter than the content makes zstd give up early
        self.compressor.compress_to_buffer(raw, &mut room[..limit]).ok()
    }
}

/// Packs the blocks of one content in order.
pub(crate) struct Packer {
    level: i32,
    untried: u32,
}

impl Packer {
    pub(crate) fn new(level: i32) -> Packer {
        Packer { level, untried: 0 }
    }

    /// Makes the payload of one block and hands it to `f`.
    pub(crate) fn pack<T>(&mut self, raw: &[u8], f: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        with_contexts(|contexts| {
            contexts.set_level(self.level)?;
            let needed = BLOCK_HEADER_BYTES + raw.len();
            if contexts.payload.len() < needed {
                contexts.payload.resize(needed, 0);
            }
            let packed = if self.untried > 0 { None } else { contexts.compress(raw) };
            self.untried = match (packed, self.untried) {
                (Some(_), _) => 0,
                (None, 0) => UNTRIED_BLOCKS,
                (None, left) => left - 1,
            };
            let packing = if packed.is_some() { Packing::Zstd } else { Packing::Stored };
            if packed.is_none() {
                contexts.payload[BLOCK_HEADER_BYTES..needed].copy_from_slice(raw);
            }
            let end = BLOCK_HEADER_BYTES + packed.unwrap_or(raw.len());
            record::write_block_header(&mut contexts.payload[..end], packing, raw);
            Ok(f(&contexts.payload[..end]))
        })
    }
}

/// Why a block payload does not give its raw bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnpackError {
    #[error("not a block")]
    Malformed,
    #[error("has another length than its object says")]
    Length,
    #[error("cannot be decompressed")]
    Packing,
    #[error("checksum does not match")]
    Checksum,
}

/// Appends the raw bytes of a block payload, which must be `length`, to `out`. Nothing is appended
/// when it fails.
pub(crate) fn unpack(payload: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), UnpackError> {
    let block = record::decode_block(payload).ok_or(UnpackError::Malformed)?;
    if block.raw_bytes as usize != length {
        return Err(UnpackError::Length);
    }
    let before = out.len();
    out.reserve(length);
    match block.packing {
        Packing::Stored => out.extend_from_slice(block.data),
        Packing::Zstd => {
            let mut end = Cursor::new(&mut *out);
            end.set_position(before as u64);
            let wrote =
                with_contexts(|c| c.decompressor.decompress_to_buffer(block.data, &mut end));
            if !wrote.is_ok_and(|bytes| bytes == length) {
                out.truncate(before);
                return Err(UnpackError::Packing);
            }
        }
    }
    if crc32fast::hash(&out[before..]) == block.crc {
        return Ok(());
    }
    out.truncate(before);
    Err(UnpackError::Checksum)
}

#[cfg(test)]
mod tests;
