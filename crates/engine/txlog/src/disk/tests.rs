use super::*;

#[test]
fn files_keep_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    RealDisk.create_dir_all(&deep).unwrap();
    RealDisk.create_dir_all(&deep).unwrap();
    let path = deep.join("x");
    let file = RealDisk.create(&path).unwrap();
    file.allocate(8192).unwrap();
    assert_eq!(file.len().unwrap(), 8192);
    file.write_at(b"hello", 8190).unwrap();
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    let mut buf = [0u8; 16];
    assert_eq!(file.read_at(&mut buf, 8189).unwrap(), 6);
    assert_eq!(&buf[..6], b"\0hello");
    file.allocate(16_384).unwrap();
    assert_eq!(file.len().unwrap(), 16_384);
    assert_eq!(file.read_at(&mut buf, 8189).unwrap(), 16);
    assert_eq!(&buf[..7], b"\0hello\0");
    file.set_len(1).unwrap();
    assert!(!file.is_empty().unwrap());
    assert_eq!(file.read_at(&mut buf, 5).unwrap(), 0);
}

#[test]
fn names_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x"), dir.path().join("y"));
    RealDisk.create(&from).unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    assert_eq!(RealDisk.list(dir.path()).unwrap(), ["x"]);
    RealDisk.rename(&from, &to).unwrap();
    assert!(!RealDisk.exists(&from).unwrap());
    assert!(RealDisk.exists(&to).unwrap());
    assert!(RealDisk.open(&from).is_err());
    assert_eq!(RealDisk.open(&to).unwrap().len().unwrap(), 0);
    RealDisk.sync_dir(dir.path()).unwrap();
    RealDisk.remove(&to).unwrap();
    assert!(RealDisk.list(dir.path()).unwrap().is_empty());
}

#[test]
fn a_disk_has_free_bytes() {
    let dir = tempfile::tempdir().unwrap();
    assert!(free_bytes(dir.path()).unwrap() > 0);
    assert!(free_bytes(&dir.path().join("missing")).is_err());
}
