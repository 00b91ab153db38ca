//! A random history: steps done to the store and to the model alike.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use note::Ticket;

use super::super::full::{PLENTY, Tank};
use super::super::{Bench, assert_counts_agree, assert_sound, create, note, unid};
use super::state::{ModelDb, ModelEntry, ModelFolder, ModelNote, observe};
use super::synced;
use crate::{Database, EntryFlags, FolderId, Quota, StoreError, Stub, Writer, unwatched};

/// Databases of a history.
const PATHS: [&str; 4] = ["mail.box", "mail/ada.nsf", "mail/bob.nsf", "eve.nsf"];
/// Most databases at a time.
const DATABASES_MAX: usize = 6;
/// Numbers of notes that are made.
const NOTES: u64 = 12;

/// A small generator of random numbers.
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() {
            None
        } else {
            Some(from[self.below(from.len() as u64) as usize].clone())
        }
    }
}

type Model = BTreeMap<String, ModelDb>;

pub struct History {
    random: Random,
    bench: Option<Bench>,
    model: Model,
    objects: Vec<Ticket>,
    /// Which note a uid was given to, for ever.
    uids: HashMap<(u64, u32, u32), u64>,
    /// Rounds done when the synced files were put by.
    rounds: u64,
    tank: Arc<Tank>,
}

impl History {
    pub fn new(seed: u64) -> History {
        let mut random = Random(seed);
        let open_databases_max = 1 + random.below(5) as usize;
        let tank = Tank::new();
        let bench = Bench::with(|options| {
            options.room = tank.clone();
            options.open_databases_max = open_databases_max;
            options.wal_bytes_max = 80_000;
            options.buffer_pool_bytes = 96 << 10;
            options.redo_bytes_max = 1 << 20;
        });
        let mut model = Model::new();
        for path in PATHS {
            create(&bench.store, path);
            model.insert(path.to_owned(), ModelDb { title: path.to_owned(), ..ModelDb::default() });
        }
        let objects = Vec::new();
        let bench = Some(bench);
        History { random, bench, model, objects, uids: HashMap::new(), rounds: 0, tank }
    }

    /// After a round: the files as a loss of power would leave them at worst.
    fn put_by(&mut self) {
        let bench = self.bench();
        let rows = bench.store.statistics();
        let rounds = rows.iter().find(|(name, _)| *name == "Database.Checkpoint.Rounds").unwrap().1;
        if rounds != self.rounds {
            synced::put_by(bench.dir.path());
            self.rounds = rounds;
        }
    }

    fn bench(&self) -> &Bench {
        self.bench.as_ref().unwrap()
    }

    pub fn step(&mut self) {
        match self.random.below(100) {
            0..=62 => self.write(),
            63..=64 => self.care(),
            65..=66 => self.copy_database(),
            67 => self.remove_database(),
            68..=69 => self.fill_disk(),
            70..=74 => self.put_object(),
            75..=80 => {
                self.bench().store.checkpoint_round().unwrap();
                self.put_by();
            }
            81..=84 => {
                let clock = &self.bench().clock;
                clock.set(self.bench().store.now().plus_seconds(400));
                self.bench().store.tick().unwrap();
                self.put_by();
            }
            85 => {
                self.bench().store.flush().unwrap();
                self.put_by();
            }
            86..=91 => self.crash(),
            92..=93 => {
                let closed = self.bench.take().unwrap().close();
                // The round of an orderly end syncs what it commits.
                synced::put_by(closed.dir.path());
                self.bench = Some(closed.open().0);
                self.rounds = 0;
                self.bench().store.checkpoint_round().unwrap();
                self.put_by();
            }
            94 => self.replace_database(),
            95 => self.rename_database(),
            96..=97 => self.lose_transaction(),
            _ => self.compare(),
        }
    }

    pub fn end(&mut self) {
        self.crash();
        self.tank.fill(PLENTY);
        self.bench().store.flush().unwrap();
        self.compare();
        assert_counts_agree(&self.bench().store);
        let closed = self.bench.take().unwrap().close();
        self.model.keys().for_each(|path| assert_sound(&closed.file(path)));
    }

