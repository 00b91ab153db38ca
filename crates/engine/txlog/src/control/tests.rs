use super::*;
use crate::faults::MemoryDisk;

fn sample() -> Control {
    let mut control = Control::new(11, 22);
    control.next_segment = 64;
    control.oldest_needed = Lsn::new(3, 4096);
    control.durable = Lsn::new(4, 500);
    control.add_void(Lsn::new(4, 500), Lsn::new(32, 0));
    control
}

fn dir() -> PathBuf {
    PathBuf::from("/log")
}

fn saved(control: &mut Control) -> MemoryDisk {
    let disk = MemoryDisk::new();
    disk.create_dir_all(&dir()).unwrap();
    control.save(&disk, &dir()).unwrap();
    disk
}

#[test]
fn control_round_trips() {
    let mut control = sample();
    let disk = saved(&mut control);
    assert_eq!(Control::load(&disk, &dir()).unwrap(), Some(control.clone()));
    for segment in 0..300 {
        control.add_void(Lsn::new(100 + 2 * segment, 8), Lsn::new(101 + 2 * segment, 0));
    }
    control.save(&disk, &dir()).unwrap();
    assert_eq!(Control::load(&disk, &dir()).unwrap(), Some(control));
}

#[test]
fn one_damaged_copy_does_no_harm_two_are_an_error() {
    let mut control = sample();
    let path = dir().join(CONTROL_NAME);
    for offset in 0..FIXED_BYTES as u64 + 20 {
        let disk = saved(&mut control);
        disk.flip(&path, offset, 0x40).unwrap();
        assert_eq!(Control::load(&disk, &dir()).unwrap().as_ref(), Some(&control), "{offset}");
        disk.flip(&path, 4096 + offset, 0x40).unwrap();
        let outcome = Control::load(&disk, &dir());
        assert!(matches!(outcome, Err(LogError::ControlDamaged { .. })), "{offset}");
    }
}

#[test]
fn every_crash_leaves_the_old_or_the_new_one() {
    let old = {
        let mut control = sample();
        saved(&mut control);
        control
    };
    for operations in 0..9 {
        for seed in 0..40 {
            let disk = saved(&mut sample());
            let mut new = Control { next_segment: 96, ..old.clone() };
            disk.power_off_after(operations);
            let outcome = new.save(&disk, &dir());
            let found = Control::load(&disk.crash(seed), &dir()).unwrap().unwrap();
            assert!(found == new || (found == old && outcome.is_err()), "{operations} {seed}");
        }
    }
}

#[test]
fn voids_merge_and_are_forgotten() {
    let mut control = Control::new(1, 2);
    control.add_void(Lsn::new(0, 900), Lsn::new(32, 0));
    control.add_void(Lsn::new(32, 0), Lsn::new(64, 0));
    assert_eq!(control.voids, [Void { from: Lsn::new(0, 900), to: Lsn::new(64, 0) }]);
    control.add_void(Lsn::new(0, 800), Lsn::new(96, 0));
    assert_eq!(control.voids, [Void { from: Lsn::new(0, 800), to: Lsn::new(96, 0) }]);
    control.add_void(Lsn::new(97, 8), Lsn::new(128, 0));
    assert_eq!(control.voids.len(), 2);
    assert_eq!(control.skip_void(Lsn::new(0, 800)), Lsn::new(96, 0));
    assert_eq!(control.skip_void(Lsn::new(96, 0)), Lsn::new(96, 0));
    control.release(Lsn::new(96, 4096));
    assert_eq!(control.voids.len(), 1);
    control.release(Lsn::new(5, 0));
    assert_eq!(control.oldest_needed, Lsn::new(96, 4096));
}

#[test]
fn salts_differ() {
    let control = sample();
    assert_ne!(control.salt(1), control.salt(2));
    assert_ne!(control.salt(1), Control::new(11, 23).salt(1));
}
