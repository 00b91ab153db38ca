use super::*;
use crate::{Entry, EntryFlags, Folder, FolderId, NewDatabase, NoteId, Writer};

fn with_inbox(bench: &Bench) -> (Database, FolderId) {
    let ada = create(&bench.store, "ada.nsf");
    let id = write(bench, &ada, |writer| Ok(writer.create_folder(&ada, "INBOX", None)?.id));
    (ada, id)
}

fn write<T>(
    bench: &Bench,
    database: &Database,
    f: impl FnOnce(&mut Writer<'_>) -> Result<T, StoreError>,
) -> T {
    bench.store.write(&[database], f).unwrap().value
}

fn deliver(bench: &Bench, database: &Database, folder: FolderId, number: u64) -> u32 {
    write(bench, database, |writer| {
        let put = writer.put_note(database, &note(number, "text", &[]))?;
        writer.add_to_folder(database, folder, put.id, EntryFlags::NONE, &[])
    })
}

fn folder(bench: &Bench, database: &Database, id: FolderId) -> Folder {
    bench.store.read(database, |reader| reader.folder(id)).unwrap().value.unwrap()
}

fn entry(bench: &Bench, database: &Database, id: FolderId, uid: u32) -> Entry {
    bench.store.read(database, |reader| reader.entry(id, uid)).unwrap().value.unwrap()
}

#[test]
fn entries_get_ascending_uids_and_counters_follow() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    let uids: Vec<u32> = (1..=3).map(|number| deliver(&bench, &ada, inbox, number)).collect();
    assert_eq!(uids, [1, 2, 3]);
    let facts = folder(&bench, &ada, inbox);
    assert_eq!((facts.messages, facts.unseen, facts.uidnext, facts.modseq), (3, 3, 4, 4));
    let first = entry(&bench, &ada, inbox, 1);
    assert_eq!((first.unid, first.size, first.date), (unid(1), 4, TimeDate(7)));
    assert_eq!((first.modseq, first.flags), (2, EntryFlags::NONE));
    let list = |range, limit| {
        let entries = bench.store.read(&ada, |reader| reader.entries(inbox, range, limit));
        entries.unwrap().value.iter().map(|entry| entry.uid).collect::<Vec<_>>()
    };
    assert_eq!(list(2..=u32::MAX, 10), [2, 3]);
    assert_eq!(list(1..=2, 1), [1]);
    assert_eq!(bench.store.read(&ada, |reader| reader.uids(inbox)).unwrap().value, [1, 2, 3]);
}

#[test]
fn flags_belong_to_the_entry_and_seen_to_the_note() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    deliver(&bench, &ada, inbox, 1);
    let copy = write(&bench, &ada, |writer| {
        let copy = writer.create_folder(&ada, "Copy", None)?.id;
        let note = writer.reader(&ada)?.entry(inbox, 1)?.unwrap().note;
        writer.add_to_folder(&ada, copy, note, EntryFlags::FLAGGED, &["k1".to_owned()])?;
        Ok(copy)
    });
    let keywords = ["a".to_owned(), "$b".to_owned()];
    let modseq = write(&bench, &ada, |writer| {
        writer.set_flags(&ada, inbox, 1, EntryFlags::ANSWERED | EntryFlags::SEEN, &keywords)
    });
    let first = entry(&bench, &ada, inbox, 1);
    assert_eq!((first.flags, first.modseq), (EntryFlags::ANSWERED, modseq));
    assert_eq!(first.keywords, keywords);
    write(&bench, &ada, |writer| writer.set_seen(&ada, first.note, true));
    let flags = |id| entry(&bench, &ada, id, 1).flags;
    assert_eq!(flags(inbox), EntryFlags::ANSWERED | EntryFlags::SEEN);
    assert_eq!(flags(copy), EntryFlags::FLAGGED | EntryFlags::SEEN);
    assert_eq!(entry(&bench, &ada, copy, 1).modseq, modseq + 1);
    for id in [inbox, copy] {
        let facts = folder(&bench, &ada, id);
        assert_eq!((facts.unseen, facts.modseq), (0, modseq + 1));
    }
    write(&bench, &ada, |writer| writer.set_seen(&ada, first.note, false));
    assert_eq!(folder(&bench, &ada, copy).unseen, 1);
    assert_eq!(flags(copy), EntryFlags::FLAGGED);
}