    fn crash(&mut self) {
        let closed = self.bench.take().unwrap().crash();
        if self.random.below(2) == 0 {
            synced::put_back(closed.dir.path());
        }
        if self.random.below(3) == 0 {
            // Databases are replayed when the next steps use them, or not before the next crash.
            let (bench, recovery) = closed.open_lazily();
            assert_eq!(recovery.fenced, []);
            (self.bench, self.rounds) = (Some(bench), 0);
            return;
        }
        let (bench, recovery) = closed.open();
        assert_eq!(recovery.fenced, []);
        assert_eq!(recovery.adopted, [""; 0]);
        assert_eq!(recovery.damage, [""; 0]);
        (self.bench, self.rounds) = (Some(bench), 0);
        self.compare();
        assert_counts_agree(&self.bench().store);
    }

    fn compare(&mut self) {
        let store = &self.bench.as_ref().unwrap().store;
        assert_eq!(store.paths(), self.model.keys().cloned().collect::<Vec<_>>());
        for (path, model) in &self.model {
            let database = store.database(path).unwrap();
            let read = store.read(&database, |reader| observe(&database, reader)).unwrap();
            assert!(read.value == *model, "{path}:\n{:#?}\nexpected\n{model:#?}", read.value);
            for folder in model.folders.values() {
                for (uid, entry) in &folder.entries {
                    let key = (database.dbiid().0, folder.uidvalidity, *uid);
                    let first = *self.uids.entry(key).or_insert(entry.note);
                    assert_eq!(first, entry.note, "uid {uid} was given to two notes");
                }
            }
            let info = store.info(path).unwrap();
            let live = model.notes.values().filter(|note| !note.deleted).count();
            assert_eq!((info.notes, info.deleted), (live as u64, model.stubs.len() as u64));
            let live = model.notes.values().filter(|note| !note.deleted);
            let logical: usize = live.map(|note| note.text.len()).sum();
            assert_eq!((info.logical_bytes, info.quota), (logical as u64, model.quota));
        }
        for ticket in &self.objects {
            let counts = self.model.values().map(|db| db.references());
            let count: i64 = counts.filter_map(|counts| counts.get(&ticket.hash).copied()).sum();
            assert_eq!(store.objects().references(&ticket.hash).unwrap(), count);
        }
    }

    fn put_object(&mut self) {
        let length = 1 + self.random.below(20_000) as usize;
        let start = self.random.below(256) as usize;
        let content: Vec<u8> = (0..length).map(|at| (at * 7 + start + at / 251) as u8).collect();
        let ticket = self.bench().store.objects().put(&content).unwrap().ticket;
        self.objects.push(ticket);
    }

    fn some_path(&mut self) -> String {
        self.random.pick(&self.model.keys().cloned().collect::<Vec<_>>()).unwrap()
    }

    /// The disk gets full, or free again.
    fn fill_disk(&mut self) {
        let is_full = self.tank.free() < PLENTY;
        self.tank.fill(if is_full { PLENTY } else { 0 });
    }

    /// Whether something was done: with a full disk it may be refused.
    fn did<T>(&self, result: Result<T, StoreError>) -> Option<T> {
        match result {
            Err(StoreError::DiskFull) if self.tank.free() < PLENTY => None,
            result => Some(result.unwrap()),
        }
    }

    /// Compacts, counts anew or checks a database; nothing changes by that.
    fn care(&mut self) {
        let path = self.some_path();
        let store = self.bench().store.clone();
        match self.random.below(3) {
            0 => {
                if self.did(store.compact(&path)).is_some() {
                    synced::replaced(self.bench().dir.path(), &path);
                }
            }
            1 => {
                if let Some(done) = self.did(store.updall(&path)) {
                    assert_eq!(done.mended, 0);
                }
            }
            _ => {
                if let Some(done) = self.did(store.fixup(&path, true)) {
                    assert_eq!(done.found, [""; 0]);
                }
            }
        }
        drop(store);
        self.compare();
    }

