//! A catalog that is lost, old or damaged is made anew: nothing that is referred to is lost, and
//! nothing is pruned before the references are counted.

use std::collections::HashMap;
use std::fs;

use note::{Dbiid, ObjectHash, Ticket};
use txlog::Disk;

use super::driver::{DAY_MICROS, Driver, Random};
use crate::{ObjectsError, PruneReport};

type Counted = HashMap<(Dbiid, ObjectHash), i64>;

/// Objects in log and adopted segments: some moved, some pruned, some unreferenced.
struct Scene {
    driver: Driver,
    kept: Vec<(Ticket, Vec<u8>)>,
    counted: Counted,
    idle: usize,
}

fn scene(driver: Driver) -> Scene {
    let mut random = Random::new(51);
    let (mut kept, mut counted, mut gone) = (Vec::new(), Counted::new(), Vec::new());
    for number in 0..130_u64 {
        let content = match number % 7 {
            0 => Vec::from(number.to_le_bytes()),
            _ => random.noise(6_000 + number as usize),
        };
        let dbiid = Dbiid(1 + number % 3);
        let ticket = driver.store(dbiid, &content);
        if number % 5 == 0 {
            driver.count(Dbiid(9), &[(ticket.hash, 2)]);
            counted.insert((Dbiid(9), ticket.hash), 2);
            counted.insert((dbiid, ticket.hash), 1);
            kept.push((ticket, content));
        } else {
            gone.push((dbiid, ticket.hash));
        }
    }
    let (idle, dead) = gone.split_at(10);
    for (dbiid, hash) in idle {
        driver.count(*dbiid, &[(*hash, -1)]);
    }
    driver.settle();
    let driver = driver.reopen();
    driver.release();
    driver.pass(DAY_MICROS);
    for (dbiid, hash) in dead {
        driver.count(*dbiid, &[(*hash, -1)]);
    }
    driver.release();
    driver.prune(0);
    driver.release();
    while driver.objects.rewrite(u64::MAX).unwrap().left > 0 {}
    driver.settle();
    driver.release();
    // the end of an object may stand in another segment than its blocks
    for number in 0..4_u8 {
        let content = random.noise(250_000 + usize::from(number) * 500);
        let ticket = driver.store(Dbiid(2), &content);
        counted.insert((Dbiid(2), ticket.hash), 1);
        kept.push((ticket, content));
    }
    driver.settle();
    driver.release();
    let late = random.noise(3_000);
    let ticket = driver.store(Dbiid(3), &late);
    counted.insert((Dbiid(3), ticket.hash), 1);
    kept.push((ticket, late));
    let idle = driver.store(Dbiid(3), b"idle").hash;
    driver.count(Dbiid(3), &[(idle, -1)]);
    driver.settle();
    Scene { driver, kept, counted, idle: 1 }
}

impl Scene {
    fn check_contents(&self) {
        for (ticket, content) in &self.kept {
            assert!(self.driver.read(ticket).unwrap() == *content, "{ticket:?}");
        }
    }

    /// After the start: everything can be read, nothing goes before the count, all can go behind
    /// it that nobody refers to.
    fn check_whole(mut self) {
        let objects = &self.driver.objects;
        assert!(objects.recount_due());
        self.check_contents();
        self.driver.pass(90 * DAY_MICROS);
        let waits = PruneReport { waits: true, ..PruneReport::default() };
        assert_eq!(self.driver.prune(0), waits);
        assert_eq!(objects.rewrite(u64::MAX).unwrap().segments, 0);
        self.driver.release();
        self.driver = self.driver.reopen();
        assert!(self.driver.objects.rebuilt().is_none() && self.driver.objects.recount_due());
        self.driver.release();
        self.check_contents();
        let report = self.driver.objects.resync(self.counted.clone()).unwrap();
        assert_eq!(report.missing, []);
        assert!(!self.driver.objects.recount_due());
        self.driver.release();
        self.driver = self.driver.reopen();
        assert!(!self.driver.objects.recount_due());
        self.driver.pass(90 * DAY_MICROS);
        let pruned = self.driver.prune(1);
        assert!(pruned.objects >= self.idle as u64, "{pruned:?}");
        self.driver.release();
        while self.driver.objects.rewrite(u64::MAX).unwrap().waits {
            self.driver.release();
        }
        self.driver.release();
        self.check_contents();
        let status = self.driver.objects.status().unwrap();
        assert_eq!((status.objects, status.unreferenced), (self.kept.len() as u64, 0));
        assert_eq!(status.references, self.counted.values().sum::<i64>());
        assert!(self.driver.objects.verify(&mut |_, _| {}).unwrap().is_clean());
        assert!(self.driver.objects.resync(self.counted.clone()).unwrap().is_clean());
    }

    /// Stops, changes the files of the catalog, starts.
    fn after(self, change: impl FnOnce(&std::path::Path)) -> Scene {
        self.driver.objects.truncate_wal().unwrap();
        let path = self.driver.catalog_path();
        Scene { driver: self.driver.reopen_after(|| change(&path)), ..self }
    }
}

#[test]
fn a_lost_catalog_is_made_anew() {
    for driver in [Driver::new(), Driver::split()] {
        let scene = scene(driver);
        let adopted = scene.driver.objects.status().unwrap().adopted;
        let scene = scene.after(|path| fs::remove_file(path).unwrap());
        let rebuilt = scene.driver.objects.rebuilt().unwrap();
        assert_eq!((rebuilt.segments, rebuilt.unreadable), (adopted, 0));
        assert!(rebuilt.objects >= 25 && rebuilt.reason.contains("missing"), "{rebuilt:?}");
        scene.check_whole();
    }
}

