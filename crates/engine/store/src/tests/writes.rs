use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use note::NoteClass;

use super::*;
use crate::{Change, EntryFlags, NoteId, Stub};

#[test]
fn a_note_is_read_as_it_was_put() {
    let bench = Bench::new();
    let ada = create(&bench.store, "mail/ada.nsf");
    put(&bench.store, &ada, 1, "hello");
    put(&bench.store, &ada, 2, &"long text ".repeat(1_000));
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "hello");
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "long text ".repeat(1_000));
    assert_eq!(text_of(&bench.store, &ada, 3), None);
    put(&bench.store, &ada, 1, "hello again");
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "hello again");
    let info = bench.store.info("mail/ada.nsf").unwrap();
    assert_eq!((info.notes, info.deleted, info.logical_bytes), (2, 0, 10_011));
}

#[test]
fn a_failed_write_leaves_nothing() {
    let bench = Bench::new();
    let (ada, bob) = (create(&bench.store, "ada.nsf"), create(&bench.store, "bob.nsf"));
    put(&bench.store, &ada, 1, "before");
    let appended = bench.store.log().appended();
    let result = bench.store.write(&[&ada, &bob], |writer| {
        writer.put_note(&ada, &note(1, "after", &[]))?;
        writer.put_note(&bob, &note(2, "new", &[]))?;
        writer.create_folder(&bob, "INBOX", None)?;
        writer.set_title(&ada, "other")?;
        Err::<(), _>(StoreError::NoNote(NoteId(99)))
    });
    assert!(matches!(result, Err(StoreError::NoNote(NoteId(99)))));
    assert_eq!(bench.store.log().appended(), appended);
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "before");
    assert_eq!(text_of(&bench.store, &bob, 2), None);
    let read = bench.store.read(&bob, |reader| Ok((reader.folders()?, reader.change_seq())));
    assert_eq!(read.unwrap().value, (vec![], 0));
    assert_eq!(ada.title(), "ada.nsf");
    assert_eq!(bench.store.info("bob.nsf").unwrap().notes, 0);
}

#[test]
fn a_write_whose_closure_panics_leaves_nothing() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        bench.store.write::<(), StoreError>(&[&ada], |writer| {
            writer.put_note(&ada, &note(1, "text", &[]))?;
            panic!("in the closure");
        })
    }));
    assert!(caught.is_err());
    assert_eq!(text_of(&bench.store, &ada, 1), None);
    put(&bench.store, &ada, 1, "later");
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "later");
}

#[test]
fn an_empty_write_appends_nothing_and_waits_for_what_was_read() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    let appended = bench.store.log().appended();
    let written = bench.store.write::<_, StoreError>(&[&ada], |writer| {
        writer.set_title(&ada, "ada.nsf")?;
        writer.reader(&ada)?.note_by_unid(&unid(1))
    });
    let written = written.unwrap();
    assert!(written.value.is_some());
    assert_eq!((written.lsn, bench.store.log().appended()), (appended, appended));
    assert_eq!(bench.store.read(&ada, |_| Ok(())).unwrap().lsn, appended);
}

#[test]
fn the_same_note_in_many_databases_stands_once_in_the_record() {
    let bench = Bench::new();
    let paths: Vec<String> = (0..65).map(|number| format!("d{number}.nsf")).collect();
    let databases: Vec<Database> = paths.iter().map(|path| create(&bench.store, path)).collect();
    let random: String = (0..30_000_u64)
        .map(|number| {
            char::from(b'a' + (number.wrapping_mul(number ^ 0x9E37_79B9) >> 7) as u8 % 26)
        })
        .collect();
    let prepared = note(1, &random, &[]);
    let before = bench.store.statistics().into_iter().collect::<std::collections::HashMap<_, _>>();
    let all: Vec<&Database> = databases.iter().take(64).collect();
    let put_all = |writer: &mut crate::Writer<'_>| {
        all.iter().try_for_each(|database| writer.put_note(database, &prepared).map(|_| ()))
    };
    bench.store.write::<_, StoreError>(&all, put_all).unwrap();
    let after = bench.store.statistics().into_iter().collect::<std::collections::HashMap<_, _>>();
    let bytes = after["Database.Writes.RecordBytes"] - before["Database.Writes.RecordBytes"];
    assert!(bytes < 40_000, "{bytes} bytes");
    assert_eq!(text_of(&bench.store, &databases[63], 1).unwrap(), random);
    let many: Vec<&Database> = databases.iter().collect();
    let refused = bench.store.write::<(), StoreError>(&many, |_| Ok(()));
    assert!(matches!(refused, Err(StoreError::TooManyDatabases { count: 65, max: 64 })));
}