#[test]
fn setting_what_is_set_changes_nothing() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    deliver(&bench, &ada, inbox, 1);
    let set = |writer: &mut Writer<'_>| {
        writer.set_flags(&ada, inbox, 1, EntryFlags::FLAGGED, &["k".to_owned()])
    };
    let first = write(&bench, &ada, set);
    let appended = bench.store.log().appended();
    assert_eq!(write(&bench, &ada, set), first);
    write(&bench, &ada, |writer| writer.set_seen(&ada, NoteId(1), false));
    write(&bench, &ada, |writer| writer.subscribe(&ada, inbox, false));
    write(&bench, &ada, |writer| writer.rename_folder(&ada, inbox, "INBOX"));
    assert_eq!(bench.store.log().appended(), appended);
}

#[test]
fn expunged_uids_are_remembered_and_not_used_again() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    (1..=3).for_each(|number| assert!(deliver(&bench, &ada, inbox, number) > 0));
    let before = folder(&bench, &ada, inbox).modseq;
    write(&bench, &ada, |writer| writer.remove_from_folder(&ada, inbox, 3));
    write(&bench, &ada, |writer| writer.remove_from_folder(&ada, inbox, 1));
    let expunged = |since| bench.store.read(&ada, |reader| reader.expunged(inbox, since));
    assert_eq!(expunged(before).unwrap().value, [(3, before + 1), (1, before + 2)]);
    assert_eq!(expunged(before + 1).unwrap().value, [(1, before + 2)]);
    assert_eq!(deliver(&bench, &ada, inbox, 4), 4);
    let facts = folder(&bench, &ada, inbox);
    assert_eq!((facts.messages, facts.unseen), (2, 2));
    let missing = bench
        .store
        .write::<(), StoreError>(&[&ada], |writer| writer.remove_from_folder(&ada, inbox, 1));
    assert!(matches!(missing, Err(StoreError::NoEntry { uid: 1, .. })));
}

#[test]
fn a_note_without_entries_goes_to_soft_deletion_and_comes_back() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    deliver(&bench, &ada, inbox, 1);
    deliver(&bench, &ada, inbox, 1);
    let soft = || {
        let before = TimeDate(i64::MAX);
        let list = bench.store.read(&ada, |reader| reader.soft_deleted(before, 10));
        list.unwrap().value.into_iter().map(|meta| meta.unid).collect::<Vec<_>>()
    };
    write(&bench, &ada, |writer| writer.remove_from_folder(&ada, inbox, 1));
    assert_eq!(soft(), []);
    write(&bench, &ada, |writer| writer.remove_from_folder(&ada, inbox, 2));
    assert_eq!(soft(), [unid(1)]);
    let early = bench.store.read(&ada, |reader| reader.soft_deleted(bench.store.now(), 10));
    assert_eq!(early.unwrap().value, []);
    write(&bench, &ada, |writer| {
        writer.add_to_folder(&ada, inbox, NoteId(1), EntryFlags::SEEN, &[])
    });
    assert_eq!(soft(), []);
    let entry = entry(&bench, &ada, inbox, 3);
    assert_eq!(entry.flags, EntryFlags::SEEN);
    assert_eq!(folder(&bench, &ada, inbox).unseen, 0);
}

#[test]
fn without_soft_deletion_the_note_is_deleted_with_its_last_entry() {
    let bench = Bench::new();
    let new = NewDatabase { soft_delete: false, ..NewDatabase::titled("box") };
    let mailbox = bench.store.create("mail.box", new).unwrap();
    let folder =
        write(&bench, &mailbox, |writer| Ok(writer.create_folder(&mailbox, "F", None)?.id));
    deliver(&bench, &mailbox, folder, 1);
    write(&bench, &mailbox, |writer| writer.remove_from_folder(&mailbox, folder, 1));
    let info = bench.store.info("mail.box").unwrap();
    assert_eq!((info.notes, info.deleted, info.logical_bytes), (0, 1, 0));
}

