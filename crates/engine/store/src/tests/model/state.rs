//! The model: what databases hold, in plain maps.

use std::collections::{BTreeMap, BTreeSet};

use note::{ObjectHash, Ticket};

use crate::{Change, Database, EntryFlags, FolderId, Quota, Reader};

/// One database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelDb {
    pub title: String,
    pub quota: Quota,
    pub change_seq: u64,
    pub notes: BTreeMap<u64, ModelNote>,
    pub stubs: BTreeMap<u64, u64>,
    pub folders: BTreeMap<String, ModelFolder>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelNote {
    pub text: String,
    pub tickets: Vec<Ticket>,
    pub seen: bool,
    pub deleted: bool,
    pub change_seq: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelFolder {
    pub id: i64,
    pub uidvalidity: u32,
    pub uidnext: u32,
    pub modseq: u64,
    pub subscribed: bool,
    pub entries: BTreeMap<u32, ModelEntry>,
    pub expunged: BTreeSet<(u64, u32)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    pub note: u64,
    pub flags: EntryFlags,
    pub keywords: Vec<String>,
    pub modseq: u64,
}

impl ModelDb {
    pub fn has_entry(&self, note: u64) -> bool {
        let mut entries = self.folders.values().flat_map(|folder| folder.entries.values());
        entries.any(|entry| entry.note == note)
    }

    /// Sets the read mark in the note and in all its entries.
    pub fn set_seen(&mut self, number: u64, seen: bool) {
        let note = self.notes.get_mut(&number).unwrap();
        if note.seen == seen {
            return;
        }
        note.seen = seen;
        for folder in self.folders.values_mut() {
            for entry in folder.entries.values_mut().filter(|entry| entry.note == number) {
                entry.flags = entry.flags & !EntryFlags::SEEN;
                if seen {
                    entry.flags = entry.flags | EntryFlags::SEEN;
                }
                entry.modseq = self.change_seq;
                folder.modseq = self.change_seq;
            }
        }
    }

    pub fn remove_entry(&mut self, folder: &str, uid: u32) -> u64 {
        let folder = self.folders.get_mut(folder).unwrap();
        folder.modseq = self.change_seq;
        folder.expunged.insert((self.change_seq, uid));
        folder.entries.remove(&uid).unwrap().note
    }

    /// Soft deletion of a note that is in no folder.
    pub fn leave(&mut self, number: u64) {
        if !self.has_entry(number) {
            self.set_deleted(number, true);
        }
    }

    pub fn set_deleted(&mut self, number: u64, deleted: bool) {
        let note = self.notes.get_mut(&number).unwrap();
        if note.deleted != deleted {
            note.deleted = deleted;
            note.change_seq = self.change_seq;
        }
    }

    pub fn references(&self) -> BTreeMap<ObjectHash, i64> {
        let mut counts = BTreeMap::new();
        for ticket in self.notes.values().flat_map(|note| &note.tickets) {
            *counts.entry(ticket.hash).or_insert(0) += 1;
        }
        counts
    }
}

fn number(unid: &note::Unid) -> u64 {
    u64::from_be_bytes(unid.0[..8].try_into().unwrap())
}

/// The database as a model, read by every method that reads.
pub fn observe(database: &Database, reader: &Reader<'_>) -> crate::Result<ModelDb> {
    let mut model = ModelDb { change_seq: reader.change_seq(), ..ModelDb::default() };
    model.title = reader.title().to_owned();
    model.quota = reader.quota();
    assert_eq!(model.title, database.title());
    let mut last = 0;
    for change in reader.changes(0, usize::MAX)? {
        assert!(change.change_seq() >= last, "the feed is in order");
        last = change.change_seq();
        match change {
            Change::Stub(stub) => {
                model.stubs.insert(number(&stub.unid), stub.change_seq);
            }
            Change::Note(meta) => {
                let note = reader.note(meta.id)?.unwrap();
                assert_eq!(reader.note_by_unid(&meta.unid)?.as_ref(), Some(&meta));
                let text = note.text("Subject").unwrap().to_owned();
                assert_eq!(meta.size, text.len() as u64);
                let observed = ModelNote {
                    text,
                    tickets: note.tickets(),
                    seen: meta.seen,
                    deleted: meta.deleted.is_some(),
                    change_seq: meta.change_seq,
                };
                model.notes.insert(number(&meta.unid), observed);
            }
        }
    }
    for folder in reader.folders()? {
        let observed = observe_folder(reader, &folder)?;
        assert_eq!(folder.messages as usize, observed.entries.len());
        let unseen = observed.entries.values().filter(|e| !e.flags.contains(EntryFlags::SEEN));
        assert_eq!(folder.unseen as usize, unseen.count(), "unseen of {}", folder.name);
        model.folders.insert(folder.name, observed);
    }
    Ok(model)
}

fn observe_folder(reader: &Reader<'_>, folder: &crate::Folder) -> crate::Result<ModelFolder> {
    let FolderId(id) = folder.id;
    let mut observed = ModelFolder {
        id,
        uidvalidity: folder.uidvalidity,
        uidnext: folder.uidnext,
        modseq: folder.modseq,
        subscribed: folder.subscribed,
        entries: BTreeMap::new(),
        expunged: BTreeSet::new(),
    };
    for entry in reader.entries(folder.id, 1..=u32::MAX, usize::MAX)? {
        assert_eq!(reader.entry(folder.id, entry.uid)?.as_ref(), Some(&entry));
        let meta = reader.note_meta(entry.note)?.unwrap();
        assert_eq!((meta.unid, meta.size, meta.date), (entry.unid, entry.size, entry.date));
        let (flags, keywords, modseq) = (entry.flags, entry.keywords, entry.modseq);
        let note = number(&entry.unid);
        observed.entries.insert(entry.uid, ModelEntry { note, flags, keywords, modseq });
    }
    for (uid, modseq) in reader.expunged(folder.id, 0)? {
        observed.expunged.insert((modseq, uid));
    }
    Ok(observed)
}
