//! What the sessions of one server share about folders: uid lists, and since when mail is recent.
//!
//! Everything here can be made again from the databases, or may be forgotten; it is bounded.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use note::Dbiid;
use parking_lot::Mutex;
use store::FolderId;

use crate::UidList;

/// Uids of all lists kept, about 4 bytes each.
const UIDS_MAX: u64 = 8_000_000;
/// Lists kept at most.
const LISTS_MAX: usize = 20_000;
/// Folders whose recent mark is remembered.
const RECENT_MAX: usize = 200_000;

/// One incarnation of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FolderKey {
    pub dbiid: Dbiid,
    pub folder: FolderId,
    pub uidvalidity: u32,
}

/// A list and the folder's modseq to which it is current.
#[derive(Clone, Debug)]
pub(crate) struct Shelved {
    pub modseq: u64,
    pub uidnext: u32,
    pub list: UidList,
    /// Uids of entries marked deleted, when somebody asked for them; ascending.
    pub deleted: Option<Arc<Vec<u32>>>,
}

#[derive(Default)]
struct Lists {
    by_folder: HashMap<FolderKey, (Shelved, u64)>,
    uids: u64,
    clock: u64,
}

/// The shelf.
#[derive(Default)]
pub(crate) struct Shelf {
    lists: Mutex<Lists>,
    recent_from: Mutex<HashMap<FolderKey, u32>>,
    /// Databases that are locked for long, one mention for each piece of work.
    long: Mutex<Vec<Dbiid>>,
    long_count: AtomicUsize,
}

/// A database is locked for long while this lives.
pub(crate) struct LongWork<'a> {
    shelf: &'a Shelf,
    dbiid: Dbiid,
}

impl Drop for LongWork<'_> {
    fn drop(&mut self) {
        let mut long = self.shelf.long.lock();
        if let Some(at) = long.iter().position(|dbiid| *dbiid == self.dbiid) {
            long.swap_remove(at);
        }
        self.shelf.long_count.store(long.len(), Ordering::Release);
    }
}

impl Shelf {
    /// Notes that a database is about to be locked for long.
    pub(crate) fn long_work(&self, dbiid: Dbiid) -> LongWork<'_> {
        let mut long = self.long.lock();
        long.push(dbiid);
        self.long_count.store(long.len(), Ordering::Release);
        LongWork { shelf: self, dbiid }
    }

    /// Whether a database is locked for long.
    pub(crate) fn is_busy(&self, dbiid: Dbiid) -> bool {
        self.long_count.load(Ordering::Acquire) > 0 && self.long.lock().contains(&dbiid)
    }

    /// The list of a folder, if it is kept.
    pub(crate) fn get(&self, key: FolderKey) -> Option<Shelved> {
        let mut lists = self.lists.lock();
        lists.clock += 1;
        let clock = lists.clock;
        let (shelved, used) = lists.by_folder.get_mut(&key)?;
        *used = clock;
        Some(shelved.clone())
    }

    /// Keeps a list unless a newer one is kept.
    pub(crate) fn put(&self, key: FolderKey, shelved: Shelved) {
        let mut lists = self.lists.lock();
        if lists.by_folder.get(&key).is_some_and(|(old, _)| old.modseq > shelved.modseq) {
            return;
        }
        lists.clock += 1;
        let clock = lists.clock;
        lists.uids += u64::from(shelved.list.len());
        if let Some((old, _)) = lists.by_folder.insert(key, (shelved, clock)) {
            lists.uids -= u64::from(old.list.len());
        }
        lists.shrink(key);
    }

    /// Keeps which entries are marked deleted, when the list is current to that modseq.
    pub(crate) fn put_deleted(&self, key: FolderKey, modseq: u64, deleted: Vec<u32>) {
        let mut lists = self.lists.lock();
        let kept = lists.by_folder.get_mut(&key).filter(|(shelved, _)| shelved.modseq == modseq);
        if let Some((shelved, _)) = kept {
            shelved.deleted = Some(Arc::new(deleted));
        }
    }

    /// The first uid that no session was told of yet. Unknown (after a start) means the first of
    /// all: whoever cannot tell has to take a message for recent (RFC 3501 §2.3.2).
    pub(crate) fn recent_from(&self, key: FolderKey) -> u32 {
        self.recent_from.lock().get(&key).copied().unwrap_or(1)
    }

    /// Makes the mail below `uidnext` no longer recent for others; gives the first uid that was.
    pub(crate) fn claim_recent(&self, key: FolderKey, uidnext: u32) -> u32 {
        let mut marks = self.recent_from.lock();
        if marks.len() >= RECENT_MAX && !marks.contains_key(&key) {
            marks.clear();
        }
        let mark = marks.entry(key).or_insert(1);
        let first = *mark;
        *mark = first.max(uidnext);
        first
    }
}

impl Lists {
    /// Drops the lists that were not used for longest until the bounds hold.
    fn shrink(&mut self, keep: FolderKey) {
        while self.by_folder.len() > LISTS_MAX || self.uids > UIDS_MAX {
            let others = self.by_folder.iter().filter(|(key, _)| **key != keep);
            let Some(oldest) = others.min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key)
            else {
                return;
            };
            if let Some((old, _)) = self.by_folder.remove(&oldest) {
                self.uids -= u64::from(old.list.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(folder: i64) -> FolderKey {
        FolderKey { dbiid: Dbiid(1), folder: FolderId(folder), uidvalidity: 7 }
    }

    fn shelved(modseq: u64, count: u32) -> Shelved {
        let uids: Vec<u32> = (1..=count).collect();
        let list = UidList::from_sorted(&uids);
        Shelved { modseq, uidnext: count + 1, list, deleted: None }
    }

    #[test]
    fn newer_lists_stay() {
        let shelf = Shelf::default();
        shelf.put(key(1), shelved(5, 3));
        shelf.put(key(1), shelved(4, 2));
        assert_eq!(shelf.get(key(1)).unwrap().list.len(), 3);
        assert_eq!(shelf.lists.lock().uids, 3);
        assert!(shelf.get(key(2)).is_none());
    }

    #[test]
    fn the_bound_of_uids_holds() {
        let shelf = Shelf::default();
        for folder in 0..10 {
            shelf.put(key(folder), shelved(1, 1_000_000));
        }
        assert!(shelf.lists.lock().uids <= UIDS_MAX);
        assert!(shelf.get(key(0)).is_none());
        assert!(shelf.get(key(9)).is_some());
    }

    #[test]
    fn long_work_is_known_while_it_lasts() {
        let shelf = Shelf::default();
        let first = shelf.long_work(Dbiid(1));
        let second = shelf.long_work(Dbiid(1));
        assert!(shelf.is_busy(Dbiid(1)) && !shelf.is_busy(Dbiid(2)));
        drop(first);
        assert!(shelf.is_busy(Dbiid(1)));
        drop(second);
        assert!(!shelf.is_busy(Dbiid(1)));
    }

    #[test]
    fn recent_mail_is_claimed_once() {
        let shelf = Shelf::default();
        assert_eq!(shelf.claim_recent(key(1), 4), 1);
        assert_eq!(shelf.recent_from(key(1)), 4);
        assert_eq!(shelf.claim_recent(key(1), 4), 4);
        assert_eq!(shelf.claim_recent(key(1), 6), 4);
    }
}
