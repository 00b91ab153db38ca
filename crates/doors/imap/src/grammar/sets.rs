//! Sequence sets (RFC 3501 §9 `sequence-set`) and what they select in a list of messages.

use mailfile::UidList;

use super::{Bad, Cursor, Parse};

/// Members of one set at most.
const MEMBERS_MAX: usize = 20_000;

/// Stands for `*`, since no message has number 0.
const STAR: u32 = 0;

/// A set as it was written: ranges of numbers, `*` among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceSet {
    ranges: Vec<(u32, u32)>,
    /// `$`: what the last search saved (RFC 5182).
    pub is_saved: bool,
}

/// Messages of a list: positions as ascending half-open ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    ranges: Vec<(u32, u32)>,
}

impl SequenceSet {
    /// Whether a set may begin with this byte.
    pub(crate) fn may_begin(byte: u8) -> bool {
        byte.is_ascii_digit() || byte == b'*' || byte == b'$'
    }

    /// Parses `sequence-set`.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Parse<SequenceSet> {
        let mut ranges = Vec::new();
        if cursor.eat(b'$') {
            return Ok(SequenceSet { ranges, is_saved: true });
        }
        loop {
            let from = member(cursor)?;
            let to = if cursor.eat(b':') { member(cursor)? } else { from };
            ranges.push((from, to));
            if ranges.len() > MEMBERS_MAX {
                return Err(Bad("the set has too many members"));
            }
            if !cursor.eat(b',') {
                return Ok(SequenceSet { ranges, is_saved: false });
            }
        }
    }

    /// The ranges with `*` replaced by `last`, each in order.
    fn bounds(&self, last: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let real = move |number: u32| if number == STAR { last } else { number };
        self.ranges
            .iter()
            .map(move |(from, to)| (real(*from), real(*to)))
            .map(|(a, b)| if a <= b { (a, b) } else { (b, a) })
    }

    /// The uids that the set names, as ascending ranges; `last` stands for `*`.
    pub(crate) fn uids(&self, last: u32) -> Vec<(u32, u32)> {
        let half_open = self.bounds(last).map(|(from, to)| (from, to.saturating_add(1)));
        let merged = Selection::of(half_open.collect());
        merged.ranges.into_iter().map(|(from, past)| (from, past - 1)).collect()
    }

    /// What the set selects when its members are sequence numbers. Numbers past the end select
    /// nothing: a client may act on an EXISTS that is out of date.
    pub(crate) fn by_sequence(&self, list: &UidList) -> Selection {
        let len = list.len();
        let ranges = self.bounds(len).filter(|(_, to)| *to > 0);
        Selection::of(ranges.map(|(from, to)| (from.max(1) - 1, to.min(len))).collect())
    }

    /// What the set selects when its members are uids.
    pub(crate) fn by_uid(&self, list: &UidList) -> Selection {
        let ranges: Vec<(u32, u32)> = self.bounds(list.last()).collect();
        Selection::of_uids(list, &ranges)
    }
}

fn member(cursor: &mut Cursor<'_>) -> Parse<u32> {
    if cursor.eat(b'*') { Ok(STAR) } else { cursor.nz_number() }
}

impl Selection {
    fn of(mut ranges: Vec<(u32, u32)>) -> Selection {
        ranges.retain(|(start, end)| start < end);
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match merged.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => merged.push((start, end)),
            }
        }
        Selection { ranges: merged }
    }

    /// What lies in these ranges of uids (ascending, both ends included).
    pub(crate) fn of_uids(list: &UidList, ranges: &[(u32, u32)]) -> Selection {
        let end = |to: u32| to.checked_add(1).map_or(list.len(), |past| list.lower_bound(past));
        let bounds = ranges.iter().map(|(from, to)| (list.lower_bound(*from), end(*to)));
        Selection::of(bounds.collect())
    }

    /// Whether nothing is selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of messages selected.
    pub(crate) fn len(&self) -> u32 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// Takes the first messages out, at most `count`: their positions as one range. `None` at
    /// the end.
    pub(crate) fn take(&mut self, count: u32) -> Option<(u32, u32)> {
        let first = self.ranges.first_mut()?;
        let (start, end) = *first;
        let stop = end.min(start.saturating_add(count.max(1)));
        first.0 = stop;
        if stop == end {
            self.ranges.remove(0);
        }
        Some((start, stop))
    }

    /// The uids selected in `list`, as (first, last) pairs of neighbours.
    pub(crate) fn uid_ranges(&self, list: &UidList) -> Vec<(u32, u32)> {
        let pair = |(start, end): &(u32, u32)| Some((list.get(*start)?, list.get(end - 1)?));
        self.ranges.iter().filter_map(pair).collect()
    }

    /// The uids selected in `list`.
    pub(crate) fn uids(&self, list: &UidList) -> Vec<u32> {
        self.ranges.iter().flat_map(|(start, end)| list.slice(*start..*end)).collect()
    }
}

#[cfg(test)]
mod tests;
