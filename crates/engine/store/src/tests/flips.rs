//! Random bit flips in a database file: no panic, nothing wrong is told, others are served.

use txlog::faults::Dice;

use super::*;
use crate::NoteId;
use crate::handle::wal_path;

const NOTES: u64 = 30;

fn text(number: u64) -> String {
    super::recovery::noise(number, 200 + 40 * number as usize)
}

/// Everything that can be asked of a database; errors are fine, panics and lies are not.
fn ask_everything(store: &Store, database: &Database) {
    let ask = |f: &dyn Fn(&crate::Reader<'_>) -> crate::Result<()>| drop(store.read(database, f));
    ask(&|reader| reader.folders().map(|folders| assert!(folders.len() <= NOTES as usize)));
    ask(&|reader| reader.changes(0, 1_000).map(|changes| assert!(changes.len() < 1_000)));
    ask(&|reader| reader.soft_deleted(TimeDate(i64::MAX), 10).map(|_| ()));
    let folders = store.read(database, |reader| reader.folders()).map(|read| read.value);
    for folder in folders.unwrap_or_default() {
        ask(&|reader| reader.entries(folder.id, 0..=u32::MAX, 1_000).map(|_| ()));
        ask(&|reader| reader.uids(folder.id).map(|_| ()));
        ask(&|reader| reader.expunged(folder.id, 0).map(|_| ()));
        ask(&|reader| reader.entries_changed(folder.id, 0, 0, 100).map(|_| ()));
    }
    for number in 1..=NOTES {
        let read = store.read(database, |reader| reader.note(NoteId(number as i64)));
        if let Ok(crate::Read { value: Some(note), .. }) = read {
            let told = note.text("Subject").unwrap();
            assert_eq!(told, text(u64::from_be_bytes(note.oid.unid.0[..8].try_into().unwrap())));
        }
    }
    let write = |writer: &mut crate::Writer<'_>| {
        let put = writer.put_note(database, &note(99, &text(99), &[]))?;
        let folder = writer.create_folder(database, "New", None)?;
        writer.add_to_folder(database, folder.id, put.id, crate::EntryFlags::SEEN, &[])?;
        writer.delete_note(database, NoteId(3), crate::Stub::Keep)
    };
    drop(store.write::<_, StoreError>(&[database], write));
}

#[test]
fn bit_flips_in_a_file_are_confined() {
    let bench = Bench::new();
    let (ada, bob) = (create(&bench.store, "ada.nsf"), create(&bench.store, "bob.nsf"));
    for database in [&ada, &bob] {
        let fill = |writer: &mut crate::Writer<'_>| {
            let folder = writer.create_folder(database, "F", None)?;
            (1..=NOTES).try_for_each(|number| {
                let put = writer.put_note(database, &note(number, &text(number), &[]))?;
                let flags = crate::EntryFlags::NONE;
                writer.add_to_folder(database, folder.id, put.id, flags, &[]).map(|_| ())
            })
        };
        bench.store.write::<_, StoreError>(&[database], fill).unwrap();
    }
    bench.store.flush().unwrap();
    drop((ada, bob));
    let mut closed = bench.close();
    let sound = std::fs::read(closed.file("ada.nsf")).unwrap();
    for seed in 1..=60 {
        let mut dice = Dice::new(seed);
        let mut bytes = sound.clone();
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(bytes.len() as u64 * 8) as usize;
            bytes[at / 8] ^= 1 << (at % 8);
        }
        drop(std::fs::remove_file(wal_path(&closed.file("ada.nsf"))));
        std::fs::write(closed.file("ada.nsf"), bytes).unwrap();
        eprintln!("seed {seed}");
        let (bench, _) = closed.open();
        if let Ok(ada) = bench.store.database("ada.nsf") {
            ask_everything(&bench.store, &ada);
        }
        let bob = bench.store.database("bob.nsf").unwrap();
        assert_eq!(text_of(&bench.store, &bob, 7).unwrap(), text(7));
        drop(bob);
        bench.store.checkpoint_round().unwrap();
        closed = bench.close();
    }
}
