//! Storing content.

use std::sync::Arc;

use note::{Dbiid, ObjectHash, Ticket};
use txlog::{Lsn, RecordKind, Space};

use crate::desk::{Desk, with_desk};
use crate::record::{self, BLOCKS_MAX, BlockAddress, Entry};
use crate::squeeze::Packer;
use crate::{Objects, ObjectsError, Pin, SHARING_OFF_BYTES};

/// How long a comparison of the stored blocks with the content is trusted, in microseconds.
const VERIFIED_MICROS: i64 = 3_600 * 1_000_000;
/// Most objects that are remembered as compared.
const VERIFIED_MAX: usize = 65_536;

/// Holds the segments that a content is being written to.
pub(crate) struct OpenPut<'a> {
    objects: &'a Objects,
    from: Lsn,
}

impl<'a> OpenPut<'a> {
    pub(crate) fn begin(objects: &'a Objects) -> Self {
        let from = objects.log.appended();
        objects.state.lock().open_puts.begin(from);
        OpenPut { objects, from }
    }
}

impl Drop for OpenPut<'_> {
    fn drop(&mut self) {
        self.objects.state.lock().open_puts.end(self.from);
    }
}

impl Objects {
    /// Stores content, or finds it when it is already there: large content is looked up, small is
    /// found when it came since the last checkpoint, as the copy of a message that was just sent.
    /// Then the stored blocks are read and their sums compared with its own, unless this process
    /// did so within the hour, and it is written anew when they are damaged.
    ///
    /// The object is durable when the log is durable up to any record appended afterwards. Hold the
    /// pin until the record that refers to it is appended and counted.
    ///
    /// # Errors
    /// `Full` when the log takes no more; `Append` when it has stopped or the disk is full;
    /// `TooLong` when the content has more than 2^18 blocks.
    pub fn put(&self, content: &[u8]) -> Result<Pin, ObjectsError> {
        let length = content.len() as u64;
        let hash = ObjectHash(*blake3::hash(content).as_bytes());
        let pin = self.pins.pin(Ticket { hash, length });
        if !self.may_be_stored(&hash, length) || !self.is_stored(&hash, content) {
            self.write(hash, content)?;
        }
        Ok(pin)
    }

    /// Whether content is worth a look-up, or known without one.
    fn may_be_stored(&self, hash: &ObjectHash, length: u64) -> bool {
        let min = self.options.dedupe_bytes_min;
        length >= min || (min < SHARING_OFF_BYTES && self.unsaved_entry(hash).is_some())
    }

    /// True when the content is there, soundly.
    fn is_stored(&self, hash: &ObjectHash, content: &[u8]) -> bool {
        let outcome = loop {
            match self.entry_inside(hash) {
                Ok(None) => return false,
                Ok(Some(_)) if self.was_verified(hash) => return true,
                Ok(Some(entry)) => match self.compare(&entry, content) {
                    // it has moved meanwhile, and its old place been given up
                    Err(ObjectsError::Damage { .. }) if self.is_superseded(&entry) => {}
                    outcome => break outcome,
                },
                Err(error) => break Err(error),
            }
        };
        match outcome {
            Ok(()) => self.set_verified(*hash),
            Err(error) => {
                self.verified.lock().remove(hash);
                tracing::error!(%hash, %error, "stored object is not shared but written anew");
                return false;
            }
        }
        true
    }

    /// What is known of a pinned object. Inside the gate, so that no pruning is half-way.
    fn entry_inside(&self, hash: &ObjectHash) -> Result<Option<Arc<Entry>>, ObjectsError> {
        let _entered = self.enter();
        self.entry(hash)
    }

    /// Keeps an object from being pruned; `None` when there is none with this hash and length.
    ///
    /// For tickets that are passed on although the note they were read from may be gone by then:
    /// hold the pin until the record that refers to the object is appended and counted.
    ///
    /// # Errors
    /// `Catalog` when SQLite fails, `Malformed` when the row is damaged.
    pub fn pin(&self, ticket: &Ticket) -> Result<Option<Pin>, ObjectsError> {
        let pin = self.pins.pin(*ticket);
        let known = self.entry_inside(&ticket.hash)?;
        Ok(known.filter(|entry| entry.length == ticket.length).map(|_| pin))
    }

    /// Whether the stored blocks are sound, and their sums those of the content.
    fn compare(&self, entry: &Entry, content: &[u8]) -> Result<(), ObjectsError> {
        let mut rest = content;
        for (index, block) in entry.blocks.iter().enumerate() {
            let raw = rest.split_off(..block.raw_bytes as usize);
            if !with_desk(|desk| self.is_equal(entry, index, raw, desk))? {
                let reason = "content differs from what has its hash";
                return Err(self.damage(entry, index, reason.into()));
            }
        }
        Ok(())
    }

    fn is_equal(
        &self,
        entry: &Entry,
        index: usize,
        raw: Option<&[u8]>,
        desk: &mut Desk,
    ) -> Result<bool, ObjectsError> {
        let block = record::decode_block(self.load_block(entry, index, &mut desk.record)?);
        Ok(block.zip(raw).is_some_and(|(block, raw)| {
            block.raw_bytes as usize == raw.len() && block.crc == crc32fast::hash(raw)
        }))
    }

    fn was_verified(&self, hash: &ObjectHash) -> bool {
        let now = self.clock.now().0;
        let verified = self.verified.lock();
        verified.get(hash).is_some_and(|at| (0..VERIFIED_MICROS).contains(&(now - at.0)))
    }

    fn set_verified(&self, hash: ObjectHash) {
        let now = self.clock.now();
        let mut verified = self.verified.lock();
        if verified.len() >= VERIFIED_MAX {
            verified.retain(|_, at| now.0 - at.0 < VERIFIED_MICROS);
        }
        if verified.len() >= VERIFIED_MAX {
            verified.clear();
        }
        verified.insert(hash, now);
    }

    /// Appends blocks and end record.
    fn write(&self, hash: ObjectHash, content: &[u8]) -> Result<(), ObjectsError> {
        let length = content.len() as u64;
        if content.len().div_ceil(self.options.block_bytes) > BLOCKS_MAX {
            return Err(ObjectsError::TooLong { length });
        }
        let _open = OpenPut::begin(self);
        let blocks = self.write_blocks(content)?;
        let payload = record::encode_end(&hash, length, &blocks);
        let _entered = self.enter();
        let head =
            self.log.append(RecordKind::ObjectEnd, Dbiid::NONE, &payload, Space::Ordinary)?;
        self.learn(Arc::new(Entry { hash, length, end_lsn: head.lsn, blocks }));
        Ok(())
    }

    fn write_blocks(&self, content: &[u8]) -> Result<Box<[BlockAddress]>, ObjectsError> {
        let mut packer = Packer::new(self.options.level);
        let append = |raw: &[u8]| -> Result<BlockAddress, ObjectsError> {
            let head = packer.pack(raw, |payload| {
                self.log.append(RecordKind::ObjectBlock, Dbiid::NONE, payload, Space::Ordinary)
            })??;
            let raw_bytes = raw.len() as u32;
            Ok(BlockAddress { lsn: head.lsn, raw_bytes, stored_bytes: head.length })
        };
        content.chunks(self.options.block_bytes).map(append).collect()
    }
}