    /// Copies a database within the server, or out of it and in again.
    fn copy_database(&mut self) {
        let from = self.some_path();
        let to = format!("copies/c{}.nsf", self.random.below(1_000_000_000));
        if self.model.len() >= DATABASES_MAX {
            return;
        }
        let store = self.bench().store.clone();
        let made = if self.random.below(2) == 0 {
            store.copy(&from, &to, false)
        } else {
            let file = self.bench().dir.path().join("outside.nsf");
            drop(std::fs::remove_file(&file));
            store
                .export(&from, &file, &mut unwatched)
                .and_then(|_| store.import(&file, &to, &mut unwatched))
        };
        let Some(copy) = self.did(made) else { return };
        synced::replaced(self.bench().dir.path(), &to);
        let shown = store.read(&copy, |reader| observe(&copy, reader)).unwrap().value;
        let mut expected = self.model[&from].clone();
        expected.change_seq += 1;
        for (name, folder) in &mut expected.folders {
            let validity = shown.folders[name].uidvalidity;
            assert!(validity > folder.uidvalidity);
            folder.uidvalidity = validity;
        }
        assert!(shown == expected, "{shown:#?}\nexpected\n{expected:#?}");
        self.model.insert(to, expected);
    }

    fn remove_database(&mut self) {
        if self.model.len() < PATHS.len() {
            return;
        }
        let path = self.some_path();
        self.bench().store.delete(&path).unwrap();
        synced::remove(self.bench().dir.path(), &path);
        self.model.remove(&path);
    }

    fn replace_database(&mut self) {
        if self.tank.free() < PLENTY {
            return;
        }
        let path = self.some_path();
        let store = &self.bench().store;
        store.delete(&path).unwrap();
        synced::remove(self.bench().dir.path(), &path);
        create(store, &path);
        self.model.insert(path.clone(), ModelDb { title: path, ..ModelDb::default() });
    }

    fn rename_database(&mut self) {
        let path = self.some_path();
        let new = format!("moved/r{}.nsf", self.random.below(1_000_000_000));
        self.bench().store.rename(&path, &new).unwrap();
        synced::rename(self.bench().dir.path(), &path, &new);
        let model = self.model.remove(&path).unwrap();
        self.model.insert(new, model);
    }

    fn lose_transaction(&mut self) {
        let path = self.some_path();
        let database = self.bench().store.database(&path).unwrap();
        let state = database.0.state.lock();
        if let Some(handle) =
            state.handle.as_ref().filter(|handle| handle.in_transaction && !handle.is_lost())
        {
            handle.conn.execute_batch("ROLLBACK").unwrap();
        }
    }

    /// One write over one to three databases; sometimes it fails at the end.
    fn write(&mut self) {
        let mut paths: Vec<String> = self.model.keys().cloned().collect();
        while paths.len() > 1 + self.random.below(3) as usize {
            paths.swap_remove(self.random.below(paths.len() as u64) as usize);
        }
        let fails = self.random.below(8) == 0;
        let store = self.bench.as_ref().unwrap().store.clone();
        let databases: Vec<Database> =
            paths.iter().map(|path| store.database(path).unwrap()).collect();
        let mut model = self.model.clone();
        for path in &paths {
            model.get_mut(path).unwrap().change_seq += 1;
        }
        let before = self.model.clone();
        let (random, objects) = (&mut self.random, &self.objects);
        let mut touched = vec![false; paths.len()];
        let result = store.write(&databases.iter().collect::<Vec<_>>(), |writer| {
            for _ in 0..1 + random.below(4) {
                let at = random.below(paths.len() as u64) as usize;
                let mut act = Act {
                    random: &mut *random,
                    objects,
                    database: &databases[at],
                    model: model.get_mut(&paths[at]).unwrap(),
                };
                touched[at] |= act.once(writer)?;
            }
            if fails { Err(StoreError::Aborted) } else { Ok(()) }
        });
        assert_eq!(result.is_err(), fails, "{result:?}");
        if fails {
            return;
        }
        for (at, path) in paths.iter().enumerate() {
            if !touched[at] {
                let old = before[path].clone();
                let mut unchanged = model.get(path).unwrap().clone();
                unchanged.change_seq = old.change_seq;
                assert!(unchanged == old, "{path} changed without a result");
                model.insert(path.clone(), old);
            }
        }
        self.model = model;
    }
}

/// One random act on one database; `model.change_seq` is already that of the write.
struct Act<'a> {
    random: &'a mut Random,
    objects: &'a [Ticket],
    database: &'a Database,
    model: &'a mut ModelDb,
}

