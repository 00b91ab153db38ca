//! A sorted list of uids that is shared structurally.
//!
//! Sequence numbers are positions in this list. Cloning it costs one reference count; adding or
//! removing uids makes a new list that shares every chunk that did not change, so that a hundred
//! sessions on a folder of 100,000 messages hold one list, and an arrival copies a few kilobytes.

use std::ops::Range;
use std::sync::Arc;

/// Uids of one chunk at most.
const CHUNK: usize = 1024;

/// A sorted, structurally shared list of uids.
#[derive(Clone, Debug, Default)]
pub struct UidList {
    chunks: Arc<Vec<Chunk>>,
}

#[derive(Clone, Debug)]
struct Chunk {
    /// Uids in the chunks before this one.
    before: u32,
    /// Never empty.
    uids: Arc<[u32]>,
}

impl Chunk {
    fn end(&self) -> u32 {
        self.before + self.uids.len() as u32
    }

    fn first(&self) -> u32 {
        self.uids[0]
    }
}

/// What distinguishes a newer list from an older one of the same folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Uids that are gone, ascending.
    pub gone: Vec<u32>,
    /// Uids that came, ascending.
    pub came: Vec<u32>,
}

impl UidList {
    /// A list of these uids, which must be in strictly ascending order.
    pub fn from_sorted(uids: &[u32]) -> UidList {
        UidList::default().appended(uids)
    }

    /// Number of uids.
    pub fn len(&self) -> u32 {
        self.chunks.last().map_or(0, Chunk::end)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The highest uid; 0 when the list is empty.
    pub fn last(&self) -> u32 {
        self.chunks.last().and_then(|chunk| chunk.uids.last().copied()).unwrap_or(0)
    }

    /// The uid at position `index` (sequence number minus one).
    pub fn get(&self, index: u32) -> Option<u32> {
        let at = self.chunks.partition_point(|chunk| chunk.end() <= index);
        let chunk = self.chunks.get(at)?;
        chunk.uids.get((index - chunk.before) as usize).copied()
    }

    /// The number of uids below `uid`, which is the position of the first that is not below.
    pub fn lower_bound(&self, uid: u32) -> u32 {
        let at = self.chunks.partition_point(|chunk| chunk.first() <= uid);
        let Some(chunk) = at.checked_sub(1).and_then(|at| self.chunks.get(at)) else { return 0 };
        chunk.before + chunk.uids.partition_point(|other| *other < uid) as u32
    }

    /// The position of `uid`.
    pub fn position(&self, uid: u32) -> Option<u32> {
        let index = self.lower_bound(uid);
        (self.get(index) == Some(uid)).then_some(index)
    }

    /// The uids at these positions; what lies past the end is left out.
    pub fn slice(&self, range: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let at = self.chunks.partition_point(|chunk| chunk.end() <= start);
        self.chunks[at..].iter().take_while(move |chunk| chunk.before < end).flat_map(
            move |chunk| {
                let from = start.max(chunk.before) - chunk.before;
                let to = end.min(chunk.end()) - chunk.before;
                chunk.uids[from as usize..to as usize].iter().copied()
            },
        )
    }

    /// All uids in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.uids.iter().copied())
    }

    /// The list with `uids` behind it: ascending, and above the last one that is there.
    #[must_use]
    pub fn appended(&self, uids: &[u32]) -> UidList {
        if uids.is_empty() {
            return self.clone();
        }
        let mut chunks = Vec::clone(&self.chunks);
        let mut rest = uids;
        if let Some(last) = chunks.last_mut().filter(|last| last.uids.len() < CHUNK) {
            let (fit, later) = rest.split_at(rest.len().min(CHUNK - last.uids.len()));
            last.uids = last.uids.iter().chain(fit).copied().collect();
            rest = later;
        }
        for piece in rest.chunks(CHUNK) {
            let before = chunks.last().map_or(0, Chunk::end);
            chunks.push(Chunk { before, uids: piece.into() });
        }
        UidList { chunks: Arc::new(chunks) }
    }

    /// The list without `gone` (ascending); uids that are not there do not matter.
    #[must_use]
    pub fn without(&self, gone: &[u32]) -> UidList {
        if gone.is_empty() {
            return self.clone();
        }
        let mut chunks: Vec<Chunk> = Vec::with_capacity(self.chunks.len());
        let mut gone = gone;
        for chunk in self.chunks.iter() {
            let before = chunks.last().map_or(0, Chunk::end);
            let past = chunk.uids.last().map_or(0, |last| last.saturating_add(1));
            let (here, later) = gone.split_at(gone.partition_point(|uid| *uid < past));
            gone = later;
            let uids = remaining(&chunk.uids, here);
            if !uids.is_empty() {
                chunks.push(Chunk { before, uids });
            }
        }
        UidList { chunks: Arc::new(chunks) }
    }

    /// What changed from this list to `newer`; chunks that both share cost nothing.
    pub fn difference(&self, newer: &UidList) -> Difference {
        let mut found = Difference::default();
        if Arc::ptr_eq(&self.chunks, &newer.chunks) {
            return found;
        }
        let (mut old, mut new) = (Walk::over(self), Walk::over(newer));
        loop {
            if old.skip_shared(&mut new) {
                continue;
            }
            match (old.peek(), new.peek()) {
                (None, None) => return found,
                (Some(uid), other) if other.is_none_or(|other| uid < other) => {
                    found.gone.push(uid);
                    old.step();
                }
                (other, Some(uid)) if other.is_none_or(|other| uid < other) => {
                    found.came.push(uid);
                    new.step();
                }
                _ => {
                    old.step();
                    new.step();
                }
            }
        }
    }
}

fn remaining(uids: &Arc<[u32]>, gone: &[u32]) -> Arc<[u32]> {
    if gone.is_empty() {
        return uids.clone();
    }
    uids.iter().filter(|uid| gone.binary_search(uid).is_err()).copied().collect()
}

struct Walk<'a> {
    chunks: &'a [Chunk],
    at: usize,
}

impl<'a> Walk<'a> {
    fn over(list: &'a UidList) -> Walk<'a> {
        Walk { chunks: &list.chunks, at: 0 }
    }

    fn peek(&self) -> Option<u32> {
        self.chunks.first().map(|chunk| chunk.uids[self.at])
    }

    fn step(&mut self) {
        self.at += 1;
        if self.chunks.first().is_some_and(|chunk| self.at >= chunk.uids.len()) {
            self.chunks = &self.chunks[1..];
            self.at = 0;
        }
    }

    /// Steps over a chunk that both begin with.
    fn skip_shared(&mut self, other: &mut Walk<'_>) -> bool {
        let (Some(mine), Some(yours)) = (self.chunks.first(), other.chunks.first()) else {
            return false;
        };
        let shared = self.at == 0 && other.at == 0 && Arc::ptr_eq(&mine.uids, &yours.uids);
        if shared {
            self.chunks = &self.chunks[1..];
            other.chunks = &other.chunks[1..];
        }
        shared
    }
}

#[cfg(test)]
mod tests;
