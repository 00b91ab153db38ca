//! Documents in memory: those used lately, up to a number of bytes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use note::Unid;
use parking_lot::Mutex;

use crate::document::Document;

/// The documents used lately, by local id. Two generations: what is found in the older one comes
/// into the younger, and when that is full it becomes the older one.
#[derive(Default)]
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    bytes_max: AtomicUsize,
    peak: AtomicU64,
    pub counts: Counts,
}

/// What the cache was asked and answered, since the start.
#[derive(Default)]
pub(crate) struct Counts {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub resets: AtomicU64,
}

#[derive(Default)]
struct Generations {
    young: HashMap<u32, Arc<Document>>,
    old: HashMap<u32, Arc<Document>>,
    young_bytes: usize,
    old_bytes: usize,
}

impl Cache {
    pub(crate) fn new(bytes_max: usize) -> Cache {
        Cache { bytes_max: AtomicUsize::new(bytes_max), ..Cache::default() }
    }

    /// Sets the bound; what is in the cache is forgotten when it shrinks.
    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        if self.bytes_max.swap(bytes_max, Ordering::Relaxed) > bytes_max {
            self.clear();
        }
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, id: u32) -> Option<Arc<Document>> {
        let found = self.generations.lock().get(id, self.bytes_max());
        let count = if found.is_some() { &self.counts.hits } else { &self.counts.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a document, unless it alone is more than half of everything.
    pub(crate) fn put(&self, id: u32, document: Arc<Document>) {
        let bytes_max = self.bytes_max();
        if document.bytes > bytes_max / 2 {
            return;
        }
        let mut generations = self.generations.lock();
        generations.remove(id);
        generations.add(id, document, bytes_max);
        self.peak.fetch_max(generations.bytes() as u64, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, id: u32) {
        self.generations.lock().remove(id);
    }

    /// Forgets documents that are gone.
    pub(crate) fn remove_unids(&self, gone: &HashSet<Unid>) {
        let mut generations = self.generations.lock();
        let Generations { young, old, .. } = &*generations;
        let meant = young.iter().chain(old).filter(|(_, document)| gone.contains(&document.unid));
        let ids: Vec<u32> = meant.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| generations.remove(id));
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.generations.lock() = Generations::default();
        self.counts.resets.fetch_add(1, Ordering::Relaxed);
    }

    /// Documents, their bytes, and the most bytes there ever were.
    pub(crate) fn size(&self) -> (usize, u64, u64) {
        let generations = self.generations.lock();
        let count = generations.young.len() + generations.old.len();
        (count, generations.bytes() as u64, self.peak.load(Ordering::Relaxed))
    }
}

impl Generations {
    fn bytes(&self) -> usize {
        self.young_bytes + self.old_bytes
    }

    fn get(&mut self, id: u32, bytes_max: usize) -> Option<Arc<Document>> {
        if let Some(found) = self.young.get(&id) {
            return Some(found.clone());
        }
        let found = self.old.remove(&id)?;
        self.old_bytes -= found.bytes;
        self.add(id, found.clone(), bytes_max);
        Some(found)
    }

    fn add(&mut self, id: u32, document: Arc<Document>, bytes_max: usize) {
        if self.young_bytes + document.bytes > bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = std::mem::take(&mut self.young_bytes);
        }
        self.young_bytes += document.bytes;
        self.young.insert(id, document);
    }

    fn remove(&mut self, id: u32) {
        if let Some(gone) = self.young.remove(&id) {
            self.young_bytes -= gone.bytes;
        }
        if let Some(gone) = self.old.remove(&id) {
            self.old_bytes -= gone.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Entry, ServerEntry};
    use crate::keys::Keys;

    fn document(bytes: usize) -> Arc<Document> {
        let server = ServerEntry { name: String::new(), administrators: Vec::new() };
        let (unid, keys) = (note::Unid::default(), Keys::default());
        Arc::new(Document { unid, entry: Entry::Server(server), keys, bytes })
    }

    #[test]
    fn what_is_used_stays_and_the_bound_holds() {
        let cache = Cache::new(10_000);
        for id in 0..1_000 {
            cache.put(id, document(100));
            assert!(cache.get(3.min(id)).is_some(), "{id}");
            assert!(cache.size().1 <= 10_000);
        }
        assert!(cache.get(500).is_none() && cache.get(999).is_some());
        cache.remove(3);
        assert!(cache.get(3).is_none());
        cache.put(2_000, document(6_000));
        assert!(cache.get(2_000).is_none(), "too large to be kept");
        let bytes = cache.size().1;
        cache.put(999, document(200));
        assert!(cache.size().1 <= bytes + 100);
        cache.set_bytes_max(5_000);
        assert_eq!(cache.size().0, 0);
        assert_eq!(cache.counts.resets.load(Ordering::Relaxed), 1);
    }
}
