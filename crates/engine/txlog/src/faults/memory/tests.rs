use super::*;

fn disk_with_dir() -> (MemoryDisk, PathBuf) {
    let disk = MemoryDisk::new();
    let dir = PathBuf::from("/d");
    disk.create_dir_all(&dir).unwrap();
    (disk, dir)
}

fn content(disk: &MemoryDisk, path: &Path) -> Option<Vec<u8>> {
    let file = disk.open(path).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

#[test]
fn what_syncs_covered_survives_every_crash() {
    let (disk, dir) = disk_with_dir();
    let path = dir.join("a");
    let file = disk.create(&path).unwrap();
    file.write_at(b"kept", 0).unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(&dir).unwrap();
    file.write_at(b"lost", 4).unwrap();
    let mut outcomes = BTreeSet::new();
    for seed in 0..50 {
        let after = content(&disk.crash(seed), &path).unwrap();
        assert_eq!(&after[..4], b"kept");
        outcomes.insert(after);
    }
    assert_eq!(outcomes.len(), 2, "the unsynced sector is sometimes kept, sometimes not");
}

#[test]
fn writes_tear_at_sectors() {
    let (disk, dir) = disk_with_dir();
    let path = dir.join("a");
    let file = disk.create(&path).unwrap();
    file.allocate(2048).unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(&dir).unwrap();
    file.write_at(&[1; 2048], 0).unwrap();
    let torn = (0..200).any(|seed| {
        let after = content(&disk.crash(seed), &path).unwrap();
        let kept: Vec<bool> = after.chunks(512).map(|sector| sector[0] == 1).collect();
        assert!(after.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        kept.contains(&true) && kept.contains(&false)
    });
    assert!(torn);
}

#[test]
fn names_need_a_sync_of_their_directory() {
    let (disk, dir) = disk_with_dir();
    let (from, to) = (dir.join("a"), dir.join("b"));
    disk.create(&from).unwrap().sync_all().unwrap();
    assert!((0..50).any(|seed| !disk.crash(seed).exists(&from).unwrap()));
    disk.sync_dir(&dir).unwrap();
    disk.rename(&from, &to).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..50 {
        let after = disk.crash(seed);
        let names = (after.exists(&from).unwrap(), after.exists(&to).unwrap());
        assert_ne!(names.0, names.1, "a rename is atomic");
        seen.insert(names);
    }
    assert_eq!(seen.len(), 2);
    disk.sync_dir(&dir).unwrap();
    assert!((0..50).all(|seed| disk.crash(seed).exists(&to).unwrap()));
}

#[test]
fn power_and_room_end() {
    let (disk, dir) = disk_with_dir();
    let file = disk.create(&dir.join("a")).unwrap();
    disk.set_capacity(Some(100));
    assert_eq!(file.allocate(101).unwrap_err().kind(), ErrorKind::StorageFull);
    file.allocate(100).unwrap();
    disk.set_capacity(None);
    disk.power_off_after(1);
    file.write_at(b"x", 0).unwrap();
    assert!(file.sync_data().is_err());
    assert!(file.len().is_err());
    assert!(disk.crash(1).list(&dir).is_ok());
}