#[test]
fn an_old_copy_is_replaced_by_a_new_catalog() {
    let driver = Driver::new();
    driver.store(Dbiid(77), b"known to the old copy");
    driver.objects.checkpoint().unwrap();
    driver.objects.truncate_wal().unwrap();
    let old = fs::read(driver.catalog_path()).unwrap();
    let mut scene = scene(driver);
    let known = *blake3::hash(b"known to the old copy").as_bytes();
    scene.counted.insert((Dbiid(77), ObjectHash(known)), 1);
    let content = b"known to the old copy".to_vec();
    let length = content.len() as u64;
    scene.kept.push((Ticket { hash: ObjectHash(known), length }, content));
    let scene = scene.after(|path| fs::write(path, old).unwrap());
    assert!(scene.driver.objects.rebuilt().unwrap().reason.contains("stands at"));
    assert!(scene.driver.catalog_path().with_extension("db.damaged").exists());
    scene.check_whole();
}

#[test]
fn a_damaged_catalog_is_made_anew() {
    let changes: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[3] ^= 1,
        |bytes| bytes.truncate(5_000),
        |bytes| bytes[4_096..].fill(0x55),
        |bytes| bytes[60..64].copy_from_slice(&[0, 2, 0, 0]),
    ];
    for change in changes {
        let scene = scene(Driver::new()).after(|path| {
            let mut bytes = fs::read(path).unwrap();
            change(&mut bytes);
            fs::write(path, bytes).unwrap();
        });
        assert!(scene.driver.objects.rebuilt().is_some());
        scene.check_whole();
    }
}

/// Damage in the middle is met when it is read: that is told, and the next start mends it.
#[test]
fn damage_that_is_met_later_is_mended_by_the_next_start() {
    let scene = scene(Driver::new()).after(|path| {
        let mut bytes = fs::read(path).unwrap();
        let root = root_page(path);
        bytes[root * 4_096..(root + 1) * 4_096].fill(0xAA);
        fs::write(path, bytes).unwrap();
    });
    assert!(scene.driver.objects.rebuilt().is_none());
    let error = scene.driver.objects.references(&scene.kept[0].0.hash).unwrap_err();
    assert!(matches!(error, ObjectsError::CatalogDamaged { .. }), "{error}");
    assert!(!error.is_temporary());
    let Scene { driver, kept, counted, idle } = scene;
    let driver = driver.reopen();
    assert!(driver.objects.rebuilt().unwrap().reason.contains("damaged"));
    Scene { driver, kept, counted, idle }.check_whole();
}

/// The page of the table of objects, from 0.
fn root_page(path: &std::path::Path) -> usize {
    let db = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT rootpage FROM sqlite_master WHERE name = 'object'";
    db.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize - 1
}

#[test]
fn an_attempt_that_was_cut_off_is_begun_anew() {
    let scene = scene(Driver::new()).after(|path| {
        fs::write(path.with_extension("damaged"), b"").unwrap();
        fs::rename(path, path.with_extension("db.damaged")).unwrap();
        let db = rusqlite::Connection::open(path).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE header (id)").unwrap();
    });
    assert!(scene.driver.objects.rebuilt().is_some());
    assert!(!scene.driver.catalog_path().with_extension("damaged").exists());
    scene.check_whole();
}

/// A pass that meets changes leaves those for the next one, and databases that cannot be read keep
/// everything.
#[test]
fn a_count_is_whole_when_every_reference_was_compared() {
    let scene = scene(Driver::new()).after(|path| fs::remove_file(path).unwrap());
    let (objects, mut counted) = (&scene.driver.objects, scene.counted.clone());
    let (first, second) = (scene.kept[0].0.hash, scene.kept[1].0.hash);
    let without: Counted =
        counted.iter().filter(|(pair, _)| pair.0 != Dbiid(9)).map(|(p, c)| (*p, *c)).collect();
    objects.resync_without(without, &[Dbiid(9)]).unwrap();
    assert!(objects.recount_due());
    let recount = objects.recount();
    scene.driver.count(Dbiid(9), &[(first, -1)]);
    scene.driver.count(Dbiid(9), &[(first, 1)]);
    objects.resync(counted.clone()).unwrap();
    drop(recount);
    assert!(objects.recount_due(), "its sum is unknown");
    let recount = objects.recount();
    scene.driver.count(Dbiid(9), &[(second, 1)]);
    objects.resync(counted.clone()).unwrap();
    drop(recount);
    assert!(!objects.recount_due(), "it was compared the first time");
    *counted.get_mut(&(Dbiid(9), second)).unwrap() += 1;
    assert!(objects.resync(counted.clone()).unwrap().is_clean());
    assert_eq!(objects.references(&second).unwrap(), 4);
    assert_eq!(objects.references(&first).unwrap(), 3);
}

/// The segments of a log that was begun anew would take the names of those that are there.
#[test]
fn segments_of_another_log_are_not_taken_over() {
    let scene = scene(Driver::new());
    let dir = tempfile::TempDir::new().unwrap();
    let other = Driver::new();
    other.disk.create_dir_all(dir.path()).unwrap();
    other.disk.create(&dir.path().join("S0000900.TXN")).unwrap();
    let error = other.open_beside(dir.path()).err().unwrap();
    assert!(matches!(error, ObjectsError::LogReplaced { .. }), "{error}");
    drop(scene);
}