impl Act<'_> {
    /// Does something; tells whether anything changed.
    fn once(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        match self.random.below(12) {
            0..=2 => self.put(writer),
            3 => self.delete(writer),
            4 => self.soft_delete_or_restore(writer),
            5 => self.create_folder(writer),
            6 => self.change_folder(writer),
            7..=8 => self.add(writer),
            9 => self.flag(writer),
            10 => self.see(writer),
            _ => self.remove(writer),
        }
    }

    fn some_note(&mut self) -> Option<u64> {
        self.random.pick(&self.model.notes.keys().copied().collect::<Vec<_>>())
    }

    fn some_folder(&mut self) -> Option<String> {
        self.random.pick(&self.model.folders.keys().cloned().collect::<Vec<_>>())
    }

    fn some_entry(&mut self) -> Option<(String, u32)> {
        let folder = self.some_folder()?;
        let uids: Vec<u32> = self.model.folders[&folder].entries.keys().copied().collect();
        Some((folder, self.random.pick(&uids)?))
    }

    fn folder_id(&self, name: &str) -> FolderId {
        FolderId(self.model.folders[name].id)
    }

    fn put(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let number = self.random.below(NOTES);
        let text = "x ".repeat(self.random.below(600) as usize) + &number.to_string();
        let count = self.random.below(3);
        let tickets: Vec<Ticket> =
            (0..count).filter_map(|_| self.random.pick(self.objects)).collect();
        let put = writer.put_note(self.database, &note(number, &text, &tickets))?;
        let change_seq = self.model.change_seq;
        let old = self.model.notes.get(&number);
        assert_eq!(put.created, old.is_none());
        let (seen, deleted) = old.map_or((false, false), |old| (old.seen, old.deleted));
        let new = ModelNote { text, tickets, seen, deleted, change_seq };
        self.model.notes.insert(number, new);
        self.model.stubs.remove(&number);
        Ok(true)
    }

    fn id(&self, writer: &Writer<'_>, number: u64) -> Result<crate::NoteId, StoreError> {
        Ok(writer.reader(self.database)?.note_by_unid(&unid(number))?.unwrap().id)
    }

    fn delete(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some(number) = self.some_note() else { return Ok(false) };
        let keep = self.random.below(2) == 0;
        let id = self.id(writer, number)?;
        writer.delete_note(self.database, id, if keep { Stub::Keep } else { Stub::None })?;
        self.forget_entries(number);
        self.model.notes.remove(&number);
        if keep {
            self.model.stubs.insert(number, self.model.change_seq);
        }
        Ok(true)
    }

    fn forget_entries(&mut self, number: u64) {
        let names: Vec<String> = self.model.folders.keys().cloned().collect();
        for name in names {
            let entries = &self.model.folders[&name].entries;
            let uids: Vec<u32> =
                entries.iter().filter(|(_, e)| e.note == number).map(|(uid, _)| *uid).collect();
            for uid in uids {
                self.model.remove_entry(&name, uid);
            }
        }
    }

    fn soft_delete_or_restore(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some(number) = self.some_note() else { return Ok(false) };
        let id = self.id(writer, number)?;
        if self.model.notes[&number].deleted {
            writer.restore(self.database, id)?;
            self.model.set_deleted(number, false);
        } else {
            writer.soft_delete(self.database, id)?;
            self.forget_entries(number);
            self.model.set_deleted(number, true);
        }
        Ok(true)
    }

    fn create_folder(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let name = format!("F{}", self.random.below(4));
        let result = writer.create_folder(self.database, &name, None);
        if self.model.folders.contains_key(&name) {
            assert!(matches!(result, Err(StoreError::FolderExists { .. })));
            return Ok(false);
        }
        let folder = result?;
        let others = self.model.folders.values().map(|folder| folder.uidvalidity);
        assert!(others.max().is_none_or(|most| folder.uidvalidity > most));
        let new = ModelFolder {
            id: folder.id.0,
            uidvalidity: folder.uidvalidity,
            uidnext: 1,
            modseq: self.model.change_seq,
            subscribed: false,
            entries: BTreeMap::new(),
            expunged: Default::default(),
        };
        self.model.folders.insert(name, new);
        Ok(true)
    }

    fn change_folder(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some(name) = self.some_folder() else { return Ok(false) };
        let id = self.folder_id(&name);
        match self.random.below(4) {
            0 => {
                writer.delete_folder(self.database, id)?;
                let gone = self.model.folders.remove(&name).unwrap();
                gone.entries.values().for_each(|entry| self.model.leave(entry.note));
                Ok(true)
            }
            1 => {
                let new = format!("{name}/x{}", self.random.below(1_000_000));
                writer.rename_folder(self.database, id, &new)?;
                let folder = self.model.folders.remove(&name).unwrap();
                self.model.folders.insert(new, folder);
                Ok(true)
            }
            2 if self.random.below(2) == 0 => {
                let quota = Quota {
                    limit_bytes: self.random.below(3) * 1_000,
                    warn_bytes: self.random.below(2) * 900,
                };
                writer.set_quota(self.database, quota)?;
                let changed = self.model.quota != quota;
                self.model.quota = quota;
                Ok(changed)
            }
            2 => {
                let title = format!("title {}", self.random.below(1_000));
                writer.set_title(self.database, &title)?;
                let changed = self.model.title != title;
                self.model.title = title;
                Ok(changed)
            }
            _ => {
                let subscribed = self.random.below(2) == 0;
                writer.subscribe(self.database, id, subscribed)?;
                let folder = self.model.folders.get_mut(&name).unwrap();
                let changed = folder.subscribed != subscribed;
                folder.subscribed = subscribed;
                Ok(changed)
            }
        }
    }

    fn some_flags(&mut self) -> (EntryFlags, Vec<String>) {
        let flags = EntryFlags(self.random.below(32) as u16);
        let count = self.random.below(3);
        (flags, (0..count).map(|at| format!("k{at}")).collect())
    }

    fn add(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let (Some(name), Some(number)) = (self.some_folder(), self.some_note()) else {
            return Ok(false);
        };
        let (flags, keywords) = self.some_flags();
        let id = self.id(writer, number)?;
        let folder = self.folder_id(&name);
        let uid = writer.add_to_folder(self.database, folder, id, flags, &keywords)?;
        self.model.set_deleted(number, false);
        if flags.contains(EntryFlags::SEEN) {
            self.model.set_seen(number, true);
        }
        let seen = self.model.notes[&number].seen;
        let mark = if seen { EntryFlags::SEEN } else { EntryFlags::NONE };
        let modseq = self.model.change_seq;
        let folder = self.model.folders.get_mut(&name).unwrap();
        assert_eq!(uid, folder.uidnext);
        let flags = flags & !EntryFlags::SEEN | mark;
        folder.entries.insert(uid, ModelEntry { note: number, flags, keywords, modseq });
        (folder.uidnext, folder.modseq) = (uid + 1, modseq);
        Ok(true)
    }

    fn flag(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some((name, uid)) = self.some_entry() else { return Ok(false) };
        let (flags, keywords) = self.some_flags();
        let folder = self.folder_id(&name);
        let modseq = writer.set_flags(self.database, folder, uid, flags, &keywords)?;
        let change_seq = self.model.change_seq;
        let folder = self.model.folders.get_mut(&name).unwrap();
        let entry = folder.entries.get_mut(&uid).unwrap();
        let flags = flags & !EntryFlags::SEEN | entry.flags & EntryFlags::SEEN;
        if (flags, &keywords) == (entry.flags, &entry.keywords) {
            assert_eq!(modseq, entry.modseq);
            return Ok(false);
        }
        assert_eq!(modseq, change_seq);
        (entry.flags, entry.keywords, entry.modseq) = (flags, keywords, change_seq);
        folder.modseq = change_seq;
        Ok(true)
    }

    fn see(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some(number) = self.some_note() else { return Ok(false) };
        let seen = self.random.below(2) == 0;
        let id = self.id(writer, number)?;
        writer.set_seen(self.database, id, seen)?;
        let changed = self.model.notes[&number].seen != seen;
        self.model.set_seen(number, seen);
        Ok(changed)
    }

    fn remove(&mut self, writer: &mut Writer<'_>) -> Result<bool, StoreError> {
        let Some((name, uid)) = self.some_entry() else { return Ok(false) };
        let folder = self.folder_id(&name);
        writer.remove_from_folder(self.database, folder, uid)?;
        let number = self.model.remove_entry(&name, uid);
        self.model.leave(number);
        Ok(true)
    }
}
