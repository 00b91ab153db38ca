//! Counts of references per database, kept sorted by DBIID and without zeros.

use note::Dbiid;
use note::bytes::{Cursor, put_signed};

/// References to one object, per database; may be negative while only a part is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(Vec<(Dbiid, i64)>);

impl Counts {
    pub(crate) fn get(&self, dbiid: Dbiid) -> i64 {
        self.0.binary_search_by_key(&dbiid, |c| c.0).map_or(0, |at| self.0[at].1)
    }

    pub(crate) fn add(&mut self, dbiid: Dbiid, count: i64) {
        if count == 0 {
            return;
        }
        match self.0.binary_search_by_key(&dbiid, |c| c.0) {
            Err(at) => self.0.insert(at, (dbiid, count)),
            Ok(at) => {
                self.0[at].1 = self.0[at].1.saturating_add(count);
                if self.0[at].1 == 0 {
                    self.0.remove(at);
                }
            }
        }
    }

    pub(crate) fn add_all(&mut self, other: &Counts) {
        for &(dbiid, count) in &other.0 {
            self.add(dbiid, count);
        }
    }

    /// Drops the counts of the databases that `gone` names; true when there were any.
    pub(crate) fn drop_gone(&mut self, gone: impl Fn(Dbiid) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|c| !gone(c.0));
        self.0.len() != before
    }

    pub(crate) fn total(&self) -> i64 {
        self.0.iter().fold(0, |sum: i64, c| sum.saturating_add(c.1))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Dbiid, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Per database: DBIID (8 bytes, little-endian), count (zigzag varint).
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() * 9);
        for &(dbiid, count) in &self.0 {
            out.extend_from_slice(&dbiid.0.to_le_bytes());
            put_signed(&mut out, count);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Counts> {
        let mut counts = Vec::with_capacity(bytes.len() / 9);
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            counts.push((Dbiid(cursor.u64().ok()?), cursor.signed().ok()?));
        }
        let sorted = counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        sorted.then_some(Counts(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_vanish_and_order_holds() {
        let mut counts = Counts::default();
        for (dbiid, count) in [(9, 2), (3, 1), (5, -1), (9, -2), (5, 1), (4, 7)] {
            counts.add(Dbiid(dbiid), count);
        }
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(Dbiid(3), 1), (Dbiid(4), 7)]);
        assert_eq!((counts.get(Dbiid(4)), counts.get(Dbiid(9)), counts.total()), (7, 0, 8));
        assert!(counts.drop_gone(|d| d == Dbiid(4)));
        assert!(!counts.drop_gone(|d| d == Dbiid(4)));
        assert_eq!(counts.total(), 1);
    }

    #[test]
    fn bytes_come_back_and_broken_ones_are_refused() {
        let mut counts = Counts::default();
        counts.add(Dbiid(u64::MAX), -3);
        counts.add(Dbiid(1), 300);
        let bytes = counts.encode();
        assert_eq!(Counts::decode(&bytes), Some(counts));
        assert_eq!(Counts::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Counts::decode(&bytes[..bytes.len() - 4]), None);
        let twice = [&bytes[..], &bytes[..]].concat();
        assert_eq!(Counts::decode(&twice), None);
    }
}
