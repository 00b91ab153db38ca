//! Random steps against a model: nothing is missing, nothing leaks, whatever is cut off.

use std::collections::{HashMap, HashSet};

use note::{Dbiid, ObjectHash, Ticket};
use txlog::Lsn;

use super::driver::{DAY_MICROS, Driver, Random, Seed};

#[derive(Clone)]
enum Step {
    Put(Ticket),
    Count(Dbiid, ObjectHash, i64),
    Gone(Dbiid),
    Pruned(ObjectHash),
}

/// What must be known after the steps.
#[derive(Default)]
struct Model {
    /// Each step with the position behind its last record.
    steps: Vec<(Lsn, Step)>,
    contents: HashMap<ObjectHash, Vec<u8>>,
}

#[derive(Default)]
struct Known {
    objects: HashMap<ObjectHash, Ticket>,
    counts: HashMap<(Dbiid, ObjectHash), i64>,
}

impl Model {
    fn known(&self) -> Known {
        let mut known = Known::default();
        for (_, step) in &self.steps {
            match step {
                Step::Put(ticket) => drop(known.objects.insert(ticket.hash, *ticket)),
                Step::Count(dbiid, hash, count) => {
                    *known.counts.entry((*dbiid, *hash)).or_insert(0) += count;
                }
                Step::Gone(dbiid) => known.counts.retain(|key, _| key.0 != *dbiid),
                Step::Pruned(hash) => drop(known.objects.remove(hash)),
            }
        }
        known.counts.retain(|_, count| *count != 0);
        known
    }

    /// Cuts off what came behind `end`. Returns what was pruned and not stored again since: a
    /// crash may bring it back.
    fn cut(&mut self, end: Lsn) -> HashSet<ObjectHash> {
        let mut pruned = HashSet::new();
        for (behind, step) in &self.steps {
            match step {
                Step::Pruned(hash) => drop(pruned.insert(*hash)),
                Step::Put(ticket) if *behind <= end => drop(pruned.remove(&ticket.hash)),
                _ => {}
            }
        }
        self.steps.retain(|(behind, _)| *behind <= end);
        pruned
    }
}

impl Known {
    fn referred(&self) -> HashSet<ObjectHash> {
        self.counts.keys().map(|key| key.1).collect()
    }
}