#[test]
fn a_database_outside_the_write_is_refused() {
    let bench = Bench::new();
    let (ada, bob) = (create(&bench.store, "ada.nsf"), create(&bench.store, "bob.nsf"));
    let result = bench
        .store
        .write::<_, StoreError>(&[&ada], |writer| writer.put_note(&bob, &note(1, "text", &[])));
    assert!(matches!(result, Err(StoreError::NotInWrite(dbiid)) if dbiid == bob.dbiid()));
}

#[test]
fn watchers_are_told_of_every_change_until_dropped() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let last = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&last);
    let watch = ada.on_change(Box::new(move |changed| {
        assert!(changed.lsn > txlog::Lsn::ZERO);
        seen.store(changed.change_seq, Ordering::Relaxed);
    }));
    put(&bench.store, &ada, 1, "one");
    put(&bench.store, &ada, 2, "two");
    assert_eq!(last.load(Ordering::Relaxed), 2);
    drop(watch);
    put(&bench.store, &ada, 3, "three");
    assert_eq!(last.load(Ordering::Relaxed), 2);
}

#[test]
fn watchers_are_told_the_classes_of_the_notes_concerned() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let told = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&told);
    let _watch = ada.on_change(Box::new(move |changed| {
        seen.store(u64::from(changed.classes.0), Ordering::Relaxed);
    }));
    let mut rule = Note::new(unid(9), NoteClass::FILTER, TimeDate(1));
    rule.set("Subject", "rule");
    let rule = PreparedNote::new(&rule, 4, TimeDate(1));
    let (document, filter) = (u64::from(NoteClass::DOCUMENT.0), u64::from(NoteClass::FILTER.0));
    type Write<'a> = &'a dyn Fn(&mut crate::Writer<'_>) -> crate::Result<()>;
    let write = |write: Write<'_>| {
        bench.store.write::<_, StoreError>(&[&ada], |writer| write(writer)).unwrap();
        told.load(Ordering::Relaxed)
    };
    let id = |writer: &crate::Writer<'_>, number| {
        Ok::<_, StoreError>(writer.reader(&ada)?.note_by_unid(&unid(number))?.unwrap().id)
    };
    put(&bench.store, &ada, 1, "one");
    assert_eq!(told.load(Ordering::Relaxed), document);
    let folder = write(&|writer| writer.create_folder(&ada, "F", None).map(drop));
    assert_eq!(folder, 0);
    assert_eq!(write(&|writer| writer.put_note(&ada, &rule).map(drop)), filter);
    assert_eq!(write(&|writer| writer.set_seen(&ada, id(writer, 1)?, true)), 0);
    let both = write(&|writer| {
        writer.soft_delete(&ada, id(writer, 1)?)?;
        writer.put_note(&ada, &note(2, "two", &[]))?;
        writer.delete_note(&ada, id(writer, 9)?, Stub::None)
    });
    assert_eq!(both, document | filter);
    assert_eq!(write(&|writer| writer.restore(&ada, id(writer, 1)?)), document);
}

#[test]
fn a_page_of_the_change_feed_ends_with_a_whole_change() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let mut number = 0;
    for size in [1, 5, 2, 7, 1, 3] {
        let write = |writer: &mut crate::Writer<'_>| {
            for _ in 0..size {
                number += 1;
                writer.put_note(&ada, &note(number, "text", &[]))?;
            }
            // Some change has a stub, and some change is only a stub.
            let Some(gone) = writer.reader(&ada)?.note_by_unid(&unid(number - 1))? else {
                return Ok(());
            };
            if size > 2 { writer.delete_note(&ada, gone.id, Stub::Keep) } else { Ok(()) }
        };
        bench.store.write::<_, StoreError>(&[&ada], write).unwrap();
    }
    let page =
        |since, limit| bench.store.read(&ada, |reader| reader.changes(since, limit)).unwrap().value;
    let all = page(0, usize::MAX);
    assert_eq!(all.len(), 19);
    assert_eq!(page(0, 0), []);
    for limit in 1..25 {
        let (mut found, mut since) = (Vec::new(), 0);
        loop {
            let page = page(since, limit);
            let Some(last) = page.last() else { break };
            since = last.change_seq();
            found.extend(page);
        }
        assert_eq!(found, all, "limit {limit}");
    }
}

