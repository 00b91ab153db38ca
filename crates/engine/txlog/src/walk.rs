//! Walking through a segment file: its groups, and the records in a group.

use std::io;

use crate::group::{GROUP_ALIGN, GROUP_HEADER_BYTES, GroupHeader, align};
use crate::record::{RECORD_HEADER_BYTES, decode_head};
use crate::{DiskFile, Head, Lsn};

/// Read ahead when single groups are looked at.
const GROUP_CHUNK_BYTES: usize = 4096;
/// Read ahead when records are walked.
const RECORD_CHUNK_BYTES: usize = 32 << 10;
/// Read ahead when a stretch is searched for groups.
const SEARCH_CHUNK_BYTES: usize = 256 << 10;

/// A segment file seen through a buffer.
pub(crate) struct Walk<'a> {
    file: &'a dyn DiskFile,
    segment: u32,
    salt: u64,
    /// Groups end at or before this offset.
    limit: u64,
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> Walk<'a> {
    /// Walks groups of `segment` that end at or before the offset `limit`.
    pub fn new(file: &'a dyn DiskFile, segment: u32, salt: u64, limit: u64) -> Walk<'a> {
        Walk { file, segment, salt, limit, buffer: Vec::new(), start: 0 }
    }

    /// Bytes from `offset` on, at least `length` of them unless the file ends.
    fn bytes(&mut self, offset: u64, length: usize, chunk: usize) -> io::Result<&[u8]> {
        let have_end = self.start + self.buffer.len() as u64;
        if offset < self.start || offset + length as u64 > have_end {
            self.buffer.resize(chunk.max(length), 0);
            self.start = offset;
            match self.file.read_at(&mut self.buffer, offset) {
                Ok(count) => self.buffer.truncate(count),
                Err(error) => {
                    self.buffer.clear();
                    return Err(error);
                }
            }
        }
        Ok(&self.buffer[(offset - self.start) as usize..])
    }

    /// The group that begins at `offset`, if a valid header is there.
    fn group_at(&mut self, offset: u64, chunk: usize) -> io::Result<Option<GroupHeader>> {
        let (segment, salt, limit) = (self.segment, self.salt, self.limit);
        if offset + GROUP_HEADER_BYTES as u64 > limit {
            return Ok(None);
        }
        let bytes = self.bytes(offset, GROUP_HEADER_BYTES, chunk)?;
        Ok(GroupHeader::decode(bytes).filter(|group| {
            group.segment == segment
                && group.salt == salt
                && u64::from(group.start().offset()) == offset
                && offset + u64::from(group.length) <= limit
        }))
    }

    /// The first group at `offset` or behind it.
    pub fn find_group(&mut self, offset: u64) -> io::Result<Option<GroupHeader>> {
        let mut at = align(offset);
        if let Some(group) = self.group_at(at, GROUP_CHUNK_BYTES)? {
            return Ok(Some(group));
        }
        at += u64::from(GROUP_ALIGN);
        while at + GROUP_HEADER_BYTES as u64 <= self.limit {
            if let Some(group) = self.group_at(at, SEARCH_CHUNK_BYTES)? {
                return Ok(Some(group));
            }
            at += u64::from(GROUP_ALIGN);
        }
        Ok(None)
    }

    /// The record at `lsn`, with the sum of its payload, if a valid header is there and the record
    /// ends at or before `end`.
    pub fn record_at(&mut self, lsn: Lsn, end: Lsn) -> io::Result<Option<(Head, u32)>> {
        let offset = u64::from(lsn.offset());
        let left = end.0.saturating_sub(lsn.0) as usize;
        let bytes = self.bytes(offset, RECORD_HEADER_BYTES, left.min(RECORD_CHUNK_BYTES))?;
        Ok(decode_head(bytes, lsn).filter(|(head, _)| head.end <= end))
    }

    /// The payload of a record, unchecked; shorter when the file ends.
    pub fn payload(&mut self, head: &Head) -> io::Result<&[u8]> {
        let offset = u64::from(head.lsn.offset()) + RECORD_HEADER_BYTES as u64;
        let length = head.length as usize;
        let bytes = self.bytes(offset, length, length)?;
        Ok(&bytes[..length.min(bytes.len())])
    }

    /// Walks the record headers of a group; gives the position where they cease to be valid.
    pub fn check_headers(&mut self, group: &GroupHeader) -> io::Result<Result<(), Lsn>> {
        let mut lsn = group.first;
        for _ in 0..group.records {
            match self.record_at(lsn, group.end())? {
                Some((head, _)) => lsn = head.end,
                None => return Ok(Err(lsn)),
            }
        }
        Ok(if lsn == group.end() { Ok(()) } else { Err(lsn) })
    }

    /// Are all records of a group whole, payloads too?
    pub fn is_whole(&mut self, group: &GroupHeader) -> io::Result<bool> {
        let mut lsn = group.first;
        for _ in 0..group.records {
            let Some((head, crc)) = self.record_at(lsn, group.end())? else { return Ok(false) };
            let payload = self.payload(&head)?;
            if payload.len() != head.length as usize || crc32fast::hash(payload) != crc {
                return Ok(false);
            }
            lsn = head.end;
        }
        Ok(lsn == group.end())
    }
}