struct Run {
    random: Random,
    model: Model,
    contents: Vec<Vec<u8>>,
    next_dbiid: u64,
    databases: Vec<Dbiid>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let contents = (0..14).map(|kind| {
            let bytes = [0, 1, 700, 1023, 1024, 1025, 2500, 6000][kind % 8] + kind;
            if kind % 3 == 0 { random.noise(bytes) } else { random.text(bytes) }
        });
        let contents = contents.collect();
        let databases = (1..=4).map(Dbiid).collect();
        Run { random, model: Model::default(), contents, next_dbiid: 5, databases }
    }

    fn note(&mut self, driver: &Driver, step: Step) {
        self.model.steps.push((driver.log.appended(), step));
    }

    fn pick(&mut self) -> Dbiid {
        self.databases[self.random.below(self.databases.len() as u64) as usize]
    }

    fn put(&mut self, driver: &Driver) {
        let content = self.contents[self.random.below(14) as usize].clone();
        let pin = driver.objects.put(&content).unwrap();
        self.model.contents.insert(pin.ticket.hash, content);
        self.note(driver, Step::Put(pin.ticket));
        if self.random.below(4) > 0 {
            let dbiid = self.pick();
            driver.count(dbiid, &[(pin.ticket.hash, 2)]);
            self.note(driver, Step::Count(dbiid, pin.ticket.hash, 2));
        }
    }

    fn unlink(&mut self, driver: &Driver) {
        let known = self.model.known();
        let mut keys: Vec<_> = known.counts.into_iter().collect();
        keys.sort_unstable();
        if keys.is_empty() {
            return;
        }
        let ((dbiid, hash), count) = keys[self.random.below(keys.len() as u64) as usize];
        let less = -(1 + self.random.below(count as u64) as i64);
        driver.count(dbiid, &[(hash, less)]);
        self.note(driver, Step::Count(dbiid, hash, less));
    }

    fn delete_database(&mut self, driver: &Driver) {
        let dbiid = self.pick();
        driver.delete_database(dbiid);
        self.note(driver, Step::Gone(dbiid));
        self.databases.retain(|one| *one != dbiid);
        self.databases.push(Dbiid(self.next_dbiid));
        self.next_dbiid += 1;
    }

    fn crash(&mut self, driver: Driver) -> Driver {
        let seed = self.random.next();
        let driver = match self.random.below(5) {
            0..=1 => driver.crash(seed),
            2..=3 => driver.lose_power(seed),
            _ => driver.lose_catalog(seed),
        };
        let mut pruned = self.model.cut(driver.opened.end);
        let is_rebuilt = driver.objects.rebuilt().is_some();
        if is_rebuilt {
            // whatever was pruned ever may be found again
            let known = self.model.known().objects;
            pruned.extend(self.model.contents.keys().filter(|hash| !known.contains_key(hash)));
        }
        let referred = self.model.known().referred();
        for hash in pruned {
            assert!(!referred.contains(&hash), "pruned, but referred to");
            let step = match driver.objects.load_entry(&hash).unwrap() {
                Some(entry) => Step::Put(Ticket { hash, length: entry.length }),
                None => Step::Pruned(hash),
            };
            self.model.steps.push((driver.opened.end, step));
        }
        if is_rebuilt {
            self.recount(&driver);
        }
        driver
    }

    /// All that is referred to was found, and is counted again, durably.
    fn recount(&self, driver: &Driver) {
        let known = self.model.known();
        assert!(driver.objects.recount_due());
        let report = driver.objects.resync(known.counts).unwrap();
        assert!(report.missing.is_empty() && !driver.objects.recount_due(), "{report:?}");
        driver.release();
    }

    /// What nobody refers to for a day goes; what is referred to stays.
    fn prune(&mut self, driver: &Driver) {
        let is_settled = self.random.below(2) == 0;
        if is_settled {
            driver.objects.checkpoint().unwrap();
        }
        driver.pass(DAY_MICROS / 2 * self.random.below(3) as i64);
        let is_late = is_settled && self.random.below(2) == 0;
        if is_late {
            driver.pass(DAY_MICROS);
        }
        self.prune_now(driver, 1);
        let known = self.model.known();
        let waiting = known.objects.len() - known.referred().len();
        assert!(!is_late || waiting == 0, "{waiting} that nobody refers to");
    }

    fn prune_now(&mut self, driver: &Driver, days: u64) {
        let before = self.model.known();
        let report = driver.prune(days);
        let referred = before.referred();
        let mut pruned = 0;
        for hash in before.objects.into_keys() {
            if driver.objects.load_entry(&hash).unwrap().is_none() {
                assert!(!referred.contains(&hash), "pruned, but referred to");
                self.note(driver, Step::Pruned(hash));
                pruned += 1;
            }
        }
        assert_eq!(report.objects, pruned);
    }

    fn rewrite(&mut self, driver: &Driver) {
        let budget = [1, 3_000, 50_000, u64::MAX][self.random.below(4) as usize];
        driver.objects.rewrite(budget).unwrap();
    }

    /// A round as the store does it, with others at work between its steps.
    fn busy_release(&mut self, driver: &Driver) {
        let oldest = driver.objects.checkpoint().unwrap();
        self.busy(driver);
        driver.sync().unwrap();
        self.busy(driver);
        driver.objects.synced(oldest).unwrap();
        self.busy(driver);
        driver.release_from(oldest).unwrap();
    }

    fn busy(&mut self, driver: &Driver) {
        match self.random.below(6) {
            0 => self.put(driver),
            1 => self.unlink(driver),
            2 => self.rewrite(driver),
            3 => self.prune_now(driver, 1),
            _ => {}
        }
    }

    fn step(&mut self, driver: Driver) -> Driver {
        match self.random.below(100) {
            0..40 => self.put(&driver),
            40..63 => self.unlink(&driver),
            63..66 => self.delete_database(&driver),
            66..70 => drop(driver.objects.checkpoint().unwrap()),
            70..74 => driver.release(),
            74..78 => self.busy_release(&driver),
            78..81 => driver.settle(),
            81..85 => self.prune(&driver),
            85..90 => self.rewrite(&driver),
            90..93 => self.check(&driver),
            93..94 => driver.objects.truncate_wal().unwrap(),
            94..97 => return self.crash(driver),
            _ => return driver.reopen(),
        }
        driver
    }

    fn check(&mut self, driver: &Driver) {
        let known = self.model.known();
        let referred = known.referred();
        for (hash, ticket) in &known.objects {
            let content = &self.model.contents[hash];
            assert_eq!(&driver.read(ticket).unwrap(), content);
            let start = self.random.below(content.len() as u64 + 1);
            let end = start + self.random.below(content.len() as u64 + 1 - start);
            let mut part = b"before".to_vec();
            driver.objects.read(ticket, start..end, &mut part).unwrap();
            assert_eq!(part[6..], content[start as usize..end as usize]);
            let references = known.counts.iter().filter(|(key, _)| key.1 == *hash);
            let references: i64 = references.map(|(_, count)| count).sum();
            assert_eq!(driver.objects.references(hash).unwrap(), references);
        }
        let status = driver.objects.status().unwrap();
        assert_eq!(status.objects, known.objects.len() as u64);
        assert_eq!(status.references, known.counts.values().sum::<i64>());
        let idle = known.objects.keys().filter(|hash| !referred.contains(hash)).count();
        assert_eq!(status.unreferenced, idle as u64);
        let bytes: u64 = known.objects.values().map(|ticket| ticket.length).sum();
        assert_eq!(status.logical_bytes, bytes);
        let report = driver.objects.verify(&mut |_, _| {}).unwrap();
        assert!(report.is_clean() && report.bytes == bytes, "{report:?}");
        let resync = driver.objects.resync(known.counts.clone()).unwrap();
        assert!(resync.is_clean(), "{resync:?}");
        assert_eq!(resync.compared, known.counts.len() as u64);
        self.check_segments(driver, &known);
    }

    /// No segment with a block or the end of a known object would be given up, and once everything
    /// is in the catalog no other is held.
    fn check_segments(&self, driver: &Driver, known: &Known) {
        driver.objects.checkpoint().unwrap();
        let mut used = HashSet::new();
        for ticket in known.objects.values() {
            let entry = driver.entry(ticket);
            used.extend(entry.blocks.iter().map(|block| block.lsn.segment()));
            used.insert(entry.end_lsn.segment());
        }
        for segment in 0..=driver.log.appended().segment() {
            assert_eq!(driver.objects.is_live_segment(segment), used.contains(&segment));
        }
        assert_eq!(driver.objects.status().unwrap().segments, used.len() as u64);
    }

    /// Everything that can go goes, and no adopted segment is left without an object.
    fn check_leaks(&mut self, driver: &Driver) {
        driver.objects.checkpoint().unwrap();
        driver.pass(DAY_MICROS);
        let referred = self.model.known().referred().len();
        for hash in self.model.known().objects.into_keys() {
            if !self.model.known().referred().contains(&hash) {
                self.note(driver, Step::Pruned(hash));
            }
        }
        driver.prune(1);
        let status = driver.objects.status().unwrap();
        assert_eq!((status.objects, status.unreferenced), (referred as u64, 0));
        while driver.objects.rewrite(u64::MAX).unwrap().waits {
            driver.release();
        }
        driver.release();
        for one in driver.objects.adopted_segments().unwrap() {
            assert!(one.live_blocks > 0, "{one:?}");
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// `OBJECTS_SEED=7` runs that seed alone, with `OBJECTS_SEEDS=1000` so many from there on;
/// `OBJECTS_STEPS=1000` takes so many steps with each.
fn seeds() -> std::ops::Range<u64> {
    let first = number("OBJECTS_SEED");
    let count = number("OBJECTS_SEEDS").unwrap_or(if first.is_some() { 1 } else { 16 });
    first.unwrap_or(1)..first.unwrap_or(1) + count
}

#[test]
fn random_steps_agree_with_the_model() {
    for seed in seeds() {
        let _seed = Seed(seed);
        let mut run = Run::new(seed);
        let mut driver = if seed % 2 == 0 { Driver::new() } else { Driver::split() };
        for _ in 0..number("OBJECTS_STEPS").unwrap_or(150) {
            driver = run.step(driver);
        }
        run.check(&driver);
        driver = driver.reopen();
        run.check(&driver);
        driver = run.crash(driver);
        run.check(&driver);
        run.check_leaks(&driver);
        driver = run.crash(driver);
        run.check(&driver);
    }
}

#[test]
fn counts_pass_through_negative_and_come_out_right() {
    let driver = Driver::new();
    let pin = driver.objects.put(b"seen from the middle").unwrap();
    let hash = pin.ticket.hash;
    driver.count(Dbiid(7), &[(hash, -1)]);
    driver.objects.checkpoint().unwrap();
    assert_eq!(driver.objects.references(&hash).unwrap(), -1);
    assert_eq!(driver.objects.status().unwrap().unreferenced, 1);
    driver.count(Dbiid(7), &[(hash, 3)]);
    let driver = driver.reopen();
    assert_eq!(driver.objects.references(&hash).unwrap(), 2);
    assert_eq!(driver.objects.status().unwrap().unreferenced, 0);
}

#[test]
fn replaying_what_the_catalog_holds_changes_nothing() {
    let driver = Driver::new();
    let ticket = driver.store(Dbiid(1), b"once");
    let lsn = driver.objects.checkpoint().unwrap();
    let delta = [crate::TicketDelta { hash: ticket.hash, count: 5 }];
    driver.objects.replay_counts(Lsn(lsn.0 - 1), Dbiid(1), &delta);
    driver.objects.replay_database_deleted(Lsn(lsn.0 - 1), Dbiid(1));
    assert_eq!(driver.objects.references(&ticket.hash).unwrap(), 1);
    driver.objects.replay_counts(lsn, Dbiid(1), &delta);
    assert_eq!(driver.objects.references(&ticket.hash).unwrap(), 6);
}
