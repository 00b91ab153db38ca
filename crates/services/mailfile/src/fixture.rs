//! A mail file for tests.

use std::sync::Arc;

use store::{EntryFlags, FolderId, PreparedNote, Quota, Store, StoreError, StoreOptions};

use txlog::ManualClock;

use crate::intake::{Facts, intake};
use crate::rules::Verdict;
use crate::{FlagChange, FlagMode, MailFile, MailFiles, Marks, Outcome, create, deliver};

/// A mail file in a directory of its own.
pub(crate) struct Fixture {
    pub file: MailFile,
    pub files: Arc<MailFiles>,
    _dir: tempfile::TempDir,
}

/// Marks from flags and keywords.
pub(crate) fn marks(flags: EntryFlags, keywords: &[&str]) -> Marks {
    Marks { flags, keywords: keywords.iter().map(|word| (*word).to_owned()).collect() }
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::with(|_| ())
    }

    /// One whose clock stands still until it is moved.
    pub(crate) fn at(clock: &Arc<ManualClock>) -> Fixture {
        Fixture::with(|options| options.clock = clock.clone())
    }

    fn with(change: impl FnOnce(&mut StoreOptions)) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let mut options = StoreOptions::small(dir.path());
        change(&mut options);
        let (store, _) = Store::open(options).unwrap();
        create(&store, "mail/ada.nsf", "Ada").unwrap();
        let files = MailFiles::new(store);
        let file = files.open("mail/ada.nsf").unwrap();
        Fixture { file, files, _dir: dir }
    }

    /// Opened again after the first byte of `text` was changed wherever it stands in the
    /// database file.
    pub(crate) fn spoiled(self, text: &[u8]) -> Fixture {
        let store = self.file.store().clone();
        store.flush().unwrap();
        store.close().unwrap();
        let dir = self._dir;
        drop((self.file, self.files, store));
        let path = dir.path().join("data/mail/ada.nsf");
        let mut bytes = std::fs::read(&path).unwrap();
        let found = |at: &usize| bytes[*at..].starts_with(text);
        let places: Vec<usize> = (0..bytes.len()).filter(found).collect();
        assert!(!places.is_empty());
        places.into_iter().for_each(|at| bytes[at] ^= 1);
        std::fs::write(&path, bytes).unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        let files = MailFiles::new(store);
        let file = files.open("mail/ada.nsf").unwrap();
        Fixture { file, files, _dir: dir }
    }

    pub(crate) fn set_quota(&self, limit_bytes: u64, warn_bytes: u64) {
        let (store, db) = (self.file.store(), self.file.database());
        let quota = Quota { limit_bytes, warn_bytes };
        store.write::<_, StoreError>(&[db], |w| w.set_quota(db, quota)).unwrap();
    }

    pub(crate) fn folder(&self, name: &str) -> FolderId {
        self.file.open_folder(name).unwrap().value.folder.id
    }

    pub(crate) fn uids(&self, name: &str) -> Vec<u32> {
        self.file.open_folder(name).unwrap().value.uids.iter().collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let folders = self.file.folders().unwrap().value;
        folders.into_iter().map(|folder| folder.name).collect()
    }

    pub(crate) fn append(&self, folder: &str, message: &[u8], marks: &Marks) -> u32 {
        self.file.append(folder, message, None, marks).unwrap().value.uid
    }

    pub(crate) fn fill(&self, folder: &str, count: usize) {
        for _ in 0..count {
            self.append(folder, b"Subject: x\r\n\r\nhi\r\n", &Marks::default());
        }
    }

    pub(crate) fn change(&self, folder: FolderId, uids: &[u32], mode: FlagMode, marks: Marks) {
        self.file.change_flags(folder, uids, &FlagChange::new(mode, marks)).unwrap();
    }

    pub(crate) fn delete(&self, folder: FolderId, uids: &[u32]) {
        self.change(folder, uids, FlagMode::Add, marks(EntryFlags::DELETED, &[]));
        assert_eq!(self.file.expunge(folder, Some(uids)).unwrap().value, uids);
    }

    pub(crate) fn prepared(&self, message: &[u8]) -> PreparedNote {
        let store = self.file.store();
        let facts = Facts { unid: store.new_unid(), date: store.now(), extra: Vec::new() };
        intake(store, message, &facts).unwrap().prepared
    }

    pub(crate) fn deliver(&self, prepared: &PreparedNote) -> Outcome {
        self.deliver_as(prepared, &Verdict::default())
    }

    pub(crate) fn deliver_as(&self, prepared: &PreparedNote, verdict: &Verdict) -> Outcome {
        let db = self.file.database();
        let store = self.file.store();
        let written = store.write::<_, StoreError>(&[db], |w| deliver(w, db, prepared, verdict));
        written.unwrap().value
    }
}