#[test]
fn deleting_a_folder_softly_deletes_what_is_nowhere_else() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    (1..=2).for_each(|number| assert!(deliver(&bench, &ada, inbox, number) > 0));
    let old = folder(&bench, &ada, inbox);
    write(&bench, &ada, |writer| {
        let copy = writer.create_folder(&ada, "Copy", Some("\\Archive"))?;
        assert_eq!(copy.special_use.as_deref(), Some("\\Archive"));
        writer.add_to_folder(&ada, copy.id, NoteId(1), EntryFlags::NONE, &[])?;
        writer.delete_folder(&ada, inbox)
    });
    let soft = bench.store.read(&ada, |reader| reader.soft_deleted(TimeDate(i64::MAX), 10));
    let soft: Vec<NoteId> = soft.unwrap().value.iter().map(|meta| meta.id).collect();
    assert_eq!(soft, [NoteId(2)]);
    let again = write(&bench, &ada, |writer| writer.create_folder(&ada, "INBOX", None));
    assert!(again.uidvalidity > old.uidvalidity && again.id > old.id);
    assert_eq!((again.messages, again.uidnext), (0, 1));
    let expunged = bench.store.read(&ada, |reader| reader.expunged(again.id, 0));
    assert_eq!(expunged.unwrap().value, []);
}

#[test]
fn folder_names_are_unique_and_renaming_keeps_uids() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    deliver(&bench, &ada, inbox, 1);
    let taken = bench
        .store
        .write::<_, StoreError>(&[&ada], |writer| writer.create_folder(&ada, "INBOX", None));
    assert!(matches!(taken, Err(StoreError::FolderExists { name }) if name == "INBOX"));
    let old = folder(&bench, &ada, inbox);
    write(&bench, &ada, |writer| {
        writer.rename_folder(&ada, inbox, "Über/uns")?;
        writer.subscribe(&ada, inbox, true)
    });
    let new = folder(&bench, &ada, inbox);
    let expected = Folder { name: "Über/uns".to_owned(), subscribed: true, ..old };
    assert_eq!(new, expected);
}

#[test]
fn changed_entries_come_in_order_of_uid_and_in_batches() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    (1..=5).for_each(|number| assert!(deliver(&bench, &ada, inbox, number) > 0));
    let since = folder(&bench, &ada, inbox).modseq;
    for uid in [4, 2, 5] {
        write(&bench, &ada, |writer| writer.set_flags(&ada, inbox, uid, EntryFlags::DELETED, &[]));
    }
    let changed = |after, limit| {
        let list =
            bench.store.read(&ada, |reader| reader.entries_changed(inbox, since, after, limit));
        list.unwrap().value.iter().map(|entry| entry.uid).collect::<Vec<_>>()
    };
    assert_eq!(changed(0, 2), [2, 4]);
    assert_eq!(changed(4, 2), [5]);
}

#[test]
fn a_new_revision_keeps_entries_and_read_mark() {
    let bench = Bench::new();
    let (ada, inbox) = with_inbox(&bench);
    deliver(&bench, &ada, inbox, 1);
    write(&bench, &ada, |writer| writer.set_seen(&ada, NoteId(1), true));
    let put = write(&bench, &ada, |writer| writer.put_note(&ada, &note(1, "longer text", &[])));
    assert!(!put.created);
    let entry = entry(&bench, &ada, inbox, 1);
    assert_eq!((entry.size, entry.flags), (11, EntryFlags::SEEN));
}

#[test]
fn folders_tell_their_bytes_and_the_first_unseen_entry() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let write = |f: &dyn Fn(&mut crate::Writer<'_>) -> crate::Result<()>| {
        bench.store.write::<_, StoreError>(&[&ada], |writer| f(writer)).unwrap();
    };
    let facts = |folder| {
        let read = bench.store.read(&ada, |reader| {
            let unseen = reader.first_unseen(folder)?;
            Ok((reader.folder_count()?, reader.folder_bytes(folder)?, unseen))
        });
        read.unwrap().value
    };
    let (first, second) = (crate::FolderId(1), crate::FolderId(2));
    assert_eq!(facts(first), (0, 0, None));
    write(&|writer| {
        writer.create_folder(&ada, "A", None)?;
        writer.create_folder(&ada, "B", None)?;
        for number in 1..=4 {
            let put = writer.put_note(&ada, &note(number, &"x".repeat(number as usize), &[]))?;
            writer.add_to_folder(&ada, first, put.id, EntryFlags::NONE, &[])?;
        }
        Ok(())
    });
    assert_eq!(facts(first), (2, 10, Some(1)));
    assert_eq!(facts(second), (2, 0, None));
    write(&|writer| {
        (1..=2).try_for_each(|number| writer.set_seen(&ada, crate::NoteId(number), true))
    });
    assert_eq!(facts(first), (2, 10, Some(3)));
    write(&|writer| {
        (3..=4).try_for_each(|number| writer.set_seen(&ada, crate::NoteId(number), true))?;
        writer.remove_from_folder(&ada, first, 2)
    });
    assert_eq!(facts(first), (2, 8, None));
}
