//! Reading content by range, from the log or from adopted segments.

use std::io::ErrorKind;
use std::ops::Range;

use note::Ticket;
use txlog::{DiskFile, Head, LogError, Lsn, RecordKind, read_record};

use crate::record::Entry;
use crate::{Objects, ObjectsError, squeeze};

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

    /// Appends a part of one block to `out`; the whole block is checked.
    pub(crate) fn read_block(
        &self,
        entry: &Entry,
        index: usize,
        part: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), ObjectsError> {
        let length = entry.blocks[index].raw_bytes as usize;
        let payload = self.load_block(entry, index)?;
        let before = out.len();
        let unpacked = if part == (0..length) {
            out.resize(before + length, 0);
            squeeze::unpack(&payload, &mut out[before..]).inspect_err(|_| out.truncate(before))
        } else {
            squeeze::with_scratch(length, |raw| {
                squeeze::unpack(&payload, raw).map(|()| out.extend_from_slice(&raw[part]))
            })
        };
        unpacked.map_err(|error| self.damage(entry, index, error.to_string()))
    }

    /// The payload of a block's record; the record's checksum is checked.
    pub(crate) fn load_block(&self, entry: &Entry, index: usize) -> Result<Vec<u8>, ObjectsError> {
        let block = entry.blocks[index];
        let (head, payload) =
            self.load_record(block.lsn).map_err(|error| self.block_error(entry, index, error))?;
        if head.kind != RecordKind::ObjectBlock || payload.len() != block.stored_bytes as usize {
            return Err(self.damage(entry, index, "another record stands there".into()));
        }
        Ok(payload)
    }

    fn load_record(&self, lsn: Lsn) -> Result<(Head, Vec<u8>), LogError> {
        let segment = lsn.segment();
        let disk_error =
            |source| LogError::Disk { action: "open", path: self.adopted.path(segment), source };
        if let Some(file) = self.adopted.file(segment).map_err(disk_error)? {
            return load_adopted(&*file, lsn);
        }
        match self.log.read(lsn) {
            // it may have been adopted this moment
            Err(error) => match self.adopted.notice(segment).map_err(disk_error)? {
                Some(file) => load_adopted(&*file, lsn),
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

fn load_adopted(file: &dyn DiskFile, lsn: Lsn) -> Result<(Head, Vec<u8>), LogError> {
    let mut payload = Vec::new();
    let head = read_record(file, lsn.segment(), lsn.offset(), &mut payload)?;
    Ok((head, payload))
}
