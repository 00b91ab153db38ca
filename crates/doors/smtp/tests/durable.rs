//! No 250 leaves before the log is synced.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "house/house.rs"]
mod house;

use house::House;
use smtp::Listener;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use txlog::{Disk, DiskFile, RealDisk};

/// A disk whose data syncs can be held back and are counted.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    closed: bool,
    waiting: usize,
    passed: usize,
}

impl Gate {
    fn set_closed(&self, closed: bool) {
        self.0.0.lock().unwrap().closed = closed;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.waiting += 1;
        self.0.1.notify_all();
        let mut state = self.0.1.wait_while(state, |state| state.closed).unwrap();
        state.waiting -= 1;
        state.passed += 1;
    }

    fn wait_for_a_sync(&self) {
        let state = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    fn passed(&self) -> usize {
        self.0.0.lock().unwrap().passed
    }
}

struct GateDisk(Gate);
struct GateFile(Arc<dyn DiskFile>, Gate);

impl GateDisk {
    fn wrap(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(GateFile(file, self.0.clone()))
    }
}

impl Disk for GateDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(RealDisk.open(path)?))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(RealDisk.create(path)?))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(dir)
    }
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        RealDisk.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        RealDisk.exists(path)
    }
}

impl DiskFile for GateFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync_all()
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.0.allocate(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_to_data_waits_for_the_sync_of_the_log() {
    let gate = Gate::default();
    let disk = GateDisk(gate.clone());
    let house = House::over(|_| {}, |options| options.disk = Arc::new(disk));
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    for command in ["EHLO a.test", "MAIL FROM:<>", "RCPT TO:<bob@example.test>", "DATA"] {
        client.ask(command).await;
    }
    gate.set_closed(true);
    let before = gate.passed();
    client.send(b"Subject: held\r\n\r\ntext\r\n.\r\n").await;
    let waiting = gate.clone();
    tokio::task::spawn_blocking(move || waiting.wait_for_a_sync()).await.unwrap();
    // The message is in the log's hands and its sync has begun: nothing may be said yet.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert!(!client.has_reply(), "a reply left before the sync");
    }
    assert_eq!(gate.passed(), before);
    gate.set_closed(false);
    assert!(client.reply().await.starts_with("250 2.0.0"));
    assert!(gate.passed() > before);
    assert!(house.store.log().durable_lsn() > txlog::Lsn::ZERO);
}
