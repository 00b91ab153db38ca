//! Loss of power: log and objects on a disk that drops or tears what no sync covered.

use std::collections::BTreeMap;

use txlog::faults::{Dice, MemoryDisk};

use super::recovery::noise;
use super::*;
use crate::EntryFlags;
use txlog::Lsn;

const PATHS: [&str; 3] = ["mail.box", "ada.nsf", "bob.nsf"];

/// Note numbers with their texts, and uids with note numbers, of each database.
type Picture = BTreeMap<String, (BTreeMap<u64, String>, BTreeMap<u32, u64>)>;

/// A store whose log loses power, and all the pictures that it may show afterwards.
struct Plant {
    seed: u64,
    dice: Dice,
    disk: MemoryDisk,
    bench: Bench,
    history: Vec<(Lsn, Picture)>,
    /// Writes that did not survive.
    lost: usize,
}

impl Plant {
    fn new(seed: u64) -> Plant {
        let disk = MemoryDisk::new();
        let bench = Bench::with(|options| {
            options.disk = Arc::new(disk.clone());
            options.redo_bytes_max = 512 << 10;
            options.buffer_pool_bytes = 128 << 10;
            options.log.lazy_flush_ms = 3_600_000;
        });
        let mut picture = Picture::new();
        for path in PATHS {
            let database = create(&bench.store, path);
            let make = |writer: &mut crate::Writer<'_>| writer.create_folder(&database, "F", None);
            let written = bench.store.write::<_, StoreError>(&[&database], make).unwrap();
            bench.store.durable(written.lsn).wait().unwrap();
            picture.insert(path.to_owned(), Default::default());
        }
        let history = vec![(Lsn::ZERO, picture)];
        Plant { seed, dice: Dice::new(seed), disk, bench, history, lost: 0 }
    }

    /// One record over two databases, with an object. Tells whether there was power for it.
    fn write(&mut self, number: u64) -> bool {
        let first = self.dice.below(3) as usize;
        let paths = [PATHS[first], PATHS[(first + 1) % 3]];
        let store = &self.bench.store;
        let databases = paths.map(|path| store.database(path).unwrap());
        let text = noise(number ^ self.seed, 3_000);
        let Ok(pin) = store.objects().put(noise(number, 6_000).as_bytes()) else { return false };
        let prepared = note(number, &text, &[pin.ticket]);
        let result = store.write::<_, StoreError>(&[&databases[0], &databases[1]], |writer| {
            let mut uids = Vec::new();
            for database in &databases {
                let put = writer.put_note(database, &prepared)?;
                let folder = writer.reader(database)?.folder_by_name("F")?.unwrap().id;
                uids.push(writer.add_to_folder(database, folder, put.id, EntryFlags::NONE, &[])?);
            }
            Ok(uids)
        });
        let Ok(written) = result else { return false };
        let mut picture = self.history.last().unwrap().1.clone();
        for (path, uid) in paths.iter().zip(written.value) {
            let (notes, uids) = picture.get_mut(*path).unwrap();
            notes.insert(number, text.clone());
            uids.insert(uid, number);
        }
        self.history.push((written.lsn, picture));
        if self.dice.chance(30) {
            return store.durable(written.lsn).wait().is_ok();
        }
        if self.dice.chance(10) { store.checkpoint_round().is_ok() } else { true }
    }

    /// Loses power, starts again, and checks that what is there is a whole beginning of history
    /// with everything in it that was durable.
    fn lose_power(self) -> Plant {
        let Plant { seed, mut dice, disk, bench, mut history, lost } = self;
        let durable = bench.store.log().durable_lsn();
        let after = disk.crash(dice.roll());
        let Bench { dir, clock, mut options, store } = bench;
        drop(Arc::into_inner(store).expect("nobody else has the store"));
        options.disk = Arc::new(after.clone());
        let (bench, recovery) = Closed { dir, clock, options }.open();
        assert_eq!((recovery.fenced, recovery.damage), (vec![], vec![]));
        let shown = picture(&bench.store);
        let at = history.iter().rposition(|(_, picture)| *picture == shown);
        let at = at.unwrap_or_else(|| panic!("not a state the store ever was in: {shown:?}"));
        let promised = history.iter().rposition(|(lsn, _)| *lsn <= durable).unwrap();
        assert!(at >= promised, "state {at} is shown, {promised} was durable");
        assert_counts_agree(&bench.store);
        let lost = lost + history.len() - (at + 1);
        history.truncate(at + 1);
        // What is shown now is durable: it was read from the log.
        history.iter_mut().for_each(|(lsn, _)| *lsn = Lsn::ZERO);
        Plant { seed, dice, disk: after, bench, history, lost }
    }
}

fn picture(store: &Store) -> Picture {
    let mut picture = Picture::new();
    for path in PATHS {
        let database = store.database(path).unwrap();
        let read = store.read(&database, |reader| {
            let number = |unid: &Unid| u64::from_be_bytes(unid.0[..8].try_into().unwrap());
            let mut notes = BTreeMap::new();
            for meta in reader.notes(NoteClass::DOCUMENT, crate::NoteId(0), usize::MAX)? {
                let text = reader.note(meta.id)?.unwrap().text("Subject").unwrap().to_owned();
                notes.insert(number(&meta.unid), text);
            }
            let folder = reader.folder_by_name("F")?.unwrap().id;
            let entries = reader.entries(folder, 1..=u32::MAX, usize::MAX)?;
            let uids = entries.iter().map(|entry| (entry.uid, number(&entry.unid))).collect();
            Ok((notes, uids))
        });
        picture.insert(path.to_owned(), read.unwrap().value);
    }
    picture
}

#[test]
fn after_a_loss_of_power_the_store_is_in_a_state_that_it_was_in() {
    let mut lost = 0;
    for seed in 1..=8 {
        eprintln!("seed {seed}");
        let mut plant = Plant::new(seed);
        let mut number = 0;
        for _ in 0..5 {
            let operations = plant.dice.below(60);
            plant.disk.power_off_after(operations);
            for _ in 0..40 {
                number += 1;
                if !plant.write(number) {
                    break;
                }
            }
            plant = plant.lose_power();
        }
        lost += plant.lost;
    }
    assert!(lost > 0, "no write was in danger");
}
