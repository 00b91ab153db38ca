//! A mail file for tests.

use std::sync::Arc;

use store::{EntryFlags, FolderId, PreparedNote, Store, StoreError, StoreOptions};

use crate::intake::{Facts, intake};
use crate::{Delivered, FlagChange, FlagMode, MailFile, MailFiles, Marks, create, deliver};

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
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        create(&store, "mail/ada.nsf", "Ada").unwrap();
        let files = MailFiles::new(store);
        let file = files.open("mail/ada.nsf").unwrap();
        Fixture { file, files, _dir: dir }
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
        self.file.change_flags(folder, uids, &FlagChange { mode, marks }).unwrap();
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

    pub(crate) fn deliver(&self, prepared: &PreparedNote) -> Delivered {
        let db = self.file.database();
        let store = self.file.store();
        store.write::<_, StoreError>(&[db], |w| deliver(w, db, prepared)).unwrap().value
    }
}
