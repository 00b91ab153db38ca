//! Segments with little alive are emptied; whatever is cut off, nothing is lost.

use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;

use note::{Dbiid, ObjectHash, Ticket};
use txlog::faults::Operation;
use txlog::{Disk, Head, LogOptions, RecordKind};

use super::driver::{Driver, Random, Seed};
use crate::{AdoptedSegment, Objects, ObjectsError, ObjectsOptions};

/// Adopted segments of which little is alive.
struct Scene {
    driver: Driver,
    kept: Vec<(Ticket, Vec<u8>)>,
}

/// Of `of` objects one is kept; the kept ones belong to two databases in turn.
fn scene(driver: Driver, of: usize) -> Scene {
    let mut random = Random::new(41);
    let first = driver.log.appended().segment();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for number in 0.. {
        if driver.log.appended().segment() >= first + 4 {
            break;
        }
        let content = random.noise(6_000);
        let dbiid = Dbiid(1 + number as u64 / of as u64 % 2);
        let ticket = driver.store(dbiid, &content);
        match number % of {
            0 => kept.push((ticket, content)),
            _ => gone.push((dbiid, ticket.hash)),
        }
    }
    driver.settle();
    let driver = driver.reopen();
    for (dbiid, hash) in gone {
        driver.count(dbiid, &[(hash, -1)]);
    }
    driver.release();
    driver.prune(0);
    driver.release();
    Scene { driver, kept }
}

