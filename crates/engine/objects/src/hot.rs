//! Entries that were asked for lately.

use std::collections::HashMap;
use std::sync::Arc;

use note::ObjectHash;

use crate::record::Entry;

/// Blocks of all entries of one generation; small objects have one.
const GENERATION_BLOCKS_MAX: usize = 8_192;

/// Two generations: when the young one is full it becomes the old one, and that is forgotten.
#[derive(Default)]
pub(crate) struct Hot {
    young: HashMap<ObjectHash, Arc<Entry>>,
    old: HashMap<ObjectHash, Arc<Entry>>,
    young_blocks: usize,
    /// Counts removals: what was looked up before one may be out of date.
    epoch: u64,
}

impl Hot {
    pub(crate) fn get(&mut self, hash: &ObjectHash) -> Option<Arc<Entry>> {
        if let Some(entry) = self.young.get(hash) {
            return Some(Arc::clone(entry));
        }
        let entry = self.old.remove(hash)?;
        self.insert(Arc::clone(&entry));
        Some(entry)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes an entry that was looked up when the epoch was `epoch`, unless anything was removed
    /// since.
    pub(crate) fn insert_since(&mut self, epoch: u64, entry: Arc<Entry>) {
        if epoch == self.epoch {
            self.insert(entry);
        }
    }

    fn insert(&mut self, entry: Arc<Entry>) {
        if self.young_blocks >= GENERATION_BLOCKS_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_blocks = 0;
        }
        self.young_blocks += entry.blocks.len().max(1);
        self.young.insert(entry.hash, entry);
    }

    pub(crate) fn remove(&mut self, hash: &ObjectHash) {
        self.epoch += 1;
        self.young.remove(hash);
        self.old.remove(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txlog::Lsn;

    fn entry(number: u32) -> Arc<Entry> {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&number.to_le_bytes());
        let (hash, end_lsn) = (ObjectHash(hash), Lsn(1));
        Arc::new(Entry { hash, length: 0, end_lsn, blocks: Box::default() })
    }

    #[test]
    fn what_is_asked_for_stays_and_the_number_is_bounded() {
        let mut hot = Hot::default();
        for number in 0..50_000 {
            hot.insert(entry(number));
            assert!(hot.get(&entry(0).hash).is_some());
            assert!(hot.young.len() + hot.old.len() <= 2 * GENERATION_BLOCKS_MAX + 2);
        }
        assert!(hot.get(&entry(1).hash).is_none());
        hot.remove(&entry(0).hash);
        assert!(hot.get(&entry(0).hash).is_none());
    }

    #[test]
    fn what_was_looked_up_before_a_removal_is_not_taken() {
        let mut hot = Hot::default();
        let epoch = hot.epoch();
        hot.remove(&entry(7).hash);
        hot.insert_since(epoch, entry(7));
        assert!(hot.get(&entry(7).hash).is_none());
        hot.insert_since(hot.epoch(), entry(7));
        assert!(hot.get(&entry(7).hash).is_some());
    }
}
