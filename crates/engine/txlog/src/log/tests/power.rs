//! Random work against a model, with power losses and kills at random moments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::rig::{MEMORY_DIR, contents, options, with_seeds};
use super::*;
use crate::LogOptions;
use crate::faults::{Dice, MemoryDisk};

const STORE_DIR: &str = "/objects";

/// What the log must hold.
#[derive(Default)]
struct Model {
    /// Everything appended that may still be in the log, in order.
    records: Vec<(Head, Vec<u8>)>,
    /// Everything before this position was reported durable.
    durable: Lsn,
    /// The log may begin here.
    released: Lsn,
    /// The greatest position ever given out.
    greatest: Lsn,
    /// Records of adopted segments.
    adopted: BTreeMap<u32, Vec<(Head, Vec<u8>)>>,
}

impl Model {
    /// Compares a log that was just opened, and goes on with what it has.
    fn check(&mut self, log: &Log, opened: &Opened) {
        assert_eq!(opened.damage, []);
        let found = contents(log, Lsn::ZERO);
        let (mut last_segment, mut behind) = (None, 0);
        for (head, _) in &found {
            let is_first = last_segment.replace(head.lsn.segment()) != Some(head.lsn.segment());
            behind = if is_first { 0 } else { behind + 1 };
            // the head, and its copy when the power has left it
            let is_head = head.kind == RecordKind::Checkpoint;
            assert!(is_head == is_first || is_head && behind == 1, "{}", head.lsn);
        }
        let found: Vec<_> =
            found.into_iter().filter(|(head, _)| head.kind != RecordKind::Checkpoint).collect();
        let start = found.first().map_or(self.records.len(), |(first, _)| {
            self.records.iter().position(|(head, _)| head == first).unwrap()
        });
        let must_begin = self.first_at(Lsn::new(self.released.segment(), 0));
        assert!(found.is_empty() || start <= must_begin, "{start} {must_begin}");
        let end = start + found.len();
        assert!(self.records[start..end] == found[..], "records differ");
        let lost =
            self.records[end.max(must_begin)..].iter().find(|(head, _)| head.end <= self.durable);
        assert!(lost.is_none(), "{lost:?} was durable up to {}", self.durable);
        self.records = found;
        assert!(log.appended() >= opened.end);
    }

    fn first_at(&self, lsn: Lsn) -> usize {
        self.records.partition_point(|(head, _)| head.lsn < lsn)
    }

    fn check_adopted(&self, disk: &MemoryDisk) {
        for (id, records) in &self.adopted {
            let file = disk.open(&adopted_path(*id)).unwrap();
            let mut out = Vec::new();
            for (head, payload) in records {
                let found = read_record(&*file, *id, head.lsn.offset(), &mut out).unwrap();
                assert_eq!((&found, &out), (head, payload));
            }
        }
    }
}

fn adopted_path(id: u32) -> PathBuf {
    Path::new(STORE_DIR).join(crate::segment_file_name(id))
}

fn power_options() -> LogOptions {
    LogOptions {
        segment_bytes: 32 << 10,
        bytes_max: 12 * (32 << 10),
        group_bytes_max: 8 << 10,
        ..options()
    }
}

/// One step of random work; false when the log has refused.
fn step(log: &Log, model: &mut Model, dice: &mut Dice) -> bool {
    match dice.below(10) {
        0..=5 => append_some(log, model, dice),
        6 | 7 => {
            let target = model.records.last().map_or(Lsn::ZERO, |(head, _)| head.end);
            let is_durable = log.durable(target).wait().is_ok();
            if is_durable {
                model.durable = model.durable.max(target);
            }
            is_durable
        }
        8 => {
            let index = dice.below(model.records.len() as u64) as usize;
            if let Some((head, payload)) = model.records.get(index)
                && let Ok(found) = log.read(head.lsn)
            {
                assert_eq!(found, (*head, payload.clone()));
            }
            true
        }
        _ => release_some(log, model, dice),
    }
}

