//! The tail: what the log says of objects and counts that the catalog does not hold yet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use note::{Dbiid, ObjectHash};

use crate::TicketDelta;
use crate::counts::Counts;
use crate::record::Entry;

/// What changed for one hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// The object, when it was written since.
    pub entry: Option<Arc<Entry>>,
    /// Differences to the counts of the catalog.
    pub deltas: Counts,
}

/// Changes since a checkpoint of the catalog.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    pub changes: HashMap<ObjectHash, Change>,
    /// Databases that were deleted: none of their counts holds, before or after.
    pub gone: HashSet<Dbiid>,
    /// Objects that lost their place to a later one with the same hash. Until that one is in the
    /// catalog a crash may bring them back, so their blocks are kept.
    pub displaced: Vec<Arc<Entry>>,
    /// With it all references are counted again.
    pub is_counted: bool,
}

impl Tail {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.gone.is_empty() && !self.is_counted
    }

    pub(crate) fn entry(&self, hash: &ObjectHash) -> Option<Arc<Entry>> {
        self.changes.get(hash)?.entry.clone()
    }

    /// Takes an object; of two with one hash the later stays.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        let change = self.changes.entry(entry.hash).or_default();
        let loser = match &change.entry {
            Some(known) if known.end_lsn >= entry.end_lsn => Some(entry),
            _ => change.entry.replace(entry),
        };
        self.displaced.extend(loser);
    }

    pub(crate) fn count(&mut self, dbiid: Dbiid, deltas: &[TicketDelta]) {
        for delta in deltas {
            self.changes.entry(delta.hash).or_default().deltas.add(dbiid, delta.count);
        }
    }

    /// Takes what came before this tail.
    pub(crate) fn merge_older(&mut self, older: &Tail) {
        for (hash, before) in &older.changes {
            if let Some(entry) = &before.entry {
                self.insert(Arc::clone(entry));
            }
            self.changes.entry(*hash).or_default().deltas.add_all(&before.deltas);
        }
        self.gone.extend(&older.gone);
        self.displaced.extend(older.displaced.iter().cloned());
        self.is_counted |= older.is_counted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txlog::Lsn;

    fn entry(end: u64) -> Arc<Entry> {
        Arc::new(Entry {
            hash: ObjectHash([1; 32]),
            length: 0,
            end_lsn: Lsn(end),
            blocks: Box::default(),
        })
    }

    fn delta(count: i64) -> TicketDelta {
        TicketDelta { hash: ObjectHash([1; 32]), count }
    }

    #[test]
    fn the_later_object_stays_in_any_order() {
        for order in [[1, 2], [2, 1]] {
            let mut tail = Tail::default();
            tail.insert(entry(order[0]));
            assert!(tail.displaced.is_empty());
            tail.insert(entry(order[1]));
            assert_eq!(tail.displaced, [entry(1)]);
            assert_eq!(tail.entry(&ObjectHash([1; 32])), Some(entry(2)));
        }
    }

    #[test]
    fn merging_the_older_tail_adds_up() {
        let (mut older, mut newer) = (Tail::default(), Tail::default());
        older.insert(entry(1));
        older.count(Dbiid(5), &[delta(2), delta(1)]);
        older.gone.insert(Dbiid(9));
        newer.insert(entry(4));
        newer.count(Dbiid(5), &[delta(-3)]);
        newer.count(Dbiid(6), &[delta(1)]);
        older.insert(entry(2));
        newer.merge_older(&older);
        assert_eq!(newer.displaced, [entry(2), entry(1)]);
        let change = &newer.changes[&ObjectHash([1; 32])];
        assert_eq!(change.entry, Some(entry(4)));
        assert_eq!(change.deltas.iter().collect::<Vec<_>>(), [(Dbiid(6), 1)]);
        assert!(newer.gone.contains(&Dbiid(9)));
    }
}