impl Scene {
    fn check(&self) {
        for (ticket, content) in &self.kept {
            assert_eq!(&self.driver.read(ticket).unwrap(), content);
            assert_eq!(self.driver.objects.references(&ticket.hash).unwrap(), 1);
        }
        let report = self.driver.objects.verify(&mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
        let resync = self.driver.objects.resync(self.counted()).unwrap();
        assert!(resync.is_clean(), "{resync:?}");
    }

    fn counted(&self) -> HashMap<(Dbiid, ObjectHash), i64> {
        let pair =
            |(at, kept): (usize, &(Ticket, Vec<u8>))| ((Dbiid(1 + at as u64 % 2), kept.0.hash), 1);
        self.kept.iter().enumerate().map(pair).collect()
    }

    fn segments(&self) -> BTreeSet<u32> {
        let entries = self.kept.iter().map(|(ticket, _)| self.driver.entry(ticket));
        entries
            .flat_map(|entry| entry.blocks.iter().map(|b| b.lsn.segment()).collect::<Vec<_>>())
            .collect()
    }
}

#[test]
fn survivors_move_and_the_files_go() {
    let mut scene = scene(Driver::new(), 10);
    let adopted = scene.driver.objects.adopted_segments().unwrap();
    let is_poor = |one: &&AdoptedSegment| one.live_bytes * 100 < one.bytes * 40;
    let poor: BTreeSet<u32> = adopted.iter().filter(is_poor).map(|one| one.segment).collect();
    let blocks: u64 = adopted.iter().filter(is_poor).map(|one| one.live_blocks).sum();
    let (many, all) = (poor.len() as u64, adopted.len() as u64);
    assert!(many >= 4, "{adopted:?}");
    let report = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert_eq!(report.segments, many);
    // An object that goes on in a segment that stays counts there, not among `blocks`.
    let moved = report.blocks + report.objects;
    assert!((blocks..=blocks + many).contains(&moved), "{moved} of {blocks}");
    assert_eq!((report.left, report.damaged), (0, 0));
    assert!(report.waits && scene.driver.objects.wants_checkpoint());
    assert!(scene.segments().is_disjoint(&poor));
    assert_eq!(scene.driver.objects.status().unwrap().adopted, all, "until a checkpoint is synced");
    let again = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert_eq!((again.objects, again.waits), (0, true));
    scene.check();
    scene.driver.release();
    let now = scene.driver.objects.status().unwrap().adopted;
    assert!((all - many..=all - many + 1).contains(&now), "{now} of {all}");
    assert!(!scene.driver.objects.wants_checkpoint());
    scene.check();
    scene.driver = scene.driver.reopen();
    scene.driver.release();
    let now = scene.driver.objects.status().unwrap().adopted;
    assert!((all - many + 1..=all - many + 2).contains(&now), "{now} of {all}");
    scene.check();
}

#[test]
fn relocate_records_are_replayed() {
    let mut scene = scene(Driver::new(), 10);
    assert!(scene.driver.objects.rewrite(u64::MAX).unwrap().objects > 0);
    let moved = scene.segments();
    scene.driver.settle();
    scene.driver = scene.driver.crash(9);
    assert_eq!(scene.segments(), moved);
    scene.check();
}

#[test]
fn survivors_of_a_database_stand_beside_each_other() {
    let scene = scene(Driver::new(), 10);
    let before = scene.driver.log.appended();
    scene.driver.objects.rewrite(u64::MAX).unwrap();
    let mut places: Vec<_> = scene
        .kept
        .iter()
        .enumerate()
        .map(|(at, kept)| (scene.driver.entry(&kept.0).blocks[0].lsn, at % 2))
        .collect();
    places.retain(|place| place.0 >= before);
    places.sort_unstable();
    let changes = places.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert_eq!(changes, 1, "{places:?}");
}

#[test]
fn a_budget_and_what_stands_between_checkpoints_are_kept() {
    let scene = scene(Driver::new(), 6);
    let all = scene.kept.len() as u64;
    let mut moved = 0;
    for _ in 0..100 {
        let report = scene.driver.objects.rewrite(1).unwrap();
        moved += report.objects;
        assert!(report.objects <= 64);
        if report.left == 0 {
            break;
        }
    }
    assert!(moved > all / 2 && moved <= all, "{moved} of {all}");
    let driver = scene.driver.limited(|options| options.rewrite_log_bytes_max = 1);
    driver.release();
    scene_waits(&driver);
}

/// Every call moves one batch at most, until a checkpoint comes.
fn scene_waits(driver: &Driver) {
    let mut random = Random::new(42);
    let tickets: Vec<_> = (0..300).map(|_| driver.store(Dbiid(9), &random.noise(2_000))).collect();
    let padding = driver.store(Dbiid(9), &random.noise(1_500_000));
    driver.settle();
    driver.count(Dbiid(9), &[(padding.hash, -1)]);
    driver.release();
    driver.prune(0);
    driver.release();
    let mut calls = 0;
    loop {
        let report = driver.objects.rewrite(u64::MAX).unwrap();
        assert!(report.objects <= 64, "{report:?}");
        if !report.waits {
            break;
        }
        assert!(driver.objects.wants_checkpoint());
        assert_eq!(driver.objects.rewrite(u64::MAX).unwrap().objects, 0);
        driver.release();
        calls += 1;
    }
    assert!(calls <= 6, "{calls}");
    for ticket in tickets {
        driver.read(&ticket).unwrap();
    }
}

#[test]
fn too_few_segments_are_left_alone() {
    let scene = scene(Driver::new().limited(|options| options.rewrite_segments_min = 6), 10);
    assert_eq!(scene.driver.objects.rewrite(u64::MAX).unwrap(), crate::RewriteReport::default());
    let driver = scene.driver.limited(|options| options.rewrite_live_percent = 2);
    assert_eq!(driver.objects.rewrite(u64::MAX).unwrap(), crate::RewriteReport::default());
}

#[test]
fn only_the_blocks_in_the_poor_segment_move() {
    let driver = Driver::new();
    let mut random = Random::new(43);
    let released = driver.store(Dbiid(1), &random.noise(200_000));
    let content = random.noise(500_000);
    let ticket = driver.store(Dbiid(1), &content);
    driver.settle();
    let driver = driver.reopen();
    driver.count(Dbiid(1), &[(released.hash, -1)]);
    driver.release();
    driver.prune(0);
    let before = driver.entry(&ticket);
    let first = before.blocks[0].lsn.segment();
    let report = driver.objects.rewrite(u64::MAX).unwrap();
    let inside = before.blocks.iter().filter(|block| block.lsn.segment() == first).count();
    assert_eq!((report.objects, report.blocks), (1, inside as u64));
    let after = driver.entry(&ticket);
    assert_eq!(before.blocks[inside..], after.blocks[inside..]);
    driver.release();
    assert!(!driver.disk.exists(&driver.objects.adopted_path(first)).unwrap());
    assert_eq!(driver.read(&ticket).unwrap(), content);
    assert_eq!(driver.lose_power(1).read(&ticket).unwrap(), content);
}

#[test]
fn what_is_damaged_stays_where_it_is() {
    let scene = scene(Driver::new(), 10);
    let hit = &scene.kept[3];
    scene.driver.damage(&hit.0, 2);
    let before = scene.driver.entry(&hit.0);
    let segment = before.blocks[2].lsn.segment();
    let adopted = || scene.driver.objects.adopted_segments().unwrap();
    let is_there = || adopted().iter().any(|one| one.segment == segment);
    let all = adopted().len();
    let report = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert_eq!((report.left, report.damaged), (0, 1));
    assert_eq!(scene.driver.objects.status().unwrap().damaged, 1);
    scene.driver.release();
    assert_eq!(scene.driver.entry(&hit.0), before);
    assert!(is_there() && adopted().len() < all);
    let again = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert_eq!((again.damaged, scene.driver.entry(&hit.0)), (0, before), "not again and again");
    let stored = scene.driver.objects.put(&hit.1).unwrap();
    assert_eq!(scene.driver.read(&stored.ticket).unwrap(), hit.1);
    scene.driver.release();
    assert_eq!(scene.driver.objects.status().unwrap().damaged, 0);
    assert!(!is_there());
}

#[test]
fn a_full_log_makes_rewriting_wait() {
    let mut scene = scene(Driver::new(), 10);
    scene.driver = scene.driver.limited_log(5);
    let mut random = Random::new(45);
    while scene.driver.objects.put(&random.noise(10_000)).is_ok() {}
    let report = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert!(report.waits && report.left > 0 && report.objects == 0, "{report:?}");
    scene.driver.settle();
    scene.driver.release();
    let report = scene.driver.objects.rewrite(u64::MAX).unwrap();
    assert!(report.objects > 0 && report.left == 0, "{report:?}");
    scene.driver.release();
    scene.check();
}

#[test]
fn a_malformed_relocate_record_is_refused() {
    let driver = Driver::new();
    let lsn = driver.log.appended();
    let head = Head { lsn, end: lsn, kind: RecordKind::Relocate, dbiid: Dbiid::NONE, length: 4 };
    let error = driver.objects.replay_relocate(&head, b"\x10\x02ab").unwrap_err();
    assert!(matches!(error, ObjectsError::Malformed { .. }), "{error}");
}

/// All the steps that move and remove things; each may fail when the power is off.
fn tidy_up(driver: &Driver) -> Result<(), ObjectsError> {
    driver.objects.prune(&crate::PruneOrder { defer_s: 0, ..driver.objects.prune_order() })?;
    driver.objects.rewrite(40_000)?;
    driver.try_release()?;
    driver.objects.rewrite(u64::MAX)?;
    driver.log.durable(driver.log.appended()).wait()?;
    driver.try_release()?;
    driver.try_release()
}

fn cut_scene(split: bool) -> Scene {
    scene(if split { Driver::split() } else { Driver::new() }, 10)
}

/// The power goes at every operation of the disk, and the catalog's commits since the last sync
/// are there afterwards, or are not.
#[test]
fn power_may_go_at_every_step() {
    for split in [false, true] {
        let mut cuts = 0;
        for cut in 0.. {
            let _seed = Seed(cut);
            let mut scene = cut_scene(split);
            scene.driver.disk.power_off_after(cut / 2);
            let finished = tidy_up(&scene.driver).is_ok();
            scene.driver = match cut % 2 {
                0 => scene.driver.crash(cut),
                _ => scene.driver.lose_power(cut),
            };
            scene.check();
            tidy_up(&scene.driver).unwrap();
            scene.check();
            scene.driver = scene.driver.reopen();
            scene.driver.release();
            scene.check();
            let adopted = scene.driver.objects.status().unwrap().adopted;
            assert!(adopted <= 2, "{adopted} segments for what fits into one");
            if finished {
                break;
            }
            cuts += 1;
        }
        assert!(cuts >= 16, "{cuts}");
    }
}

#[test]
fn copies_that_were_cut_off_are_removed() {
    let scene = scene(Driver::split(), 10);
    let partial = scene.driver.objects.adopted_path(3).with_extension("NEW");
    scene.driver.disk.create(&partial).unwrap();
    let driver = scene.driver.reopen();
    assert!(!driver.disk.exists(&partial).unwrap());
}

#[test]
fn options_are_bounded() {
    let mut options = ObjectsOptions::new("/x");
    options.rewrite_live_percent = 200;
    assert_eq!(options.bounded().rewrite_live_percent, 100);
}

/// Readers go on while segments are emptied and removed under them.
#[test]
fn readers_follow_what_moves() {
    let scene = scene(Driver::new(), 8);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let objects: &Objects = &scene.driver.objects;
    std::thread::scope(|scope| {
        for start in 0..3 {
            let (stop, kept) = (&stop, &scene.kept);
            scope.spawn(move || {
                let mut random = Random::new(start + 50);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let (ticket, content) = &kept[random.below(kept.len() as u64) as usize];
                    let mut out = Vec::new();
                    objects.read(ticket, 0..ticket.length, &mut out).unwrap();
                    assert_eq!(&out, content);
                }
            });
        }
        let mut random = Random::new(44);
        for _ in 0..12 {
            let padding = scene.driver.store(Dbiid(3), &random.noise(300_000));
            scene.driver.count(Dbiid(3), &[(padding.hash, -1)]);
            scene.driver.settle();
            scene.driver.release();
            scene.driver.prune(0);
            while scene.driver.objects.rewrite(30_000).unwrap().left > 0 {}
            scene.driver.release();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    scene.check();
}

/// A round may remove a segment while others are looked at, and somebody may have taken one away.
#[test]
fn a_segment_whose_file_is_not_there_keeps_no_other_from_being_rewritten() {
    let driver = scene(Driver::new(), 10).driver;
    let first = driver.objects.adopted_segments().unwrap()[0].segment;
    driver.disk.remove(&driver.objects.adopted_path(first)).unwrap();
    let driver = driver.reopen();
    let others = driver.objects.adopted_segments().unwrap();
    assert!(others.iter().all(|found| found.segment != first), "{others:?}");
    assert!(driver.objects.rewrite(u64::MAX).unwrap().objects > 0);
}

/// Each start leaves a short segment behind: when there are enough of them they become one.
#[test]
fn many_small_segments_become_one() {
    // how long a segment becomes does not depend on when it was flushed
    let options = LogOptions {
        segment_bytes: 256 << 10,
        lazy_flush_ms: 3_600_000,
        ..LogOptions::new("/log")
    };
    let driver = Driver::with(options);
    let mut driver = driver.limited(|options| options.rewrite_segments_min = 4);
    let mut random = Random::new(47);
    let mut stored = Vec::new();
    let together = loop {
        let content = random.noise(6_000);
        stored.push((driver.store(Dbiid(1), &content), content));
        driver.settle();
        driver = driver.reopen();
        driver.release();
        let report = driver.objects.rewrite(u64::MAX).unwrap();
        if report.segments > 0 {
            break report.segments;
        }
        assert!(stored.len() < 20, "they stay small for ever");
    };
    assert!((16..20).contains(&together), "{together}");
    driver.settle();
    driver.release();
    let driver = driver.reopen();
    driver.release();
    let adopted = driver.objects.status().unwrap().adopted;
    assert!(adopted <= 2, "{adopted} of {}", stored.len());
    for (ticket, content) in &stored {
        assert_eq!(&driver.read(ticket).unwrap(), content);
    }
}

/// Each write, sync, rename and removal of pruning and rewriting fails once: nothing is lost, and
/// what was refused for want of space goes on in the same process.
#[test]
fn the_disk_may_fail_at_every_step() {
    let operations = [
        (Operation::Write, ErrorKind::StorageFull),
        (Operation::Allocate, ErrorKind::StorageFull),
        (Operation::Create, ErrorKind::StorageFull),
        (Operation::Remove, ErrorKind::PermissionDenied),
        (Operation::Open, ErrorKind::PermissionDenied),
        (Operation::Read, ErrorKind::Other),
        (Operation::Rename, ErrorKind::Other),
        (Operation::SetLength, ErrorKind::Other),
        (Operation::SyncDir, ErrorKind::Other),
        (Operation::Sync, ErrorKind::Other),
        (Operation::Write, ErrorKind::Other),
    ];
    for (operation, kind) in operations {
        for (split, skip) in [(false, 0), (true, 0), (false, 1), (true, 1), (false, 4), (true, 5)] {
            let mut scene = cut_scene(split);
            scene.driver.failing.fail(operation, skip, 1, kind);
            let outcome = tidy_up(&scene.driver);
            scene.check();
            let has_stopped = scene.driver.log.status().stopped.is_some();
            let is_full = kind == ErrorKind::StorageFull;
            assert!(!(is_full && has_stopped), "{operation:?} {kind:?} {skip}: {outcome:?}");
            scene.driver.failing.clear();
            if has_stopped {
                scene.driver = scene.driver.lose_power(skip);
                scene.check();
            }
            tidy_up(&scene.driver).unwrap();
            scene.check();
            // what cannot be read is left alone until the next start
            scene.driver = scene.driver.reopen();
            tidy_up(&scene.driver).unwrap();
            scene.check();
            scene.driver = scene.driver.reopen();
            scene.driver.release();
            let adopted = scene.driver.objects.status().unwrap().adopted;
            assert!(adopted <= 3, "{operation:?} {kind:?} {skip}: {adopted} segments are left");
        }
    }
}