#[test]
fn many_notes_are_read_at_once_and_a_damaged_one_is_told() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    for number in 1..=6 {
        put(&bench.store, &ada, number, &"text ".repeat(number as usize * 60));
    }
    {
        let state = bench.store.lock_open(&ada).unwrap();
        let conn = &state.handle.as_ref().unwrap().conn;
        conn.execute("UPDATE note SET crc = crc + 1 WHERE id = 4", []).unwrap();
    }
    let ids: Vec<NoteId> = [6, 4, 99, 1, 6].map(NoteId).into();
    let read = bench.store.read(&ada, |reader| {
        let mut told = Vec::new();
        reader.each_note_bytes(&ids, &mut |at, bytes| {
            match bytes {
                Ok(bytes) => assert_eq!(Some(bytes), reader.note_bytes(ids[at])?.as_deref()),
                Err(error) => {
                    assert!(matches!(error, StoreError::Damage { .. }));
                    assert_eq!(ids[at], NoteId(4));
                }
            }
            told.push(at);
            Ok(())
        })?;
        Ok(told)
    });
    assert_eq!(read.unwrap().value, [0, 1, 3, 4]);
    let stop = bench
        .store
        .read(&ada, |reader| reader.each_note_bytes(&ids, &mut |_, _| Err(StoreError::Stopped)));
    assert!(matches!(stop, Err(StoreError::Stopped)));
}

#[test]
fn the_change_feed_tells_notes_and_stubs_in_order() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    (1..=4).for_each(|number| put(&bench.store, &ada, number, "text"));
    put(&bench.store, &ada, 2, "changed");
    let delete = |writer: &mut crate::Writer<'_>| {
        let id = writer.reader(&ada)?.note_by_unid(&unid(1))?.unwrap().id;
        writer.delete_note(&ada, id, Stub::Keep)?;
        let id = writer.reader(&ada)?.note_by_unid(&unid(3))?.unwrap().id;
        writer.delete_note(&ada, id, Stub::None)
    };
    bench.store.write::<_, StoreError>(&[&ada], delete).unwrap();
    let feed = |since, limit| {
        let changes = bench.store.read(&ada, |reader| reader.changes(since, limit)).unwrap().value;
        let row = |change: &Change| match change {
            Change::Note(meta) => (meta.change_seq, meta.unid, true),
            Change::Stub(stub) => (stub.change_seq, stub.unid, false),
        };
        changes.iter().map(row).collect::<Vec<_>>()
    };
    let all = [(4, unid(4), true), (5, unid(2), true), (6, unid(1), false)];
    assert_eq!(feed(0, 10), all);
    assert_eq!(feed(4, 1), all[1..2]);
    assert_eq!(feed(6, 10), []);
    put(&bench.store, &ada, 1, "again");
    assert_eq!(feed(5, 10), [(7, unid(1), true)]);
    assert_eq!(bench.store.info("ada.nsf").unwrap().deleted, 0);
}

#[test]
fn notes_are_listed_by_class_without_the_softly_deleted() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    (1..=5).for_each(|number| put(&bench.store, &ada, number, "text"));
    let soft = |writer: &mut crate::Writer<'_>| writer.soft_delete(&ada, NoteId(2));
    bench.store.write::<_, StoreError>(&[&ada], soft).unwrap();
    let list = |class, after, limit| {
        let notes = bench.store.read(&ada, |reader| reader.notes(class, NoteId(after), limit));
        notes.unwrap().value.iter().map(|meta| meta.id.0).collect::<Vec<_>>()
    };
    assert_eq!(list(NoteClass::DOCUMENT, 0, 3), [1, 3, 4]);
    assert_eq!(list(NoteClass::DOCUMENT | NoteClass::ACL, 4, 3), [5]);
    assert_eq!(list(NoteClass::ACL, 0, 3), [0_i64; 0]);
    assert_eq!(bench.store.info("ada.nsf").unwrap().notes, 4);
}

#[test]
fn local_ids_of_deleted_notes_are_not_used_again() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    let delete = |writer: &mut crate::Writer<'_>| {
        writer.delete_note(&ada, NoteId(1), Stub::None)?;
        let put = writer.put_note(&ada, &note(1, "text", &[]))?;
        assert!(put.created);
        writer.create_folder(&ada, "INBOX", None)?;
        let folder = writer.reader(&ada)?.folder_by_name("INBOX")?.unwrap();
        writer.add_to_folder(&ada, folder.id, put.id, EntryFlags::NONE, &[])?;
        Ok(put.id)
    };
    let id = bench.store.write::<_, StoreError>(&[&ada], delete).unwrap().value;
    assert_eq!(id, NoteId(2));
}
