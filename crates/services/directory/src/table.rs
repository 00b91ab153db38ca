//! Which documents a key may lead to: fingerprints of keys, without the keys.
//!
//! About ten bytes for each name or address of the whole directory. An answer is a guess: the
//! document is opened and asked. Keys that a document had before stay until the table is made anew.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use crate::keys::{Keys, Kind};

/// Fingerprints are random already; this spreads them over the bits that the map looks at.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, fingerprint: u32) {
        let mixed = (self.0 ^ u64::from(fingerprint)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

type ByFingerprint<T> = HashMap<u32, T, BuildHasherDefault<Spread>>;

/// Fingerprints and the local ids of the notes that have them.
#[derive(Default)]
pub(crate) struct Table {
    /// Seeds the fingerprints, so that nobody outside can make them meet.
    seed: RandomState,
    first: ByFingerprint<u32>,
    /// Further notes with the same fingerprint.
    more: ByFingerprint<Vec<u32>>,
    /// The highest id put in: what is not above it may have been here before.
    highest: u32,
    /// Documents put in for the first time.
    documents: usize,
    /// Documents that came again or were deleted since the table was made.
    outdated: usize,
}

impl Table {
    fn fingerprint(&self, kind: Kind, key: &str) -> u32 {
        self.seed.hash_one((kind, key)) as u32
    }

    /// Puts a document in, again or for the first time.
    pub(crate) fn put(&mut self, id: u32, keys: &Keys) {
        let is_new = id > self.highest;
        self.documents += usize::from(is_new);
        self.outdated += usize::from(!is_new);
        self.highest = self.highest.max(id);
        for (kind, key) in keys.all() {
            let fingerprint = self.fingerprint(kind, key);
            let first = *self.first.entry(fingerprint).or_insert(id);
            if first != id {
                let more = self.more.entry(fingerprint).or_default();
                if !more.contains(&id) {
                    more.push(id);
                }
            }
        }
    }

    /// All documents have been put in once, in whatever order.
    pub(crate) fn begin(&mut self) {
        self.documents += std::mem::take(&mut self.outdated);
    }

    /// Documents, those that were deleted since among them.
    pub(crate) fn documents(&self) -> usize {
        self.documents
    }

    /// A document was deleted.
    pub(crate) fn forget_one(&mut self) {
        self.outdated += 1;
    }

    /// Notes that may have the key.
    pub(crate) fn candidates(&self, kind: Kind, key: &str) -> impl Iterator<Item = u32> + '_ {
        let fingerprint = self.fingerprint(kind, key);
        let more = self.more.get(&fingerprint).into_iter().flatten().copied();
        self.first.get(&fingerprint).copied().into_iter().chain(more)
    }

    /// How many documents left keys behind.
    pub(crate) fn outdated(&self) -> usize {
        self.outdated
    }

    /// Fingerprints in the table.
    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Rank;

    fn keys(name: &str) -> Keys {
        Keys { names: vec![(Rank::Full, name.to_owned())], ..Keys::default() }
    }

    #[test]
    fn a_key_leads_to_all_who_have_it_and_hardly_to_others() {
        let mut table = Table::default();
        for id in 1..=50_000 {
            table.put(id, &keys(&format!("person {id}")));
        }
        for id in [1, 7] {
            table.put(id, &keys("smith"));
        }
        assert_eq!(table.candidates(Kind::Name, "smith").collect::<Vec<_>>(), [1, 7]);
        let own = |id: u32| {
            let key = format!("person {id}");
            table.candidates(Kind::Name, &key).any(|found| found == id)
        };
        assert!((1..=50_000).all(own));
        let strangers = (0..50_000)
            .filter(|n| table.candidates(Kind::Name, &format!("nobody {n}")).count() > 0);
        assert!(strangers.count() < 20, "50,000 * 50,000 / 2^32 is below one");
        assert_eq!(table.candidates(Kind::Address, "smith").count(), 0);
        assert_eq!(table.outdated(), 2);
    }
}