fn append_some(log: &Log, model: &mut Model, dice: &mut Dice) -> bool {
    let length = match dice.below(8) {
        0 => dice.below(12_000),
        _ => dice.below(900),
    };
    let payload = dice.bytes(length as usize);
    let dbiid = Dbiid(1 + dice.below(9));
    match log.append(RecordKind::Change, dbiid, &payload, Space::Ordinary) {
        Ok(head) => {
            assert!(head.lsn >= model.greatest);
            model.greatest = head.end;
            model.records.push((head, payload));
            true
        }
        Err(AppendError::Full { .. }) => release_some(log, model, dice),
        Err(_) => false,
    }
}

fn release_some(log: &Log, model: &mut Model, dice: &mut Dice) -> bool {
    let durable = log.durable_lsn();
    if durable.offset() == 0 {
        let released = log.release(durable, &|_| None);
        assert!(!released.is_ok_and(|left| !left.is_empty()), "nothing may leave yet");
        return true;
    }
    let index = dice.below(model.records.len() as u64) as usize;
    let Some((head, _)) = model.records.get(index) else { return true };
    let oldest = head.lsn.min(durable).max(model.released);
    model.released = oldest;
    let salt = dice.roll();
    let keep = |id: u32| (salt >> (id % 64) & 1 == 0).then(|| adopted_path(id));
    let Ok(released) = log.release(oldest, &keep) else { return false };
    for id in released.into_iter().filter(|id| keep(*id).is_some()) {
        let inside = model.records.iter().filter(|(head, _)| head.lsn.segment() == id);
        model.adopted.insert(id, inside.cloned().collect());
    }
    let start = model.first_at(Lsn::new(oldest.segment(), 0));
    model.records.drain(..start);
    true
}

fn open_power(disk: &MemoryDisk) -> Result<(Arc<Log>, Opened), LogError> {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Log::open(power_options(), shared, Arc::new(SystemClock))
}

fn run(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut disk = MemoryDisk::new();
    disk.create_dir_all(Path::new(STORE_DIR)).unwrap();
    disk.create_dir_all(Path::new(MEMORY_DIR)).unwrap();
    let mut model = Model::default();
    for _ in 0..6 {
        let operations_max = if dice.chance(30) { 20 } else { 300 };
        disk.power_off_after(dice.below(operations_max));
        if let Ok((log, opened)) = open_power(&disk) {
            log.set_segment_head(Box::new(|| b"register".to_vec()));
            model.records.retain(|(head, _)| head.end <= opened.end);
            // The power may go while the log is compared: then it is compared after the next open.
            if disk.list(Path::new(MEMORY_DIR)).is_ok() {
                let image = disk.kill();
                let (copy, again) = open_power(&image).unwrap();
                assert!(again.end >= opened.end && again.damage.is_empty());
                model.check(&copy, &opened);
            }
            for _ in 0..200 {
                if !step(&log, &mut model, &mut dice) {
                    break;
                }
            }
            model.durable = model.durable.max(log.durable_lsn());
        }
        disk = if dice.chance(25) { disk.kill() } else { disk.crash(dice.roll()) };
        model.check_adopted(&disk);
    }
    let (log, opened) = open_power(&disk).unwrap();
    model.check(&log, &opened);
}

#[test]
fn durable_records_survive_random_power_losses() {
    with_seeds("durable_records_survive_random_power_losses", 120, run);
}

/// Every single operation of a short script is once the first that does not happen.
#[test]
fn durable_records_survive_a_power_loss_at_every_operation() {
    with_seeds("durable_records_survive_a_power_loss_at_every_operation", 4, |seed| {
        for operations in 0.. {
            let disk = MemoryDisk::new();
            disk.create_dir_all(Path::new(STORE_DIR)).unwrap();
            disk.power_off_after(operations);
            let mut model = Model::default();
            let mut dice = Dice::new(seed);
            let mut finished = false;
            if let Ok((log, _)) = open_power(&disk) {
                log.set_segment_head(Box::new(|| b"register".to_vec()));
                finished = (0..60).all(|_| step(&log, &mut model, &mut dice));
                model.durable = model.durable.max(log.durable_lsn());
            }
            let after = disk.crash(dice.roll());
            model.check_adopted(&after);
            let (log, opened) = open_power(&after).unwrap();
            model.check(&log, &opened);
            if finished {
                break;
            }
        }
    });
}
