//! Reading content by range, from the log or from adopted segments.

use std::io::ErrorKind;
use std::ops::Range;

use note::Ticket;
use txlog::{Head, LogError, Lsn, RecordKind, read_known};

use crate::desk::{Desk, with_desk};
use crate::record::{BLOCK_HEADER_BYTES, BlockAddress, Entry};
use crate::squeeze::{self, UnpackError};
use crate::{Objects, ObjectsError};

impl Objects {
    /// Appends the bytes `range` of an object to `out`; only the blocks concerned are read, and
    /// their checksums are checked. Nothing is appended when it fails.
    ///
    /// # Errors
    /// `Missing` when the object is not known, `Range` when it is not as long as the ticket or the
    /// range says, `Damage` when a block is not what was stored; `Log`, `Catalog` or `Io` when the
    /// disk is in trouble.
    pub fn read(
        &self,
        ticket: &Ticket,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), ObjectsError> {
        let hash = ticket.hash;
        let mut entry = self.entry(&hash)?.ok_or(ObjectsError::Missing { hash })?;
        loop {
            let (start, end, length) = (range.start, range.end, entry.length);
            if length != ticket.length || start > end || end > length {
                return Err(ObjectsError::Range { hash, length, start, end });
            }
            let outcome = self.read_entry(&entry, range.clone(), out);
            let Err(ObjectsError::Damage { .. }) = outcome else { return outcome };
            // it may have moved, or be gone, and its old place been given up, since the look-up
            let now = self.load_entry(&hash)?.ok_or(ObjectsError::Missing { hash })?;
            if now.end_lsn == entry.end_lsn {
                return outcome;
            }
            entry = now;
        }
    }

    /// True when the object has moved, or been pruned, since `entry` was looked up.
    pub(crate) fn is_superseded(&self, entry: &Entry) -> bool {
        let now = self.load_entry(&entry.hash);
        now.is_ok_and(|now| now.is_none_or(|now| now.end_lsn != entry.end_lsn))
    }

    fn read_entry(
        &self,
        entry: &Entry,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), ObjectsError> {
        let before = out.len();
        out.reserve((range.end - range.start) as usize);
        let mut start = 0;
        for (index, block) in entry.blocks.iter().enumerate() {
            let end = start + u64::from(block.raw_bytes);
            let (low, high) = (range.start.max(start), range.end.min(end));
            if low < high {
                let part = (low - start) as usize..(high - start) as usize;
                let read = self.read_block(entry, index, part, out);
                read.inspect_err(|_| out.truncate(before))?;
            }
            if end >= range.end {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// Appends a part of one block to `out`; the whole block is checked, unless it is the one that
    /// this thread checked last.
    pub(crate) fn read_block(
        &self,
        entry: &Entry,
        index: usize,
        part: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), ObjectsError> {
        let length = entry.blocks[index].raw_bytes as usize;
        with_desk(|desk| {
            let wrong = |error: UnpackError| self.damage(entry, index, error.to_string());
            if part == (0..length) {
                let payload = self.load_block(entry, index, &mut desk.record)?;
                return squeeze::unpack(payload, length, out).map_err(wrong);
            }
            let before = entry.blocks[..index].iter().map(|block| u64::from(block.raw_bytes));
            let place = (entry.hash, before.sum());
            if let Some(raw) = desk.raw.get(place, length) {
                out.extend_from_slice(&raw[part]);
                return Ok(());
            }
            let Desk { record, raw } = desk;
            let payload = self.load_block(entry, index, record)?;
            let raw = raw.unpack(place, length, payload).map_err(wrong)?;
            out.extend_from_slice(&raw[part]);
            Ok(())
        })
    }

    /// The payload of a block's record, which is read into `record`; the record's checksum is
    /// checked.
    pub(crate) fn load_block<'a>(
        &self,
        entry: &Entry,
        index: usize,
        record: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], ObjectsError> {
        let BlockAddress { lsn, raw_bytes, stored_bytes } = entry.blocks[index];
        let other = || self.damage(entry, index, "another record stands there".into());
        if stored_bytes as usize > raw_bytes as usize + BLOCK_HEADER_BYTES {
            return Err(other());
        }
        let head = self
            .load_record(lsn, stored_bytes, record)
            .map_err(|error| self.block_error(entry, index, error))?;
        if head.kind != RecordKind::ObjectBlock {
            return Err(other());
        }
        Ok(head.payload_of(record))
    }

    fn load_record(&self, lsn: Lsn, length: u32, record: &mut Vec<u8>) -> Result<Head, LogError> {
        let segment = lsn.segment();
        let disk_error =
            |source| LogError::Disk { action: "open", path: self.adopted.path(segment), source };
        if let Some(file) = self.adopted.file(segment).map_err(disk_error)? {
            return read_known(&*file, lsn, length, record);
        }
        match self.log.read_known(lsn, length, record) {
            // it may have been adopted this moment
            Err(error) => match self.adopted.notice(segment).map_err(disk_error)? {
                Some(file) => read_known(&*file, lsn, length, record),
                None => Err(error),
            },
            read => read,
        }
    }

    pub(crate) fn damage(&self, entry: &Entry, index: usize, reason: String) -> ObjectsError {
        let lsn = entry.blocks[index].lsn;
        ObjectsError::Damage { hash: entry.hash, block: index as u32, lsn, reason }
    }

    /// Tells bytes that are wrong or gone from a disk that is in trouble for now.
    fn block_error(&self, entry: &Entry, index: usize, error: LogError) -> ObjectsError {
        const EIO: i32 = 5;
        let lost = match &error {
            LogError::Disk { source, .. } => {
                matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof)
                    || source.raw_os_error() == Some(EIO)
            }
            LogError::Stopped { .. } => false,
            _ => true,
        };
        if lost { self.damage(entry, index, error.to_string()) } else { ObjectsError::Log(error) }
    }
}
